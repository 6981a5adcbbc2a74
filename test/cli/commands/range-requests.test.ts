import { expect, test } from 'vitest';
import { startSimulator } from '../../../src/simulator/index.ts';
import { refusing } from '../../support/http-server.ts';
import { configFlag, runHere } from '../run.ts';

test.each([
  ['ranges', []],
  ['tables', ['--load']],
  ['nodes', ['--safe-to-stop']],
])('%s %j reads each node in one response, whatever page_limit is', async (name, flags) => {
  await using simulator = await startSimulator({
    nodes: 3,
    ranges: 60,
    storesPerNode: 3,
    faultyNodes: false,
    frozen: true,
  });
  const more = 'collectors: { ranges: { page_limit: 5 } }\n';
  const { code } = await runHere([name, ...flags, await configFlag(simulator, { more })]);
  expect(code).toBe(0);
  const read = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'node_ranges');
  expect(read).toHaveLength(3);
  expect(new Set(read.map(({ node }) => node))).toEqual(new Set([1, 2, 3]));
  expect(read.filter(({ path }) => /limit=|offset=/.test(path))).toEqual([]);
});

test('diagnose reads its node in one response, whatever page_limit is', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 60, faultyNodes: false });
  const more = 'collectors: { ranges: { page_limit: 5 } }\n';
  await runHere(['diagnose', await configFlag(simulator, { more })]);
  const read = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'node_ranges');
  expect(read.length).toBeGreaterThan(0);
  expect(read.filter(({ path }) => /limit=|offset=/.test(path))).toEqual([]);
});

test.each(['ranges', 'range 1', 'tables --load'])(
  '%s says why a cluster cannot be reached',
  async (command) => {
    const { code, err } = await runHere([
      ...command.split(' '),
      `--cluster.url=${await refusing()}`,
    ]);
    expect(code).toBe(1);
    expect(err).toContain('connect ECONNREFUSED');
  },
);
