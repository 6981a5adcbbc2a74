import type { RangesResult } from '../collectors/ranges/collector.ts';
import type { FailureDomains } from '../collectors/ranges/failure-domains.ts';
import type { ListedRange } from '../collectors/ranges/listed-ranges.ts';
import { labelOfTable, QUERIES, tableLabels, UNKNOWN_TABLE } from '../collectors/ranges/replica.ts';
import type { TablesResult } from '../collectors/tables/collector.ts';
import { PROBLEMS } from '../vocabulary.ts';
import { toTime } from './problem.ts';
import { type ScanCheck } from './scan-check.ts';

/** The ranges of a cluster by its last scan. */
export interface RangesStatus {
  /** The number of ranges; absent unless this exporter read every node that is up. */
  readonly ranges: number | undefined;
  readonly replicas: number | undefined;
  readonly queriesPerSecond: number | undefined;
  /** Nodes of the last scan by outcome. */
  readonly nodes: { readonly scanned: number; readonly failed: number; readonly skipped: number };
  /** Nodes that could not be read. */
  readonly failedNodes: readonly number[];
  /** Nodes that went down after the scan had read them: it shows nothing of that yet. */
  readonly downSinceScan: readonly number[];
  /** The scan against the nodes' own counts; absent while no node that was read has a fresh record. */
  readonly scanCheck: ScanCheck | undefined;
  /** Ranges by problem, without the problems that no range has. */
  readonly problems: Readonly<Record<string, number>>;
  readonly tables: readonly TableStatus[];
  readonly withoutQuorum: TablesWithoutQuorum;
  readonly dependent: readonly DependentRanges[] | undefined;
  readonly unknownVoters: FailureDomains['unknownVoters'] | undefined;
  /** Oldest first; of each problem as many as the collector lists. */
  readonly oldest: readonly ProblemRangeStatus[];
  /** The hottest by queries or by CPU first. */
  readonly hottest: readonly HotRangeStatus[];
}

interface RangeStatus {
  readonly rangeId: number;
  /** The node that reports a problem need not be its cause. */
  readonly nodeId: number;
  readonly storeId: number;
  /** `movr.public.rides` where the tables collector knows the name, else the id; empty outside of tables. */
  readonly table: string;
  /** Index id; empty outside of tables. */
  readonly index: string;
}

export interface ProblemRangeStatus extends RangeStatus {
  readonly problem: string;
  /** RFC 3339. */
  readonly firstSeenAt: string;
}

export interface HotRangeStatus extends RangeStatus {
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number | undefined;
  readonly cpuSecondsPerSecond: number | undefined;
}

/** A table with much load. */
interface TableStatus {
  readonly id: string;
  /** The name is absent where the tables collector does not know it. */
  readonly name: string | undefined;
  readonly ranges: number;
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number;
  /** The sum over all replicas; absent unless every node sends it. */
  readonly cpuSecondsPerSecond: number | undefined;
  /** On disk over all replicas; absent where the server lists no tables. */
  readonly sizeBytes: number | undefined;
}

/** Whose requests fail or wait: tables with ranges that have no quorum or no live replica. */
interface TablesWithoutQuorum {
  /** The tables with most such ranges, at most ten. */
  readonly tables: readonly {
    readonly id: string;
    /** The name is absent where the tables collector does not know it. */
    readonly name: string | undefined;
    readonly ranges: number;
  }[];
  /** Further tables, which are not listed. */
  readonly moreTables: number;
  /** Ranges outside of tables, and those whose table is not known. */
  readonly otherRanges: number;
}

const MAX_DAMAGED_TABLES = 10;

