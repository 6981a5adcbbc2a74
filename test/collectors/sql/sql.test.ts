import { describe, expect, test } from 'vitest';
import type { Quirks } from '../../../simulator/quirks.ts';
import type { Status } from '../../../src/status/findings/status.ts';
import { OPTIONS_OF_DIALECTS } from './dialects.ts';
import { openSimulator, ORDERS, runQueries } from './queries.ts';

const SUCCESS = 'crdb_exporter_sql_query_success';

/** The value of the only query, `orders`, of success. */
const isGood = { query: 'orders', shard: '0' };

describe.each(OPTIONS_OF_DIALECTS)('in the dialect $dialect', (options) => {
  test('each row is a sample for each value, with the labels of the query', async () => {
    const exporter = await runQueries(await openSimulator(options), [
      ORDERS,
      { ...ORDERS, name: 'paid', values: { count: 'counter' } },
    ]);
    const seen = await exporter.until((scrape) => scrape.value(SUCCESS, { query: 'paid' }) === 1);
    expect(seen.value('crdb_sql_orders_count', { crdb_cluster: 'sim', state: 'open' })).toBe(3);
    expect(seen.value('crdb_sql_orders_count', { state: 'paid' })).toBe(40);
    expect(seen.value('crdb_sql_paid_count_total', { state: 'paid' })).toBe(40);
    expect(seen.value(SUCCESS, isGood)).toBe(1);
    expect(seen.value('crdb_exporter_collector_items', { collector: 'sql' })).toBe(4);
    const { text } = await exporter.get();
    expect(text).toContain('# HELP crdb_sql_orders_count Orders by state.');
    expect(text).toContain('# TYPE crdb_sql_paid_count_total counter');
  });

  test('an error of the server fails the query, whatever the member is called', async () => {
    const exporter = await runQueries(
      await openSimulator({ ...options, quirks: { sqlResult: 'refused' } }),
      [ORDERS],
    );
    const seen = await exporter.until(
      (scrape) =>
        (scrape.value('crdb_exporter_poll_failures_total', { collector: 'sql', reason: 'http' }) ??
          0) > 0,
    );
    expect(seen.all('crdb_sql_orders_count')).toEqual([]);
    expect(seen.value(SUCCESS, isGood)).toBe(0);
  });
});

test('the request is one POST of one statement with its limits', async () => {
  const simulator = await openSimulator();
  const exporter = await runQueries(simulator, [{ ...ORDERS, database: 'movr', timeout: '2s' }]);
  await exporter.until((scrape) => scrape.value(SUCCESS, isGood) === 1);
  const sent = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'sql');
  expect(sent[0]).toMatchObject({ method: 'POST', path: '/api/v2/sql/', status: 200 });
});

/** What a result without care is called in the simulator, with the reason and the message. */
const BAD: readonly (readonly [Quirks['sqlResult'], reason: string, message: string])[] = [
  ['text', 'decode', 'query orders: the value count is no number'],
  ['nan', 'decode', 'query orders: the value count is no number'],
  ['huge', 'decode', 'query orders: the value count is a large integer'],
  ['duplicate', 'decode', 'query orders: two rows have the same labels'],
  ['missing', 'decode', 'query orders: the result has no column count'],
  ['partial', 'http', 'query orders: the server refused the statement (SQLSTATE 40001)'],
  ['refused', 'http', 'query orders: the server refused the statement (SQLSTATE XX000)'],
  ['twice', 'decode', 'query orders: the response is not the result of one statement'],
];

describe('a bad result is not shown at all, and says why', () => {
  test.each(BAD)('%s', async (sqlResult, reason, message) => {
    const exporter = await runQueries(await openSimulator({ quirks: { sqlResult } }), [ORDERS]);
    const failures = { collector: 'sql', reason };
    const seen = await exporter.until(
      (scrape) => (scrape.value('crdb_exporter_poll_failures_total', failures) ?? 0) > 0,
    );
    expect(seen.all('crdb_sql_orders_count')).toEqual([]);
    expect(seen.value(SUCCESS, isGood)).toBe(0);
    await expect.poll(() => exporter.log()).toContain(message);
    expect(exporter.log()).not.toContain('canary');
    expect((await exporter.get('/')).text).toContain(message);
  });

  test('NULL is no sample, and no failure', async () => {
    const exporter = await runQueries(await openSimulator({ quirks: { sqlResult: 'null' } }), [
      ORDERS,
    ]);
    const seen = await exporter.until((scrape) => scrape.value(SUCCESS, isGood) === 1);
    expect(seen.all('crdb_sql_orders_count')).toEqual([]);
  });
});

