import { expect, test } from 'vitest';
import { problemsOfEach } from './bad-file.ts';
import { loadText, problemsOf } from './loading.ts';

/** One wrong value of each kind, and of some kinds several. */
const BAD = String.raw`log: { level: wran, format: xml }
shard: { index: -1, count: 0, name: "a b" }
web:
  listen_address: ["10137", "h:99999", "unix:", "::1:5"]
  telemetry_path: /probe
  max_requests: 1.5
  max_probes: "4"
clusters:
  - name: 5
    poll: yes
    cluster_api:
      urls: ["http://127.0.0.1:1"]
      timeout:
      max_concurrent_requests: -1
      max_response_bytes: 2GB
      min_rate: { s: 5 }
collectors:
  nodes: { interval: 999ms, timeout: 30, max_age: -30s, max_duty: 0 }
  ranges: { max_duty: 1.1, timeout: 0s }
  sessions:
    max_duty: .nan
    application_rewrite:
      - { regex: a }
      - b
      - { regexp: a, replacement: 5 }
  users: { max_series: 499, interval: 1y }
  tables: { tables: [rides, a.b.c.d, movr.rides] }
`;

test('each wrong value is reported at its place, with what it should be', async () => {
  expect(`\n${(await problemsOf(loadText(BAD))).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:1:15: log.level: "wran" is not one of debug, info, warn, error; did you mean "warn"?
    exporter.yml:1:29: log.format: "xml" is not one of logfmt, json
    exporter.yml:2:17: shard.index: -1 is too small: at least 0
    exporter.yml:2:28: shard.count: 0 is too small: at least 1
    exporter.yml:2:37: shard.name: "a b" is not a shard name: write at most 63 letters, digits, ".", "_" or "-", not a number
    exporter.yml:4:20: web.listen_address[0]: "10137" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path
    exporter.yml:4:29: web.listen_address[1]: "h:99999" has a port that is too large: at most 65535
    exporter.yml:4:40: web.listen_address[2]: "unix:" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path
    exporter.yml:4:49: web.listen_address[3]: "::1:5" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path
    exporter.yml:5:19: web.telemetry_path: "/probe" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:6:17: web.max_requests: 1.5 is not a whole number
    exporter.yml:7:15: web.max_probes: "4" is not a whole number: remove the quotes
    exporter.yml:9:11: clusters[0].name: 5 is not text: put it in quotes
    exporter.yml:10:11: clusters[0].poll: "yes" is neither true nor false
    exporter.yml:13:15: clusters[0].cluster_api.timeout: nothing is set: give the key a value or remove it
    exporter.yml:14:32: clusters[0].cluster_api.max_concurrent_requests: -1 is too small: at least 1
    exporter.yml:15:27: clusters[0].cluster_api.max_response_bytes: "2GB" is not a size: write it with a binary unit, as 2GiB, 512MiB or 16KiB
    exporter.yml:16:17: clusters[0].cluster_api.min_rate: a map is not a single value
    exporter.yml:18:22: collectors.nodes.interval: "999ms" is too small: at least 1s
    exporter.yml:18:38: collectors.nodes.timeout: 30 is not a duration: write it with units, as 30s, 1m30s or 500ms
    exporter.yml:18:51: collectors.nodes.max_age: "-30s" is not a duration: write it with units, as 30s, 1m30s or 500ms
    exporter.yml:18:67: collectors.nodes.max_duty: 0 is too small: it must be more than 0
    exporter.yml:19:23: collectors.ranges.max_duty: 1.1 is too large: at most 1
    exporter.yml:19:37: collectors.ranges.timeout: "0s" is too small: at least 100ms
    exporter.yml:21:15: collectors.sessions.max_duty: NaN is not a number
    exporter.yml:23:9: collectors.sessions.application_rewrite[0]: the key "replacement" is missing: set it
    exporter.yml:24:9: collectors.sessions.application_rewrite[1]: "b" is not a map: expected regex, replacement
    exporter.yml:25:9: collectors.sessions.application_rewrite[2]: the key "regex" is missing: set it
    exporter.yml:25:11: collectors.sessions.application_rewrite[2].regexp: unknown key "regexp"; did you mean "regex"?
    exporter.yml:25:35: collectors.sessions.application_rewrite[2].replacement: 5 is not text: put it in quotes
    exporter.yml:26:24: collectors.users.max_series: 499 is too small: at least 500
    exporter.yml:26:39: collectors.users.interval: "1y" is too large: at most 10d
    exporter.yml:27:22: collectors.tables.tables[0]: "rides" is not database.schema.table, or database.table in the schema public, as movr.public.rides
    exporter.yml:27:29: collectors.tables.tables[1]: "a.b.c.d" is not database.schema.table, or database.table in the schema public, as movr.public.rides
    "
  `);
});

