import { describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import {
  clusterClient,
  holdsLease,
  type NodesBody,
  type RangesBody,
  type SessionsBody,
  type WireRange,
} from './client.ts';

const STATUS_CODES: Readonly<Record<string, number>> = {
  dead: 1,
  unavailable: 2,
  live: 3,
  decommissioning: 4,
  decommissioned: 5,
  draining: 6,
};

interface Served {
  readonly nodes: NonNullable<NodesBody['nodes']>;
  readonly replicas: readonly WireRange[];
  readonly sessions: SessionsBody;
}

/** All responses of the API, without paging. */
async function serve(simulator: Simulator): Promise<Served> {
  const client = await clusterClient(simulator);
  const nodes = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  const replicas: WireRange[] = [];
  for (const node of nodes.filter((each) => [3, 4, 6].includes(each.liveness_status))) {
    const page = (await client<RangesBody>(`/nodes/${node.node_id}/ranges/`)).json();
    replicas.push(...page.ranges);
  }
  return { nodes, replicas, sessions: (await client<SessionsBody>('/sessions/')).json() };
}

function startOf(seed: number): Promise<Simulator> {
  return startSimulator({ seed, frozen: true, metricKeys: 'useful', ranges: 200 });
}

function sum(replicas: readonly WireRange[], member: string): number {
  return replicas.reduce((total, replica) => total + (replica.stats[member] ?? 0), 0);
}

for (const seed of [1, 2, 3]) {
  describe(`the truth about the world of seed ${seed}`, () => {
    it('counts the nodes like a count of the responses', async () => {
      await using simulator = await startOf(seed);
      const { nodes } = await serve(simulator);
      const truth = simulator.truth();
      expect(truth.nodes.map((node) => STATUS_CODES[node.status])).toEqual(
        nodes.map((node) => node.liveness_status),
      );
      expect(truth.nodes.map((node) => node.updatedAtMs * 1e6)).toEqual(
        nodes.map((node) => node.updated_at),
      );
    });

    it('counts the replicas of each store like a count of the responses', async () => {
      await using simulator = await startOf(seed);
      const { replicas } = await serve(simulator);
      for (const store of simulator.truth().stores) {
        const own = replicas.filter((replica) => replica.source_store_id === store.storeId);
        expect(own).toHaveLength(store.replicas);
        expect(own.filter(holdsLease)).toHaveLength(store.leases);
        expect(own.filter((replica) => replica.quiescent)).toHaveLength(store.quiescent);
        expect(own.filter((replica) => replica.ticking)).toHaveLength(store.ticking);
        expect(sum(own, 'queries_per_second')).toBeCloseTo(store.queriesPerSecond, 6);
        expect(sum(own, 'writes_per_second')).toBeCloseTo(store.writesPerSecond, 6);
        expect(sum(own, 'requests_per_second')).toBeCloseTo(store.requestsPerSecond, 6);
        expect(sum(own, 'reads_per_second')).toBeCloseTo(store.readsPerSecond, 6);
        expect(sum(own, 'cpu_time_per_second')).toBeCloseTo(store.cpuNanosPerSecond, 0);
        for (const [problem, count] of Object.entries(store.problems)) {
          expect(own.filter((replica) => replica.problems[problem])).toHaveLength(count);
        }
      }
    });

    it('counts distinct ranges like a count of the responses', async () => {
      await using simulator = await startOf(seed);
      const { replicas } = await serve(simulator);
      const { ranges } = simulator.truth();
      const byRange = Map.groupBy(replicas, (replica) => replica.desc.range_id);
      expect(ranges.distinct).toBe(byRange.size);
      expect(ranges.unseen).toBe(200 - byRange.size);
      const counts = Map.groupBy(byRange.values(), (group) => String(group.length));
      expect(ranges.byReplicas).toEqual(
        Object.fromEntries([...counts].map(([count, groups]) => [count, groups.length])),
      );
      for (const [problem, ids] of Object.entries(ranges.problemRangeIds)) {
        const found = [...byRange].filter(([, group]) =>
          group.some((each) => each.problems[problem]),
        );
        expect(found.map(([id]) => id).toSorted((a, b) => a - b)).toEqual(ids);
      }
    });

    it('finds the kinds of leases and the hot ranges like a count of the responses', async () => {
      await using simulator = await startOf(seed);
      const { replicas } = await serve(simulator);
      const { ranges } = simulator.truth();
      const held = replicas.filter(holdsLease);
      const newest = Map.groupBy(held, (replica) => replica.desc.range_id);
      const kinds = { epoch: 0, expiration: 0, leader: 0, none: ranges.distinct - newest.size };
      for (const group of newest.values()) {
        const lease = group[0]?.lease_history?.at(-1);
        if (lease?.term !== undefined) kinds.leader++;
        else if (lease?.epoch !== undefined) kinds.epoch++;
        else kinds.expiration++;
      }
      expect(ranges.byLeaseKind).toEqual(kinds);
      const loads = held.map((replica) => replica.stats['queries_per_second'] ?? 0);
      expect(ranges.hot[0]?.queriesPerSecond).toBe(Math.max(...loads));
      expect(ranges.hot).toHaveLength(held.length);
    });

    it('counts sessions like a count of the responses', async () => {
      await using simulator = await startOf(seed);
      const { sessions } = await serve(simulator);
      const truth = simulator.truth().sessions;
      const open = sessions.sessions.filter((session) => session.end === undefined);
      expect(open).toHaveLength(truth.open);
      expect(sessions.errors.map((error) => error.node_id)).toEqual(truth.failedNodeIds);
      for (const node of truth.byNode) {
        const own = open.filter((session) => session.node_id === node.nodeId);
        const active = own.filter((session) => session.active_queries !== null);
        const idle = own.filter((session) => session.active_txn === undefined);
        expect(active).toHaveLength(node.active);
        expect(idle).toHaveLength(node.idle);
        expect(own).toHaveLength(node.active + node.idle + node.idleInTransaction);
        const bytes = own.map((session) => session.alloc_bytes ?? 0);
        expect(bytes.reduce((total, each) => total + each, 0)).toBe(node.allocBytes);
        expect(Math.max(...bytes)).toBe(node.largestAllocBytes);
      }
      for (const application of truth.byApplication) {
        const own = open.filter(
          (session) =>
            (session.application_name ?? '') === application.application &&
            session.username === application.user,
        );
        expect(own).toHaveLength(
          application.active + application.idle + application.idleInTransaction,
        );
      }
    });
  });
}

it('reflects changes: the replicas and sessions of a killed node are not counted', async () => {
  await using simulator = await startSimulator({ frozen: true, metricKeys: 'useful' });
  const before = simulator.truth();
  simulator.world.killNode(2);
  simulator.world.killNode(3);
  const after = simulator.truth();
  expect(after.stores.some((store) => [2, 3].includes(store.nodeId))).toBe(false);
  expect(after.ranges.problems.unavailable).toBeGreaterThan(before.ranges.problems.unavailable);
  expect(after.sessions.failedNodeIds).toEqual([2, 3, 9]);
  const { replicas } = await serve(simulator);
  expect(new Set(replicas.map((replica) => replica.desc.range_id)).size).toBe(
    after.ranges.distinct,
  );
});
