import { expect, test } from 'vitest';
import { ConfigError } from '../../src/config/issues.ts';
import { CLUSTER, NO_CLUSTER, problemsOfEach } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

const BAD = [
  'clusterz: []\n',
  `${CLUSTER}      timout: 30s\n`,
  `${CLUSTER}    colour: red\n`,
  `${CLUSTER}collectors:\n  node: { enabled: true }\n`,
  `${CLUSTER}collectors:\n  nodes: { page_limits: 1 }\n`,
  `${CLUSTER}    collectors:\n      ranges: { intervall: 1m }\n`,
  `${CLUSTER}web: { colour: red, telemetry_path: x, max_request: 2 }\n`,
  `${CLUSTER}__proto__: { name: prod }\n`,
  `${CLUSTER.replace('cluster_api:', 'cluster_api: &api')}      timout: 1s\n  - { name: b, cluster_api: *api }\n`,
  `${CLUSTER}      timeout: 1s\n      timeout: 2s\n`,
  'web:\n\ttelemetry_path: /m\n',
  'web: { telemetry_path: /m\nlog: 5\n',
  'log: {}\n---\nweb: {}\n',
  `${CLUSTER}      password: !hunter2\n`,
  String.raw`web: "\h"`,
  `${CLUSTER}? [a, b]\n: 5\n`,
  `${CLUSTER}      password: {{ password }}\n`,
  'clusters: &a [*a]\n',
  'clusters: *a\n',
  'hello\n',
  '- a\n',
  `web: 5\n${CLUSTER}`,
  `log: [a]\n${CLUSTER}`,
  `log: []\n${CLUSTER}`,
  'web:\n  external_url: %x\n',
  'web:\n  external_url: a: b\n',
  'clusters:\n  -name: a\n   poll: true\n',
  'web: { external_url: a: b }\n',
  `${CLUSTER}collectors: { ranges: false }\n`,
  'clusters: [[], { name: a, cluster_api: { urls: [http://127.0.0.1:1] }, collectors: { users: [] } }]\n',
];

test('what is wrong with a file is reported with its place and its remedy', async () => {
  expect(await problemsOfEach(BAD)).toMatchInlineSnapshot(`
    "
    exporter.yml:1:1: clusterz: unknown key "clusterz"; did you mean "clusters"?
    exporter.yml:1:1: clusters: no cluster is configured: list one under clusters in the file of --config.file, or give --cluster.url; \`crdb-exporter demo\` needs neither
    exporter.yml:5:7: clusters[0].cluster_api.timout: unknown key "timout"; did you mean "timeout"?
    exporter.yml:5:5: clusters[0].colour: unknown key "colour"; expected name, console_url, poll, cluster_api, cloud_api, collectors
    exporter.yml:6:3: collectors.node: unknown key "node"; did you mean "nodes"?
    exporter.yml:6:12: collectors.nodes.page_limits: unknown key "page_limits"; did you mean "page_limit"?
    exporter.yml:6:17: clusters[0].collectors.ranges.intervall: unknown key "intervall"; did you mean "interval"?
    exporter.yml:5:8: web.colour: unknown key "colour"; expected listen_address, external_url, telemetry_path, config_file, enable_lifecycle, max_requests, max_probes, protect_probes, systemd_socket
    exporter.yml:5:37: web.telemetry_path: "x" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:5:40: web.max_request: unknown key "max_request"; did you mean "max_requests"?
    exporter.yml:5:1: __proto__: unknown key "__proto__"; expected web, log, shard, config, thresholds, links, clusters, collectors
    exporter.yml:5:7: clusters[0].cluster_api.timout: unknown key "timout"; did you mean "timeout"?
    exporter.yml:6:7: not valid YAML: the key "timeout" is set twice: remove one
    exporter.yml:2:1: not valid YAML: a tab cannot indent: use spaces
    exporter.yml:2:1: not valid YAML: Flow map in block collection must be sufficiently indented and end with a }
    exporter.yml:2:1: not valid YAML: more than one document: remove the line ---
    exporter.yml:5:17: not valid YAML: an unknown tag: put a text that begins with ! in quotes
    exporter.yml:1:7: not valid YAML: an unknown escape in double quotes: use single quotes or double the backslash
    exporter.yml:5:3: only a text can be a key: put one that begins with { or [ in quotes
    exporter.yml:5:18: only a text can be a key: put one that begins with { or [ in quotes
    exporter.yml:1:15: this alias names no anchor that ends above it
    exporter.yml:1:11: this alias names no anchor that ends above it
    exporter.yml:1:1: expected keys and values such as \`clusters:\` at the top
    exporter.yml:1:1: expected keys and values such as \`clusters:\` at the top
    exporter.yml:1:6: web: 5 is not a map: expected listen_address, external_url, telemetry_path, config_file, enable_lifecycle, max_requests, max_probes, protect_probes, systemd_socket
    exporter.yml:1:6: log: a list is not a map: expected level, format
    exporter.yml:1:6: log: a list is not a map: expected level, format
    exporter.yml:2:17: not valid YAML: a text cannot begin with this character: put it in quotes
    exporter.yml:2:17: not valid YAML: a second key in one line: put a text with \`: \` in quotes, begin a map in a line of its own, and write a space after the - of a list
    exporter.yml:2:10: not valid YAML: a second key in one line: put a text with \`: \` in quotes, begin a map in a line of its own, and write a space after the - of a list
    exporter.yml:2:10: not valid YAML: Implicit keys need to be on a single line
    exporter.yml:1:22: not valid YAML: a key without braces: put a text with \`: \` in quotes, and a map within { } or [ ] in its own { }
    exporter.yml:5:23: collectors.ranges: false is not a map: write { enabled: false }
    exporter.yml:1:12: clusters[0]: a list is not a map: expected name, console_url, poll, cluster_api, cloud_api, collectors
    exporter.yml:1:93: clusters[1].collectors.users: a list is not a map: expected enabled, interval, timeout, max_age, max_duty, max_series
    "
  `);
});