const CLUSTER = 'clusters: [{ name: a, cluster_api: { urls: ["http://127.0.0.1:1"] } }]\n';
const PATHS = ['metrics', '/', '/-/metrics', '/config', '/sd/x', '/a?b', '/a/'];
const BAD_ALONE = [
  'web: { listen_address: [] }',
  'web: { listen_address: ":1" }',
  'shard: { index: 2, count: 2 }',
  ...PATHS.map((path) => `web: { telemetry_path: ${path} }`),
  ...['3', '"3"', 'é', 'x'.repeat(64)].map((name) => `shard: { name: ${name} }`),
];

test('what is wrong alone is reported in the same way', async () => {
  const files = BAD_ALONE.map((yaml) => `${yaml}\n${CLUSTER}`);
  expect(await problemsOfEach(files)).toMatchInlineSnapshot(`
    "
    exporter.yml:1:24: web.listen_address: the list is empty: add at least one value
    exporter.yml:1:24: web.listen_address: ":1" is not a list: write it as [value, value]
    exporter.yml:1:17: shard.index: the index 2 is not below the count 2: shards count from 0 to 1
    exporter.yml:1:24: web.telemetry_path: "metrics" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:24: web.telemetry_path: "/" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:24: web.telemetry_path: "/-/metrics" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:24: web.telemetry_path: "/config" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:24: web.telemetry_path: "/sd/x" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:24: web.telemetry_path: "/a?b" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:24: web.telemetry_path: "/a/" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken
    exporter.yml:1:16: shard.name: 3 is not text: put it in quotes
    exporter.yml:1:16: shard.name: "3" is not a shard name: write at most 63 letters, digits, ".", "_" or "-", not a number
    exporter.yml:1:16: shard.name: "é" is not a shard name: write at most 63 letters, digits, ".", "_" or "-", not a number
    exporter.yml:1:16: shard.name: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is not a shard name: write at most 63 letters, digits, ".", "_" or "-", not a number
    "
  `);
});

const BAD_REWRITES = String.raw`clusters:
  - name: a
    cluster_api: { urls: ["http://127.0.0.1:1"] }
    collectors: { sessions: { application_rewrite: [{ regex: "a(?=b)", replacement: "" }] } }
collectors:
  sessions:
    application_rewrite:
      - { regex: a, replacement: x }
      - { regex: (a)\1, replacement: x }
`;

test('an expression that the engine refuses is reported, that of a cluster too', async () => {
  expect(`\n${(await problemsOf(loadText(BAD_REWRITES))).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    exporter.yml:4:62: clusters[0].collectors.sessions.application_rewrite[0].regex: "a(?=b)" cannot be used: error parsing regexp: invalid or unsupported Perl syntax: \`(?=\`; the syntax is that of RE2, without lookaround and backreferences
    exporter.yml:9:18: collectors.sessions.application_rewrite[1].regex: "(a)\\\\1" cannot be used: error parsing regexp: invalid escape sequence: \`\\1\`; the syntax is that of RE2, without lookaround and backreferences
    "
  `);
});
