import { expect, test } from 'vitest';
import { defaultCollectors } from '../support/collectors.ts';
import { API, CLUSTER } from './bad-file.ts';
import { loadText, problemsOf, warningsOf } from './loading.ts';

const CLOUD = 'clusters:\n  - name: prod\n    cloud_api:\n';

/** What is wrong with the values of each cluster. */
const BAD = String.raw`max_serie: 300000
clusters:
  - { cluster_api: { urls: ["https://a:1"] } }
  - prod
  - { name: " a3", cluster_api: { urls: ["https://a:1"] } }
  - { name: b1, cluster_api: { timeout: 3s } }
  - { name: b2, cluster_api: { urls: [] } }
  - { name: b3, cluster_api: { urls: ["", "https://a:port", "crdb:8080", "ftp://crdb", "xhttp://crdb"] } }
  - { name: b4, cluster_api: { urls: ["https://me:hunter2@crdb:8080", "https://me@a:1", "https://:hunter2@b:1"] } }
  - { name: b5, cluster_api: { urls: ["me:hunter2@crdb:8080", "https://a:1/?x=1", "https://b:1/#f"] } }
  - { name: b6, cluster_api: { urls: https://me:hunter2@crdb:8080 } }
  - { name: b7, cluster_api: { urls: ["https://a:1", "http://b:1"] } }
  - { name: b8, cluster_api: { urls: ["https://a:1", "https://a:1/api/v2/"] } }
  - { name: b9, cluster_api: { urls: ["https://a:1"], session_headers: [X], virtual_cluster: "a b" } }
  - { name: c1, cloud_api: { url: https://cockroachlabs.cloud } }
  - { name: c2, cloud_api: { cluster_id: a, token_env: 5 } }
  - { name: c3, cloud_api: { token: t, cluster_id: a/b, api_version: v1, url: "https://x?y" } }
  - { name: n1, cluster_api: { urls: ["https://a:1"] }, collectors: { nodes: 5 } }
collectors: { nodes: { interval: 1m } }
`;

/** Valid values that contradict each other, and files that cannot be used. */
const CONTRADICTIONS = `clusters:
  - { name: a1, cluster_api: { urls: ["https://a:1"] } }
  - { name: a1, cluster_api: { urls: ["https://a:1"] } }
  - { name: a2 }
  - { name: t1, cluster_api: { urls: ["https://a:1"], tls: { ca_file: nope.crt } } }
  - { name: t2, cluster_api: { urls: ["https://a:1"], tls: { cert_file: client } } }
  - { name: t3, cluster_api: { urls: ["https://a:1"], tls: { key_file: client } } }
  - { name: n2, cluster_api: { urls: ["https://a:1", "https://b:1"] }, collectors: { ranges: { route: local } } }
  - { name: c1, cloud_api: { cluster_id: a } }
collectors: { nodes: { interval: 1m } }
`;

