import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { ask, clusterClient, type NodesBody } from './client.ts';

describe('faults', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeEach(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', frozen: true, sessions: 5 });
    client = await clusterClient(simulator);
  });
  afterEach(() => simulator.close());

  it('affect only requests in their scope, up to `times`', async () => {
    const fault = simulator.fault({
      endpoint: 'nodes',
      times: 2,
      skip: 1,
      kind: 'status',
      status: 503,
    });
    const statuses: number[] = [];
    for (let turn = 0; turn < 4; turn++) statuses.push((await client('/nodes/')).status);
    expect(statuses).toEqual([200, 503, 503, 200]);
    expect((await client('/sessions/')).status).toBe(200);
    expect(fault.hits).toBe(2);
  });

  it('can be removed one by one or all at once', async () => {
    const first = simulator.fault({ endpoint: 'nodes', kind: 'status', status: 500 });
    simulator.fault({ endpoint: 'sessions', kind: 'status', status: 500 });
    first.remove();
    expect((await client('/nodes/')).status).toBe(200);
    expect((await client('/sessions/')).status).toBe(500);
    simulator.clearFaults();
    expect((await client('/sessions/')).status).toBe(200);
  });

  it('match the node by path and by remote_node_id', async () => {
    simulator.fault({ node: 3, kind: 'status', status: 500 });
    expect((await client('/nodes/3/ranges/')).status).toBe(500);
    expect((await client('/nodes/local/ranges/?remote_node_id=3')).status).toBe(500);
    expect((await client('/nodes/2/ranges/')).status).toBe(200);
  });

  it('huge and gzip-bomb: an endless list, the latter small when compressed', async () => {
    for (const kind of ['huge', 'gzip-bomb'] as const) {
      simulator.clearFaults();
      simulator.fault({ kind });
      const response = await bodyOf(`${simulator.clusterUrl}/health`);
      const limit = 5_000_000;
      let size = 0;
      for await (const chunk of response) {
        size += chunk.length;
        if (size > limit) break;
      }
      expect(size).toBeGreaterThan(limit);
    }
  });

  it('affect only the cloud API with `api: cloud`', async () => {
    simulator.fault({ api: 'cloud', kind: 'status', status: 503 });
    const url = `${simulator.cloudUrl}/api/v1/clusters/${simulator.cloudClusterId}/migration-assistant`;
    expect((await ask(url)).status).toBe(503);
    expect((await client<NodesBody>('/nodes/')).json().nodes).toHaveLength(9);
  });
});

describe('repeated responses', () => {
  const START_MS = 1_800_000_000_000;
  let nowMs = START_MS;
  let simulator: Simulator;

  beforeEach(async () => {
    nowMs = START_MS;
    simulator = await startSimulator({
      nodes: 3,
      gateways: 2,
      faultyNodes: false,
      metricKeys: 'useful',
      insecure: true,
      sessions: 0,
      now: () => nowMs,
    });
  });
  afterEach(() => simulator.close());

  /** Liveness of node 3, and the age that the response shows: by its Date, and by its Age. */
  async function seenAt(url = simulator.clusterUrl, path = '/nodes/') {
    const { headers, json } = await ask<NodesBody>(`${url}/api/v2${path}`);
    const node = json().nodes?.find(({ node_id: id }) => id === 3);
    const seconds = (nowMs - Date.parse(headers.get('date') ?? '')) / 1000;
    return [node?.liveness_status, seconds, headers.get('age')];
  }

  function killAndWait(): void {
    simulator.world.killNode(3);
    nowMs += 60_000;
  }

  it('of a cache have the old Date and an Age, for the scope of the fault alone', async () => {
    const fault = simulator.fault({ kind: 'cached', endpoint: 'nodes', gateway: 1 });
    expect(await seenAt()).toEqual([3, 0, null]);
    killAndWait();
    expect(await seenAt()).toEqual([3, 60, '60']);
    // Another path is another entry, another gateway another cache.
    expect(await seenAt(simulator.clusterUrl, '/nodes/?limit=3')).toEqual([1, 0, null]);
    expect(await seenAt(simulator.clusterUrls[1])).toEqual([1, 0, null]);
    fault.remove();
    expect(await seenAt()).toEqual([1, 0, null]);
  });

  it('of an old answer have a fresh Date', async () => {
    simulator.fault({ kind: 'old', endpoint: 'nodes' });
    await seenAt();
    killAndWait();
    expect(await seenAt()).toEqual([3, 0, null]);
  });

  it('go on when the node is gone, and are never those of an error', async () => {
    simulator.fault({ kind: 'cached', endpoint: 'node_ranges' });
    const listed = (nodeId: number) =>
      ask(`${simulator.clusterUrl}/api/v2/nodes/${nodeId}/ranges/`);
    const { text } = await listed(2);
    simulator.world.killNode(2);
    expect(await listed(2)).toMatchObject({ status: 200, text });
    simulator.world.killNode(3);
    expect((await listed(3)).status).toBe(500);
    simulator.world.reviveNode(3);
    expect((await listed(3)).status).toBe(200);
  });

  it('affect one gateway by a status with Retry-After', async () => {
    const headers = { 'Retry-After': '7' };
    simulator.fault({ kind: 'status', status: 503, headers, gateway: 2, endpoint: 'nodes' });
    const statuses = await Promise.all(
      simulator.clusterUrls.map((url) => ask(`${url}/api/v2/nodes/`)),
    );
    expect(statuses.map((answer) => [answer.status, answer.headers.get('retry-after')])).toEqual([
      [200, null],
      [503, '7'],
    ]);
  });
});

async function bodyOf(url: string): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await fetch(url);
  if (body === null) throw new Error('no body');
  return body;
}
