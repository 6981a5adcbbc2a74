import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { createPollStats } from '../../../src/cockroach/http/poll-stats.ts';
import { collectorPoll } from '../../../src/collectors/collector.ts';
import { network, readConnections } from '../../../src/collectors/network/collector.ts';
import { simulatedApi } from '../ranges/simulated.ts';
import { answering, poll } from '../support.ts';

const OPTIONS = { max_pairs: 50, max_nodes: 200 };
const CALM = { scenario: 'calm', metricKeys: 'useful', nodes: 5, ranges: 20 } as const;

/** Polls with a time that is left for the whole list, and one for each node alone. */
async function pollNetwork(
  simulator: Simulator,
  {
    leftMs: [wholeMs, nodeMs] = [Infinity, Infinity],
    ...options
  }: { leftMs?: readonly [number, number]; max_pairs?: number; max_nodes?: number } = {},
) {
  await using client = simulatedApi(simulator);
  const times = [wholeMs];
  const leftMs = (): number => times.shift() ?? nodeMs;
  const given = { options: { ...OPTIONS, ...options }, state: { polls: 0 }, leftMs };
  return await poll(network, client.api, given);
}

/** `2 -> 3` for each failed connection that has a series. */
function unreachable({ of }: { of: (family: string) => readonly string[] }): readonly string[] {
  return of('crdb_node_unreachable_peer_info').map((line) =>
    line.replace(/^{node_id="(\d+)",peer_node_id="(\d+)"} 1$/, '$1 -> $2'),
  );
}

const NODES = {
  nodes: [1, 2, 3].map((id) => ({
    node_id: id,
    liveness_status: 3,
    address: { address_field: `n${id}` },
    started_at: 1,
  })),
};

/** The connections of a node to two peers, with round-trip times in seconds. */
function peers(times: Readonly<Record<number, string>>): object {
  const entries = Object.entries(times).map(([id, latency]) => [id, { latency, status: 1 }]);
  return { peers: Object.fromEntries(entries) };
}

test('peers are counted by state, with the median and the longest of their round-trip times', async () => {
  const connections = {
    1: peers({ 2: '0.002s', 3: '0.010s' }),
    2: peers({ 1: '0.002s', 3: '1.5s' }),
    3: { peers: { 1: { latency: '0s', status: 1 }, 2: { latency: '3s', status: 0 } } },
  };
  const { api, requests } = answering((path) =>
    path.startsWith('/nodes') ? NODES : { connections },
  );
  const polled = await poll(network, api, { options: OPTIONS, state: { polls: 0 } });
  expect(requests.at(-1)).toBe('/_status/connectivity');
  expect(polled.of('crdb_node_peers').filter((line) => line.includes('node_id="3"'))).toEqual([
    '{node_id="3",state="established"} 1',
    '{node_id="3",state="establishing"} 0',
    '{node_id="3",state="error"} 0',
    '{node_id="3",state="unknown"} 1',
  ]);
  // A time of 0 was not measured, and one of a connection that is not established is old.
  expect(polled.of('crdb_node_peer_latency_median_seconds')).toEqual([
    '{node_id="1"} 0.006',
    '{node_id="2"} 0.751',
  ]);
  expect(polled.of('crdb_node_peer_latency_max_seconds')).toEqual([
    '{node_id="1"} 0.01',
    '{node_id="2"} 1.5',
  ]);
  expect(polled.of('crdb_network_unreachable_pairs')).toEqual(['0']);
  expect(polled.result).toMatchObject({
    checked: true,
    slowest: [
      { nodeId: 2, peerId: 3, seconds: 1.5 },
      { nodeId: 1, peerId: 3, seconds: 0.01 },
      { nodeId: 1, peerId: 2, seconds: 0.002 },
    ],
  });
});

test('two live nodes that do not reach each other are two failed connections, without the text of the server', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.partitionPair(2, 3);
  const polled = await pollNetwork(simulator);
  expect(unreachable(polled)).toEqual(['2 -> 3', '3 -> 2']);
  expect(polled.of('crdb_network_unreachable_pairs')).toEqual(['2']);
  expect(polled.of('crdb_node_peers')).toContain('{node_id="2",state="error"} 1');
  expect(polled.result).toMatchObject({ checked: true, unaskedNodes: [] });
  expect(JSON.stringify([...polled.result.unreachable, polled.lines])).not.toContain('timeout');
});

