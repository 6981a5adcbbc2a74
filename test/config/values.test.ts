import { API, CLUSTER, testBadFiles } from './bad-file.ts';
import type { BadFile } from './bad-file.ts';

testBadFiles([
  [
    'a word for a boolean',
    `${CLUSTER}    poll: yes\n`,
    ['5:11: clusters[0].poll: "yes" is neither true nor false'],
  ],
  [
    'a number for a text',
    API.replace('prod', '5') + '      urls: ["https://crdb:8080"]\n',
    ['2:11: clusters[0].name: 5 is not text: put it in quotes'],
  ],
  [
    'no value',
    `${CLUSTER}      timeout:\n`,
    ['5:15: clusters[0].cluster_api.timeout: nothing is set: give the key a value or remove it'],
  ],
  [
    'a map for a value',
    `${CLUSTER}      timeout: { s: 5 }\n`,
    ['5:16: clusters[0].cluster_api.timeout: a map is not a single value'],
  ],
  [
    'a duration without unit',
    `${CLUSTER}      timeout: 30\n`,
    [
      '5:16: clusters[0].cluster_api.timeout: 30 is not a duration: write it with units, as 30s, 1m30s or 500ms',
    ],
  ],
  [
    'a negative duration',
    `${CLUSTER}      timeout: -30s\n`,
    [
      '5:16: clusters[0].cluster_api.timeout: "-30s" is not a duration: write it with units, as 30s, 1m30s or 500ms',
    ],
  ],
  [
    'no time at all',
    `${CLUSTER}      timeout: 0s\n`,
    ['5:16: clusters[0].cluster_api.timeout: "0s" is too small: at least 100ms'],
  ],
  [
    'an interval below a second',
    `${CLUSTER}collectors:\n  nodes: { interval: 999ms }\n`,
    ['6:22: collectors.nodes.interval: "999ms" is too small: at least 1s'],
  ],
  [
    'a decimal unit of size',
    `${CLUSTER}      max_response_bytes: 2GB\n`,
    [
      '5:27: clusters[0].cluster_api.max_response_bytes: "2GB" is not a size: write it with a binary unit, as 2GiB, 512MiB or 16KiB',
    ],
  ],
  [
    'a fraction for a whole number',
    `${CLUSTER}      max_concurrent_requests: 1.5\n`,
    ['5:32: clusters[0].cluster_api.max_concurrent_requests: 1.5 is not a whole number'],
  ],
  [
    'a negative number',
    `${CLUSTER}      max_concurrent_requests: -1\n`,
    ['5:32: clusters[0].cluster_api.max_concurrent_requests: -1 is too small: at least 1'],
  ],
  [
    'a number in quotes',
    `${CLUSTER}      max_concurrent_requests: "4"\n`,
    [
      '5:32: clusters[0].cluster_api.max_concurrent_requests: "4" is not a whole number: remove the quotes',
    ],
  ],
  [
    'a share of nothing',
    `${CLUSTER}collectors: { nodes: { max_duty: 0 } }\n`,
    ['5:34: collectors.nodes.max_duty: 0 is too small: it must be more than 0'],
  ],
  [
    'a share of more than all',
    `${CLUSTER}collectors: { nodes: { max_duty: 1.1 } }\n`,
    ['5:34: collectors.nodes.max_duty: 1.1 is too large: at most 1'],
  ],
  [
    'no number',
    `${CLUSTER}collectors: { nodes: { max_duty: .nan } }\n`,
    ['5:34: collectors.nodes.max_duty: NaN is not a number'],
  ],
  [
    'a budget of no series',
    `${CLUSTER}collectors: { users: { max_series: 499 } }\n`,
    ['5:36: collectors.users.max_series: 499 is too small: at least 500'],
  ],
  [
    'a misspelt choice',
    `log: { level: wran }\n${CLUSTER}`,
    ['1:15: log.level: "wran" is not one of debug, info, warn, error; did you mean "warn"?'],
  ],
  [
    'an unknown choice',
    `log: { format: xml }\n${CLUSTER}`,
    ['1:16: log.format: "xml" is not one of logfmt, json'],
  ],
  [
    'wrong addresses',
    `web: { listen_address: ["10137", "h:99999", "unix:", "::1:5"] }\n${CLUSTER}`,
    [
      '1:25: web.listen_address[0]: "10137" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path',
      '1:34: web.listen_address[1]: "h:99999" has a port that is too large: at most 65535',
      '1:45: web.listen_address[2]: "unix:" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path',
      '1:54: web.listen_address[3]: "::1:5" is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path',
    ],
  ],
  [
    'an empty list',
    `web: { listen_address: [] }\n${CLUSTER}`,
    ['1:24: web.listen_address: the list is empty: add at least one value'],
  ],
  [
    'a value for a list',
    `web: { listen_address: ":1" }\n${CLUSTER}`,
    ['1:24: web.listen_address: ":1" is not a list: write it as [value, value]'],
  ],
  ...['metrics', '/', '/-/metrics', '/probe', '/config', '/sd/x', '/a?b', '/a/'].map(
    (path): BadFile => [
      `the telemetry path ${path}`,
      `web: { telemetry_path: ${path} }\n${CLUSTER}`,
      [
        `1:24: web.telemetry_path: "${path}" is not a free path: write it as /metrics; /probe, /sd/, /api/status, /config and /-/ are taken`,
      ],
    ],
  ),
  [
    'what is no table',
    `${CLUSTER}collectors: { tables: { tables: [rides, a.b.c.d, movr.rides] } }\n`,
    [
      '5:34: collectors.tables.tables[0]: "rides" is not database.schema.table, or database.table in the schema public, as movr.public.rides',
      '5:41: collectors.tables.tables[1]: "a.b.c.d" is not database.schema.table, or database.table in the schema public, as movr.public.rides',
    ],
  ],
  [
    'a regular expression that the engine refuses',
    `${CLUSTER}collectors:\n  sessions:\n    application_rewrite:\n      - { regex: (a)\\1, replacement: x }\n      - { regex: "a(?=b)", replacement: "" }\n`,
    [
      '8:18: collectors.sessions.application_rewrite[0].regex: "(a)\\\\1" cannot be used: error parsing regexp: invalid escape sequence: `\\1`; the syntax is that of RE2, without lookaround and backreferences',
      '9:18: collectors.sessions.application_rewrite[1].regex: "a(?=b)" cannot be used: error parsing regexp: invalid or unsupported Perl syntax: `(?=`; the syntax is that of RE2, without lookaround and backreferences',
    ],
  ],
  [
    'half a rewrite',
    `${CLUSTER}collectors:\n  sessions:\n    application_rewrite:\n      - { regex: a }\n      - b\n      - { regexp: a, replacement: 5 }\n`,
    [
      '8:9: collectors.sessions.application_rewrite[0]: the key "replacement" is missing: set it',
      '9:9: collectors.sessions.application_rewrite[1]: "b" is not a map: expected regex, replacement',
      '10:9: collectors.sessions.application_rewrite[2]: the key "regex" is missing: set it',
      '10:11: collectors.sessions.application_rewrite[2].regexp: unknown key "regexp"; did you mean "regex"?',
      '10:35: collectors.sessions.application_rewrite[2].replacement: 5 is not text: put it in quotes',
    ],
  ],
  [
    'a shard beyond the count',
    `shard: { index: 2, count: 2 }\n${CLUSTER}`,
    ['1:17: shard.index: the index 2 is not below the count 2: shards count from 0 to 1'],
  ],
  [
    'shards below nothing',
    `shard: { index: -1, count: 0 }\n${CLUSTER}`,
    [
      '1:17: shard.index: -1 is too small: at least 0',
      '1:28: shard.count: 0 is too small: at least 1',
    ],
  ],
  ...['"3"', '"a b"', 'é', 'x'.repeat(64)].map((name): BadFile => [
    `the shard name ${name}`,
    `shard: { name: ${name} }\n${CLUSTER}`,
    [
      `1:16: shard.name: "${name.replaceAll('"', '')}" is not a shard name: write at most 63 letters, digits, ".", "_" or "-", not a number`,
    ],
  ]),
  [
    'a number as shard name',
    `shard: { name: 3 }\n${CLUSTER}`,
    ['1:16: shard.name: 3 is not text: put it in quotes'],
  ],
]);
