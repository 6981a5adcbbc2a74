import { largest, REPORTED_PROBLEMS } from '#base';
import { formatValue, type SampleSet } from '#metrics';
import { isLower } from './problem-ranges.ts';
import { families } from './range-families.ts';
import {
  LEASE_KINDS,
  LOADS,
  MAX_COUNTED_REPLICAS,
  NO_LEASE,
  QUERY_RATE_BOUNDS,
  LOAD_INDEX,
} from './replica.ts';
import type {
  Dependence,
  HotRange,
  ListedRange,
  ProblemRange,
  RangesResult,
  ScannedNode,
  ScanSummary,
} from './scan-result.ts';
import { tableLabels, lastTableLabel } from './table-index.ts';

const NANOS = 1e9;

/** Writes the samples of a scan; of a failed one only the state of the nodes. */
export function* writeSamples(
  result: RangesResult,
  set: SampleSet,
  shard: string,
): Iterable<undefined> {
  const { scanned, summary } = result;
  writeScanNodes(set, shard, result);
  if (summary === undefined) return;
  for (const node of scanned) {
    writeStores(set, node);
    yield undefined;
  }
  writeSums(set, shard, scanned, summary);
  writeMaxima(set, shard, scanned);
  set.set(families.leaseChanges, { shard }, summary.leaseChanges);
  writeHotRanges(set, shard, summary.hot);
  writeProblemRanges(set, shard, summary);
  writeTableProblems(set, shard, summary);
  writeCluster(set, shard, summary);
}

/** Writes how many nodes were read, and which; the node beside an exporter has no known id before it lists a range. */
function writeScanNodes(set: SampleSet, shard: string, result: RangesResult): void {
  const { scanned, failed, unreadable, skipped } = result;
  set.set(families.scanNodes, { state: 'scanned', shard }, scanned.length);
  set.set(families.scanNodes, { state: 'failed', shard }, failed.length + unreadable);
  set.set(families.scanNodes, { state: 'skipped', shard }, skipped);
  for (const { nodeId } of scanned) {
    const success = nodeId === 0 ? undefined : 1;
    set.set(families.scanNodeSuccess, { node_id: String(nodeId) }, success);
  }
  for (const { nodeId, wasQueried } of failed) {
    const success = wasQueried && nodeId !== 0 ? 0 : undefined;
    set.set(families.scanNodeSuccess, { node_id: String(nodeId) }, success);
  }
}

function writeStores(set: SampleSet, { nodeId, stores, isDetailed }: ScannedNode): void {
  for (const [storeId, store] of stores) {
    const labels = { node_id: String(nodeId), store_id: String(storeId) };
    set.set(families.replicas, labels, store.replicas);
    set.set(families.leases, labels, store.leases);
    set.set(families.quiescent, labels, store.quiescent);
    set.set(families.ticking, labels, store.ticking);
    REPORTED_PROBLEMS.forEach((problem, index) => {
      // The zeros are in crdb_range_problem_ranges; here they would be a sixth of all series.
      const replicas = store.problems[index] || undefined;
      set.set(families.problemReplicas, { problem, ...labels }, replicas);
    });
    LOADS.forEach((load, index) => {
      if (index > LOAD_INDEX.writes && !isDetailed) return;
      const value = store.load[index] ?? 0;
      set.set(families[load], labels, index === LOAD_INDEX.cpuNanos ? value / NANOS : value);
    });
  }
}

/** Writes the sums over the nodes that were read: without those that failed they are lower bounds. */
function writeSums(
  set: SampleSet,
  shard: string,
  nodes: readonly ScannedNode[],
  { byLeaseKind, tables, hasTableCpu, cluster }: ScanSummary,
): void {
  const knowsLeaseKinds = nodes.every((node) => node.knowsLeaseKinds);
  for (const [index, kind] of LEASE_KINDS.entries()) {
    // A node that was not read may hold the lease.
    if (index === NO_LEASE ? cluster === undefined : !knowsLeaseKinds) continue;
    set.set(families.byLeaseKind, { kind, shard }, byLeaseKind[index]);
  }
  let cumulative = 0;
  QUERY_RATE_BOUNDS.forEach((bound, index) => {
    for (const { byQueries } of nodes) cumulative += byQueries[index] ?? 0;
    set.set(families.byQueries, { le: formatValue(bound), shard }, cumulative);
  });
  for (const [tableId, load] of tables.loads) {
    const labels = { table_id: tableId, shard };
    set.set(families.tableRanges, labels, load.ranges);
    set.set(families.tableQueries, labels, load.queries);
    set.set(families.tableWrites, labels, load.writes);
    if (hasTableCpu) set.set(families.tableCpu, labels, load.cpuNanos / NANOS);
  }
}

