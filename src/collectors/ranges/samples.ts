import type { SampleSet } from '../../metrics/sample-set.ts';
import { formatValue } from '../../metrics/sample-text.ts';
import { LISTED_PROBLEMS, PROBLEMS } from '../../vocabulary.ts';
import type { CollectorResult } from '../collector.ts';
import type { FailureDomains } from './failure-domains.ts';
import { families, STORE_LOADS } from './families.ts';
import type { HotRange } from './hot-ranges.ts';
import type { RangeSummary } from './known-ranges.ts';
import { listFamilies } from './list-families.ts';
import { isLower, type ProblemRange } from './problem-ranges.ts';
import { CPU_NANOS, labelsOfPlace, LEASE_KINDS, QUERY_BOUNDS, WRITES } from './range.ts';
import type { ScanResult } from './scan.ts';
import type { TableLists } from './table-load.ts';
import type { ScannedNode } from './tally.ts';

const NANOS = 1e9;
/** Ranges with more replicas count as `other`. */
const MAX_SHOWN_REPLICAS = 7;

/** The nodes of this shard, scanned. */
export interface RangesResult extends CollectorResult, Pick<ScanResult, 'scanned' | 'failed'> {
  /** Value of the label `shard`. */
  readonly shard: string;
  /** Number of nodes that were not queried because they are not live. */
  readonly skipped: number;
  /** Absent when the scan failed. */
  readonly summary?: ScanSummary;
}

/** Of the nodes that were scanned, taken together. */
interface ScanSummary extends Omit<RangeSummary, 'lost'> {
  /** What depends on each node, only when this exporter read every node of the cluster that is not known to be down. */
  readonly domains?: FailureDomains | undefined;
  /** Ranges without a live replica; undefined also while some nodes that are down have never been read. */
  readonly lost?: number | undefined;
  /** Since the start of the exporter. */
  readonly leaseChanges: number;
  /** The hottest by queries or by CPU first. */
  readonly hot: readonly HotRange[];
  /** By index of LISTED_PROBLEMS: the ranges to list, oldest first. */
  readonly problems: readonly (readonly ProblemRange[])[];
  readonly tables: ReturnType<TableLists['update']>;
  /** All nodes send the CPU of their replicas; else the sums of tables lack some. */
  readonly hasTableCpu: boolean;
}

/** A range of a list, with the replica that reports it. */
export type ListedRange = HotRange | ProblemRange;

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
  LEASE_KINDS.forEach((kind, at) => {
    set.set(families.byLeaseKind, { kind, shard }, summary.byLeaseKind[at]);
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
    PROBLEMS.forEach((problem, at) => {
      // The zeros are in crdb_range_problem_ranges; here they would be a sixth of all series.
      const replicas = store.problems[at] || undefined;
      set.set(families.problemReplicas, { problem, ...labels }, replicas);
    });
    STORE_LOADS.forEach((family, at) => {
      if (at > WRITES && !isDetailed) return;
      const value = store.load[at] ?? 0;
      set.set(family, labels, at === CPU_NANOS ? value / NANOS : value);
    });
  }
}

function writeQuerySamples(set: SampleSet, shard: string, nodes: readonly ScannedNode[]): void {
  let cumulative = 0;
  QUERY_BOUNDS.forEach((bound, at) => {
    for (const { byQueries } of nodes) cumulative += byQueries[at] ?? 0;
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

function writeProblemSamples(set: SampleSet, shard: string, summary: ScanSummary): void {
  PROBLEMS.forEach((problem, at) => {
    set.set(families.problemRanges, { problem, shard }, summary.byProblem[at] ?? 0);
  });
  const counts = [...summary.byProblem, summary.lost];
  const reporters = new Map<number, ProblemRange>();
  LISTED_PROBLEMS.forEach((problem, at) => {
    const ranges = counts[at];
    if (ranges === undefined) return;
    const listed = summary.problems[at] ?? [];
    set.set(listFamilies.problemRangesOmitted, { problem, shard }, ranges - listed.length);
    for (const range of listed) {
      const labels = { problem, ...labelsOf(range), shard };
      set.set(listFamilies.problemFirstSeen, labels, range.firstSeenSeconds);
      const lowest = reporters.get(range.rangeId);
      if (lowest === undefined || isLower(range, lowest)) reporters.set(range.rangeId, range);
    }
  });
  for (const reporter of reporters.values()) {
    set.info(listFamilies.problemReporter, { ...replicaLabels(reporter), shard });
  }
}

function labelsOf({ rangeId, place }: ListedRange) {
  return { range_id: String(rangeId), ...labelsOfPlace(place) };
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
    PROBLEMS.forEach((problem, at) => {
      const labels = { table_id: tableId, problem, shard };
      set.set(listFamilies.tableProblems, labels, counts[at] || undefined);
    });
  }
}

/** Metrics that need a view of all ranges. */
function writeWholeSamples(
  set: SampleSet,
  shard: string,
  { lost, ranges, byReplicas, byLeaseKind }: ScanSummary,
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
  set.set(listFamilies.withoutLiveReplica, {}, lost);
  set.set(families.ranges, { shard }, ranges);
  let shown = 0;
  for (let replicas = 1; replicas <= MAX_SHOWN_REPLICAS; replicas += 1) {
    const labels = { replicas: String(replicas), shard };
    set.set(families.byReplicas, labels, byReplicas[replicas]);
    shown += byReplicas[replicas] ?? 0;
  }
  set.set(families.byReplicas, { replicas: 'other', shard }, ranges - shown);
  const held = byLeaseKind.reduce((sum, kind) => sum + kind, 0);
  set.set(families.byLeaseKind, { kind: 'none', shard }, ranges - held);
}