test('a command reads the texts, too', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.partitionPair(2, 3);
  await using client = simulatedApi(simulator);
  const chosen = { options: OPTIONS, state: { polls: 0 } };
  const context = collectorPoll(createPollStats(AbortSignal.timeout(20_000)), chosen);
  const { unreachable: failed } = await readConnections(client.api, context, { showsErrors: true });
  expect(failed[0]).toMatchObject({ nodeId: 2, peerId: 3 });
  expect(failed[0]?.error).toContain('crdb-3.example.internal:26257: initial connection');
});

test('connections to nodes that are down have failed, and nobody expects them to work', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.killNode(5);
  const polled = await pollNetwork(simulator);
  expect(polled.of('crdb_node_peers')).toContain('{node_id="1",state="error"} 1');
  expect(polled.of('crdb_network_unreachable_pairs')).toEqual(['0']);
  expect(polled.result).toMatchObject({ checked: true, unaskedNodes: [] });
});

test('a live node that the answering one does not reach was not asked', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.partitionPair(1, 3);
  const polled = await pollNetwork(simulator);
  expect(polled.result).toMatchObject({ checked: false, unaskedNodes: [3] });
  expect(unreachable(polled)).toEqual(['1 -> 3']);
  expect(polled.of('crdb_node_peer_latency_max_seconds')).toHaveLength(4);
});

/** What node 1 of three live ones sends of nodes 2 and 3; the others reach all. */
async function pollOne(sent: object) {
  const others = { 2: peers({ 1: '0.1s', 3: '0.1s' }), 3: peers({ 1: '0.1s', 2: '0.1s' }) };
  const connections = { 1: { peers: sent }, ...others };
  const { api } = answering((path) => (path.startsWith('/nodes') ? NODES : { connections }));
  return await poll(network, api, { options: OPTIONS, state: { polls: 0 } });
}

const GOOD = { latency: '0.1s', status: 1, error: '' };

test.each([
  ['no state is known', { 2: { status: 0 }, 3: { status: 0 } }, []],
  ['connections are being established', { 2: { status: 2 }, 3: { status: 2 } }, []],
  ['no connection was made', { 2: { status: 3, error: 'no connection found' } }, []],
  ['no state is sent', { 2: {}, 3: { latency: '0.1s' } }, []],
  ['a state is a name', { 2: GOOD, 3: { status: 'ESTABLISHED' } }, []],
  ['a state is unheard of', { 2: GOOD, 3: { status: 7 } }, []],
  ['a state is negative', { 2: GOOD, 3: { status: -1 } }, []],
  ['a state is a fraction', { 2: GOOD, 3: { status: 1.5 } }, []],
  ['a state is a flag', { 2: GOOD, 3: { status: true } }, []],
  ['an error is no text', { 2: GOOD, 3: { ...GOOD, error: {} } }, []],
  ['a connection is a number', { 2: GOOD, 3: 1 }, []],
  ['a connection is null', { 2: GOOD, 3: null }, []],
  ['a connection is a list', { 2: GOOD, 3: [GOOD] }, []],
  ['peers are unheard of', { 4: GOOD, 5: GOOD }, []],
  ['the only peer is itself', { 1: GOOD }, []],
  ['peers are a list', [GOOD, GOOD], []],
  ['one has failed, and one cannot be read', { 2: { status: 3 }, 3: { status: 7 } }, ['1 -> 2']],
  ['the id of a peer cannot be read', { 2: GOOD, n3: { status: 3 } }, []],
  ['one has failed, with an error that is no text', { 2: { status: 3, error: 5 } }, ['1 -> 2']],
] as const)('a live node has not answered where %s', async (_title, sent, failed) => {
  const polled = await pollOne(sent);
  expect(polled.result).toMatchObject({ checked: false, unaskedNodes: [1] });
  expect(unreachable(polled)).toEqual(failed);
});

test.each([
  ['one connection is established', { 2: GOOD, 3: { status: 0 } }, []],
  [
    'one is established, and one was never made',
    { 2: GOOD, 3: { status: 2, error: 'not yet heartbeated' } },
    [],
  ],
  ['one has failed', { 2: { status: 3, error: 'x' }, 3: { status: 0 } }, ['1 -> 2']],
  [
    'one has failed without a text',
    { 2: { status: 3 }, 3: { status: 3, error: null } },
    ['1 -> 2', '1 -> 3'],
  ],
  ['one to a node that is unheard of cannot be read', { 2: GOOD, 3: GOOD, 4: { status: 7 } }, []],
  ['a time cannot be read', { 2: { ...GOOD, latency: 0.1 }, 3: { ...GOOD, latency: 'soon' } }, []],
] as const)('a live node has answered where %s', async (_title, sent, failed) => {
  const polled = await pollOne(sent);
  expect(polled.result).toMatchObject({ checked: true, unaskedNodes: [] });
  expect(unreachable(polled)).toEqual(failed);
});

