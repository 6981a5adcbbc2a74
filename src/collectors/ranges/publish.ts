import type { Sheet } from '../../metrics/sheet.ts';
import * as families from './families.ts';
import type { HotRange } from './hot-ranges.ts';
import type { RangeSummary } from './known-ranges.ts';
import type { ProblemRange } from './problem-ranges.ts';
import { LEASE_KINDS, PROBLEMS } from './range.ts';
import type { FailedNode } from './scan.ts';
import { type NodeFigures, QUERY_BOUNDS, type StoreTally } from './tally.ts';

const NANOS = 1e9;
/** Ranges with more replicas count as `other`. */
const MAX_SHOWN_REPLICAS = 7;

/** What became of the nodes; the one thing that also a failed scan says. */
export interface ScanOutcome {
  readonly read: readonly NodeFigures[];
  readonly failed: readonly FailedNode[];
  readonly skipped: number;
}

export function publishOutcome(sheet: Sheet, shard: string, outcome: ScanOutcome): void {
  const { read, failed, skipped } = outcome;
  sheet.set(families.SCAN_NODES, { state: 'scanned', shard }, read.length);
  sheet.set(families.SCAN_NODES, { state: 'failed', shard }, failed.length);
  sheet.set(families.SCAN_NODES, { state: 'skipped', shard }, skipped);
  for (const { nodeId } of read) publishSuccess(sheet, nodeId, 1);
  for (const { nodeId, wasAsked } of failed) if (wasAsked) publishSuccess(sheet, nodeId, 0);
}

/** The node beside an exporter has no known id before it has named itself. */
function publishSuccess(sheet: Sheet, nodeId: number, success: number): void {
  if (nodeId !== 0) sheet.set(families.SCAN_NODE_SUCCESS, { node_id: String(nodeId) }, success);
}

export function publishNode(sheet: Sheet, tally: NodeFigures): void {
  for (const [storeId, store] of tally.stores) {
    const labels = { node_id: String(tally.nodeId), store_id: String(storeId) };
    sheet.set(families.REPLICAS, labels, store.replicas);
    sheet.set(families.LEASES, labels, store.leases);
    sheet.set(families.QUIESCENT, labels, store.quiescent);
    sheet.set(families.TICKING, labels, store.ticking);
    PROBLEMS.forEach((problem, at) => {
      // The zeros are in crdb_range_problem_ranges; here they would be a sixth of all series.
      const replicas = store.problems[at] || undefined;
      sheet.set(families.PROBLEM_REPLICAS, { problem, ...labels }, replicas);
    });
    sheet.set(families.STORE_QUERIES, labels, store.queries);
    sheet.set(families.STORE_WRITES, labels, store.writes);
    if (tally.isDetailed) publishDetails(sheet, labels, store);
  }
}

function publishDetails(
  sheet: Sheet,
  labels: { readonly node_id: string; readonly store_id: string },
  store: StoreTally,
): void {
  sheet.set(families.STORE_REQUESTS, labels, store.requests);
  sheet.set(families.STORE_READS, labels, store.reads);
  sheet.set(families.STORE_READ_BYTES, labels, store.readBytes);
  sheet.set(families.STORE_WRITE_BYTES, labels, store.writeBytes);
  sheet.set(families.STORE_CPU, labels, store.cpuNanos / NANOS);
}

/** What is true of the nodes that were read, put together. */
export interface ScanFindings {
  readonly read: readonly NodeFigures[];
  readonly summary: RangeSummary;
  readonly leaseChanges: number;
  readonly hot: readonly HotRange[];
  /** By index of PROBLEMS, oldest first. */
  readonly problems: readonly (readonly ProblemRange[])[];
  /** How many ranges of a problem are listed. */
  readonly problemRanges: number;
}

export function publishFindings(sheet: Sheet, shard: string, findings: ScanFindings): void {
  const { summary, read } = findings;
  LEASE_KINDS.forEach((kind, at) => {
    sheet.set(families.BY_LEASE_KIND, { kind, shard }, summary.byLeaseKind[at]);
  });
  sheet.set(families.LEASE_CHANGES, { shard }, findings.leaseChanges);
  publishQueries(sheet, shard, read);
  publishHot(sheet, shard, findings);
  PROBLEMS.forEach((problem, at) => {
    const ranges = summary.byProblem[at] ?? 0;
    const shown = (findings.problems[at] ?? []).slice(0, findings.problemRanges);
    sheet.set(families.PROBLEM_RANGES, { problem, shard }, ranges);
    sheet.set(families.PROBLEM_RANGES_OMITTED, { problem, shard }, ranges - shown.length);
    for (const range of shown) {
      const labels = { problem, ...describe(range), shard };
      sheet.set(families.PROBLEM_FIRST_SEEN, labels, range.firstSeenSeconds);
    }
  });
}

function publishQueries(sheet: Sheet, shard: string, read: readonly NodeFigures[]): void {
  let cumulative = 0;
  QUERY_BOUNDS.forEach((bound, at) => {
    for (const tally of read) cumulative += tally.byQueries[at] ?? 0;
    const upper = bound === Infinity ? '+Inf' : String(bound);
    sheet.set(families.BY_QUERIES, { upper, shard }, cumulative);
  });
  sheet.set(families.MAX_QUERIES, { shard }, largest(read.map(({ maxQueries }) => maxQueries)));
  const detailed = read.filter(({ isDetailed }) => isDetailed);
  const cpuNanos = largest(detailed.map(({ maxCpuNanos }) => maxCpuNanos));
  sheet.set(families.MAX_CPU, { shard }, cpuNanos === undefined ? undefined : cpuNanos / NANOS);
}

function largest(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce((most, value) => {
    if (most === undefined || value === undefined) return most ?? value;
    return Math.max(most, value);
  }, undefined);
}

function publishHot(sheet: Sheet, shard: string, { hot, read }: ScanFindings): void {
  const detailed = new Set(read.filter((node) => node.isDetailed).map(({ nodeId }) => nodeId));
  for (const range of hot) {
    const labels = { ...describe(range), shard };
    sheet.set(families.HOT_QUERIES, labels, range.queries);
    sheet.set(families.HOT_WRITES, labels, range.writes);
    // A server that sends it leaves it out where it is 0.
    const cpuSeconds = range.cpuSeconds ?? (detailed.has(range.nodeId) ? 0 : undefined);
    sheet.set(families.HOT_CPU, labels, cpuSeconds);
  }
}

/** What only a view of all ranges can say. */
export function publishWhole(sheet: Sheet, shard: string, summary: RangeSummary): void {
  const { ranges, byReplicas, byLeaseKind } = summary;
  sheet.set(families.RANGES, { shard }, ranges);
  let shown = 0;
  for (let replicas = 1; replicas <= MAX_SHOWN_REPLICAS; replicas += 1) {
    const labels = { replicas: String(replicas), shard };
    sheet.set(families.BY_REPLICAS, labels, byReplicas[replicas]);
    shown += byReplicas[replicas] ?? 0;
  }
  sheet.set(families.BY_REPLICAS, { replicas: 'other', shard }, ranges - shown);
  const held = byLeaseKind.reduce((sum, kind) => sum + kind, 0);
  sheet.set(families.BY_LEASE_KIND, { kind: 'none', shard }, ranges - held);
}

function describe(range: HotRange | ProblemRange): {
  readonly range_id: string;
  readonly node_id: string;
  readonly store_id: string;
  readonly table_id: string;
} {
  return {
    range_id: String(range.rangeId),
    node_id: String(range.nodeId),
    store_id: String(range.storeId),
    table_id: range.tableId,
  };
}
