import { heldReplicas } from '../world/held-replicas.ts';
import { loadOf, type ReplicaLoad } from '../world/load.ts';
import type { ClusterNode } from '../world/nodes.ts';
import { problemsOf } from '../world/problems.ts';
import type { Problem, Range, Replica } from '../world/ranges.ts';
import { leasesOf, type WorldState } from '../world/state.ts';

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
  /** The table that it ends in, where that is another one. */
  readonly lastTableId: string;
  /** Empty where the key ends before it. */
  readonly indexId: string;
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number;
  readonly cpuNanosPerSecond: number;
}

export interface RangeTruth {
  /** Ranges with at least one visible replica. */
  readonly distinct: number;
  /** Ranges whose replicas are all on nodes that cannot be scanned. */
  readonly unseen: number;
  /** Ids of ranges that were merged away, and of which nodes still hold a replica. */
  readonly leftOver: readonly number[];
  /** Distinct ranges by problem on any replica. */
  readonly problems: Record<Problem, number>;
  readonly problemRangeIds: Readonly<Record<Problem, readonly number[]>>;
  /** Distinct ranges by the number of visible replicas. */
  readonly byReplicas: Readonly<Record<string, number>>;
  readonly byLeaseKind: Record<'epoch' | 'expiration' | 'leader' | 'none', number>;
  /** All replicas that hold the lease, most queries first. */
  readonly hot: readonly HotRange[];
  /** By table id, `none` outside of tables: load of the ranges that begin there, and distinct ranges by problem. */
  readonly tables: Readonly<Record<string, TableTruth>>;
  /** Sequence of the newest lease of each range, by range id. */
  readonly leaseSequences: Readonly<Record<string, number>>;
}

interface TableTruth {
  readonly leases: number;
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number;
  readonly cpuNanosPerSecond: number;
  readonly problems: Readonly<Record<Problem, number>>;
}

interface VisibleReplica {
  readonly range: Range;
  readonly replica: Replica;
  readonly problems: ReadonlySet<Problem>;
  readonly holdsLease: boolean;
}

/** Counts the replicas on the nodes that can be scanned. */
export function rangeTruth(
  state: WorldState,
  scannable: readonly ClusterNode[],
): { stores: StoreTruth[]; ranges: RangeTruth } {
  const seen = visibleReplicas(state, new Set(scannable.map((node) => node.id)));
  const byStore = Map.groupBy(seen, (each) => each.replica.storeId);
  const stores = scannable.flatMap((node) =>
    node.stores.map((store) => storeTruth(state, node, store.id, byStore.get(store.id) ?? [])),
  );
  return { stores, ranges: clusterTruth(state, seen) };
}

function visibleReplicas(state: WorldState, nodeIds: ReadonlySet<number>): VisibleReplica[] {
  return heldReplicas(state)
    .filter(({ replica }) => nodeIds.has(replica.nodeId))
    .map(({ range, replica }) => {
      const lease = leasesOf(state, range, replica).at(-1);
      const problems = problemsOf(state, range, replica);
      return { range, replica, problems, holdsLease: lease?.storeId === replica.storeId };
    });
}

