import type { Figures } from './figures.ts';
import { toTime } from './nodes.ts';

/** Where a range is. */
interface RangePlace {
  readonly rangeId: number;
  /** Of a problem: who reports it, not who is to blame. */
  readonly nodeId: number;
  readonly storeId: number;
  /** `movr.public.rides` where the tables collector knows the name, else the id; empty outside of tables. */
  readonly table: string;
}

export interface ProblemRange extends RangePlace {
  readonly problem: string;
  readonly firstSeenAt: string;
}

export interface HotRange extends RangePlace {
  readonly queriesPerSecond: number;
  readonly writesPerSecond: number | undefined;
  readonly cpuSecondsPerSecond: number | undefined;
}

export interface RangesStatus {
  /** Only when every node that is up was read by this exporter. */
  readonly ranges: number | undefined;
  readonly replicas: number | undefined;
  readonly queriesPerSecond: number | undefined;
  /** Nodes of the last scan by what became of them: scanned, failed, skipped. */
  readonly nodes: Readonly<Record<string, number>>;
  /** Ranges by problem; problems that no range has are left out. */
  readonly problems: Readonly<Record<string, number>>;
  /** Oldest first; of each problem as many as the collector lists. */
  readonly oldest: readonly ProblemRange[];
  /** Most queries first. */
  readonly hottest: readonly HotRange[];
}

/** Undefined while there is no present data of the ranges. */
export function readRanges(figures: Figures): RangesStatus | undefined {
  const nodes = figures.by('state', 'crdb_range_scan_nodes');
  if (nodes.size === 0) return undefined;
  const problems = [...figures.by('problem', 'crdb_range_problem_ranges')];
  const placeOf = locate(figures);
  return {
    ranges: figures.sum('crdb_ranges'),
    replicas: figures.sum('crdb_range_replicas'),
    queriesPerSecond: figures.sum('crdb_store_queries_per_second'),
    nodes: Object.fromEntries(nodes),
    problems: Object.fromEntries(problems.filter(([, ranges]) => ranges > 0)),
    oldest: readOldest(figures, placeOf),
    hottest: readHottest(figures, placeOf),
  };
}

type Labels = Readonly<Record<string, string>>;

function locate(figures: Figures): (labels: Labels) => RangePlace {
  const tables = new Map(
    figures
      .all('crdb_table_info')
      .map(({ labels }) => [
        labels['table_id'] ?? '',
        `${labels['database']}.${labels['schema']}.${labels['table']}`,
      ]),
  );
  return ({ range_id: range, node_id: node, store_id: store, table_id: table = '' }) => ({
    rangeId: Number(range),
    nodeId: Number(node),
    storeId: Number(store),
    table: tables.get(table) ?? table,
  });
}

function readOldest(
  figures: Figures,
  placeOf: (labels: Labels) => RangePlace,
): readonly ProblemRange[] {
  return figures
    .all('crdb_problem_range_first_seen_timestamp_seconds')
    .toSorted((a, b) => a.value - b.value)
    .map(({ labels, value }) => ({
      problem: labels['problem'] ?? '',
      ...placeOf(labels),
      firstSeenAt: toTime(value) ?? '',
    }));
}

function readHottest(
  figures: Figures,
  placeOf: (labels: Labels) => RangePlace,
): readonly HotRange[] {
  const writes = figures.by('range_id', 'crdb_hot_range_writes_per_second');
  const cpu = figures.by('range_id', 'crdb_hot_range_cpu_seconds_per_second');
  return figures
    .all('crdb_hot_range_queries_per_second')
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value)
    .map(({ labels, value }) => ({
      ...placeOf(labels),
      queriesPerSecond: value,
      writesPerSecond: writes.get(labels['range_id'] ?? ''),
      cpuSecondsPerSecond: cpu.get(labels['range_id'] ?? ''),
    }));
}
