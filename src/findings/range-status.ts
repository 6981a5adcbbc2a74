import {
  labelOfTable,
  tableLabels,
  UNKNOWN_TABLE,
  lastTableLabel,
} from '../collectors/ranges/replica.ts';
import type {
  ClusterScan,
  Dependence,
  ListedRange,
  RangesResult,
} from '../collectors/ranges/scan-result.ts';
import type { TablesResult } from '../collectors/tables/collector.ts';
import { toTime } from '../format.ts';
import { PROBLEMS } from '../vocabulary.ts';
import { describeUnverified } from './safe-to-stop.ts';
import type {
  DependentRanges,
  RangesStatus,
  RangeStatus,
  ScanCheck,
  TablesWithoutQuorum,
  TableStatus,
  VerificationStatus,
} from './status.ts';

/** Ids of tables that were dropped one after the other; a longer gap is not looked through. */
const MAX_GAP = 1_000;

export function readRanges(
  { scanned, failed, skipped, summary }: RangesResult,
  tables: TablesResult | undefined,
  downNodes: readonly number[] = [],
  scanCheck?: ScanCheck,
): RangesStatus {
  const found = [...(summary?.problems ?? [])].filter(([, { ranges }]) => ranges > 0);
  const oldest = found.flatMap(([problem, { listed }]) =>
    listed.map((range) => ({
      problem,
      ...describeRange(range, tables),
      firstSeenAt: toTime(range.firstSeenSeconds * 1000) ?? '',
      lastNodes: range.lastNodes,
    })),
  );
  const read = new Set(scanned.map(({ nodeId }) => nodeId));
  const downSinceScan = downNodes.filter((id) => read.has(id));
  const dependence = summary?.cluster?.dependence;
  return {
    nodes: { scanned: scanned.length, failed: failed.length, skipped },
    failedNodes: failed.map(({ nodeId }) => nodeId),
    downSinceScan,
    scanCheck,
    problems: Object.fromEntries(found.map(([problem, { ranges }]) => [problem, ranges])),
    tables: summary === undefined ? [] : readTables(summary, tables),
    withoutQuorum: readTablesWithoutQuorum(summary, tables),
    dependent:
      downSinceScan.length > 0 || dependence === undefined ? undefined : readDependent(dependence),
    verification: summary?.cluster && readVerification(summary.cluster),
    oldest: oldest.toSorted((a, b) => Date.parse(a.firstSeenAt) - Date.parse(b.firstSeenAt)),
    hottest: (summary?.hot ?? [])
      .filter(({ queries, cpuSeconds = 0 }) => queries > 0 || cpuSeconds > 0)
      .map((range) => ({
        ...describeRange(range, tables),
        queriesPerSecond: range.queries,
        writesPerSecond: range.writes,
        cpuSecondsPerSecond: range.cpuSeconds,
      })),
  };
}

function readVerification(cluster: ClusterScan): VerificationStatus {
  const { unverified, servingNothing, keySpace, descriptors, lost } = cluster;
  const { state, due, perMinute } = descriptors;
  const incomplete = keySpace.isGapConfirmed ? 'gap' : 'incomplete';
  return {
    unverified,
    reason: describeUnverified(cluster),
    due,
    perMinute: perMinute && Math.round(perMinute),
    descriptors: state,
    keySpace: keySpace.isComplete ? 'complete' : incomplete,
    servingNothing,
    lost,
  };
}

/**
 * Example: 3 unavailable ranges of table 104 and a lost one of it are 4 ranges; lost ones beyond the list have no table. Of
 * 5 ranges that have no majority by their descriptors, 3 are reported as unavailable: the other 2 may belong to any table.
 */
