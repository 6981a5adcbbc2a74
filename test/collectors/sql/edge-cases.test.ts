import { expect, onTestFinished, test } from 'vitest';
import type { Query } from '../../../src/base/collector-options.ts';
import { sql } from '../../../src/collectors/sql/collector.ts';
import { SampleSet } from '../../../src/metrics/sample-set.ts';
import { renderFamilies } from '../../../src/metrics/snapshot.ts';
import { watch } from '../../e2e/reload-support.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';
import { answering, poll } from '../support.ts';
import { openSimulator, ORDERS, runQueries } from './queries.ts';

const SUCCESS = 'crdb_exporter_sql_query_success';
const COLUMNS = [
  ['state', 'STRING'],
  ['count', 'INT8'],
] as const;

/** A simulator whose table orders has these rows. */
function openWith(
  rows: readonly (readonly unknown[])[],
  columns: readonly (readonly [string, string])[] = COLUMNS,
) {
  return openSimulator({ sqlResults: [{ contains: 'FROM orders', columns, rows }] });
}

function metricOf(name: string): string {
  return `crdb_sql_${name}_count`;
}

/** The settings of the collector with one query. */
function sqlOf(query: object): string {
  return JSON.stringify({ enabled: true, interval: '1s', queries: [query] });
}

const MANY = Array.from({ length: 1001 }, (_, index) => [`s${index}`, index]);

test.each([
  ['1,001 rows', MANY, COLUMNS, 'limit', '1001 rows, more than max_rows (1000)'],
  ['an object as a value', [['a', { b: 1 }]], COLUMNS, 'decode', 'the value count is no number'],
  [
    'an object as a label',
    [[{ b: 1 }, 1]],
    COLUMNS,
    'decode',
    'the label state is an array or an object',
  ],
  ['a list as a value', [['a', [1]]], COLUMNS, 'decode', 'the value count is no number'],
  ['a boolean as a value', [['a', true]], COLUMNS, 'decode', 'the value count is no number'],
  ['1e400', [['a', JSON.rawJSON('1e400')]], COLUMNS, 'decode', 'the value count is no number'],
  [
    'a column twice',
    [['a', 1, 2]],
    [...COLUMNS, ['count', 'INT8']],
    'decode',
    'the result has the column count 2 times',
  ],
] as const)('%s fails the query with its reason', async (_what, rows, columns, reason, message) => {
  const exporter = await runQueries(await openWith(rows, columns), [{ ...ORDERS, max_rows: 1000 }]);
  const failures = { collector: 'sql', reason };
  const seen = await exporter.until(
    (scrape) => (scrape.value('crdb_exporter_poll_failures_total', failures) ?? 0) > 0,
  );
  expect(seen.all('crdb_sql_orders_count')).toEqual([]);
  expect(seen.value(SUCCESS, { query: 'orders' })).toBe(0);
  await expect.poll(() => exporter.log()).toContain(`query orders: ${message}`);
});

test.each([
  ['129 letters', 'x'.repeat(129), 'more than 128 characters.', 'left(state, 128)'],
  [
    '65 emoji',
    '😀'.repeat(65),
    'more than 128 characters, where an emoji counts as two.',
    'left(state, 64)',
  ],
])(
  '%s are too long for a label, and the log says what makes them fit',
  async (_what, label, message, remedy) => {
    const exporter = await runQueries(await openWith([[label, 1]]), [ORDERS]);
    await exporter.until((scrape) => scrape.value(SUCCESS, { query: 'orders' }) === 0);
    await expect.poll(() => exporter.log()).toContain(`the label state has ${message}`);
    expect(exporter.log()).toContain(`Shorten it in SQL, as with ${remedy}.`);
  },
);

test('the log says what switched SHOW RANGES off, in whose place servers run SELECT 1', async () => {
  const simulator = await openSimulator({
    sqlResults: [{ contains: 'SHOW RANGES FROM', columns: [['?column?', 'INT8']], rows: [[1]] }],
  });
  const query = {
    name: 'rides',
    help: 'Ranges of the table rides.',
    sql: 'SELECT count(*) AS ranges FROM [SHOW RANGES FROM TABLE movr.rides]',
    values: { ranges: 'gauge' },
  };
  const exporter = await runQueries(simulator, [query]);
  await exporter.until((scrape) => scrape.value(SUCCESS, { query: 'rides' }) === 0);
  await expect
    .poll(() => exporter.log())
    .toContain('query rides: the server ran SELECT 1 in its place');
  expect(exporter.log()).toContain('SET CLUSTER SETTING ui.database_locality_metadata.enabled');
});

test('a label may have 128 characters, and as emoji, which count as two, 64', async () => {
  const labels = ['x'.repeat(128), '😀'.repeat(64)];
  const exporter = await runQueries(await openWith(labels.map((label) => [label, 1])), [ORDERS]);
  const seen = await exporter.until((scrape) => scrape.all('crdb_sql_orders_count').length === 2);
  expect(seen.all('crdb_sql_orders_count').map((each) => each.labels['state'])).toEqual(labels);
});

test('1,000 rows are published, and of a row that is gone nothing stays', async () => {
  const rows = MANY.slice(0, 1000);
  const exporter = await runQueries(await openWith(rows), [{ ...ORDERS, max_rows: 1000 }]);
  await exporter.until((scrape) => scrape.all('crdb_sql_orders_count').length === 1000);
  rows.splice(0, 999, ['new', 7]);
  const seen = await exporter.until((scrape) => scrape.all('crdb_sql_orders_count').length < 1000);
  const values = seen
    .all('crdb_sql_orders_count')
    .map(({ labels, value }) => [labels['state'], value]);
  expect(values).toEqual([
    ['new', 7],
    ['s999', 999],
  ]);
});

