import { expect, onTestFinished, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { configFlag, runHere } from '../run.ts';

async function simulate(): Promise<Simulator> {
  const simulator = await startSimulator({ scenario: 'calm', metricKeys: 'useful', nodes: 5 });
  onTestFinished(() => simulator.close());
  return simulator;
}

async function run(simulator: Simulator, ...args: readonly string[]) {
  return runHere(['network', ...args, await configFlag(simulator)]);
}

/** The cells of a table. */
function rows(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
}

test('lists the slowest connections, each pair of nodes once', async () => {
  const { code, out, err } = await run(await simulate());
  expect({ code, err }).toEqual({
    code: 0,
    err: 'crdb-exporter: all live nodes reach each other\n',
  });
  const [header, ...connections] = rows(out);
  expect(header).toEqual(['NODE', 'PEER', 'STATE', 'ROUND TRIP', 'ERROR']);
  expect(connections).toHaveLength(10);
  const pairs = connections.map(([node = '', peer = '']) => [node, peer].toSorted().join('-'));
  expect(new Set(pairs).size).toBe(10);
  const times = connections.map(([, , , time = '']) => parseFloat(time));
  expect(times).toEqual(times.toSorted((a, b) => b - a));
});

test('failed connections come first, each direction with the error of the server', async () => {
  const simulator = await simulate();
  simulator.world.partitionPair(2, 3);
  const { code, out, err } = await run(simulator);
  // As on the status page.
  const note = 'crdb-exporter: nodes 2 and 3 do not reach each other\n';
  expect({ code, err }).toEqual({ code: 0, err: note });
  const [, ...connections] = rows(out);
  expect(connections.slice(0, 3).map((cells) => cells.slice(0, 3))).toEqual([
    ['2', '3', 'error'],
    ['3', '2', 'error'],
    [expect.any(String), expect.any(String), 'established'],
  ]);
  // The reason is in the middle of the text.
  expect(connections[0]?.at(-1)).toMatch(/^crdb-3\.example\.internal:26257: .*: i\/o timeout/);
});

test('names live nodes that were not asked; JSON does, too', async () => {
  const simulator = await simulate();
  simulator.world.partitionPair(1, 4);
  const { code, out, err } = await run(simulator, '--output', 'json');
  expect({ code, err }).toEqual({
    code: 0,
    err: 'crdb-exporter: node 4 did not tell which nodes it reaches\ncrdb-exporter: node 1 does not reach node 4\n',
  });
  const { connections, unasked_nodes: unasked } = JSON.parse(out);
  expect(unasked).toEqual([4]);
  expect(connections[0]).toEqual({
    node_id: 1,
    peer_node_id: 4,
    state: 'error',
    round_trip_seconds: null,
    error: expect.stringContaining('i/o timeout'),
  });
  expect(connections.at(-1)).toMatchObject({ state: 'established', error: null });
});

test('fails where the server does not offer the list', async () => {
  const simulator = await simulate();
  simulator.setQuirk('connectivity', 'missing');
  expect(await run(simulator)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('does not offer /_status/connectivity (HTTP 404)'),
  });
});

test('what a server writes does not steer the terminal', async () => {
  const simulator = await simulate();
  simulator.world.partitionPair(2, 3);
  const peer = { status: 3, error: '\u001B]0;x\u0007 one\nline' };
  const connections = { 1: { peers: { 2: peer } } };
  const body = JSON.stringify({ connections });
  simulator.fault({ endpoint: 'connectivity', kind: 'status', status: 200, body });
  const { out } = await run(simulator);
  expect(out).toContain(String.raw`\u{1b}]0;x\u{7} one\nline`);
});
