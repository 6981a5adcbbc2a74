import { forEachProblem } from './by-problem.ts';
import { loadOf } from '../world/load.ts';
import { leasesSeenBy } from '../world/leases.ts';
import type { ClusterNode } from '../world/nodes.ts';
import { problemsOf } from '../world/problems.ts';
import type { Problem, Range, Replica } from '../world/ranges.ts';
import type { WorldState } from '../world/state.ts';

export interface StoreTruth {
  readonly nodeId: number;
  readonly storeId: number;
  replicas: number;
  leases: number;
  quiescent: number;
  ticking: number;
  readonly problems: Record<Problem, number>;
  queriesPerSecond: number;
  writesPerSecond: number;
  requestsPerSecond: number;
  readsPerSecond: number;
  writeBytesPerSecond: number;
  readBytesPerSecond: number;
  cpuNanosPerSecond: number;
}

interface HotRange {
  readonly rangeId: number;
  readonly nodeId: number;
  readonly storeId: number;
  /** Empty for a system range. */
  readonly tableId: string;
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number;
  readonly cpuNanosPerSecond: number;
}

export interface RangeTruth {
  /** Ranges of which a replica can be seen. */
  readonly distinct: number;
  /** Ranges that nobody reports, because all their replicas are on nodes that cannot be asked. */
  readonly unseen: number;
  /** Distinct ranges by problem on any replica. */
  readonly problems: Record<Problem, number>;
  readonly problemRangeIds: Readonly<Record<Problem, readonly number[]>>;
  /** Distinct ranges by the number of replicas seen. */
  readonly byReplicas: Readonly<Record<string, number>>;
  readonly byLeaseKind: Record<'epoch' | 'expiration' | 'leader' | 'none', number>;
  /** All replicas that hold the lease, most queries first. */
  readonly hot: readonly HotRange[];
  /** Sequence of the newest lease of each range, by range id. */
  readonly leaseSequences: Readonly<Record<string, number>>;
}

interface Seen {
  readonly range: Range;
  readonly replica: Replica;
  readonly problems: ReadonlySet<Problem>;
  readonly holdsLease: boolean;
}

/** Counts the replicas on the nodes that can be asked. */
export function rangeTruth(
  state: WorldState,
  askable: readonly ClusterNode[],
): { stores: StoreTruth[]; ranges: RangeTruth } {
  const seen = replicasSeen(state, new Set(askable.map((node) => node.id)));
  const byStore = Map.groupBy(seen, (each) => each.replica.storeId);
  const stores = askable.flatMap((node) =>
    node.stores.map((store) => storeTruth(state, node, store.id, byStore.get(store.id) ?? [])),
  );
  return { stores, ranges: clusterTruth(state, seen) };
}

function replicasSeen(state: WorldState, nodeIds: ReadonlySet<number>): Seen[] {
  const seen: Seen[] = [];
  for (const range of state.ranges.values()) {
    for (const replica of range.replicas) {
      if (!nodeIds.has(replica.nodeId)) continue;
      const lease = leasesSeenBy(range.leases, replica).at(-1);
      const problems = problemsOf(range, replica, state.nodes);
      seen.push({ range, replica, problems, holdsLease: lease?.storeId === replica.storeId });
    }
  }
  return seen;
}

function storeTruth(
  state: WorldState,
  node: ClusterNode,
  storeId: number,
  seen: readonly Seen[],
): StoreTruth {
  const loads = seen.map(({ range, replica }) => loadOf(range, replica, state.now()));
  return {
    nodeId: node.id,
    storeId,
    replicas: seen.length,
    leases: seen.filter((each) => each.holdsLease).length,
    quiescent: seen.filter((each) => each.replica.quiescent).length,
    ticking: seen.filter((each) => each.replica.ticking).length,
    problems: forEachProblem((problem) => seen.filter((each) => each.problems.has(problem)).length),
    queriesPerSecond: sum(loads.map((load) => load.queries)),
    writesPerSecond: sum(loads.map((load) => load.writes)),
    requestsPerSecond: sum(loads.map((load) => load.requests)),
    readsPerSecond: sum(loads.map((load) => load.reads)),
    writeBytesPerSecond: sum(loads.map((load) => load.writeBytes)),
    readBytesPerSecond: sum(loads.map((load) => load.readBytes)),
    cpuNanosPerSecond: sum(loads.map((load) => load.cpuNanos)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

function clusterTruth(state: WorldState, seen: readonly Seen[]): RangeTruth {
  const replicas = new Map<number, number>();
  for (const { range } of seen) replicas.set(range.id, (replicas.get(range.id) ?? 0) + 1);
  const byReplicas: Record<string, number> = {};
  for (const count of replicas.values()) byReplicas[count] = (byReplicas[count] ?? 0) + 1;
  const idsOf = (problem: Problem): number[] => [
    ...new Set(seen.filter((each) => each.problems.has(problem)).map((each) => each.range.id)),
  ];
  return {
    distinct: replicas.size,
    unseen: state.ranges.size - replicas.size,
    problems: forEachProblem((problem) => idsOf(problem).length),
    problemRangeIds: forEachProblem(idsOf),
    byReplicas,
    byLeaseKind: leaseKinds(seen, replicas.size),
    hot: hotRanges(state, seen),
    leaseSequences: Object.fromEntries(
      [...replicas.keys()].map((id) => [id, state.ranges.get(id)?.leases.at(-1)?.sequence ?? 0]),
    ),
  };
}

/** A range that two replicas claim counts once, by the newer lease. */
function leaseKinds(seen: readonly Seen[], distinct: number): RangeTruth['byLeaseKind'] {
  const kinds = { epoch: 0, expiration: 0, leader: 0, none: 0 };
  const held = new Map<number, Range>();
  for (const each of seen) if (each.holdsLease) held.set(each.range.id, each.range);
  for (const range of held.values()) kinds[range.leases.at(-1)?.kind ?? 'none']++;
  kinds.none = distinct - held.size;
  return kinds;
}

function hotRanges(state: WorldState, seen: readonly Seen[]): HotRange[] {
  const hot = seen
    .filter((each) => each.holdsLease)
    .map(({ range, replica }) => {
      const load = loadOf(range, replica, state.now());
      return {
        rangeId: range.id,
        nodeId: replica.nodeId,
        storeId: replica.storeId,
        tableId: range.tableId === undefined ? '' : String(range.tableId),
        queriesPerSecond: load.queries,
        writesPerSecond: load.writes,
        cpuNanosPerSecond: load.cpuNanos,
      };
    });
  return hot.toSorted((a, b) => b.queriesPerSecond - a.queriesPerSecond || a.rangeId - b.rangeId);
}
