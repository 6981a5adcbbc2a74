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

async function bodyOf(url: string): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await fetch(url);
  if (body === null) throw new Error('no body');
  return body;
}