test('in an upgrade, connections of DRPC are as if they were never made, and the listed ones decide', async () => {
  await using simulator = await startSimulator({ ...CALM, release: '25.4' });
  for (const id of [1, 2, 3, 4]) simulator.world.upgradeNode(id, '26.3');
  const mixed = await pollNetwork(simulator);
  expect(mixed.of('crdb_node_peers').slice(0, 4)).toEqual([
    '{node_id="1",state="established"} 1',
    '{node_id="1",state="establishing"} 3',
    '{node_id="1",state="error"} 0',
    '{node_id="1",state="unknown"} 0',
  ]);
  expect(mixed.result).toMatchObject({ checked: true, unaskedNodes: [] });
  simulator.world.upgradeNode(5, '26.3');
  const upgraded = await pollNetwork(simulator);
  expect(upgraded.result).toMatchObject({ checked: false, unaskedNodes: [1, 2, 3, 4, 5] });
});

test('a node of which nobody is a peer has answered when it is the only live one', async () => {
  const one = { nodes: NODES.nodes.map((node, at) => ({ ...node, liveness_status: at ? 1 : 3 })) };
  const connections = { 1: { peers: { 2: { status: 7 } } } };
  const { api } = answering((path) => (path.startsWith('/nodes') ? one : { connections }));
  const { result } = await poll(network, api, { options: OPTIONS, state: { polls: 0 } });
  expect(result).toMatchObject({ checked: true, unaskedNodes: [] });
});

test('where no node is live, nobody has answered', async () => {
  const none = { nodes: NODES.nodes.map((node) => ({ ...node, liveness_status: 'LIVE' })) };
  const connections = { 1: peers({ 2: '0.1s' }) };
  const { api } = answering((path) => (path.startsWith('/nodes') ? none : { connections }));
  const { result } = await poll(network, api, { options: OPTIONS, state: { polls: 0 } });
  expect(result.checked).toBe(false);
});

test('peers that are no members are not counted, and more than 10,000 of a node fail the poll', async () => {
  await using simulator = await startSimulator({
    ...CALM,
    quirks: { connectionFormOf: 1, foreignPeers: 9_000 },
  });
  const polled = await pollNetwork(simulator);
  expect(polled.result.checked).toBe(true);
  expect(polled.of('crdb_node_peers')).toContain('{node_id="1",state="established"} 4');
  simulator.setQuirk('foreignPeers', 100_000);
  await expect(pollNetwork(simulator)).rejects.toMatchObject({
    reason: 'limit',
    limit: 'items',
    message: expect.stringContaining('connectivity: more than 10000 peers of one node'),
  });
});

test('a live node that names none of the live ones has not answered', async () => {
  const connections = { 1: peers({ 2: '0.1s', 3: '0.1s' }), 2: peers({}), 3: peers({ 4: '0.1s' }) };
  const { api } = answering((path) => (path.startsWith('/nodes') ? NODES : { connections }));
  const { result } = await poll(network, api, { options: OPTIONS, state: { polls: 0 } });
  expect(result).toMatchObject({ checked: false, unaskedNodes: [2, 3] });
});

test.each(['missing', 'unknown', 'establishing', 'old-error'] as const)(
  'a connection that was never made says nothing: %s',
  async (idleConnections) => {
    await using simulator = await startSimulator({ ...CALM, quirks: { idleConnections } });
    const polled = await pollNetwork(simulator);
    expect(polled.of('crdb_network_unreachable_pairs')).toEqual(['0']);
    expect(polled.of('crdb_node_peers')).toContain('{node_id="1",state="established"} 3');
    expect(polled.of('crdb_node_peers')).toContain('{node_id="1",state="error"} 0');
    expect(polled.result.checked).toBe(true);
  },
);

test('only the first max_pairs have series, all are counted', async () => {
  await using simulator = await startSimulator(CALM);
  for (const peer of [3, 4, 5]) simulator.world.partitionPair(2, peer);
  const polled = await pollNetwork(simulator, { max_pairs: 4 });
  expect(unreachable(polled)).toEqual(['2 -> 3', '2 -> 4', '2 -> 5', '3 -> 2']);
  expect(polled.of('crdb_network_unreachable_pairs')).toEqual(['6']);
});