test.each([
  ['an empty file', ''],
  ['a comment', '# nothing\n'],
  ['a key without clusters', 'clusters:\n'],
  ['an empty list of clusters', 'clusters: []\n'],
])('%s has no cluster, which is reported with a hint at the demo', async (_, yaml) => {
  const [problem, ...others] = await problemsOf(loadText(yaml));
  expect(problem).toMatch(/^exporter\.yml:1:\d+: clusters: /);
  expect(problem).toContain(NO_CLUSTER);
  expect(others).toEqual([]);
});

test('all problems of a file are reported at once, in its order, each once', async () => {
  const problems = await problemsOf(
    loadText(`${CLUSTER}    collectors: { nodes: { interval: 1 } }
  - name: other
    cluster_api: { urls: ["https://b:1"] }
collectors: { nodes: { timeout: x } }
web: { telemetry_path: x }
`),
  );
  expect(problems.map((problem) => problem.split(' ')[1])).toEqual([
    'clusters[0].collectors.nodes.interval:',
    'collectors.nodes.timeout:',
    'web.telemetry_path:',
  ]);
});

test('what a flag or variable sets over a file is reported as theirs, once', async () => {
  const file = `${CLUSTER}    collectors: { users: { enabled: 5 } }\nweb: { listen_address: [x, y] }\n`;
  const flags = { 'web.listen-address': [':1', 'z'], 'web.max-requests': '-1' };
  const env = { CRDB_EXPORTER_COLLECTOR_USERS: 'yes' };
  expect((await problemsOf(loadText(file, { flags, env }))).toSorted()).toEqual([
    '--web.listen-address: web.listen_address[1]: "z" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path',
    '--web.max-requests: web.max_requests: -1 is too small: at least 0',
    'CRDB_EXPORTER_COLLECTOR_USERS: collectors.users.enabled: "yes" is neither true nor false',
  ]);
});

test('the message of the error is the list of its problems', async () => {
  const error = await loadText('log: 5\n').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toMatch(/^ConfigError: \S+exporter\.yml:1:1: clusters: no cluster/);
});

test('a section without keys has its defaults', async () => {
  const { config } = await loadText(`${CLUSTER}      tls:\nweb:\nlog:\ncollectors:\n  nodes:\n`);
  expect(config).toEqual((await loadText(CLUSTER)).config);
});

test('an anchor gives its value to every alias', async () => {
  const { config } = await loadText(`clusters:
  - name: a
    cluster_api: &api { urls: ["https://crdb:8080"], timeout: 7s }
  - name: b
    cluster_api: *api
`);
  expect(config.clusters.map(({ cluster_api }) => cluster_api?.timeout)).toEqual([7, 7]);
});

test('a merge key takes over the keys of maps with an anchor, and the keys beside it win', async () => {
  const { config } = await loadText(`clusters:
  - &first
    name: a
    cluster_api: &api { urls: ["https://crdb:8080"], timeout: 7s, compression: true }
    collectors: &few { users: { enabled: true } }
  - <<: *first
    name: b
    cluster_api: { <<: *api, timeout: 8s }
    collectors: { <<: [*few, *few], tables: { interval: 1h } }
`);
  const seen = config.clusters.map(({ name, cluster_api, collectors }) => [
    name,
    cluster_api?.urls,
    cluster_api?.timeout,
    cluster_api?.compression,
    collectors['users']?.enabled,
    collectors['tables']?.interval,
  ]);
  const urls = ['https://crdb:8080/api/v2'];
  expect(seen).toEqual([
    ['a', urls, 7, true, true, 600],
    ['b', urls, 8, true, true, 3600],
  ]);
});

const BAD_MERGES = [
  'clusters:\n  - &a\n    name: a\n    cluster_api: &api { urls: ["https://a:1"], timeout: 1 }\n  - name: b\n    cluster_api:\n      <<: *api\n      min_rat: 1B\n',
  `${CLUSTER}      <<: 5\n`,
];

test('what is wrong with a merge key is reported with its place and its remedy', async () => {
  expect(await problemsOfEach(BAD_MERGES)).toMatchInlineSnapshot(`
    "
    exporter.yml:4:57: clusters[0].cluster_api.timeout: 1 is not a duration: write it with units, as 30s, 1m30s or 500ms
    exporter.yml:8:7: clusters[1].cluster_api.min_rat: unknown key "min_rat"; did you mean "min_rate"?
    exporter.yml:5:11: << takes over the keys of maps with an anchor: write \`<<: *name\` or \`<<: [*one, *two]\`
    "
  `);
});

test.each([
  '!hunter2',
  '"hunter2',
  '"a" hunter2',
  "'it's hunter2'",
  '@hunter2',
  String.raw`"\hunter2"`,
  String.raw`"\Uhunter2"`,
  '&hunter2',
  '*hunter2',
  '{hunter2',
  '|hunter2',
  '}hunter2',
  ']hunter2"x',
  '- hunter2',
])('a password that is broken YAML is not shown in the message: %s', async (password) => {
  const problems = await problemsOf(loadText(`${CLUSTER}      password: ${password}\n`));
  expect(problems).not.toEqual([]);
  expect(problems.join('\n')).not.toContain('unter2');
});