test('what is wrong with the values of each cluster is reported with its place and its remedy', async () => {
  const problems = await problemsOf(loadText(BAD));
  expect(`\n${problems.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:1:1: max_serie: unknown key "max_serie"; expected web, log, shard, config, thresholds, links, clusters, collectors
    exporter.yml:3:5: clusters[0]: the key "name" is missing: set it (or --cluster.name)
    exporter.yml:4:5: clusters[1]: "prod" is not a map: expected name, console_url, poll, cluster_api, cloud_api, collectors
    exporter.yml:5:13: clusters[2].name: " a3" is not a name of at most 128 printable characters without quotes, backslashes or a space at either end
    exporter.yml:6:30: clusters[3].cluster_api: the key "urls" is missing: set it (or --cluster.url)
    exporter.yml:7:38: clusters[4].cluster_api.urls: the list is empty: add at least one value
    exporter.yml:8:39: clusters[5].cluster_api.urls[0]: "" is empty: give the key a value or remove it
    exporter.yml:8:43: clusters[5].cluster_api.urls[1]: "https://a:port" is not a valid URL: write it as https://crdb-1:8080
    exporter.yml:8:61: clusters[5].cluster_api.urls[2]: "crdb:8080" does not begin with https:// or http://: write it as https://crdb-1:8080
    exporter.yml:8:74: clusters[5].cluster_api.urls[3]: "ftp://crdb" does not begin with https:// or http://: write it as https://crdb-1:8080
    exporter.yml:8:88: clusters[5].cluster_api.urls[4]: "xhttp://crdb" does not begin with https:// or http://: write it as https://crdb-1:8080
    exporter.yml:9:39: clusters[6].cluster_api.urls[0]: "<secret>@crdb:8080" holds a user or a password: remove them, or move them to username and password_file
    exporter.yml:9:71: clusters[6].cluster_api.urls[1]: "<secret>@a:1" holds a user or a password: remove them, or move them to username and password_file
    exporter.yml:9:89: clusters[6].cluster_api.urls[2]: "<secret>@b:1" holds a user or a password: remove them, or move them to username and password_file
    exporter.yml:10:39: clusters[7].cluster_api.urls[0]: "<secret>@crdb:8080" does not begin with https:// or http://: write it as https://crdb-1:8080
    exporter.yml:10:63: clusters[7].cluster_api.urls[1]: "https://a:1/?<secret>" has a query or a fragment: remove everything from the ? or # on
    exporter.yml:10:83: clusters[7].cluster_api.urls[2]: "https://b:1/#f" has a query or a fragment: remove everything from the ? or # on
    exporter.yml:11:38: clusters[8].cluster_api.urls: "https://<secret>@crdb:8080" is not a list: write it as [value, value]
    exporter.yml:12:38: clusters[9].cluster_api.urls: http:// and https:// are mixed: use one of them for all nodes
    exporter.yml:13:38: clusters[10].cluster_api.urls: a URL is listed twice: remove one
    exporter.yml:14:55: clusters[11].cluster_api.session_headers: unknown key "session_headers"; expected urls, username, password, password_file, password_env, token, token_file, token_env, virtual_cluster, tls, timeout, max_concurrent_requests, max_response_bytes, min_rate, compression, protobuf
    exporter.yml:14:94: clusters[11].cluster_api.virtual_cluster: "a b" is not the name of a virtual cluster
    exporter.yml:15:28: clusters[12].cloud_api: the key "cluster_id" is missing: set it (or --cloud.cluster-id)
    exporter.yml:15:28: clusters[12].cloud_api: a token is missing: set token_file, token_env or token
    exporter.yml:16:56: clusters[13].cloud_api.token_env: 5 is not text: put it in quotes
    exporter.yml:17:52: clusters[14].cloud_api.cluster_id: "a/b" is not the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa
    exporter.yml:17:70: clusters[14].cloud_api.api_version: "v1" is not a version of the Cloud API: write it as 2024-09-16
    exporter.yml:17:79: clusters[14].cloud_api.url: "https://x?<secret>" has a query or a fragment: remove everything from the ? or # on
    exporter.yml:18:78: clusters[15].collectors.nodes: 5 is not a map: expected enabled, interval, timeout, max_age, max_duty, max_series, page_limit, metrics
    "
  `);
});

test('keys that contradict each other and files that cannot be used are reported', async () => {
  const loading = loadText(CONTRADICTIONS, { files: { client: 'x' } });
  const problems = await problemsOf(loading);
  expect(`\n${problems.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:3:13: clusters[1].name: the name "a1" is taken by the cluster in line 2: names must differ
    exporter.yml:4:5: clusters[2]: a cluster needs cluster_api or cloud_api or both
    exporter.yml:5:71: clusters[3].cluster_api.tls.ca_file: cannot read the file nope.crt: there is no such file
    exporter.yml:6:73: clusters[4].cluster_api.tls.cert_file: cert_file without key_file: a client certificate needs both
    exporter.yml:6:73: clusters[4].cluster_api.tls.cert_file: the file client holds no certificate in PEM form
    exporter.yml:7:72: clusters[5].cluster_api.tls.key_file: key_file without cert_file: a client certificate needs both
    exporter.yml:7:72: clusters[5].cluster_api.tls.key_file: the file client holds no private key in PEM form
    exporter.yml:8:38: clusters[6].cluster_api.urls: 2 URLs with \`route: local\`: name only the node beside this exporter
    exporter.yml:9:28: clusters[7].cloud_api: a token is missing: set token_file, token_env or token
    "
  `);
});

test('two clusters with the same address are warned of, unless they are virtual clusters', async () => {
  const yaml = `clusters:
  - { name: a, cluster_api: { urls: ["https://a:1", "https://b:1"] } }
  - { name: b, cluster_api: { urls: ["https://c:1", "https://b:1/api/v2", "https://a:1"] } }
  - { name: c, cluster_api: { urls: ["https://b:1"], virtual_cluster: app } }
  - { name: d, cloud_api: { cluster_id: x, token: t } }
  - { name: e, cloud_api: { cluster_id: x, token: t } }
  - { name: f, cloud_api: { cluster_id: x, token: t, url: "https://other" } }
`;
  expect(await warningsOf(loadText(yaml))).toEqual([
    'exporter.yml:3:37: clusters[1].cluster_api.urls: the cluster "a" has https://b:1/api/v2, too: both would have the figures of one',
    'exporter.yml:6:41: clusters[4].cloud_api.cluster_id: the cluster "d" has x, too: both would have the figures of one',
  ]);
});