test('there is no data where the server does not offer the list, or the cluster is too large', async () => {
  await using simulator = await startSimulator(CALM);
  for (const [quirk, status] of [
    ['forbidden', 403],
    ['missing', 404],
    ['unimplemented', 501],
  ] as const) {
    simulator.setQuirk('connectivity', quirk);
    const { lines, result } = await pollNetwork(simulator);
    const noData: unknown = expect.stringContaining(`/_status/connectivity (HTTP ${status})`);
    expect({ lines, ...result }).toMatchObject({ lines: [], checked: undefined, noData });
  }
  simulator.setQuirk('connectivity', 'works');
  const before = simulator.requests.count('connectivity');
  const { lines, result } = await pollNetwork(simulator, { max_nodes: 4 });
  const noData = 'the cluster has 5 nodes, more than max_nodes (4)';
  expect({ lines, ...result }).toMatchObject({ lines: [], checked: undefined, noData });
  expect(simulator.requests.count('connectivity')).toBe(before);
});

test('when one node keeps the list back, each live node is asked alone', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.partitionPair(2, 3);
  // Its liveness has expired, so it is not asked.
  simulator.world.freezeNode(5);
  const polled = await pollNetwork(simulator, { leftMs: [300, Infinity] });
  expect(polled.result).toMatchObject({ checked: true, unaskedNodes: [] });
  expect(unreachable(polled)).toEqual(['2 -> 3', '3 -> 2']);
  const asked = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'connectivity');
  expect(asked.map(({ node }) => node)).toEqual([1, 1, 2, 3, 4]);
});

test('a node that keeps the list back makes no URL of several a silent one', async () => {
  await using simulator = await startSimulator({ ...CALM, gateways: 3 });
  simulator.fault({ endpoint: 'connectivity', kind: 'hang', times: 1 });
  await using client = simulatedApi(simulator);
  const times = [300];
  const leftMs = () => times.shift() ?? Infinity;
  const { result } = await poll(network, client.api, {
    options: OPTIONS,
    state: { polls: 0 },
    leftMs,
  });
  expect(result.checked).toBe(true);
  const states = client.http.upstreams().map(({ state }) => state);
  expect(states).toEqual(['closed', 'closed', 'closed']);
});

test('a live node that does not respond alone either was not asked, and the others were', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.fault({ endpoint: 'connectivity', kind: 'hang', times: 1 });
  simulator.fault({ endpoint: 'connectivity', kind: 'hang', node: 4 });
  const polled = await pollNetwork(simulator, { leftMs: [300, 3_000] });
  expect(polled.result).toMatchObject({ checked: false, unaskedNodes: [4] });
  expect([...polled.result.peers.keys()]).toEqual([1, 2, 3, 5]);
  expect(polled.limits.size).toBe(0);
});

test('a poll fails when no node responds, and when the server fails', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.fault({ endpoint: 'connectivity', kind: 'hang' });
  await expect(pollNetwork(simulator, { leftMs: [300, 500] })).rejects.toMatchObject({
    reason: 'timeout',
  });
  simulator.clearFaults();
  simulator.fault({ endpoint: 'connectivity', kind: 'status', status: 500 });
  await expect(pollNetwork(simulator)).rejects.toMatchObject({ reason: 'http', status: 500 });
  simulator.clearFaults();
  simulator.fault({ endpoint: 'connectivity', kind: 'html' });
  await expect(pollNetwork(simulator)).rejects.toMatchObject({ reason: 'decode' });
});

test('JSON without connections is no cluster without connections', async () => {
  const { api } = answering((path) => (path.startsWith('/nodes') ? NODES : {}));
  const polling = poll(network, api, { options: OPTIONS, state: { polls: 0 } });
  await expect(polling).rejects.toThrow('connectivity: the response has no `connections`');
});

test('when a balancer does not wait for the whole list, each live node is asked alone', async () => {
  const { api, requests } = answering((path) => {
    if (path.startsWith('/nodes')) return NODES;
    const [, id] = /node_id=(\d)/.exec(path) ?? [];
    if (id === undefined) throw new RequestError('http', 'late', { status: 504 });
    return { connections: { [id]: peers({ 1: '0.001s', 2: '0.001s', 3: '0.001s' }) } };
  });
  const { result } = await poll(network, api, { options: OPTIONS, state: { polls: 0 } });
  expect([result.checked, requests.length]).toEqual([true, 5]);
});