test('a query that a reload removes or changes vanishes at once, even while the cluster is down', async () => {
  const simulator = await openSimulator();
  const yaml = (...queries: readonly object[]) =>
    `clusters:\n${clusterYaml(simulator)}${onlyCollectors({ sql: { interval: '1s', queries } })}`;
  const [kept, removed, changed] = ['kept', 'removed', 'changed'].map((name) => ({
    ...ORDERS,
    name,
  }));
  await using watched = await watch(yaml(kept ?? {}, removed ?? {}, changed ?? {}));
  const { exporter } = watched;
  const names = ['kept', 'removed', 'changed'];
  await exporter.until((scrape) => names.every((name) => scrape.all(metricOf(name)).length === 2));
  await simulator.close();
  const { status } = await watched.reload(yaml(kept ?? {}, { ...changed, help: 'New.' }));
  expect(status).toBe(200);
  const { text } = await exporter.get();
  expect(names.filter((name) => text.includes(metricOf(name)))).toEqual(['kept']);
  expect(text).toContain(`${SUCCESS}{crdb_cluster="sim",query="changed",shard="0"} 0`);
  expect(text).not.toContain('query="removed"');
  expect((await exporter.get('/api/status')).text).not.toContain('"name":"removed"');
});

test.each([
  ['an escape that JSON does not know', String.raw`syntax \x41 error`],
  ['a line break', 'syntax\nerror'],
])('a refusal whose message has %s fails that query alone', async (_what, message) => {
  const simulator = await openSimulator();
  await using proxy = await openProxy(new URL(simulator.clusterUrl).origin, (_url, text) =>
    text.replace(/"message":\s*"[^"]*"/, () => `"message": "${message}"`),
  );
  const exporter = await runQueries({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] }, [
    { ...ORDERS, name: 'broken', sql: 'SELECT count(* FROM orders' },
    ORDERS,
  ]);
  const seen = await exporter.until((scrape) => scrape.value(SUCCESS, { query: 'orders' }) === 1);
  expect(seen.value(SUCCESS, { query: 'broken' })).toBe(0);
  const { text } = await exporter.get('/api/status');
  expect(text).toContain('query broken: the server refused the statement (SQLSTATE ');
});

test('two clusters may have different queries of one name', async () => {
  const a = await openSimulator();
  const b = await openWith([[9]], [['count', 'INT8']]);
  const exporter = await startTestExporter({
    yaml: `${onlyCollectors({})}clusters:
  - name: a
    cluster_api: { urls: ["${a.clusterUrl}"], username: ${a.username}, password: ${a.password} }
    collectors: { sql: ${sqlOf(ORDERS)} }
  - name: b
    cluster_api: { urls: ["${b.clusterUrl}"], username: ${b.username}, password: ${b.password} }
    collectors: { sql: ${sqlOf({ ...ORDERS, help: 'All orders.', labels: [] })} }
`,
  });
  onTestFinished(() => exporter.stop());
  const seen = await exporter.until(
    (scrape) => scrape.all(SUCCESS).filter(({ value }) => value === 1).length === 2,
  );
  expect(seen.value('crdb_sql_orders_count', { crdb_cluster: 'a', state: 'open' })).toBe(3);
  expect(seen.value('crdb_sql_orders_count', { crdb_cluster: 'b' })).toBe(9);
  const { text } = await exporter.get();
  expect(text.match(/^# HELP crdb_sql_orders_count /gm)).toHaveLength(1);
});

/** The query as a configuration has it. */
const CONFIGURED: Query = {
  ...ORDERS,
  database: 'movr',
  timeout: 2,
  max_rows: 100,
  values: { count: 'gauge' },
};

test('a statement is sent with its database and what the server may spend on it', async () => {
  const bodies: unknown[] = [];
  const { api } = answering((_path, body) => {
    bodies.push(JSON.parse(body ?? ''));
    return { execution: { txn_results: [{ columns: [], rows: [] }] } };
  });
  await poll(sql, api, { options: { queries: [CONFIGURED] }, state: sql.createState() });
  expect(bodies).toEqual([
    {
      execute: true,
      application_name: 'crdb-exporter',
      database: 'movr',
      timeout: '2000ms',
      max_result_size: 256 * 1024,
      statements: [{ sql: ORDERS.sql }],
    },
  ]);
});

test('a query that was changed has not run, although one of its name has', () => {
  const ran = { rows: [], failure: undefined, durationSeconds: 0.1, succeededMs: 1 };
  const result = { queries: [{ query: CONFIGURED, ...ran }], failure: undefined, partFailures: [] };
  const successOf = (queries: readonly Query[]): readonly string[] => {
    const set = new SampleSet({});
    sql.lastingSamples?.(result, set, { options: { queries }, shard: '0' });
    return renderFamilies(set).flatMap(({ lines }) => lines.toString().trimEnd().split('\n'));
  };
  expect(successOf([CONFIGURED])).toEqual([expect.stringMatching(/query="orders".* 1$/)]);
  expect(successOf([{ ...CONFIGURED, help: 'New.' }])).toEqual([
    expect.stringMatching(/query="orders".* 0$/),
  ]);
});
