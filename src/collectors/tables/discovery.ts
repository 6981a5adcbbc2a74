import type { ClusterApi, PollStats } from '../../cockroach/cluster-api.ts';
import { type Infer, integer, object, nameText, time } from '../../json/shape.ts';
import { cleanLabelValue } from '../../metrics/sample-text.ts';
import { formatTableName, type TableName } from './table.ts';

// The server's list of all tables: GET /table_metadata/, a cache that it refreshes now and then.

export const discoveredShape = object({
  db_name: nameText(),
  schema_name: nameText(),
  table_name: nameText(),
  table_id: integer(),
  range_count: integer(),
  column_count: integer(),
  index_count: integer(),
  replication_size_bytes: integer(),
  total_data_bytes: integer(),
  total_live_data_bytes: integer(),
  last_updated: time(),
});

/** A table as the server lists it; its names are valid label values. */
export interface DiscoveredTable extends TableName, TableSizes {
  readonly tableId: string;
  readonly ranges: number | undefined;
  readonly columns: number | undefined;
  readonly indexes: number | undefined;
  /** When the server computed this, Unix time; undefined when never. */
  readonly updatedSeconds: number | undefined;
}

/** Sizes of a table, or of several together. */
export interface TableSizes {
  /** On disk, over all replicas. */
  readonly sizeBytes: number | undefined;
  /** The data of one replica, deleted and overwritten rows included. */
  readonly dataBytes: number | undefined;
  readonly liveDataBytes: number | undefined;
}

/** Families of all tables together. */
export interface TableSummary {
  readonly all: readonly DiscoveredTable[];
  /** The tables with series of their own, the most important first. */
  readonly shown: readonly DiscoveredTable[];
  /** Sizes of all others together. */
  readonly rest: TableSizes;
  /** The largest ones, then the sum of all others. */
  readonly databases: readonly DatabaseSums[];
}

/** The tables of a database, or of `other` databases. */
export interface DatabaseSums {
  readonly database: string;
  readonly tables: number;
  readonly sizeBytes: number;
}

/** Copies a table from the element, which the decoder reuses; undefined without a valid id. */
function copyTable(element: Infer<typeof discoveredShape>): DiscoveredTable | undefined {
  const { table_id: id = 0, last_updated: updatedMs } = element;
  if (id <= 0) return undefined;
  return {
    database: cleanLabelValue(element.db_name ?? ''),
    schema: cleanLabelValue(element.schema_name ?? ''),
    table: cleanLabelValue(element.table_name ?? ''),
    tableId: String(id),
    ranges: element.range_count,
    columns: element.column_count,
    indexes: element.index_count,
    sizeBytes: element.replication_size_bytes,
    dataBytes: element.total_data_bytes,
    liveDataBytes: element.total_live_data_bytes,
    updatedSeconds: updatedMs === undefined ? undefined : updatedMs / 1000,
  };
}

/** Tables that are kept, the largest ones: some 5 MB. */
const MAX_TABLES = 10_000;

/** All tables that the user may see, the largest first, as far as the bound allows. */
export async function discoverTables(
  api: ClusterApi,
  stats: PollStats,
): Promise<readonly DiscoveredTable[]> {
  // By id: a table that moves between two pages is listed twice.
  const byId = new Map<string, DiscoveredTable>();
  await api.tableMetadata(stats, {
    shape: discoveredShape,
    onTable(element) {
      const table = copyTable(element);
      if (byId.size >= MAX_TABLES) stats.limits.add('items');
      else if (table !== undefined) byId.set(table.tableId, table);
    },
  });
  return [...byId.values()];
}

/** The label of what has no series of its own. */
export const OTHER = 'other';

/** What is exported of the discovered tables: shows the watched tables, the largest `max` and those that other collectors name by id. */
export function summarizeTables(
  all: readonly DiscoveredTable[],
  watched: readonly TableName[],
  named: ReadonlySet<string>,
  max: number,
): TableSummary {
  const watchedNames = new Set(watched.map(formatTableName));
  const isWatched = (table: DiscoveredTable): boolean => watchedNames.has(formatTableName(table));
  const bySize = all.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  // A table of these names would have the labels of the rest.
  const candidates = bySize.filter((one) => formatTableName(one) !== `${OTHER}.${OTHER}.${OTHER}`);
  const shown = new Set([
    ...candidates.filter(isWatched),
    ...candidates.slice(0, max),
    ...candidates.filter(({ tableId }) => named.has(tableId)),
  ]);
  const others = bySize.filter((table) => !shown.has(table));
  const sum = (value: (table: DiscoveredTable) => number | undefined): number =>
    others.reduce((total, table) => total + (value(table) ?? 0), 0);
  return {
    all,
    shown: [...shown],
    rest: {
      sizeBytes: sum(({ sizeBytes }) => sizeBytes),
      dataBytes: sum(({ dataBytes }) => dataBytes),
      liveDataBytes: sum(({ liveDataBytes }) => liveDataBytes),
    },
    databases: sumDatabases(all, max),
  };
}

function sizeOf({ sizeBytes = 0 }: DiscoveredTable): number {
  return sizeBytes;
}

function sumDatabases(all: readonly DiscoveredTable[], max: number): readonly DatabaseSums[] {
  const sums = Array.from(
    Map.groupBy(all, ({ database }) => database),
    ([database, tables]) => ({
      database,
      tables: tables.length,
      sizeBytes: tables.reduce((total, table) => total + sizeOf(table), 0),
    }),
  );
  const bySize = sums.toSorted((a, b) => b.sizeBytes - a.sizeBytes);
  const shown = bySize.filter(({ database }) => database !== OTHER).slice(0, max);
  const rest = { database: OTHER, tables: 0, sizeBytes: 0 };
  for (const one of bySize) {
    if (shown.includes(one)) continue;
    rest.tables += one.tables;
    rest.sizeBytes += one.sizeBytes;
  }
  return [...shown, rest];
}