test('one failing query leaves the others alone', async () => {
  const exporter = await runQueries(await openSimulator(), [
    ORDERS,
    { ...ORDERS, name: 'missing_table', sql: 'SELECT state, 1 AS count FROM nowhere' },
  ]);
  const failures = { collector: 'sql', reason: 'http' };
  const seen = await exporter.until(
    (scrape) =>
      scrape.value(SUCCESS, isGood) === 1 &&
      (scrape.value('crdb_exporter_poll_failures_total', failures) ?? 0) > 0,
  );
  expect(seen.value('crdb_sql_orders_count', { state: 'open' })).toBe(3);
  expect(seen.value(SUCCESS, { query: 'missing_table' })).toBe(0);
  expect(seen.value('crdb_exporter_collector_success', { collector: 'sql' })).toBe(1);
  const { text } = await exporter.get('/api/status');
  expect(text).toContain('query missing_table: the server refused the statement (SQLSTATE 42P01)');
  expect(text).not.toContain('nowhere');
});

test('a refused query is the failure of that query alone, also where there is no other', async () => {
  const canned = {
    contains: 'FROM hidden',
    columns: [],
    rows: [],
    privilege: 'VIEWACTIVITY',
  } as const;
  const exporter = await runQueries(await openSimulator({ sqlResults: [canned] }), [
    { ...ORDERS, sql: 'SELECT state, count FROM hidden' },
  ]);
  const failures = { collector: 'sql', reason: 'forbidden' };
  const seen = await exporter.until(
    (scrape) => (scrape.value('crdb_exporter_poll_failures_total', failures) ?? 0) > 1,
  );
  expect(seen.value(SUCCESS, isGood)).toBe(0);
  expect(seen.value('crdb_up', { api: 'cluster' })).toBe(1);
  expect(seen.value('crdb_exporter_collector_success', { collector: 'sql' })).toBe(1);
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  const [cluster] = status.clusters;
  expect(cluster?.collectors).toMatchObject([{ name: 'sql', state: 'ok' }]);
  const findings = cluster?.findings ?? [];
  const finding = findings.find(({ key }) => key === 'query orders');
  expect(finding).toMatchObject({ level: 'warning', about: 'exporter' });
  // On a busy machine such a short interval is too short, which is a finding without an alert.
  expect(findings.filter(({ alert }) => alert !== undefined)).toEqual([]);
});

test('without a response to any statement the poll fails, once', async () => {
  const simulator = await openSimulator();
  const exporter = await runQueries(simulator, [ORDERS, { ...ORDERS, name: 'other' }]);
  await exporter.until((scrape) => scrape.value(SUCCESS, isGood) === 1);
  simulator.fault({ kind: 'status', status: 500, endpoint: 'sql' });
  const isFailing = { collector: 'sql' };
  const seen = await exporter.until(
    (scrape) => scrape.value('crdb_exporter_collector_success', isFailing) === 0,
  );
  expect(seen.value(SUCCESS, isGood)).toBe(0);
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  const alerts = status.clusters[0]?.findings.map(({ alert }) => alert);
  expect(alerts).toEqual(['CrdbClusterApiDown']);
});

test('old rows of a failing query are shown until they are too old', async () => {
  const simulator = await openSimulator();
  const exporter = await runQueries(simulator, [ORDERS, { ...ORDERS, name: 'other' }], {
    max_age: '1s',
    interval: '1s',
  });
  await exporter.until((scrape) => scrape.value(SUCCESS, isGood) === 1);
  simulator.setQuirk('sqlResult', 'refused');
  await exporter.until((scrape) => scrape.value(SUCCESS, isGood) === 0);
  const gone = await exporter.until((scrape) => scrape.all('crdb_sql_orders_count').length === 0);
  expect(gone.value(SUCCESS, isGood)).toBe(0);
});

