import type { HotCandidates } from './hot-ranges.ts';
import { stage } from './known-ranges.ts';
import type { ProblemReports } from './problem-ranges.ts';
import { isId, type Lease, leaseKindOf, PROBLEMS, type Range, tableIdOf } from './range.ts';
import { createShortLivedTables, type RangeTables } from './range-table.ts';
import type { IsOurs } from './share.ts';

/** Bounds of crdb_ranges_by_queries_per_second. */
export const QUERY_BOUNDS = [1, 10, 50, 100, 250, 500, 1000, 2500, 5000, Infinity] as const;

/** What one store's replicas come to. */
export interface StoreTally {
  replicas: number;
  leases: number;
  quiescent: number;
  ticking: number;
  /** By index of PROBLEMS. */
  readonly problems: number[];
  queries: number;
  writes: number;
  requests: number;
  reads: number;
  readBytes: number;
  writeBytes: number;
  cpuNanos: number;
}

/** What one node's answer comes to, in a few numbers. */
export interface NodeFigures {
  /** 0 until the first element has named it, where the question did not. */
  nodeId: number;
  readonly stores: Map<number, StoreTally>;
  /** Whether the server sends more than queries and writes; it leaves zeros out. */
  isDetailed: boolean;
  /** Lease-holding replicas up to each of QUERY_BOUNDS and above the one before. */
  readonly byQueries: number[];
  maxQueries: number | undefined;
  maxCpuNanos: number | undefined;
}

/** One node's answer while it is read. Nothing of it counts before it is complete. */
export interface NodeTally {
  readonly figures: NodeFigures;
  readonly isOurs: IsOurs;
  /** Elements of the answer. */
  elements: number;
  /** Elements that name the node they come from. */
  named: number;
  /** The other node that an element came from. */
  stranger: number | undefined;
  /**
   * Per store: what is to be folded into the known ranges when the node is complete. A node that fails half way
   * so leaves no trace; it costs up to 25 bytes a replica, for the nodes that are being read.
   */
  readonly staged: Map<number, RangeTables>;
  readonly hot: HotCandidates;
  readonly problems: ProblemReports;
}

export function startTally(
  nodeId: number,
  parts: Pick<NodeTally, 'isOurs' | 'hot' | 'problems'>,
): NodeTally {
  const figures: NodeFigures = {
    nodeId,
    stores: new Map(),
    isDetailed: false,
    byQueries: QUERY_BOUNDS.map(() => 0),
    maxQueries: undefined,
    maxCpuNanos: undefined,
  };
  return { figures, elements: 0, named: 0, stranger: undefined, staged: new Map(), ...parts };
}

/** Counts one element. False when it comes from another node than the one asked: the answer is no good then. */
export function count(tally: NodeTally, range: Range): boolean {
  const { figures } = tally;
  tally.elements += 1;
  if (isId(range.source_node_id)) {
    if (figures.nodeId === 0) figures.nodeId = range.source_node_id;
    if (range.source_node_id !== figures.nodeId) {
      tally.stranger = range.source_node_id;
      return false;
    }
    tally.named += 1;
  }
  const rangeId = range.desc.range_id;
  const storeId = range.source_store_id;
  if (figures.nodeId !== 0 && isId(rangeId) && isId(storeId))
    countReplica(tally, range, { rangeId, storeId });
  return true;
}

interface ReplicaIds {
  readonly rangeId: number;
  readonly storeId: number;
}

function countReplica(tally: NodeTally, range: Range, { rangeId, storeId }: ReplicaIds): void {
  const lease = range.lease_history;
  const holds = lease?.replica.store_id === storeId;
  const problems = range.problems ?? 0;
  const isNew = stage(stagedOf(tally, storeId), {
    rangeId,
    problems,
    heldKind: holds ? leaseKindOf(lease) : undefined,
    sequence: lease === undefined ? 0 : sequenceOf(tally, lease, holds),
  });
  // Between two pages a replica may move into view again.
  if (!isNew) return;
  const store = storeOf(tally, storeId);
  store.replicas += 1;
  if (range.quiescent === true) store.quiescent += 1;
  if (range.ticking === true) store.ticking += 1;
  addLoad(tally, store, range);
  if (problems !== 0) addProblems(tally, range, { rangeId, storeId });
  if (!holds) return;
  store.leases += 1;
  addHeldLease(tally, range, { rangeId, storeId });
}