function storeTruth(
  state: WorldState,
  node: ClusterNode,
  storeId: number,
  seen: readonly VisibleReplica[],
): StoreTruth {
  const loads = loadsOf(state, seen);
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

function loadsOf(state: WorldState, replicas: readonly VisibleReplica[]): readonly ReplicaLoad[] {
  return replicas.map(({ range, replica }) => loadOf(state, range, replica));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

function clusterTruth(state: WorldState, seen: readonly VisibleReplica[]): RangeTruth {
  const replicas = new Map<number, number>();
  for (const { range } of seen) replicas.set(range.id, (replicas.get(range.id) ?? 0) + 1);
  const byReplicas: Record<string, number> = {};
  for (const count of replicas.values()) byReplicas[count] = (byReplicas[count] ?? 0) + 1;
  const idsOf = (problem: Problem): number[] => [
    ...new Set(seen.filter((each) => each.problems.has(problem)).map((each) => each.range.id)),
  ];
  return {
    distinct: replicas.size,
    unseen: [...state.ranges.keys()].filter((id) => !replicas.has(id)).length,
    leftOver: [...replicas.keys()].filter((id) => !state.ranges.has(id)),
    problems: forEachProblem((problem) => idsOf(problem).length),
    problemRangeIds: forEachProblem(idsOf),
    byReplicas,
    byLeaseKind: leaseKinds(seen, replicas.size),
    hot: hotRanges(state, seen),
    tables: tableTruth(state, seen),
    leaseSequences: Object.fromEntries(
      [...replicas.keys()].map((id) => [id, state.ranges.get(id)?.leases.at(-1)?.sequence ?? 0]),
    ),
  };
}

function tableTruth(
  state: WorldState,
  seen: readonly VisibleReplica[],
): Readonly<Record<string, TableTruth>> {
  const byTable = Map.groupBy(seen, ({ range }) => tableOf(state, range) || 'none');
  const tables = Array.from(byTable, ([id, replicas]) => {
    const held = replicas.filter(({ holdsLease }) => holdsLease);
    const truth: TableTruth = {
      leases: held.length,
      queriesPerSecond: sum(loadsOf(state, held).map(({ queries }) => queries)),
      writesPerSecond: sum(loadsOf(state, held).map(({ writes }) => writes)),
      cpuNanosPerSecond: sum(loadsOf(state, replicas).map(({ cpuNanos }) => cpuNanos)),
      problems: forEachProblem((problem) => {
        const having = replicas.filter(({ problems }) => problems.has(problem));
        return new Set(having.map(({ range }) => range.id)).size;
      }),
    };
    return [id, truth] as const;
  });
  return Object.fromEntries(tables);
}

/** A range that two replicas claim counts once, by the newer lease. */
function leaseKinds(seen: readonly VisibleReplica[], distinct: number): RangeTruth['byLeaseKind'] {
  const kinds = { epoch: 0, expiration: 0, leader: 0, none: 0 };
  const held = new Map<number, Range>();
  for (const each of seen) if (each.holdsLease) held.set(each.range.id, each.range);
  for (const range of held.values()) kinds[range.leases.at(-1)?.kind ?? 'none']++;
  kinds.none = distinct - held.size;
  return kinds;
}

function hotRanges(state: WorldState, seen: readonly VisibleReplica[]): HotRange[] {
  const hot = seen
    .filter((each) => each.holdsLease)
    .map(({ range, replica }) => {
      const load = loadOf(state, range, replica);
      return {
        rangeId: range.id,
        nodeId: replica.nodeId,
        storeId: replica.storeId,
        tableId: tableOf(state, range),
        lastTableId: lastTableOf(state, range),
        indexId: range.tableId === undefined ? '' : indexOf(range),
        queriesPerSecond: load.queries,
        writesPerSecond: load.writes,
        cpuNanosPerSecond: load.cpuNanos,
      };
    });
  return hot.toSorted((a, b) => b.queriesPerSecond - a.queriesPerSecond || a.rangeId - b.rangeId);
}

/** `104`, in virtual cluster 3 `3/104`; empty outside of tables. */
/** A range that ends at the first key of a table is not in that table. */
function lastTableOf(state: WorldState, range: Range): string {
  const [, id, rest] = /\/Table\/(\d+)(\/.+)?$/.exec(range.end.pretty) ?? [];
  const last = Number(id ?? 0) - (rest === undefined ? 1 : 0);
  return range.tableId !== undefined && last > range.tableId
    ? tableOf(state, { ...range, tableId: last })
    : '';
}

function tableOf({ options: { virtualCluster } }: WorldState, { tableId }: Range): string {
  if (tableId === undefined) return '';
  return virtualCluster === undefined ? String(tableId) : `${virtualCluster}/${tableId}`;
}

/** 1 of `/Table/104/1/2500` and `/Tenant/3/Table/104/1/2500`. */
function indexOf({ start }: Range): string {
  const words = start.pretty.split('/');
  return words[words.indexOf('Table') + 2] ?? '';
}

/** A value for each problem. */
export function forEachProblem<T>(value: (problem: Problem) => T): Record<Problem, T> {
  return {
    unavailable: value('unavailable'),
    underreplicated: value('underreplicated'),
    overreplicated: value('overreplicated'),
    range_too_large: value('range_too_large'),
    leader_not_lease_holder: value('leader_not_lease_holder'),
    no_raft_leader: value('no_raft_leader'),
    no_lease: value('no_lease'),
    quiescent_equals_ticking: value('quiescent_equals_ticking'),
    raft_log_too_large: value('raft_log_too_large'),
    circuit_breaker_error: value('circuit_breaker_error'),
    paused_followers: value('paused_followers'),
  };
}
