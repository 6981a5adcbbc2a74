import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../src/simulator/index.ts';
import { configFlag, runHere } from '../run.ts';

let simulator: Simulator;
let config: string;

beforeAll(async () => {
  simulator = await startSimulator({ nodes: 3, ranges: 12, sessions: 9 });
  config = await configFlag(simulator);
});

afterAll(() => simulator.close());

async function titlesOf(...args: readonly string[]): Promise<string> {
  const { code, out } = await runHere([...args, config]);
  expect(code).toBe(0);
  return (out.split('\n')[0] ?? '').replaceAll(/ {2,}/g, ' | ');
}

test('the titles of all columns', async () => {
  expect({
    nodes: await titlesOf('nodes', '--wide'),
    safety: await titlesOf('nodes', '--safe-to-stop'),
    ranges: await titlesOf('ranges', '--show-keys', '--wide'),
    sessions: await titlesOf('sessions', '--show-sql', '--show-clients', '--wide'),
    users: await titlesOf('users'),
    tables: await titlesOf('tables', '--load'),
  }).toMatchInlineSnapshot(`
    {
      "nodes": "ID | STATUS | UPDATED | ADDRESS | VERSION | UPTIME | CPU | MEMORY | DISK | CONNS | REPLICAS | LOCALITY",
      "ranges": "RANGE | NODE | STORE | TABLE | LEASE | QPS | WRITES/S | READ/S | WRITTEN/S | CPU | PROBLEMS | START KEY | END KEY",
      "safety": "ID | STATUS | UPDATED | ADDRESS | VERSION | UPTIME | CPU | MEMORY | DISK | CONNS | REPLICAS | LOCALITY | DEPENDENT",
      "sessions": "ID | USER | APPLICATION | STATE | TXN AGE | QUERY AGE | AGE | NODE | RETRIES | MEMORY | CLIENT | SQL",
      "tables": "DATABASE | SCHEMA | TABLE | ID | SIZE | DATA | LIVE | RANGES | COLUMNS | INDEXES | UPDATED | QPS | WRITES/S | CPU",
      "users": "USER",
    }
  `);
});
