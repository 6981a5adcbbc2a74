import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScaleSimulator, type ScaleSimulator } from '../../bench/scale/simulator.ts';
import type { RangeDescriptor } from '../../src/cockroach/range-descriptor.ts';
import {
  ask,
  holdsLease,
  type Answered,
  type NodesBody,
  type RangesBody,
  type SessionsBody,
  type WireRange,
} from '../simulator/client.ts';
import { createTestClient } from '../support/cluster.ts';

async function logIn({ clusterUrl, username, password }: ScaleSimulator): Promise<string> {
  const answer = await ask<{ session: string }>(`${clusterUrl}/api/v2/login/`, {
    method: 'POST',
    body: new URLSearchParams({ username, password }),
  });
  return answer.json().session;
}

describe('the scale simulator', () => {
  let simulator: ScaleSimulator;
  let token = '';

  beforeAll(async () => {
    simulator = await startScaleSimulator({
      nodes: 6,
      replicasPerNode: 500,
      storesPerNode: 2,
      sessionsPerNode: 7,
      metricKeys: 'useful',
    });
    token = await logIn(simulator);
  });
  afterAll(() => simulator.close());

  function get<Body>(path: string): Promise<Answered<Body>> {
    return ask<Body>(`${simulator.clusterUrl}/api/v2${path}`, { token });
  }

  async function ranges(path: string): Promise<RangesBody> {
    return (await get<RangesBody>(path)).json();
  }

  async function allReplicas(): Promise<WireRange[]> {
    const replicas: WireRange[] = [];
    for (let id = 101; id <= 106; id++)
      replicas.push(...(await ranges(`/nodes/${id}/ranges/`)).ranges);
    return replicas;
  }

  it('lists nodes and stores under ids of one width', async () => {
    const { nodes } = (await get<NodesBody>('/nodes/')).json();
    expect(nodes?.map((node) => node.node_id)).toEqual([101, 102, 103, 104, 105, 106]);
    expect(Object.keys(nodes?.[1]?.store_metrics ?? {})).toEqual(['1003', '1004']);
    expect(nodes?.[5]?.metrics['sys.uptime']).toBeGreaterThan(0);
    const page = (await get<NodesBody>('/nodes/?limit=2&offset=4')).json();
    expect(page.nodes?.map((node) => node.node_id)).toEqual([105, 106]);
    expect(page).not.toHaveProperty('next');
  });

  it('has correct counts of distinct ranges, problems and leases', async () => {
    const replicas = await allReplicas();
    const { truth } = simulator;
    expect(replicas).toHaveLength(truth.replicas);
    const byRange = Map.groupBy(replicas, (replica) => replica.desc.range_id);
    expect(byRange.size).toBe(truth.distinctRanges);
    expect([...byRange.values()].every((group) => group.filter(holdsLease).length === 1)).toBe(
      true,
    );
    for (const [problem, count] of Object.entries(truth.problems)) {
      expect(count).toBe(2);
      expect(replicas.filter((replica) => replica.problems[problem])).toHaveLength(count);
    }
    const leases = replicas.filter(holdsLease).map((replica) => replica.lease_history?.at(-1));
    expect(leases.filter((lease) => lease?.term !== undefined)).toHaveLength(
      truth.byLeaseKind.leader,
    );
    expect(leases.filter((lease) => lease?.epoch !== undefined)).toHaveLength(
      truth.byLeaseKind.epoch,
    );
    const loads = replicas.map((replica) => replica.stats['queries_per_second'] ?? 0);
    expect(Math.max(...loads)).toBe(truth.maxQueriesPerSecond);
  });

  it('has correct counts of each store', async () => {
    const byStore = Map.groupBy(await allReplicas(), (replica) => replica.source_store_id);
    expect(byStore.size).toBe(12);
    for (const [storeId, replicas] of byStore) {
      const truth = simulator.truth.store(replicas[0]?.source_node_id ?? 0, storeId);
      const sum = replicas.reduce(
        (total, each) => total + (each.stats['queries_per_second'] ?? 0),
        0,
      );
      expect(replicas).toHaveLength(truth?.replicas ?? -1);
      expect(replicas.filter(holdsLease)).toHaveLength(truth?.leases ?? -1);
      expect(sum).toBe(truth?.queriesPerSecond);
    }
    expect(simulator.truth.store(101, 1003)).toBeUndefined();
  });

  it('lists ranges by store and id, with pages of any size', async () => {
    const whole = (await ranges('/nodes/105/ranges/')).ranges;
    const keys = whole.map((each) => each.source_store_id * 1e8 + each.desc.range_id);
    expect(keys).toEqual(keys.toSorted((a, b) => a - b));
    expect(
      new Set(whole.map(({ span }) => /^\/Table\/\d+\/1\//.exec(span.start_key ?? '')?.[0])).size,
    ).toBe(30);
    const joined: WireRange[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: RangesBody = await ranges(`/nodes/105/ranges/?limit=77&offset=${offset}`);
      joined.push(...page.ranges);
      offset = page.next;
    }
    expect(joined).toEqual(whole);
    expect((await ranges('/nodes/local/ranges/?remote_node_id=105')).ranges).toEqual(whole);
  });

  it('can begin each range in a table of its own', async () => {
    await using other = await startScaleSimulator({
      nodes: 3,
      replicasPerNode: 130,
      tablePerRange: true,
    });
    const path = `${other.clusterUrl}/api/v2/nodes/103/ranges/`;
    const listed = (await ask<RangesBody>(path, { token: await logIn(other) })).json().ranges;
    expect(listed.map(({ span }) => span.start_key?.split('/')[2])).toEqual(
      listed.map(({ desc }) => String(desc.range_id)),
    );
    expect(listed).toHaveLength(130);
  });

  it('lists single ranges', async () => {
    const whole = (await ranges('/nodes/105/ranges/')).ranges;
    const ids = [whole[3], whole[257], whole[499]].map((each) => each?.desc.range_id);
    const chosen = (await ranges(`/nodes/105/ranges/?ranges=${ids.join(',')},1000001`)).ranges;
    expect(chosen).toEqual([whole[3], whole[257], whole[499]]);
  });

  it('has ranges whose keys join from the first to the last', async () => {
    const replicas = await allReplicas();
    const byRange = Map.groupBy(replicas, ({ desc }) => desc.range_id);
    const descriptors = [...byRange.values()].map((list) => {
      const texts = new Set(list.map(({ desc }) => JSON.stringify(desc)));
      expect(texts.size).toBe(1);
      return list[0]?.desc;
    });
    const starts = descriptors.map((desc) => desc?.start_key);
    const ends = descriptors.map((desc) => desc?.end_key);
    expect(starts).toEqual([null, ...ends.slice(0, -1)]);
    expect(ends.at(-1)).toBe('//8=');
    expect(new Set(ends).size).toBe(simulator.truth.distinctRanges);
  });

  it.each([true, false])('describes the ranges of a node, as protobuf: %s', async (protobuf) => {
    const { clusterUrl: url } = simulator;
    await using client = createTestClient({ urls: [url], token: async () => token, protobuf });
    const described: RangeDescriptor[] = [];
    const bytes = await client.api.rangeDescriptors(AbortSignal.timeout(20_000), {
      nodeId: 105,
      rangeIds: [1_000_001, 1_000_501, 1_000_502],
      firstUrl: 0,
      onDescriptor: (descriptor) => described.push(descriptor),
    });
    // Of the two stores of each node the first one.
    const replicas = [104, 105, 106].map((nodeId) => ({
      nodeId,
      storeId: 1000 + 2 * (nodeId - 100) - 1,
      type: 0,
    }));
    expect(described).toEqual([
      { rangeId: 1_000_501, replicas, generation: 57, isFromLeaseholder: false },
      { rangeId: 1_000_502, replicas, generation: 57, isFromLeaseholder: true },
    ]);
    expect(Math.abs(bytes / 2 - (protobuf ? 1_160 : 10_700))).toBeLessThan(100);
  });

  it('moves the leases of a dead node', async () => {
    const { dead } = simulator.changes;
    dead.add(1);
    const { nodes } = (await get<NodesBody>('/nodes/')).json();
    expect(nodes?.map((node) => node.liveness_status)).toEqual([3, 1, 3, 3, 3, 3]);
    expect((await get('/nodes/102/ranges/')).status).toBe(500);
    const listed = [101, 103].map(async (id) => (await ranges(`/nodes/${id}/ranges/`)).ranges);
    const holding = (await Promise.all(listed)).map((list) => list.filter(holdsLease));
    expect(holding.map(({ length }) => length)).toEqual([167, 333]);
    dead.clear();
    expect((await ranges('/nodes/102/ranges/')).ranges).toHaveLength(500);
  });

  it('pages through sessions like a server', async () => {
    const whole = (await get<SessionsBody>('/sessions/')).json();
    expect(whole.sessions).toHaveLength(simulator.truth.sessions);
    const joined = [];
    let start = '';
    for (;;) {
      const page = (await get<SessionsBody>(`/sessions/?limit=10&start=${start}`)).json();
      joined.push(...page.sessions);
      start = page.next ?? '';
      if (page.sessions.length < 10) break;
    }
    expect(joined).toEqual(whole.sessions);
    expect(new Set(joined.map((session) => session.node_id)).size).toBe(6);
  });
});
