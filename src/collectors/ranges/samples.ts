import type { SampleSet } from '../../metrics/sample-set.ts';
import { formatValue } from '../../metrics/sample-text.ts';
import { REPORTED_PROBLEMS } from '../../vocabulary.ts';
import type { CollectorResult } from '../collector.ts';
import type { FailureDomains } from './failure-domains.ts';
import { families, STORE_LOADS } from './families.ts';
import { listFamilies } from './list-families.ts';
import { type HotRange, isLower, type ListedRange, type ProblemRange } from './listed-ranges.ts';
import type { FailedNode } from './read-nodes.ts';
import { CPU_NANOS, LEASE_KINDS, NO_LEASE, QUERY_BOUNDS, tableLabels, WRITES } from './replica.ts';
import type { ScannedNode, ScanSummary } from './scan.ts';

const NANOS = 1e9;
/** Ranges with more replicas count as `other`. */
const MAX_SHOWN_REPLICAS = 7;

/** The nodes of this shard, scanned. */
export interface RangesResult extends CollectorResult {
  /** Value of the label `shard`. */
  readonly shard: string;
  /** The nodes that were read, by id. */
  readonly scanned: readonly ScannedNode[];
  /** The nodes that could not be read, by id. */
  readonly failed: readonly FailedNode[];
  /** Number of nodes that were not queried because they are not live. */
  readonly skipped: number;
  /** Absent when the scan failed. */
  readonly summary?: ScanSummary;
}

/** Writes the samples of a scan; of a failed one only the state of the nodes. */
export function* writeRangesSamples(result: RangesResult, set: SampleSet): Iterable<undefined> {
  const { shard, scanned, failed, skipped, summary } = result;
  set.set(families.scanNodes, { state: 'scanned', shard }, scanned.length);
  set.set(families.scanNodes, { state: 'failed', shard }, failed.length);
  set.set(families.scanNodes, { state: 'skipped', shard }, skipped);
  for (const { nodeId } of scanned) writeNodeSuccess(set, nodeId, 1);
  for (const { nodeId, wasQueried } of failed) if (wasQueried) writeNodeSuccess(set, nodeId, 0);
  if (summary === undefined) return;
  for (const node of scanned) {
    writeNodeSamples(set, node);
    yield undefined;
  }
  LEASE_KINDS.forEach((kind, index) => {
    if (index === NO_LEASE) return;
    set.set(families.byLeaseKind, { kind, shard }, summary.byLeaseKind[index]);
  });
  set.set(families.leaseChanges, { shard }, summary.leaseChanges);
  writeQuerySamples(set, shard, scanned);
  writeHotSamples(set, shard, summary.hot);
  writeProblemSamples(set, shard, summary);
  writeTableSamples(set, shard, summary);
  if (summary.domains !== undefined) writeWholeSamples(set, shard, summary, summary.domains);
}

/** The node beside an exporter has no known id before its first response. */
function writeNodeSuccess(set: SampleSet, nodeId: number, success: number): void {
  if (nodeId !== 0) set.set(families.scanNodeSuccess, { node_id: String(nodeId) }, success);
}

function writeNodeSamples(set: SampleSet, { nodeId, stores, isDetailed }: ScannedNode): void {
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
    STORE_LOADS.forEach((family, index) => {
      if (index > WRITES && !isDetailed) return;
      const value = store.load[index] ?? 0;
      set.set(family, labels, index === CPU_NANOS ? value / NANOS : value);
    });
  }
}

function writeQuerySamples(set: SampleSet, shard: string, nodes: readonly ScannedNode[]): void {
  let cumulative = 0;
  QUERY_BOUNDS.forEach((bound, index) => {
    for (const { byQueries } of nodes) cumulative += byQueries[index] ?? 0;
    set.set(families.byQueries, { le: formatValue(bound), shard }, cumulative);
  });
  set.set(families.maxQueries, { shard }, largest(nodes.map(({ maxQueries }) => maxQueries)));
  const detailed = nodes.filter(({ isDetailed }) => isDetailed);
  const cpuNanos = largest(detailed.map(({ maxCpuNanos }) => maxCpuNanos));
  set.set(families.maxCpu, { shard }, cpuNanos === undefined ? undefined : cpuNanos / NANOS);
}