function writeMaxima(set: SampleSet, shard: string, nodes: readonly ScannedNode[]): void {
  set.set(
    families.maxQueries,
    { shard },
    largest(nodes.flatMap(({ maxQueries }) => maxQueries ?? [])),
  );
  const detailed = nodes.filter(({ isDetailed }) => isDetailed);
  const cpuNanos = largest(detailed.flatMap(({ maxCpuNanos }) => maxCpuNanos ?? []));
  set.set(families.maxCpu, { shard }, cpuNanos === undefined ? undefined : cpuNanos / NANOS);
}

function writeHotRanges(set: SampleSet, shard: string, hot: readonly HotRange[]): void {
  for (const range of hot) {
    const labels = { ...labelsOf(range), shard };
    set.set(families.hotQueries, labels, range.queries);
    set.set(families.hotWrites, labels, range.writes);
    set.set(families.hotCpu, labels, range.cpuSeconds);
    const last_table_id = lastTableLabel(range.tableIndex, range.lastTableId);
    set.info(families.hotLeaseholder, { ...replicaLabels(range), last_table_id, shard });
  }
}

/** Writes the ranges with problems, and which of them are listed. */
function writeProblemRanges(set: SampleSet, shard: string, { problems }: ScanSummary): void {
  const reporters = new Map<number, ProblemRange>();
  for (const [problem, { ranges, listed }] of problems) {
    if (problem !== 'no_live_replica') set.set(families.problemRanges, { problem, shard }, ranges);
    set.set(families.problemRangesOmitted, { problem, shard }, ranges - listed.length);
    for (const range of listed) {
      const labels = { problem, ...labelsOf(range), shard };
      set.set(families.problemFirstSeen, labels, range.firstSeenSeconds);
      const lowest = reporters.get(range.rangeId);
      if (lowest === undefined || isLower(range, lowest)) reporters.set(range.rangeId, range);
    }
  }
  for (const reporter of reporters.values()) {
    set.info(families.problemReporter, { ...replicaLabels(reporter), shard });
  }
}

function labelsOf({ rangeId, tableIndex }: ListedRange) {
  return { range_id: String(rangeId), ...tableLabels(tableIndex) };
}

function replicaLabels({ rangeId, nodeId, storeId }: ListedRange) {
  return {
    range_id: String(rangeId),
    node_id: String(nodeId),
    store_id: storeId === 0 ? '' : String(storeId),
  };
}

function writeTableProblems(set: SampleSet, shard: string, { tables }: ScanSummary): void {
  for (const [tableId, counts] of tables.problems) {
    REPORTED_PROBLEMS.forEach((problem, index) => {
      const labels = { table_id: tableId, problem, shard };
      set.set(families.tableProblems, labels, counts[index] || undefined);
    });
  }
}

/** Writes what a scan of all nodes shows of the cluster as a whole. */
function writeCluster(
  set: SampleSet,
  shard: string,
  { ranges, byReplicas, cluster }: ScanSummary,
): void {
  if (cluster === undefined) return;
  set.set(families.ranges, { shard }, ranges);
  for (const [replicas, count] of byReplicas.entries()) {
    if (replicas === 0) continue;
    const label = replicas > MAX_COUNTED_REPLICAS ? 'other' : String(replicas);
    set.set(families.byReplicas, { replicas: label, shard }, count);
  }
  const { unverified, servingNothing, leftOver, keySpace, dependence, lost } = cluster;
  set.set(families.unverified, {}, unverified);
  set.set(families.servingNothing, {}, servingNothing);
  set.set(families.leftOver, {}, leftOver.length);
  set.set(families.keySpaceComplete, {}, Number(keySpace.isComplete));
  set.set(families.keySpaceGap, {}, Number(keySpace.isGapConfirmed));
  set.set(families.withoutLiveReplica, {}, lost);
  if (dependence !== undefined) writeDependence(set, dependence);
}

/** Writes what depends on each node and locality, and what the members that are not live hold. */
function writeDependence(set: SampleSet, { nodes, localities, downReplicas }: Dependence): void {
  for (const [nodeId, { quorum, allReplicas, withoutQuorum }] of nodes) {
    const effects = { quorum, all_replicas: allReplicas, without_quorum: withoutQuorum };
    for (const [effect, ranges] of Object.entries(effects)) {
      set.set(families.nodeDependent, { node_id: String(nodeId), effect }, ranges);
    }
  }
  for (const { tier, locality, quorum, allReplicas } of localities) {
    for (const [effect, ranges] of Object.entries({ quorum, all_replicas: allReplicas })) {
      set.set(families.localityDependent, { tier, locality, effect }, ranges);
    }
  }
  for (const [nodeId, ranges] of downReplicas) {
    set.set(families.downReplicas, { node_id: String(nodeId) }, ranges);
  }
}