/**
 * A replica may speak of the lease it holds, and of one that only another shard sees being held. Of a lease of
 * our own nodes the holder itself will tell: taken from here, its change would be counted by nobody.
 */
function sequenceOf(tally: NodeTally, lease: Lease, holds: boolean): number {
  const isOurs = tally.isOurs(lease.replica.node_id ?? 0, tally.figures.nodeId);
  return holds || !isOurs ? (lease.sequence ?? 0) : 0;
}

function addLoad(tally: NodeTally, store: StoreTally, { stats }: Range): void {
  store.queries += stats.queries_per_second ?? 0;
  store.writes += stats.writes_per_second ?? 0;
  store.requests += stats.requests_per_second ?? 0;
  store.reads += stats.reads_per_second ?? 0;
  store.readBytes += stats.read_bytes_per_second ?? 0;
  store.writeBytes += stats.write_bytes_per_second ?? 0;
  store.cpuNanos += stats.cpu_time_per_second ?? 0;
  tally.figures.isDetailed ||=
    (stats.cpu_time_per_second ??
      stats.requests_per_second ??
      stats.reads_per_second ??
      stats.read_bytes_per_second ??
      stats.write_bytes_per_second) !== undefined;
}

function addProblems(tally: NodeTally, range: Range, { rangeId, storeId }: ReplicaIds): void {
  const problems = range.problems ?? 0;
  const counts = storeOf(tally, storeId).problems;
  for (let problem = 0; problem < PROBLEMS.length; problem += 1) {
    if ((problems & (1 << problem)) !== 0) counts[problem] = (counts[problem] ?? 0) + 1;
  }
  tally.problems.add(rangeId, problems, {
    nodeId: tally.figures.nodeId,
    storeId,
    tableId: tableIdOf(range),
  });
}

function addHeldLease(tally: NodeTally, range: Range, { rangeId, storeId }: ReplicaIds): void {
  const queries = range.stats.queries_per_second ?? 0;
  const cpuNanos = range.stats.cpu_time_per_second;
  const { figures } = tally;
  const bucket = QUERY_BOUNDS.findIndex((upper) => queries <= upper);
  figures.byQueries[bucket] = (figures.byQueries[bucket] ?? 0) + 1;
  figures.maxQueries = Math.max(figures.maxQueries ?? 0, queries);
  figures.maxCpuNanos = Math.max(figures.maxCpuNanos ?? 0, cpuNanos ?? 0);
  if (!tally.hot.wants(rangeId, queries)) return;
  tally.hot.add({
    rangeId,
    nodeId: tally.figures.nodeId,
    storeId,
    tableId: tableIdOf(range),
    queries,
    writes: range.stats.writes_per_second ?? 0,
    cpuSeconds: cpuNanos === undefined ? undefined : cpuNanos / 1e9,
  });
}

function stagedOf(tally: NodeTally, storeId: number): RangeTables {
  const found = tally.staged.get(storeId);
  if (found !== undefined) return found;
  const staged = createShortLivedTables();
  tally.staged.set(storeId, staged);
  return staged;
}

function storeOf(tally: NodeTally, storeId: number): StoreTally {
  const found = tally.figures.stores.get(storeId);
  if (found !== undefined) return found;
  const store: StoreTally = {
    replicas: 0,
    leases: 0,
    quiescent: 0,
    ticking: 0,
    problems: PROBLEMS.map(() => 0),
    queries: 0,
    writes: 0,
    requests: 0,
    reads: 0,
    readBytes: 0,
    writeBytes: 0,
    cpuNanos: 0,
  };
  tally.figures.stores.set(storeId, store);
  return store;
}