function largest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((most, value) => Math.max(most, value));
}

function writeHotSamples(set: SampleSet, shard: string, hot: readonly HotRange[]): void {
  for (const range of hot) {
    const labels = { ...labelsOf(range), shard };
    set.set(listFamilies.hotQueries, labels, range.queries);
    set.set(listFamilies.hotWrites, labels, range.writes);
    set.set(listFamilies.hotCpu, labels, range.cpuSeconds);
    set.info(listFamilies.hotLeaseholder, { ...replicaLabels(range), shard });
  }
}

function writeProblemSamples(set: SampleSet, shard: string, { problems }: ScanSummary): void {
  const reporters = new Map<number, ProblemRange>();
  for (const [problem, { ranges, listed }] of problems) {
    if (problem !== 'no_live_replica') set.set(families.problemRanges, { problem, shard }, ranges);
    set.set(listFamilies.problemRangesOmitted, { problem, shard }, ranges - listed.length);
    for (const range of listed) {
      const labels = { problem, ...labelsOf(range), shard };
      set.set(listFamilies.problemFirstSeen, labels, range.firstSeenSeconds);
      const lowest = reporters.get(range.rangeId);
      if (lowest === undefined || isLower(range, lowest)) reporters.set(range.rangeId, range);
    }
  }
  for (const reporter of reporters.values()) {
    set.info(listFamilies.problemReporter, { ...replicaLabels(reporter), shard });
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

function writeTableSamples(set: SampleSet, shard: string, summary: ScanSummary): void {
  const { tables, hasTableCpu } = summary;
  for (const [tableId, load] of tables.loads) {
    const labels = { table_id: tableId, shard };
    set.set(listFamilies.tableRanges, labels, load.ranges);
    set.set(listFamilies.tableQueries, labels, load.queries);
    set.set(listFamilies.tableWrites, labels, load.writes);
    if (hasTableCpu) set.set(listFamilies.tableCpu, labels, load.cpuNanos / NANOS);
  }
  for (const [tableId, counts] of tables.problems) {
    REPORTED_PROBLEMS.forEach((problem, index) => {
      const labels = { table_id: tableId, problem, shard };
      set.set(listFamilies.tableProblems, labels, counts[index] || undefined);
    });
  }
}

/** Metrics that need a view of all ranges. */
function writeWholeSamples(
  set: SampleSet,
  shard: string,
  { problems, ranges, byReplicas, byLeaseKind }: ScanSummary,
  { nodes, localities, unknownVoters }: FailureDomains,
): void {
  for (const [nodeId, { quorum, allReplicas, withoutQuorum }] of nodes) {
    const labels = { node_id: String(nodeId) };
    set.set(listFamilies.nodeDependent, { ...labels, effect: 'quorum' }, quorum);
    set.set(listFamilies.nodeDependent, { ...labels, effect: 'all_replicas' }, allReplicas);
    set.set(listFamilies.nodeDependent, { ...labels, effect: 'without_quorum' }, withoutQuorum);
  }
  for (const { tier, locality, quorum, allReplicas } of localities) {
    const labels = { tier, locality };
    set.set(listFamilies.localityDependent, { ...labels, effect: 'quorum' }, quorum);
    set.set(listFamilies.localityDependent, { ...labels, effect: 'all_replicas' }, allReplicas);
  }
  set.set(listFamilies.unknownVoters, { scope: 'node' }, unknownVoters.node);
  set.set(listFamilies.unknownVoters, { scope: 'locality' }, unknownVoters.locality);
  set.set(listFamilies.withoutLiveReplica, {}, problems.get('no_live_replica')?.ranges);
  set.set(families.ranges, { shard }, ranges);
  let shown = 0;
  for (let replicas = 1; replicas <= MAX_SHOWN_REPLICAS; replicas += 1) {
    const labels = { replicas: String(replicas), shard };
    set.set(families.byReplicas, labels, byReplicas[replicas]);
    shown += byReplicas[replicas] ?? 0;
  }
  set.set(families.byReplicas, { replicas: 'other', shard }, ranges - shown);
  set.set(families.byLeaseKind, { kind: 'none', shard }, byLeaseKind[NO_LEASE]);
}
