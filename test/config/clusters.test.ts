import { expect, test } from 'vitest';
import { defaultCollectors } from '../support/collectors.ts';
import { API, CLUSTER, testBadFiles } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

const CLOUD = 'clusters:\n  - name: prod\n    cloud_api:\n';

testBadFiles([
  [
    'two clusters of one name',
    `${CLUSTER}  - name: prod\n    cluster_api: { urls: ["https://b:1"] }\n`,
    [
      '5:11: clusters[1].name: the name "prod" is taken by the cluster in line 2: names must differ',
    ],
  ],
  [
    'a cluster without name',
    'clusters:\n  - cluster_api: { urls: ["https://b:1"] }\n',
    ['2:5: clusters[0]: the key "name" is missing: set it (or --cluster.name)'],
  ],
  [
    'a cluster without API',
    'clusters:\n  - name: prod\n',
    ['2:5: clusters[0]: a cluster needs cluster_api or cloud_api or both'],
  ],
  [
    'a name instead of a cluster',
    'clusters: [prod]\n',
    [
      '1:12: clusters[0]: "prod" is not a map: expected name, console_url, poll, cluster_api, cloud_api, collectors',
    ],
  ],
  [
    'a map instead of clusters',
    'clusters: { name: prod }\n',
    ['1:11: clusters: a map is not a list of clusters: begin each with "- name:"'],
  ],
  [
    'a name that begins with a space',
    API.replace('prod', '" prod"') + '      urls: ["https://b:1"]\n',
    [
      '2:11: clusters[0].name: " prod" is not a name of at most 128 printable characters without a space at either end',
    ],
  ],
  [
    'a cluster API without URLs',
    `${API}      timeout: 3s\n`,
    ['4:7: clusters[0].cluster_api: the key "urls" is missing: set it (or --cluster.url)'],
  ],
  [
    'an empty list of URLs',
    `${API}      urls: []\n`,
    ['4:13: clusters[0].cluster_api.urls: the list is empty: add at least one value'],
  ],
  [
    'an empty URL',
    `${API}      urls: [""]\n`,
    ['4:14: clusters[0].cluster_api.urls[0]: "" is empty: give the key a value or remove it'],
  ],
  [
    'a URL that is none',
    `${API}      urls: ["https://a:port"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "https://a:port" is not a valid URL: write it as https://crdb-1:8080',
    ],
  ],
  [
    'a URL without scheme',
    `${API}      urls: ["crdb:8080"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "crdb:8080" does not begin with https:// or http://: write it as https://crdb-1:8080',
    ],
  ],
  [
    'a URL of another scheme',
    `${API}      urls: ["ftp://crdb", "xhttp://crdb"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "ftp://crdb" does not begin with https:// or http://: write it as https://crdb-1:8080',
      '4:28: clusters[0].cluster_api.urls[1]: "xhttp://crdb" does not begin with https:// or http://: write it as https://crdb-1:8080',
    ],
  ],
  [
    'a URL with a password',
    `${API}      urls: ["https://me:hunter2@crdb:8080"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "<secret>@crdb:8080" holds a user or a password: move them to username and password_file',
    ],
  ],
  [
    'a user or a password alone',
    `${API}      urls: ["https://me@a:1", "https://:hunter2@b:1"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "<secret>@a:1" holds a user or a password: move them to username and password_file',
      '4:32: clusters[0].cluster_api.urls[1]: "<secret>@b:1" holds a user or a password: move them to username and password_file',
    ],
  ],
  [
    'a password without scheme',
    `${API}      urls: ["me:hunter2@crdb:8080"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "<secret>@crdb:8080" does not begin with https:// or http://: write it as https://crdb-1:8080',
    ],
  ],
  [
    'a URL with a password instead of a list',
    `${API}      urls: https://me:hunter2@crdb:8080\n`,
    [
      '4:13: clusters[0].cluster_api.urls: "https://<secret>@crdb:8080" is not a list: write it as [value, value]',
    ],
  ],
  [
    'a query or a fragment',
    `${API}      urls: ["https://a:1/?x=1", "https://b:1/#f"]\n`,
    [
      '4:14: clusters[0].cluster_api.urls[0]: "https://a:1/?x=1" has a query or a fragment: remove everything from the ? or # on',
      '4:34: clusters[0].cluster_api.urls[1]: "https://b:1/#f" has a query or a fragment: remove everything from the ? or # on',
    ],
  ],
  [
    'a mix of schemes',
    `${API}      urls: ["https://a:1", "http://b:1"]\n`,
    [
      '4:13: clusters[0].cluster_api.urls: http:// and https:// are mixed: use one of them for all nodes',
    ],
  ],
  [
    'a URL that is listed twice',
    `${API}      urls: ["https://a:1", "https://a:1/api/v2/"]\n`,
    ['4:13: clusters[0].cluster_api.urls: a URL is listed twice: remove one'],
  ],
  [
    'a key that was removed',
    `${CLUSTER}      session_headers: [X-Cockroach-API-Session]\n`,
    [
      '5:7: clusters[0].cluster_api.session_headers: the key "session_headers" was removed in 0.1.0: the token is sent in X-Cockroach-API-Session and X-Service-API-Session; remove the key',
    ],
  ],
  [
    'a limit of series for all collectors, which was removed',
    `${CLUSTER}max_series: 300000\n`,
    [
      '5:1: max_series: the key "max_series" was removed in 0.1.0: each collector has a limit of its own, 250000 by default; remove the key, or set collectors.nodes.max_series',
    ],
  ],
  [
    'what is no name of a virtual cluster',
    `${CLUSTER}      virtual_cluster: "a b"\n`,
    ['5:24: clusters[0].cluster_api.virtual_cluster: "a b" is not the name of a virtual cluster'],
  ],
  [
    'a certificate that is not there',
    `${CLUSTER}      tls: { ca_file: nope.crt }\n`,
    [
      '5:23: clusters[0].cluster_api.tls.ca_file: cannot read the file nope.crt: there is no such file',
    ],
  ],
  [
    'a certificate without key',
    `${CLUSTER}      tls: { cert_file: client.crt }\n`,
    [
      '5:25: clusters[0].cluster_api.tls.cert_file: cert_file without key_file: a client certificate needs both',
    ],
    { files: { 'client.crt': 'x' } },
  ],
  [
    'a key without certificate',
    `${CLUSTER}      tls: { key_file: client.key }\n`,
    [
      '5:24: clusters[0].cluster_api.tls.key_file: key_file without cert_file: a client certificate needs both',
    ],
    { files: { 'client.key': 'x' } },
  ],
  [
    'a cloud API without its keys',
    `${CLOUD}      url: https://cockroachlabs.cloud\n`,
    [
      '4:7: clusters[0].cloud_api: the key "cluster_id" is missing: set it (or --cloud.cluster-id)',
      '4:7: clusters[0].cloud_api: a token is missing: set token_file, token_env or token',
    ],
  ],
  [
    'a token that is no text',
    `${CLOUD}      { cluster_id: a, token_env: 5 }\n`,
    ['4:35: clusters[0].cloud_api.token_env: 5 is not text: put it in quotes'],
  ],
  [
    'a number for the own settings of a collector',
    `${CLUSTER}    collectors: { nodes: 5 }\ncollectors: { nodes: { interval: 1m } }\n`,
    [
      '5:26: clusters[0].collectors.nodes: 5 is not a map: expected enabled, interval, timeout, max_age, max_duty, max_series, page_limit, metrics',
    ],
  ],
  [
    'a cloud API of wrong values',
    `${CLOUD}      { token: t, cluster_id: a/b, api_version: v1, url: "https://x?y" }\n`,
    [
      '4:31: clusters[0].cloud_api.cluster_id: "a/b" is not the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa',
      '4:49: clusters[0].cloud_api.api_version: "v1" is not a version of the Cloud API: write it as 2024-09-16',
      '4:58: clusters[0].cloud_api.url: "https://x?y" has a query or a fragment: remove everything from the ? or # on',
    ],
  ],
  [
    'a local route to several nodes',
    `${API}      urls: ["https://a:1", "https://b:1"]\ncollectors: { ranges: { route: local } }\n`,
    [
      '4:13: clusters[0].cluster_api.urls: 2 URLs with `route: local`: name only the node beside this exporter',
    ],
  ],
]);

test('the other URLs lose the slash at their end alone, and show their own example', async () => {
  const cloud = `${CLOUD}      { token: t, cluster_id: a, url: "https://a/b/" }\n`;
  const { config } = await loadText(`${cloud}    console_url: "http://c:1/db/"\n`);
  const [cluster] = config.clusters;
  expect([cluster?.cloud_api?.url, cluster?.console_url]).toEqual(['https://a/b', 'http://c:1/db']);
  const bad = `${CLOUD}      { token: t, cluster_id: a, url: a }\n    console_url: b\n`;
  expect(await problemsOf(loadText(bad))).toEqual([
    'exporter.yml:4:39: clusters[0].cloud_api.url: "a" does not begin with https:// or http://: write it as https://cockroachlabs.cloud',
    'exporter.yml:5:18: clusters[0].console_url: "b" does not begin with https:// or http://: write it as https://crdb-1:8080',
  ]);
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
    concurrency: 2,
    route: 'auto',
    hot_ranges: 20,
    problem_ranges: 20,
    top_tables: 20,
  });
});
