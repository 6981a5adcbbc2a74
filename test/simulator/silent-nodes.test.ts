import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import {
  ask,
  clusterClient,
  failureOf,
  type NodesBody,
  type RangesBody,
  type SessionsBody,
} from './client.ts';

type LoggedRequest = Simulator['requests']['entries'][number];

const LIVE = 3;
const SILENCE = undefined;

describe('a node that is live and silent', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeEach(async () => {
    simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      nodes: 4,
      faultyNodes: false,
      gateways: 2,
      controlListen: { host: '127.0.0.1', port: 0 },
    });
    client = await clusterClient(simulator);
  });
  afterEach(() => simulator.close());

  /** The status of each call, after later calls have completed; then the client aborts them. */
  async function statusesOf(...paths: readonly string[]): Promise<readonly unknown[]> {
    simulator.requests.clear();
    const patience = new AbortController();
    const calls = paths.map((path) => failureOf(client(path, { signal: patience.signal })));
    const entries = (): readonly (LoggedRequest | undefined)[] =>
      paths.map((wanted) =>
        simulator.requests.entries.find(({ path }) => path === `/api/v2${wanted}`),
      );
    await expect.poll(() => entries().every((entry) => entry !== undefined)).toBe(true);
    for (let turn = 0; turn < 3; turn += 1) await client('/nodes/');
    const statuses = entries().map((entry) => entry?.status);
    patience.abort();
    await Promise.all(calls);
    return statuses;
  }

  it('does not respond for its ranges, by gateway or by proxy', async () => {
    simulator.world.freezeNode(3, 'ranges');
    expect(await statusesOf('/nodes/3/ranges/', '/nodes/local/ranges/?remote_node_id=3')).toEqual([
      SILENCE,
      SILENCE,
    ]);
  });

  it('does not respond at its own address either, which serves everything else', async () => {
    simulator.world.freezeNode(1, 'ranges');
    expect(await statusesOf('/nodes/local/ranges/', '/nodes/1/ranges/')).toEqual([
      SILENCE,
      SILENCE,
    ]);
    expect((await client<RangesBody>('/nodes/2/ranges/')).json().ranges.length).toBeGreaterThan(0);
  });

  it('is listed as live, and the others are unchanged', async () => {
    const before = (await client<RangesBody>('/nodes/2/ranges/')).json();
    simulator.world.freezeNode(3, 'ranges');
    const { nodes } = (await client<NodesBody>('/nodes/')).json();
    expect(nodes?.map(({ liveness_status }) => liveness_status)).toEqual([LIVE, LIVE, LIVE, LIVE]);
    expect((await client<RangesBody>('/nodes/2/ranges/')).json()).toEqual(before);
  });

  it('lists its sessions, or hangs every listing of them, depending on silentOn', async () => {
    simulator.world.freezeNode(3, 'ranges');
    const { sessions } = (await client<SessionsBody>('/sessions/')).json();
    expect(sessions.some(({ node_id }) => node_id === 3)).toBe(true);
    simulator.world.freezeNode(3, 'ranges-and-sessions');
    expect(await statusesOf('/sessions/', '/sessions/?limit=1000')).toEqual([SILENCE, SILENCE]);
  });

  it('is not scannable in the truth', () => {
    simulator.world.freezeNode(3, 'ranges');
    const { nodes, stores } = simulator.truth();
    expect(nodes.filter(({ scannable }) => !scannable).map(({ nodeId }) => nodeId)).toEqual([3]);
    expect(stores.some(({ nodeId }) => nodeId === 3)).toBe(false);
  });

  it('responds again after it is revived or restarted', async () => {
    for (const end of ['reviveNode', 'restartNode'] as const) {
      simulator.world.freezeNode(3, 'ranges-and-sessions');
      simulator.world[end](3);
      expect((await client('/nodes/3/ranges/')).status).toBe(200);
      expect((await client('/sessions/')).status).toBe(200);
    }
  });

  it('is created by the control port', async () => {
    const order = (body: object): Promise<{ status: number }> =>
      ask(`${simulator.controlUrl}/world/freeze`, { method: 'POST', body: JSON.stringify(body) });
    expect((await order({ node: 3, silentOn: 'nodes' })).status).toBe(400);
    expect((await order({ node: 3, silentOn: 'ranges' })).status).toBe(200);
    expect(await statusesOf('/nodes/3/ranges/')).toEqual([SILENCE]);
    expect(simulator.truth().nodesByStatus).toEqual({ live: 4 });
  });
});
