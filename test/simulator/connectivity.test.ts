import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import type { Quirks } from '../../simulator/quirks.ts';
import { ask, clusterClient, logIn, type NodesBody } from './client.ts';

interface WirePeer {
  readonly latency: string;
  readonly status: number;
  readonly address: string;
  readonly locality: { readonly tiers: readonly object[] };
  readonly error: string;
}

interface Body {
  readonly connections: Readonly<
    Record<string, { readonly peers: Readonly<Record<string, WirePeer>> }>
  >;
  readonly errorsByNodeId: Readonly<Record<string, string>>;
}

const CALM = { scenario: 'calm', metricKeys: 'useful', nodes: 5 } as const;

async function connectivity(simulator: Simulator, query = '', signal?: AbortSignal) {
  const token = await logIn(simulator);
  return ask<Body>(`${simulator.clusterUrl}/_status/connectivity${query}`, {
    headers: { Cookie: `session=${token}` },
    ...(signal && { signal }),
  });
}

/** The statuses that a node reports of its peers, by peer. */
function statuses({ connections }: Body, node: number): Readonly<Record<string, number>> {
  const peers = Object.entries(connections[node]?.peers ?? {});
  return Object.fromEntries(peers.map(([id, { status }]) => [id, status]));
}

test('every node lists its connections to all others, with times that grow with the distance', async () => {
  await using simulator = await startSimulator(CALM);
  const body = (await connectivity(simulator)).json();
  expect(Object.keys(body.connections)).toEqual(['1', '2', '3', '4', '5']);
  expect(statuses(body, 1)).toEqual({ 2: 1, 3: 1, 4: 1, 5: 1 });
  expect(body.errorsByNodeId).toEqual({});
  // Nodes 1 and 4 are in one region, 1 and 2 are not.
  const [far, near] = [2, 4].map((peer) => body.connections[1]?.peers[peer]);
  expect(far?.latency).toMatch(/^0\.\d{6}s$/);
  expect(parseFloat(far?.latency ?? '')).toBeGreaterThan(10 * parseFloat(near?.latency ?? ''));
  expect(far).toMatchObject({ address: 'crdb-2.example.internal:26257', error: '' });
  // The way back takes as long.
  expect(body.connections[2]?.peers[1]?.latency).toBe(far?.latency);
});

test('two nodes that do not reach each other stay live, and the others go on', async () => {
  await using simulator = await startSimulator(CALM);
  const client = await clusterClient(simulator);
  simulator.world.partitionPair(3, 2);
  const body = (await connectivity(simulator)).json();
  expect(statuses(body, 2)).toEqual({ 1: 1, 3: 3, 4: 1, 5: 1 });
  expect(statuses(body, 3)).toEqual({ 1: 1, 2: 3, 4: 1, 5: 1 });
  expect(statuses(body, 1)).toEqual({ 2: 1, 3: 1, 4: 1, 5: 1 });
  expect(body.connections[2]?.peers[3]).toMatchObject({ latency: '0s' });
  expect(body.connections[2]?.peers[3]?.error).toContain('i/o timeout');
  const nodes = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  expect(nodes.map(({ liveness_status: status }) => status)).toEqual([3, 3, 3, 3, 3]);
  const unhealthy = nodes.map(({ metrics }) => metrics['rpc.connection.unhealthy']);
  expect(unhealthy).toEqual([0, 2, 2, 0, 0]);
  simulator.world.healPair(2, 3);
  expect(statuses((await connectivity(simulator)).json(), 2)).toEqual({ 1: 1, 3: 1, 4: 1, 5: 1 });
});

test('a gateway that does not reach a node cannot ask it, and reads nothing of it', async () => {
  await using simulator = await startSimulator({ ...CALM, gateways: 2 });
  const client = await clusterClient(simulator);
  simulator.world.partitionPair(1, 3);
  const body = (await connectivity(simulator)).json();
  expect(Object.keys(body.connections)).toEqual(['1', '2', '4', '5']);
  expect(Object.keys(body.errorsByNodeId)).toEqual(['3']);
  expect((await connectivity(simulator, '?node_id=3')).status).toBe(500);
  expect((await client('/nodes/3/ranges/')).status).toBe(500);
  expect((await client('/nodes/local/ranges/?remote_node_id=3')).status).toBe(502);
  const token = await logIn(simulator);
  const [, second = ''] = simulator.clusterUrls;
  const elsewhere = await ask(`${second}/api/v2/nodes/3/ranges/`, { token });
  expect(elsewhere.status).toBe(200);
});

test('a dead node is an error of its own; a frozen one holds the whole list back, not that of another node', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.killNode(5);
  const dead = (await connectivity(simulator)).json();
  expect(Object.keys(dead.errorsByNodeId)).toEqual(['5']);
  expect(statuses(dead, 1)).toEqual({ 2: 1, 3: 1, 4: 1, 5: 3 });
  simulator.world.freezeNode(4);
  const alone = (await connectivity(simulator, '?node_id=2')).json();
  expect(Object.keys(alone.connections)).toEqual(['2']);
  expect(statuses(alone, 2)).toEqual({ 1: 1, 3: 1, 4: 3, 5: 3 });
  for (const query of ['', '?node_id=4']) {
    const waiting = connectivity(simulator, query, AbortSignal.timeout(300));
    await expect(waiting).rejects.toThrow('timeout');
  }
});

