import { expect, test } from 'vitest';
import { makeFolder } from './folder.ts';
import { loadFlags, loadText, problemsOf } from './loading.ts';

/** Clusters of one name, one without a password, and one without an API. */
const CONTRADICTORY = `clusters:
  - { name: a, cluster_api: { urls: ["https://a:1"] } }
  - { name: a, cluster_api: { urls: ["https://a:1"], username: u } }
  - { name: b }
shard: { index: 3, count: 2 }
collectors:
  nodes: { interval: 30s, max_age: 20s }
  sessions: { application_rewrite: [{ regex: "(?=x)", replacement: "" }] }
web: { config_file: web.yml }
`;
const FILES = { 'web.yml': 'colour: 1\n' };
const CONTRADICTIONS = [
  'exporter.yml:3:13: clusters[1].name: the name "a" is taken by the cluster in line 2: names must differ',
  'exporter.yml:3:64: clusters[1].cluster_api.username: a username without password: add password_file, password_env or password',
  'exporter.yml:4:5: clusters[2]: a cluster needs cluster_api or cloud_api or both',
  'exporter.yml:5:17: shard.index: the index 3 is not below the count 2: shards count from 0 to 1',
  'exporter.yml:7:36: collectors.nodes.max_age: 20s is shorter than the interval, 30s: raise max_age, or leave it out',
  'exporter.yml:8:46: collectors.sessions.application_rewrite[0].regex: "(?=x)" cannot be used: error parsing regexp: invalid or unsupported Perl syntax: `(?=`; the syntax is that of RE2, without lookaround and backreferences',
  'web.yml:1:1: colour: unknown key "colour"; expected tls_server_config, http_server_config, basic_auth_users, rate_limit',
].toSorted();

async function sortedProblemsOf(...args: Parameters<typeof loadText>): Promise<string[]> {
  return (await problemsOf(loadText(...args))).toSorted();
}

test('an unknown key or a wrong value elsewhere hides no contradiction', async () => {
  expect(await sortedProblemsOf(CONTRADICTORY, { files: FILES })).toEqual(CONTRADICTIONS);
  for (const wrong of ['colour: 1\n', 'log: { level: loud }\n', 'links: 5\n']) {
    const problems = await sortedProblemsOf(`${CONTRADICTORY}${wrong}`, { files: FILES });
    expect(problems.filter((each) => !CONTRADICTIONS.includes(each))).toHaveLength(1);
    expect(problems).toHaveLength(CONTRADICTIONS.length + 1);
  }
});

test('a wrong variable hides no contradiction of the file', async () => {
  const env = { CRDB_EXPORTER_LOG_LEVEL: 'loud' };
  expect(await sortedProblemsOf(CONTRADICTORY, { files: FILES, env })).toEqual(
    [
      ...CONTRADICTIONS,
      'CRDB_EXPORTER_LOG_LEVEL: log.level: "loud" is not one of debug, info, warn, error',
    ].toSorted(),
  );
});

test('a wrong variable hides no contradiction of flags', async () => {
  const flags = { 'cluster.url': ['https://a:1'], 'cluster.username': 'u' };
  expect(await problemsOf(loadFlags(flags, { CRDB_EXPORTER_LOG_LEVEL: 'loud' }))).toEqual([
    'CRDB_EXPORTER_LOG_LEVEL: log.level: "loud" is not one of debug, info, warn, error',
    '--cluster.username: clusters[0].cluster_api.username: a username without password: add password_file, password_env or password',
  ]);
});

test('wrong values of a cluster hide neither its name nor which of its keys are missing', async () => {
  const text = `clusters:
  - { name: a, cluster_api: { urls: [5], username: u, tls: { cert_file: c } } }
  - { name: a, poll: 5, cloud_api: { cluster_id: a/b } }
  - { name: "", console_url: 5 }
  - { name: c, cluster_api: { urls: ["https://a:1", "b"] }, collectors: { ranges: { route: local }, nodes: 5 } }
`;
  expect(`\n${(await problemsOf(loadText(text))).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:2:38: clusters[0].cluster_api.urls[0]: 5 is not text: put it in quotes
    exporter.yml:2:52: clusters[0].cluster_api.username: a username without password: add password_file, password_env or password
    exporter.yml:2:73: clusters[0].cluster_api.tls.cert_file: cert_file without key_file: a client certificate needs both
    exporter.yml:3:13: clusters[1].name: the name "a" is taken by the cluster in line 2: names must differ
    exporter.yml:3:22: clusters[1].poll: 5 is neither true nor false
    exporter.yml:3:36: clusters[1].cloud_api: a token is missing: set token_file, token_env or token
    exporter.yml:3:50: clusters[1].cloud_api.cluster_id: "a/b" is not the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa
    exporter.yml:4:5: clusters[2]: a cluster needs cluster_api or cloud_api or both
    exporter.yml:4:13: clusters[2].name: "" is empty: give the key a value or remove it
    exporter.yml:4:30: clusters[2].console_url: 5 is not text: put it in quotes
    exporter.yml:5:37: clusters[3].cluster_api.urls: 2 URLs with \`route: local\`: name only the node beside this exporter
    exporter.yml:5:53: clusters[3].cluster_api.urls[1]: "b" does not begin with https:// or http://: write it as https://crdb-1:8080
    exporter.yml:5:108: clusters[3].collectors.nodes: 5 is not a map: expected enabled, interval, timeout, max_age, max_duty, max_series, page_limit, metrics
    "
  `);
});