function readTablesWithoutQuorum(
  summary: RangesResult['summary'],
  tables: TablesResult | undefined,
): TablesWithoutQuorum {
  const counts = new Map<string, number>();
  const count = (id: string, ranges: number) => counts.set(id, (counts.get(id) ?? 0) + ranges);
  for (const [id, byProblem] of summary?.problemsByTable ?? []) {
    const isKnown = id !== 0 && id !== UNKNOWN_TABLE;
    count(isKnown ? labelOfTable(id) : '', byProblem[PROBLEMS.indexOf('unavailable')] ?? 0);
  }
  const { ranges: lost, listed } = summary?.problems.get('no_live_replica') ?? {
    ranges: 0,
    listed: [],
  };
  for (const { tableIndex } of listed) count(tableLabels(tableIndex).table_id, 1);
  count('', Math.max(0, lost - listed.length));
  const domains = [...(summary?.cluster?.dependence?.nodes.values() ?? [])];
  const without = domains.reduce((most, domain) => Math.max(most, domain.withoutQuorum), 0);
  const unnamedRanges = Math.max(0, without - (summary?.problems.get('unavailable')?.ranges ?? 0));
  count('', unnamedRanges);
  const damaged = [...counts].filter(([id, ranges]) => id !== '' && ranges > 0);
  return {
    tables: damaged
      .map(([id, ranges]) => ({ id, name: tables?.names.get(id), ranges }))
      .toSorted((a, b) => b.ranges - a.ranges),
    otherRanges: counts.get('') ?? 0,
    unnamedRanges,
  };
}

/** The tables with most load, CPU or ranges, as the collector chose them, by queries; without the rest and what is outside of tables. */
function readTables(
  { tables: { loads }, hasTableCpu }: NonNullable<RangesResult['summary']>,
  tables: TablesResult | undefined,
): readonly TableStatus[] {
  // A few of thousands of tables are shown.
  const shown = tables?.discovery?.all.filter(({ tableId }) => loads.has(tableId));
  const sizes = new Map(shown?.map(({ tableId, sizeBytes }) => [tableId, sizeBytes]));
  return [...loads]
    .filter(([id]) => id !== 'other' && id !== 'none')
    .map(([id, { ranges, queries, writes, cpuNanos }]) => ({
      id,
      name: tables?.names.get(id),
      ranges,
      queriesPerSecond: queries,
      writesPerSecond: writes,
      cpuSecondsPerSecond: hasTableCpu ? cpuNanos / 1e9 : undefined,
      sizeBytes: sizes.get(id),
    }))
    .toSorted((a, b) => b.queriesPerSecond - a.queriesPerSecond);
}

/** Nodes and localities on which ranges depend. */
function readDependent(domains: Dependence): readonly DependentRanges[] {
  const nodes = Array.from(domains.nodes, ([nodeId, domain]) => ({
    name: `node ${nodeId}`,
    quorum: domain.quorum,
    lastReplica: domain.allReplicas,
    withoutQuorum: domain.withoutQuorum,
  }));
  const localities = domains.localities.map(({ locality, quorum, allReplicas }) => ({
    name: locality,
    quorum,
    lastReplica: allReplicas,
  }));
  return [...nodes, ...localities].filter(
    ({ quorum, lastReplica, withoutQuorum = 0 }: DependentRanges) =>
      quorum + lastReplica + withoutQuorum > 0,
  );
}

function describeRange(
  { rangeId, nodeId, storeId, tableIndex, lastTableId }: ListedRange,
  tables: TablesResult | undefined,
): RangeStatus {
  const { table_id: id, index_id: index } = tableLabels(tableIndex);
  const lastId = findLastTable(id, lastTableLabel(tableIndex, lastTableId), tables?.names);
  const table = tables?.names.get(id) ?? id;
  const lastTable = lastId && (tables?.names.get(lastId) ?? lastId);
  return { rangeId, nodeId, storeId: storeId || undefined, table, index, lastTable };
}

/**
 * The id of the last table in the keys of a range from the table `firstId` to `lastId`; undefined where it is the first one.
 * Ids have gaps: where 105 was dropped, the range of table 104 ends where table 106 begins, and holds one table. Without
 * the name of the first one no names are known, and gaps neither.
 */
export function findLastTable(
  firstId: string,
  lastId: string,
  names: ReadonlyMap<string, string> | undefined,
): string | undefined {
  if (lastId === '') return undefined;
  if (names?.has(firstId) !== true) return lastId;
  const [first, last] = [Number(firstId), Number(lastId)];
  for (let id = last; id > first && id > last - MAX_GAP; id -= 1) {
    if (names.has(String(id))) return String(id);
  }
  return undefined;
}