test('connections that were never made are missing, unknown, not established yet, or an error of old servers', async () => {
  await using simulator = await startSimulator(CALM);
  const idle = async (quirk: 'missing' | 'unknown' | 'establishing' | 'old-error') => {
    simulator.setQuirk('idleConnections', quirk);
    const { connections } = (await connectivity(simulator)).json();
    const { status, error } = connections[1]?.peers[3] ?? {};
    return [status, error];
  };
  expect(await idle('missing')).toEqual([undefined, undefined]);
  expect(await idle('unknown')).toEqual([0, '']);
  expect(await idle('establishing')).toEqual([2, 'not yet heartbeated']);
  expect(await idle('old-error')).toEqual([3, 'no connection found']);
});

test('one node, or all, say what they say of one peer, or of all, in another form', async () => {
  await using simulator = await startSimulator(CALM);
  simulator.world.partitionPair(1, 2);
  const toTwo = async (form: Quirks['connectionForm'], from: number) => {
    simulator.setQuirk('connectionForm', form);
    const { connections } = (await connectivity(simulator)).json();
    return connections[from]?.peers[2];
  };
  expect(await toTwo('unknown', 1)).toMatchObject({ status: 0, latency: '0s', error: '' });
  expect(await toTwo('code', 1)).toMatchObject({ status: 7 });
  expect(await toTwo('name', 1)).toMatchObject({ status: 'ERROR' });
  expect(await toTwo('name', 3)).toMatchObject({ status: 'ESTABLISHED' });
  expect(await toTwo('error-object', 1)).toMatchObject({ status: 3, error: { code: 14 } });
  expect(await toTwo('scalar', 3)).toBe(1);
  simulator.setQuirk('connectionFormOf', 1);
  expect(await toTwo('code', 3)).toMatchObject({ status: 1 });
  simulator.setQuirk('connectionFormTo', 5);
  const body = (await connectivity(simulator)).json();
  expect(statuses(body, 1)).toEqual({ 2: 3, 3: 1, 4: 1, 5: 7 });
  simulator.setQuirk('foreignPeers', 1000);
  const crowded = (await connectivity(simulator)).json();
  expect(Object.keys(crowded.connections[1]?.peers ?? {})).toHaveLength(1004);
  expect(Object.keys(crowded.connections[3]?.peers ?? {})).toHaveLength(4);
});

test('nodes count their connections, count none, or have no counts', async () => {
  await using simulator = await startSimulator(CALM);
  const client = await clusterClient(simulator);
  const counts = async (form: Quirks['connectionCounts']) => {
    simulator.setQuirk('connectionCounts', form);
    const { nodes } = (await client<NodesBody>('/nodes/')).json();
    const metrics = nodes?.[0]?.metrics;
    return [metrics?.['rpc.connection.healthy'], metrics?.['rpc.connection.unhealthy']];
  };
  expect(await counts('counted')).toEqual([10, 0]);
  expect(await counts('zero')).toEqual([0, 0]);
  expect(await counts('missing')).toEqual([undefined, undefined]);
});

test('the list needs a session but no privilege, and servers may not have it', async () => {
  await using simulator = await startSimulator(CALM);
  const url = `${simulator.clusterUrl}/_status/connectivity`;
  expect((await ask(url)).status).toBe(401);
  const token = await logIn(simulator, 'plain', 'plain-demo');
  expect((await ask(url, { headers: { Cookie: `session=${token}` } })).status).toBe(200);
  const refusals = [
    ['forbidden', 403],
    ['missing', 404],
    ['unimplemented', 501],
  ] as const;
  for (const [quirk, status] of refusals) {
    simulator.setQuirk('connectivity', quirk);
    expect((await connectivity(simulator)).status).toBe(status);
  }
});

test('a pair is cut and healed at the control address', async () => {
  await using simulator = await startSimulator({
    ...CALM,
    controlListen: { host: '127.0.0.1', port: 0 },
  });
  const post = async (action: string, nodes: readonly number[]) =>
    (
      await ask(`${simulator.controlUrl}/world/${action}`, {
        method: 'POST',
        body: JSON.stringify({ nodes }),
      })
    ).status;
  expect(await post('partition-pair', [1, 2])).toBe(200);
  expect(simulator.world.state.cutPairs.size).toBe(1);
  expect(await post('heal-pair', [2, 1])).toBe(200);
  expect(simulator.world.state.cutPairs.size).toBe(0);
  expect(await post('partition-pair', [1, 9])).toBe(400);
  expect(await post('partition-pair', [1])).toBe(400);
});