test('what an unknown key may have meant is not missed, and no refused value is compared', async () => {
  const text = `clusters:
  - { name: a, cluster_api: { urls: ["https://a:1"], username: u, passwort_file: p } }
  - { name: b, clusterapi: { urls: ["https://a:1"] } }
  - { nam: a, cluster_api: { urls: ["https://a:1"], tls: { cert_file: c, keyfile: k } } }
  - { name: c, cloud_api: { cluster_id: a, tokenfile: t } }
  - { name: [a], cluster_api: { urls: ["https://a:1"], username: u, password_file: 5 } }
  - { name: d, cluster_api: { urls: ["https://a:1"] }, collectors: { nodes: { max_age: 5s }, ranges: { max_age: 30s } } }
  - { name: e, cluster_api: &api { urls: ["https://a:1"], username: u, passwort: p } }
  - { name: f, cluster_api: *api }
shard: { index: 5, cuont: 8 }
thresholds: { cpu: 5, memory: 0.1 }
collectors:
  nodes: { interval: 5 }
  rangs: { interval: 20s }
  sessions: { max_age: 20s, intervall: 10s, application_rewrite: [{ regex: 5 }, { regex: "" }] }
web: { config_fil: web.yml }
`;
  expect(`\n${(await problemsOf(loadText(text))).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:2:67: clusters[0].cluster_api.passwort_file: unknown key "passwort_file"; did you mean "password_file"?
    exporter.yml:3:16: clusters[1].clusterapi: unknown key "clusterapi"; did you mean "cluster_api"?
    exporter.yml:4:5: clusters[2]: the key "name" is missing: set it (or --cluster.name)
    exporter.yml:4:7: clusters[2].nam: unknown key "nam"; did you mean "name"?
    exporter.yml:4:74: clusters[2].cluster_api.tls.keyfile: unknown key "keyfile"; did you mean "key_file"?
    exporter.yml:5:44: clusters[3].cloud_api.tokenfile: unknown key "tokenfile"; did you mean "token_file"?
    exporter.yml:6:13: clusters[4].name: a list is not a single value
    exporter.yml:6:84: clusters[4].cluster_api.password_file: 5 is not text: put it in quotes
    exporter.yml:8:72: clusters[6].cluster_api.passwort: unknown key "passwort"; did you mean "password"?
    exporter.yml:10:20: shard.cuont: unknown key "cuont"; did you mean "count"?
    exporter.yml:11:20: thresholds.cpu: 5 is not a share above 0, up to 1: write 0.9 for 90 %
    exporter.yml:13:22: collectors.nodes.interval: 5 is not a duration: write it with units, as 30s, 1m30s or 500ms
    exporter.yml:14:3: collectors.rangs: unknown key "rangs"; did you mean "ranges"?
    exporter.yml:15:29: collectors.sessions.intervall: unknown key "intervall"; did you mean "interval"?
    exporter.yml:15:67: collectors.sessions.application_rewrite[0]: the key "replacement" is missing: set it
    exporter.yml:15:76: collectors.sessions.application_rewrite[0].regex: 5 is not text: put it in quotes
    exporter.yml:15:81: collectors.sessions.application_rewrite[1]: the key "replacement" is missing: set it
    exporter.yml:15:90: collectors.sessions.application_rewrite[1].regex: "" is empty: give the key a value or remove it
    exporter.yml:16:8: web.config_fil: unknown key "config_fil"; did you mean "config_file"?
    "
  `);
});

test('an expression is compiled although others are wrong, and a path of no text is not read', async () => {
  const text = `clusters: 5
collectors:
  sessions: { max_age: 5, application_rewrite: [{ regex: 5 }, { regex: "(a", colour: 1 }, 7] }
  nodes: [1]
web: { config_file: 5 }
`;
  expect(`\n${(await problemsOf(loadText(text))).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:1:11: clusters: 5 is not a list of clusters: begin each with "- name:"
    exporter.yml:3:24: collectors.sessions.max_age: 5 is not a duration: write it with units, as 30s, 1m30s or 500ms
    exporter.yml:3:49: collectors.sessions.application_rewrite[0]: the key "replacement" is missing: set it
    exporter.yml:3:58: collectors.sessions.application_rewrite[0].regex: 5 is not text: put it in quotes
    exporter.yml:3:63: collectors.sessions.application_rewrite[1]: the key "replacement" is missing: set it
    exporter.yml:3:72: collectors.sessions.application_rewrite[1].regex: "(a" cannot be used: error parsing regexp: missing closing ): \`(a\`; the syntax is that of RE2, without lookaround and backreferences
    exporter.yml:3:78: collectors.sessions.application_rewrite[1].colour: unknown key "colour"; expected regex, replacement
    exporter.yml:3:91: collectors.sessions.application_rewrite[2]: 7 is not a map: expected regex, replacement
    exporter.yml:4:10: collectors.nodes: a list is not a map: expected enabled, interval, timeout, max_age, max_duty, max_series, page_limit, metrics
    exporter.yml:5:21: web.config_file: 5 is not text: put it in quotes
    "
  `);
});

test('secrets and TLS files are read once every value is valid', async () => {
  const folder = await makeFolder({});
  const cluster = `{ urls: ["https://a:1"], username: u, password_file: ${folder}/none, tls: { ca_file: ${folder}/none } }`;
  const text = `clusters:\n  - { name: a, cluster_api: ${cluster} }\n`;
  expect(await problemsOf(loadText(text))).toHaveLength(2);
  expect(await problemsOf(loadText(`${text}colour: 1\n`))).toEqual([
    expect.stringContaining('unknown key "colour"'),
  ]);
});
