import { expect, test } from 'vitest';
import type { SimulatorOptions } from '../../../simulator/index.ts';
import { openSimulator } from '../../collectors/sql/queries.ts';
import { configFlag, runHere } from '../run.ts';

const COLUMNS = [
  ['state', 'STRING'],
  ['amount', 'FLOAT8'],
  ['orders', 'INT8'],
] as const;

/** Queries with the statement as YAML, in a configuration where the collector is off. */
function queriesOf(sql: string): string {
  return `collectors:
  sql:
    queries:
      - { name: orders, help: Orders., sql: "${sql}", labels: [state], values: { orders: gauge, amount: gauge } }
`;
}

async function run(options: Partial<SimulatorOptions>, sql: string, ...args: readonly string[]) {
  const simulator = await openSimulator({
    sqlResults: [
      {
        contains: 'FROM orders',
        columns: COLUMNS,
        rows: [
          ['open', 1.5, 3],
          ['pa\u001B[31mid', null, 40],
        ],
      },
      {
        contains: 'FROM hidden',
        columns: COLUMNS,
        rows: [],
        privilege: 'VIEWCLUSTERSETTING',
        relation: 'hidden',
      },
      { contains: 'FROM none', columns: COLUMNS, rows: [] },
      { contains: 'FROM single', columns: COLUMNS, rows: [['open', 1.5, 3]] },
      { contains: 'FROM activity', columns: COLUMNS, rows: [], privilege: 'VIEWACTIVITY' },
    ],
    ...options,
  });
  const flag = await configFlag(simulator, {
    more: queriesOf(sql),
    clusterApi: 'username: watcher, password: watcher-demo',
  });
  return runHere([...args, flag]);
}

test('prints the labels and values of a query that is configured', async () => {
  const { code, out, err } = await run({}, 'SELECT * FROM orders', 'sql', 'orders');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const lines = out.trimEnd().split('\n');
  expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['STATE', 'ORDERS', 'AMOUNT'],
    ['open', '3', '1.5'],
    ['pa\uFFFD[31mid', '40', '-'],
  ]);
  const json = await run({}, 'SELECT * FROM orders', 'sql', 'orders', '--output', 'json');
  expect(JSON.parse(json.out)).toEqual({
    rows: [
      { labels: { state: 'open' }, values: { orders: 3, amount: 1.5 } },
      { labels: { state: 'pa\uFFFD[31mid' }, values: { orders: 40 } },
    ],
  });
});

test('a query without rows says so', async () => {
  const { code, err } = await run({}, 'SELECT * FROM none', 'sql', 'orders');
  expect({ code, err }).toEqual({
    code: 0,
    err: 'crdb-exporter: the query has no rows: it exports no series\n',
  });
});

test('an unknown name is wrong usage', async () => {
  const { code, err } = await run({}, 'SELECT 1 FROM none', 'sql', 'order');
  expect({ code, err }).toEqual({
    code: 2,
    err: 'crdb-exporter: there is no query "order": did you mean orders?\n',
  });
});

test('a missing privilege is printed as the GRANT to run', async () => {
  const table = await run({}, 'SELECT * FROM hidden', 'sql', 'orders');
  expect({ code: table.code, err: table.err }).toEqual({
    code: 1,
    err: 'crdb-exporter: query orders: the server refused the statement (SQLSTATE 42501): executing stmt 1: run-query-via-api: user watcher does not have SELECT privilege on relation hidden; run GRANT SELECT ON TABLE hidden TO watcher;\n',
  });
  const system = await run({}, 'SELECT * FROM activity', 'sql', 'orders');
  expect(system.err).toContain('; run GRANT SYSTEM VIEWACTIVITY TO watcher;');
});

test('other errors are printed with the text of the server, for the person alone', async () => {
  const unknown = await run({}, 'SELECT 1 FROM nowhere', 'sql', 'orders');
  expect(unknown.code).toBe(1);
  expect(unknown.err).toContain(
    '(SQLSTATE 42P01): executing stmt 1: run-query-via-api: relation "unknown" does not exist; correct the statement',
  );
  const two = await run({}, 'SELECT 1; SELECT 2', 'sql', 'orders');
  expect(two.err).toContain(
    '(SQLSTATE XXUUU): parsing statement 1: expecting 1 statement, found 2',
  );
});

test('diagnose runs each query once, with its rows and what is missing', async () => {
  const good = await run({}, 'SELECT * FROM orders', 'diagnose');
  expect(good.out).toMatch(/✓ query orders +\d+ B in .*; 2 rows/);
  const single = await run({}, 'SELECT * FROM single', 'diagnose');
  expect(single.out).toMatch(/✓ query orders +\d+ B in .*; 1 row$/m);
  const refused = await run({}, 'SELECT * FROM hidden', 'diagnose');
  expect(refused.out).toMatch(/! query orders .*SQLSTATE 42501/);
  expect(refused.out).toContain('→ run GRANT SELECT ON TABLE hidden TO watcher;');
});
