import { expect, test } from 'vitest';
import { openSimulator, ORDERS, runQueries } from '../collectors/sql/queries.ts';
import { readCluster } from './read-status.ts';

const COLUMNS = [
  ['state', 'STRING'],
  ['count', 'INT8'],
  ['share', 'FLOAT8'],
] as const;
const HOSTILE = `<img src=x onerror='a("b")'>&amp;`;

/** The queries that the status shows once none of them waits, and the page. */
async function readQueries(queries: readonly object[]) {
  const rows = Array.from({ length: 23 }, (_, index) => [`s${index}`, index, 0.5]);
  const simulator = await openSimulator({
    sqlResults: [
      { contains: 'FROM many', columns: COLUMNS, rows },
      { contains: 'FROM hostile', columns: COLUMNS, rows: [[HOSTILE, null, 1.5]] },
      { contains: 'FROM none', columns: COLUMNS, rows: [] },
      { contains: 'FROM orders', columns: COLUMNS, rows: [['open', 3, 0.5]] },
    ],
  });
  const exporter = await runQueries(simulator, queries);
  const read = async () => (await readCluster({ exporter })).queries;
  await expect
    .poll(async () => (await read())?.some(({ state }) => state === 'waiting'))
    .toBe(false);
  return { queries: await read(), page: (await exporter.get('/')).text };
}

const TWO_VALUES = { ...ORDERS, values: { count: 'gauge', share: 'gauge' } };

test('a query is shown with its age, its duration and its rows, the first 20', async () => {
  const { queries, page } = await readQueries([
    { ...TWO_VALUES, name: 'many', sql: "SELECT * FROM many WHERE secret = 'canary'" },
    { ...TWO_VALUES, name: 'hostile', sql: 'SELECT * FROM hostile' },
    { ...ORDERS, name: 'none', sql: 'SELECT * FROM none' },
  ]);
  const [many, hostile, none] = queries ?? [];
  expect(many).toMatchObject({ name: 'many', state: 'ok', rowCount: 23 });
  expect(many?.lastSuccessAt).toMatch(/^\d{4}-/);
  expect(many?.durationSeconds).toBeGreaterThan(0);
  expect(many?.rows).toHaveLength(20);
  expect(many?.rows?.[3]).toEqual({ labels: { state: 's3' }, values: { count: 3, share: 0.5 } });
  expect(hostile?.rows).toEqual([{ labels: { state: HOSTILE }, values: { share: 1.5 } }]);
  expect(none).toMatchObject({ state: 'ok', rowCount: 0, rows: [] });
  expect(page).toContain('aria-label="Rows of many"');
  expect(page).toContain(', 23 rows, the first 20 here, took ');
  expect(page).toContain('&#60;img src=x');
  expect(page).not.toContain('<img');
  expect(page).not.toContain('Rows of none');
  expect(JSON.stringify(queries) + page).not.toMatch(/canary|SELECT \*/);
});

test('a failing query has its reason in place of rows', async () => {
  const { queries, page } = await readQueries([
    ORDERS,
    { ...ORDERS, name: 'missing', sql: "SELECT 'canary' FROM nowhere" },
  ]);
  expect(queries?.[0]).toMatchObject({ name: 'orders', state: 'ok', rowCount: 1 });
  expect(queries?.[1]).toMatchObject({
    name: 'missing',
    state: 'failing',
    error: {
      reason: 'http',
      message: 'query missing: the server refused the statement (SQLSTATE 42P01)',
    },
  });
  expect(queries?.[1]?.error?.advice).toContain('crdb-exporter sql QUERY');
  expect(queries?.[1]).not.toHaveProperty('rows');
  expect(page).toContain('http: query missing: the server refused the statement (SQLSTATE 42P01)');
  expect(page).not.toContain('canary');
});

test('without a query there is no panel, and nothing in the JSON', async () => {
  const exporter = await runQueries(await openSimulator(), [], { enabled: false });
  const { text } = await exporter.get('/api/status');
  expect(text).not.toContain('"queries"');
  expect((await exporter.get('/')).text).not.toContain('id="queries"');
});