test('more rows than max_rows, and more than 256 KiB, are the reason limit', async () => {
  const rows = Array.from({ length: 900 }, (_, index) => [`${'x'.repeat(100)}${index}`, index]);
  const simulator = await openSimulator({
    sqlResults: [
      {
        contains: 'FROM few',
        columns: [
          ['state', 'STRING'],
          ['count', 'INT8'],
        ],
        rows: rows.slice(0, 3),
      },
      {
        contains: 'FROM many',
        columns: [
          ['state', 'STRING'],
          ['count', 'INT8'],
        ],
        rows: [...rows, ...rows, ...rows],
      },
    ],
  });
  const exporter = await runQueries(simulator, [
    { ...ORDERS, name: 'few', sql: 'SELECT * FROM few', max_rows: 2 },
    { ...ORDERS, name: 'many', sql: 'SELECT * FROM many', max_rows: 1000 },
  ]);
  await expect.poll(() => exporter.log()).toContain('3 rows, more than max_rows (2)');
  const page = async () => (await exporter.get('/api/status')).text;
  await expect.poll(page).toMatch(/3 rows, more than max_rows|larger than 256 KiB/);
  const seen = await exporter.scrape();
  expect(
    seen.value('crdb_exporter_collector_limit_hit', { collector: 'sql', limit: 'bytes' }),
  ).toBe(1);
});

test('a statement ends at its own timeout, and the next one runs', async () => {
  const columns = [
    ['state', 'STRING'],
    ['count', 'INT8'],
  ] as const;
  const simulator = await openSimulator({
    sqlResults: [
      { contains: 'FROM slow', columns, rows: [['a', 1]], delayMs: 600_000 },
      { contains: 'FROM orders', columns, rows: [['open', 3]] },
    ],
  });
  const exporter = await runQueries(simulator, [
    { ...ORDERS, name: 'slow', sql: 'SELECT * FROM slow', timeout: '200ms' },
    ORDERS,
  ]);
  const failures = { collector: 'sql', reason: 'timeout' };
  const seen = await exporter.until(
    (scrape) =>
      scrape.value(SUCCESS, isGood) === 1 &&
      (scrape.value('crdb_exporter_poll_failures_total', failures) ?? 0) > 0,
  );
  expect(seen.value(SUCCESS, { query: 'slow' })).toBe(0);
});

test('an error of SQL that names sessions is no refused token', async () => {
  const simulator = await openSimulator();
  const exporter = await runQueries(simulator, [
    { ...ORDERS, sql: 'SELECT (session_id FROM crdb_internal.cluster_sessions' },
  ]);
  const failures = { collector: 'sql', reason: 'http' };
  await exporter.until(
    (scrape) => (scrape.value('crdb_exporter_poll_failures_total', failures) ?? 0) > 1,
  );
  expect(simulator.requests.entries.filter(({ endpoint }) => endpoint === 'login')).toHaveLength(1);
});

test('a virtual cluster without this endpoint fails the collector as not_available', async () => {
  const exporter = await runQueries(await openSimulator({ quirks: { tenant: 'text' } }), [ORDERS]);
  await exporter.until((scrape) => scrape.all(SUCCESS).length > 0);
  await expect.poll(() => exporter.log()).toContain('HTTP 501');
  expect((await exporter.scrape()).value(SUCCESS, isGood)).toBe(0);
});

test('a query with its own interval is not run in every poll', async () => {
  const simulator = await openSimulator();
  const exporter = await runQueries(simulator, [
    ORDERS,
    { ...ORDERS, name: 'rare', interval: '1h' },
  ]);
  await exporter.until(
    (scrape) => (scrape.value('crdb_exporter_polls_total', { collector: 'sql' }) ?? 0) > 5,
  );
  const seen = await exporter.scrape();
  expect(seen.value('crdb_sql_rare_count', { state: 'open' })).toBe(3);
  expect(seen.value('crdb_exporter_collector_items', { collector: 'sql' })).toBe(2);
});

test('the page of the configuration shows no statement', async () => {
  const exporter = await runQueries(await openSimulator(), [ORDERS]);
  const { text } = await exporter.get('/config');
  expect(text).toContain('<sql>');
  expect(text).not.toContain('canary');
});