export function readRanges(
  { scanned, failed, skipped, summary }: RangesResult,
  tables: TablesResult | undefined,
  downNodes: readonly number[] = [],
  scanCheck?: ScanCheck,
): RangesStatus {
  const stores = summary === undefined ? [] : scanned.flatMap((node) => [...node.stores.values()]);
  const found = [...(summary?.problems ?? [])].filter(([, { ranges }]) => ranges > 0);
  const problems: Readonly<Record<string, number>> = Object.fromEntries(
    found.map(([problem, { ranges }]) => [problem, ranges]),
  );
  const listed = found.flatMap(([problem, ranges]) =>
    ranges.listed.map((range) => ({
      problem,
      ...describeRange(range, tables),
      firstSeenAt: toTime(range.firstSeenSeconds * 1000) ?? '',
    })),
  );
  const downSinceScan = downNodes.filter((id) => scanned.some(({ nodeId }) => nodeId === id));
  return {
    ranges: summary?.domains && summary.ranges,
    replicas: sumOf(stores.map(({ replicas }) => replicas)),
    queriesPerSecond: sumOf(stores.map(({ load }) => load[QUERIES] ?? 0)),
    nodes: { scanned: scanned.length, failed: failed.length, skipped },
    failedNodes: failed.map(({ nodeId }) => nodeId),
    downSinceScan,
    scanCheck,
    problems,
    tables: summary === undefined ? [] : readTables(summary, tables),
    withoutQuorum: readTablesWithoutQuorum(summary, tables),
    dependent: downSinceScan.length > 0 ? undefined : readDependent(summary?.domains),
    unknownVoters: summary?.domains?.unknownVoters,
    oldest: listed.toSorted((a, b) => Date.parse(a.firstSeenAt) - Date.parse(b.firstSeenAt)),
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

/** Example: 3 unavailable ranges of table 104 and a lost one of it are 4 ranges; lost ones beyond the list have no table. */
function readTablesWithoutQuorum(
  summary: RangesResult['summary'],
  tables: TablesResult | undefined,
): TablesWithoutQuorum {
  const counts = new Map<string, number>();
  const count = (id: string, ranges: number) => counts.set(id, (counts.get(id) ?? 0) + ranges);
  for (const [id, byProblem] of summary?.problemsByTable ?? []) {
    const unavailable = byProblem[PROBLEMS.indexOf('unavailable')] ?? 0;
    if (unavailable > 0)
      count(id === 0 || id === UNKNOWN_TABLE ? '' : labelOfTable(id), unavailable);
  }
  const lost = summary?.problems.get('no_live_replica');
  for (const { tableIndex } of lost?.listed ?? []) count(tableLabels(tableIndex).table_id, 1);
  const unlisted = lost === undefined ? 0 : Math.max(0, lost.ranges - lost.listed.length);
  const known = [...counts].filter(([id]) => id !== '').toSorted(([, a], [, b]) => b - a);
  return {
    tables: known
      .slice(0, MAX_DAMAGED_TABLES)
      .map(([id, ranges]) => ({ id, name: tables?.names.get(id), ranges })),
    moreTables: Math.max(0, known.length - MAX_DAMAGED_TABLES),
    otherRanges: (counts.get('') ?? 0) + unlisted,
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

/** The ranges that depend on a node or on a locality: what would happen to them if it stopped now. */
interface DependentRanges {
  /** `node 3` or `region=us-east1,zone=b`. */
  readonly name: string;
  /** Ranges that have a quorum and would lose it. */
  readonly quorum: number;
  /** Ranges that would lose their last live replica. */
  readonly lastReplica: number;
  /** Ranges that have no quorum now and a live replica on the node; absent for a locality. */
  readonly withoutQuorum?: number | undefined;
}

/** Nodes and localities on which ranges depend; undefined unless this exporter read every node that is up. */
function readDependent(
  domains: FailureDomains | undefined,
): readonly DependentRanges[] | undefined {
  if (domains === undefined) return undefined;
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

function sumOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function describeRange(
  { rangeId, nodeId, storeId, tableIndex }: ListedRange,
  tables: TablesResult | undefined,
): RangeStatus {
  const { table_id: id, index_id: index } = tableLabels(tableIndex);
  return {
    rangeId,
    nodeId,
    storeId,
    table: tables?.names.get(id) ?? id,
    index,
  };
}

/** The first ranges of a cluster, by id: all requests need them. */
const SYSTEM_RANGES: Readonly<Record<number, string>> = {
  1: 'system: meta ranges',
  2: 'system: node liveness',
  3: 'system',
};

/** `system: node liveness` for range 2; undefined for a range of a table and where it is not certain. */
export function systemRangeName({
  rangeId,
  table,
}: Pick<RangeStatus, 'rangeId' | 'table'>): string | undefined {
  return table === '' ? SYSTEM_RANGES[rangeId] : undefined;
}

/** The name of a table, or `table 112` where only its id is known. */
export function formatTable(table: string, word = 'table'): string {
  return /^\d+$/.test(table) ? `${word} ${table}` : table;
}
