import { expect, test } from 'vitest';
import { loadText, problemsOf } from './loading.ts';

/** A configuration with these lines below `queries:`, which begin in line 5. */
function withQueries(...lines: readonly string[]): string {
  return [
    'clusters: [{ name: a, cluster_api: { urls: ["http://127.0.0.1:8080"] } }]',
    'collectors:',
    '  sql:',
    '    queries:',
    ...lines.map((line) => `      ${line}`),
    '',
  ].join('\n');
}

const GOOD = '- { name: orders, help: Orders., sql: SELECT 1 AS one, values: { one: gauge } }';

test('a query needs a name, a help text, a statement and a value', async () => {
  const { config } = await loadText(withQueries(GOOD));
  expect(config.clusters[0]?.collectors['sql']?.['queries']).toEqual([
    {
      name: 'orders',
      help: 'Orders.',
      sql: 'SELECT 1 AS one',
      database: 'system',
      labels: [],
      values: { one: 'gauge' },
      timeout: 5,
      max_rows: 100,
    },
  ]);
  expect(await problemsOf(loadText(withQueries('- name: orders')))).toEqual([
    'exporter.yml:5:9: collectors.sql.queries[0]: the key "help" is missing: set it',
    'exporter.yml:5:9: collectors.sql.queries[0]: the key "sql" is missing: set it',
    'exporter.yml:5:9: collectors.sql.queries[0]: the key "values" is missing: set it',
  ]);
});

test('only statements that read are accepted, and a message shows none', async () => {
  const reading = [
    'show jobs',
    '  (SELECT 1)',
    'WITH a AS (SELECT 1) TABLE a',
    'VALUES (1)',
    'TABLE t',
  ];
  for (const sql of reading) {
    const query = { name: 'a', help: 'A.', sql, values: { a: 'gauge' } };
    await loadText(withQueries(`- ${JSON.stringify(query)}`));
  }
  for (const sql of ['DELETE FROM canary', 'SELECTED', 'EXPLAIN SELECT canary', '', '-- x']) {
    const query = { name: 'a', help: 'A.', sql, values: { a: 'gauge' } };
    const [problem = ''] = await problemsOf(loadText(withQueries(`- ${JSON.stringify(query)}`)));
    expect(problem).toMatch(
      /^exporter\.yml:5:\d+: collectors\.sql\.queries\[0\]\.sql: the statement must begin with SELECT, SHOW, WITH, VALUES or TABLE$/,
    );
  }
});

test('wrong names, columns, types and settings are reported at once, each at its place', async () => {
  const problems = await problemsOf(
    loadText(
      withQueries(
        '- { name: Orders, help: A., sql: SELECT 1, values: { a: gauge } }',
        '- { name: a, help: "", sql: SELECT 1, values: { a: summary } }',
        '- { name: b, help: A., sql: SELECT 1, values: {}, max_rows: 5000 }',
        '- { name: c, help: A., sql: SELECT 1, values: [a], labels: [B] }',
        '- { name: d, help: A., sql: SELECT 1, values: { a: gauge }, limit: 3 }',
      ),
    ),
  );
  expect(problems).toEqual([
    'exporter.yml:5:17: collectors.sql.queries[0].name: "Orders" is not a name of lower case letters, digits and _, as schedules_paused',
    'exporter.yml:6:26: collectors.sql.queries[1].help: "" is empty: give the key a value or remove it',
    'exporter.yml:6:58: collectors.sql.queries[1].values.a: "summary" is not one of gauge, counter',
    'exporter.yml:7:53: collectors.sql.queries[2].values: the map is empty: name a column with numbers',
    'exporter.yml:7:67: collectors.sql.queries[2].max_rows: 5000 is too large: at most 1000',
    'exporter.yml:8:53: collectors.sql.queries[3].values: not a map of columns: write it as { schedules: gauge }',
    'exporter.yml:8:67: collectors.sql.queries[3].labels[0]: "B" is not a name of lower case letters, digits and _, as schedules_paused',
    'exporter.yml:9:67: collectors.sql.queries[4].limit: unknown key "limit"; expected name, help, sql, database, labels, values, interval, timeout, max_rows',
  ]);
});

/** The start of a problem of the list of queries. */
function at(place: string): string {
  return `exporter.yml:${place}: collectors.sql.queries`;
}