test('a map instead of the list of clusters is reported', async () => {
  expect(await problemsOf(loadText('clusters: { name: prod }\n'))).toEqual([
    'exporter.yml:1:11: clusters: a map is not a list of clusters: begin each with "- name:"',
  ]);
});

test('the other URLs lose the slash at their end alone', async () => {
  const cloud = `${CLOUD}      { token: t, cluster_id: a, url: "https://a/b/" }\n`;
  const { config } = await loadText(`${cloud}    console_url: "http://c:1/db/"\n`);
  const [cluster] = config.clusters;
  expect([cluster?.cloud_api?.url, cluster?.console_url]).toEqual(['https://a/b', 'http://c:1/db']);
});

test.each([
  ['https://crdb:8080', 'https://crdb:8080/api/v2'],
  ['https://crdb:8080/', 'https://crdb:8080/api/v2'],
  ['https://crdb:8080/api/v2', 'https://crdb:8080/api/v2'],
  ['https://crdb:8080/api/v2/', 'https://crdb:8080/api/v2'],
  ['HTTPS://CRDB:443', 'https://crdb/api/v2'],
  ['http://[::1]:8080', 'http://[::1]:8080/api/v2'],
  ['https://proxy/crdb/', 'https://proxy/crdb/api/v2'],
])('the URL %s of a node becomes %s', async (written, url) => {
  const { config } = await loadText(`${API}      urls: ["${written}"]\n`);
  expect(config.clusters[0]?.cluster_api?.urls).toEqual([url]);
});

async function enabledOf(yaml: string): Promise<string[]> {
  const { config } = await loadText(yaml);
  const entries = Object.entries(config.clusters[0]?.collectors ?? {});
  return entries.filter(([, { enabled }]) => enabled).map(([name]) => name);
}

test('a collector is enabled only where its API is configured', async () => {
  const cloud = '{ token: t, cluster_id: a }\n';
  expect(await enabledOf(CLUSTER)).toEqual(defaultCollectors('cluster'));
  expect(await enabledOf(`${CLOUD}      ${cloud}`)).toEqual(defaultCollectors('cloud'));
  expect(await enabledOf(`${CLUSTER}    cloud_api: ${cloud}`)).toEqual(
    defaultCollectors('cluster', 'cloud'),
  );
});

test('with `route: local` only ranges and explicitly enabled collectors are enabled', async () => {
  const local = 'collectors:\n  ranges: { route: local }\n';
  expect(await enabledOf(`${CLUSTER}${local}`)).toEqual(['ranges']);
  expect(await enabledOf(`${CLUSTER}${local}  sessions: { enabled: true }\n`)).toEqual([
    'ranges',
    'sessions',
  ]);
});

test("a cluster's own settings of a collector override single keys of those for all", async () => {
  const { config } = await loadText(`${CLUSTER}    collectors:
      ranges: { interval: 2m, page_limit: 7 }
collectors:
  ranges: { interval: 5m, timeout: 9s, max_age: 1h, max_duty: 0.5, max_series: 512 }
`);
  expect(config.clusters[0]?.collectors['ranges']).toEqual({
    enabled: true,
    interval: 120,
    timeout: 9,
    max_age: 3600,
    max_duty: 0.5,
    max_series: 512,
    page_limit: 7,
    node_timeout: 120,
    descriptor_max_age: 1800,
    concurrency: 2,
    route: 'auto',
    hot_ranges: 20,
    problem_ranges: 20,
    top_tables: 20,
  });
});

test('data may not be too old before the next poll', async () => {
  const text = `${CLUSTER}    collectors:
      ranges: { interval: 10m }
      tables: { max_age: 9m59s }
      users: { max_age: 1m, interval: 1m }
collectors:
  ranges: { interval: 5m, max_age: 5m }
  nodes: { max_age: 29s }
`;
  expect(await problemsOf(loadText(text))).toEqual([
    'exporter.yml:6:27: clusters[0].collectors.ranges.interval: 10m is longer than max_age, 5m: raise that one, too',
    'exporter.yml:7:26: clusters[0].collectors.tables.max_age: 599s is shorter than the interval, 10m: raise max_age, or leave it out',
    'exporter.yml:11:21: collectors.nodes.max_age: 29s is shorter than the interval, 30s: raise max_age, or leave it out',
  ]);
});
