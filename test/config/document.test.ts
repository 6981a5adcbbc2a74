import { expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { ConfigError } from '../../src/config/issues.ts';
import { CLUSTER, NO_CLUSTER, testBadFiles } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

testBadFiles([
  [
    'an unknown key',
    'clusterz: []\n',
    [
      '1:1: clusterz: unknown key "clusterz"; did you mean "clusters"?',
      `1:1: clusters: ${NO_CLUSTER}`,
    ],
  ],
  [
    'an unknown key of a section',
    `${CLUSTER}      timout: 30s\n`,
    ['5:7: clusters[0].cluster_api.timout: unknown key "timout"; did you mean "timeout"?'],
  ],
  [
    'an unknown key that is like no other',
    `${CLUSTER}    colour: red\n`,
    [
      '5:5: clusters[0].colour: unknown key "colour"; expected name, console_url, poll, cluster_api, cloud_api, collectors',
    ],
  ],
  [
    'an unknown collector',
    `${CLUSTER}collectors:\n  node: { enabled: true }\n`,
    ['6:3: collectors.node: unknown key "node"; did you mean "nodes"?'],
  ],
  [
    'an unknown option of a collector',
    `${CLUSTER}collectors:\n  nodes: { page_limits: 1 }\n`,
    ['6:12: collectors.nodes.page_limits: unknown key "page_limits"; did you mean "page_limit"?'],
  ],
  [
    'an unknown key of an override',
    `${CLUSTER}    collectors:\n      ranges: { intervall: 1m }\n`,
    [
      '6:17: clusters[0].collectors.ranges.intervall: unknown key "intervall"; did you mean "interval"?',
    ],
  ],
  [
    'two unknown keys of one map, and a wrong value beside them',
    `${CLUSTER}web: { colour: red, telemetry_path: x, max_request: 2 }\n`,
    [
      '5:8: web.colour: unknown key "colour"; expected listen_address, external_url, telemetry_path, config_file, enable_lifecycle, max_requests, max_probes, protect_probes, systemd_socket',
      '5:37: web.telemetry_path: "x" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config and /-/ are taken',
      '5:40: web.max_request: unknown key "max_request"; did you mean "max_requests"?',
    ],
  ],
  [
    'a key of the name __proto__',
    `${CLUSTER}__proto__: { name: prod }\n`,
    [
      '5:1: __proto__: unknown key "__proto__"; expected web, log, shard, config, thresholds, links, clusters, collectors',
    ],
  ],
  [
    'an unknown key of an alias, once and at its anchor',
    `${CLUSTER.replace('cluster_api:', 'cluster_api: &api')}      timout: 1s\n  - { name: b, cluster_api: *api }\n`,
    ['5:7: clusters[0].cluster_api.timout: unknown key "timout"; did you mean "timeout"?'],
  ],
  [
    'a key that is set twice',
    `${CLUSTER}      timeout: 1s\n      timeout: 2s\n`,
    ['6:7: not valid YAML: the key "timeout" is set twice: remove one'],
  ],
  [
    'a tab',
    'web:\n\ttelemetry_path: /m\n',
    ['2:1: not valid YAML: a tab cannot indent: use spaces'],
  ],
  [
    'a bracket that is not closed',
    'web: { telemetry_path: /m\nlog: 5\n',
    [
      '2:1: not valid YAML: Flow map in block collection must be sufficiently indented and end with a }',
    ],
  ],
  [
    'a second document',
    'log: {}\n---\nweb: {}\n',
    ['2:1: not valid YAML: more than one document: remove the line ---'],
  ],
  [
    'a text that begins with an exclamation mark',
    `${CLUSTER}      password: !hunter2\n`,
    ['5:17: not valid YAML: an unknown tag: put a text that begins with ! in quotes'],
  ],
  [
    'an unknown escape',
    String.raw`web: "\h"`,
    [
      '1:7: not valid YAML: an unknown escape in double quotes: use single quotes or double the backslash',
    ],
  ],
  [
    'a key that is a list',
    `${CLUSTER}? [a, b]\n: 5\n`,
    ['5:3: only a text can be a key: put one that begins with { or [ in quotes'],
  ],
  [
    'a key that is a map, as of a template that nobody filled in,',
    `${CLUSTER}      password: {{ password }}\n`,
    ['5:18: only a text can be a key: put one that begins with { or [ in quotes'],
  ],
  [
    'an alias inside its own anchor',
    'clusters: &a [*a]\n',
    ['1:15: this alias names no anchor that ends above it'],
  ],
  [
    'an alias of nothing',
    'clusters: *a\n',
    ['1:11: this alias names no anchor that ends above it'],
  ],
  [
    'a text instead of a map',
    'hello\n',
    ['1:1: expected keys and values such as `clusters:` at the top'],
  ],
  [
    'a list instead of a map',
    '- a\n',
    ['1:1: expected keys and values such as `clusters:` at the top'],
  ],
  [
    'a value for a section',
    `web: 5\n${CLUSTER}`,
    [
      '1:6: web: 5 is not a map: expected listen_address, external_url, telemetry_path, config_file, enable_lifecycle, max_requests, max_probes, protect_probes, systemd_socket',
    ],
  ],
  [
    'a list for a section',
    `log: [a]\n${CLUSTER}`,
    ['1:6: log: a list is not a map: expected level, format'],
  ],
  [
    'an empty list for a section',
    `log: []\n${CLUSTER}`,
    ['1:6: log: a list is not a map: expected level, format'],
  ],
  [
    'an empty list for a cluster and for its collectors',
    'clusters: [[], { name: a, cluster_api: { urls: [http://127.0.0.1:1] }, collectors: [] }]\n',
    [
      '1:12: clusters[0]: a list is not a map: expected name, console_url, poll, cluster_api, cloud_api, collectors',
      `1:84: clusters[1].collectors: a list is not a map: expected ${COLLECTORS.map(({ name }) => name).join(', ')}`,
    ],
  ],
]);

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

testBadFiles([
  [
    'what a merge key takes over',
    'clusters:\n  - &a\n    name: a\n    cluster_api: &api { urls: ["https://a:1"], timeout: 1 }\n  - name: b\n    cluster_api:\n      <<: *api\n      min_rat: 1B\n',
    [
      '4:57: clusters[0].cluster_api.timeout: 1 is not a duration: write it with units, as 30s, 1m30s or 500ms',
      '8:7: clusters[1].cluster_api.min_rat: unknown key "min_rat"; did you mean "min_rate"?',
    ],
  ],
  [
    'a merge key without an anchor',
    `${CLUSTER}      <<: 5\n`,
    [
      '5:11: << takes over the keys of maps with an anchor: write `<<: *name` or `<<: [*one, *two]`',
    ],
  ],
]);

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