test('names, metrics, labels and columns of all queries are compared', async () => {
  const problems = await problemsOf(
    loadText(
      withQueries(
        '- { name: a, help: A., sql: SELECT 1, values: { b_c: gauge } }',
        '- { name: a_b, help: A., sql: SELECT 1, values: { c: counter, Big: gauge } }',
        '- { name: a, help: A., sql: SELECT 1, values: { x_total: counter, y_total: gauge } }',
        '- { name: b, help: A., sql: SELECT 1, labels: [x, job, x, y], values: { y: gauge } }',
        '- { name: c, help: A., sql: SELECT 1, values: { y: gauge }, interval: 10s, timeout: 1m }',
      ),
    ),
  );
  expect(problems).toEqual([
    `${at('6:57')}[1].values.c: crdb_sql_a_b_c is a metric of the query in line 5, too: rename one of them`,
    `${at('6:69')}[1].values.Big: "Big" cannot be part of a metric's name: rename the column in SQL, as with AS total_bytes`,
    `${at('7:17')}[2].name: the name "a" is taken by the query in line 5: names must differ`,
    `${at('7:55')}[2].values.x_total: "x_total": the name of a counter gets _total by itself: rename the column`,
    `${at('7:73')}[2].values.y_total: "y_total": only the name of a counter ends in _total: rename the column, or make it a counter without _total`,
    `${at('8:57')}[3].labels[1]: the label "job" is set by the exporter or by Prometheus: rename the column in SQL with AS`,
    `${at('8:62')}[3].labels[2]: the label "x" is listed twice: remove one`,
    `${at('8:65')}[3].labels[3]: "y" is a label and a value: keep one of them`,
    `${at('9:77')}[4].interval: 10s is shorter than the interval of the collector, 1m: shorten that one, too`,
    `${at('9:91')}[4].timeout: 1m is longer than the timeout of a poll of the collector, 30s: raise that one, too`,
  ]);
});

test('queries are compared with the settings of each cluster', async () => {
  const yaml = `clusters:
  - name: a
    cluster_api: { urls: ["http://127.0.0.1:8080"] }
    collectors:
      sql: { interval: 5m }
collectors:
  sql:
    queries:
      - { name: a, help: A., sql: SELECT 1, values: { a: gauge }, interval: 2m }
`;
  expect(await problemsOf(loadText(yaml))).toEqual([
    'exporter.yml:9:77: collectors.sql.queries[0].interval: 2m is shorter than the interval of the collector, 5m: shorten that one, too',
  ]);
});

test('names that promtool refuses are warnings', async () => {
  const { warnings } = await loadText(
    withQueries(
      '- { name: a, help: A., sql: SELECT 1, labels: [le], values: { count: gauge, row_sum: gauge } }',
      '- { name: b, help: A., sql: SELECT 1, values: { count: counter, account: gauge, buckets: gauge } }',
    ),
  );
  expect(
    warnings.map(({ position, message }) => `${position.line}:${position.column} ${message}`),
  ).toEqual([
    '5:54 only histograms and summaries have the label "le", and promtool refuses it: rename the column in SQL with AS',
    '5:69 crdb_sql_a_count: only histograms end in _count, and promtool refuses it: rename the column in SQL, as with AS rows',
    '5:83 crdb_sql_a_row_sum: only histograms end in _sum, and promtool refuses it: rename the column in SQL, as with AS rows',
  ]);
});

test('a metric has one type in all clusters', async () => {
  const yaml = `clusters:
  - name: a
    cluster_api: { urls: ["http://127.0.0.1:8080"] }
    collectors: { sql: { queries: [{ name: a, help: A., sql: SELECT 1, labels: [], values: { b: gauge } }] } }
  - name: b
    cluster_api: { urls: ["http://127.0.0.1:8081"] }
    collectors: { sql: { queries: [{ name: a, help: A., sql: SELECT 1, labels: [], values: { b: counter } }] } }
`;
  expect(await problemsOf(loadText(yaml))).toEqual([
    'exporter.yml:7:94: clusters[1].collectors.sql.queries[0].values.b: crdb_sql_a_b is a counter here and a gauge in line 4: a metric has one type in all clusters',
  ]);
  await loadText(yaml.replace('b: counter', 'c: counter'));
});
