import { capitalize, PROBLEMS, sum, toTime } from '#base';
import {
  type ClusterScan,
  type Dependence,
  type HeldRange,
  labelOfTable,
  lastTableLabel,
  type ListedRange,
  type RangesResult,
  tableLabels,
  tableOf,
  type TablesResult,
  UNKNOWN_TABLE,
} from '#collectors';
import { describeUnverified, describeWithoutProblems } from './safe-to-stop.ts';
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
  const disputed = summary?.cluster?.disputed;
  const found = [...(summary?.problems ?? [])].filter(([, { ranges }]) => ranges > 0);
  const oldest = found.flatMap(([problem, { listed }]) =>
    listed.map((range) => ({
      problem,
      ...describeRange(range, tables),
      firstSeenAt: toTime(range.firstSeenSeconds * 1000) ?? '',
      lastNodes: range.lastNodes,
      ...(problem === 'unavailable' &&
        disputed?.rangeIds.has(range.rangeId) && { isDisputed: true as const }),
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
    withoutProblems: sum(scanned.map((node) => node.withoutProblems)) || undefined,
    tables: summary === undefined ? [] : readTables(summary, tables),
    withoutQuorum: readTablesWithoutQuorum(summary, tables),
    disputed:
      disputed === undefined || disputed.rangeIds.size === 0
        ? undefined
        : { ranges: disputed.rangeIds.size, nodeIds: disputed.nodeIds },
    dependent:
      downSinceScan.length > 0 || dependence === undefined ? undefined : readDependent(dependence),
    verification: summary?.cluster && readVerification(summary.cluster, tables),
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

/**
 * Why there may be problems that the scan does not list, as sentences; undefined where it has read all that nodes report, and no
 * range is missing but those that it lists as lost.
 */
export function describeDoubt({
  verification,
  withoutProblems = 0,
}: Pick<RangesStatus, 'verification' | 'withoutProblems'>): string | undefined {
  const unread =
    withoutProblems > 0 ? [`${capitalize(describeWithoutProblems(withoutProblems))}.`] : [];
  const open =
    verification === undefined
      ? 'This exporter did not read every node that is up.'
      : (describeMissing(verification) ?? describeOverlap(verification));
  const doubts = open === undefined ? unread : [...unread, open];
  return doubts.length > 0 ? doubts.join(' ') : undefined;
}

/** Says that ranges are missing, or may be, whose ids nobody knows; undefined where none is, but those that are known as lost. */
export function describeMissing({
  keySpace,
  lost,
}: Pick<VerificationStatus, 'keySpace' | 'lost'>): string | undefined {
  if (keySpace === 'gap' && (lost ?? 0) === 0)
    return 'Ranges are missing that no node reports: three scans in a row found the same gap in the keys.';
  if (keySpace === 'incomplete' && lost === undefined)
    return 'Ranges may be missing that no node reports: the keys of those that were read do not join. The same gap in three scans in a row proves it.';
  return undefined;
}

/** The key space with ranges over the keys of others. */
export const OVERLAP =
  'Some ranges lie over the keys of others: which of them are real is not known.';

function describeOverlap({ keySpace, lost }: VerificationStatus): string | undefined {
  return keySpace === 'overlap' && lost === undefined ? OVERLAP : undefined;
}

function readVerification(
  cluster: ClusterScan,
  tables: TablesResult | undefined,
): VerificationStatus {
  const { unverified, servingNothing, isServingBound, keySpace, descriptors, lost } = cluster;
  const { state, due, perMinute } = descriptors;
  const describe = (ranges: readonly HeldRange[]) =>
    ranges.map(({ rangeId, nodeIds, tableIndex = 0 }) => {
      const { table_id: id, index_id: index } = tableLabels(tableIndex);
      return { rangeId, nodeIds, table: tables?.names.get(id) ?? id, index };
    });
  return {
    unverified,
    reason: describeUnverified(cluster),
    due,
    perMinute: perMinute && Math.round(perMinute),
    descriptors: state,
    keySpace: keySpaceOf(keySpace),
    servingNothing,
    servingNothingAtLeast: isServingBound || undefined,
    stuck: cluster.stuck,
    leftOver: describe(cluster.leftOver),
    overlapping: describe(keySpace.overlapping),
    ignoringUrls: cluster.ignoringUrls.length > 0 ? cluster.ignoringUrls : undefined,
    lost,
  };
}

/** Whether the ranges of a scan join from the first key to the last, in one word. */
export function keySpaceOf({
  isComplete,
  isGapConfirmed,
  overlapping,
}: ClusterScan['keySpace']): VerificationStatus['keySpace'] {
  if (isComplete) return 'complete';
  if (overlapping.length > 0) return 'overlap';
  return isGapConfirmed ? 'gap' : 'incomplete';
}

/**
 * Example: 3 unavailable ranges of table 104, one that no node reports although no majority of its voters is live, and a lost one
 * of it are 5 ranges. Lost ones beyond the list may belong to any table. Ranges that only nodes without their lease report are not
 * among them.
 */
function readTablesWithoutQuorum(
  summary: RangesResult['summary'],
  tables: TablesResult | undefined,
): TablesWithoutQuorum {
  const { unreported = new Map<number, number>(), disputed } = summary?.cluster ?? {};
  const counts = new Map<number, number>();
  const count = (table: number, ranges: number) =>
    counts.set(table, (counts.get(table) ?? 0) + ranges);
  for (const [table, byProblem] of summary?.problemsByTable ?? []) {
    const unavailable = byProblem[PROBLEMS.indexOf('unavailable')] ?? 0;
    count(table, unavailable - (disputed?.byTable.get(table) ?? 0));
  }
  for (const [table, ranges] of unreported) count(table, ranges);
  const { ranges: lost, listed } = summary?.problems.get('no_live_replica') ?? {
    ranges: 0,
    listed: [],
  };
  for (const { tableIndex } of listed) count(tableOf(tableIndex), 1);
  count(UNKNOWN_TABLE, Math.max(0, lost - listed.length));
  const damaged = [...counts].filter(
    ([table, ranges]) => table !== 0 && table !== UNKNOWN_TABLE && ranges > 0,
  );
  return {
    tables: damaged
      .map(([table, ranges]) => {
        const id = labelOfTable(table);
        return { id, name: tables?.names.get(id), ranges };
      })
      .toSorted((a, b) => b.ranges - a.ranges),
    otherRanges: counts.get(0) ?? 0,
    unnamedRanges: counts.get(UNKNOWN_TABLE) ?? 0,
    unreportedRanges: sum([...unreported.values()]),
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
