import { crc32 } from 'node:zlib';
import type { ClusterApi, PollStats } from '../../cockroach/cluster-api.ts';
import {
  array,
  boolean,
  type Infer,
  integer,
  nameText,
  number,
  object,
  optional,
  raw,
  string,
  time,
} from '../../json/shape.ts';
import { cleanLabelValue } from '../../metrics/label-text.ts';
import { CollectError } from '../collector.ts';

/** A table as it is requested; the names are also the labels. */
export interface TableName {
  readonly database: string;
  readonly schema: string;
  readonly table: string;
}

/** The server's route accepts names that need no quotes, in two or three parts. */
export const TABLE_NAME = /^[A-Za-z0-9_]+\.([A-Za-z0-9_]+\.)?[A-Za-z0-9_]+$/;

/** Parses `database.table` or `database.schema.table`; a table that is listed twice is returned once. */
export function parseTableNames(texts: readonly string[]): readonly TableName[] {
  const names = texts.map((text): TableName => {
    // Servers fold names without quotes to lower case.
    const [database = '', second = '', third] = text.toLowerCase().split('.');
    if (third === undefined) return { database, schema: 'public', table: second };
    return { database, schema: second, table: third };
  });
  return [...new Map(names.map((name) => [formatTableName(name), name])).values()];
}

export function formatTableName({ database, schema, table }: TableName): string {
  return `${database}.${schema}.${table}`;
}

/** A table, as the server describes it; without the keys of subzones. The command `table` shows all of it. */
export const tableShape = object({
  descriptor_id: optional(integer()),
  range_count: integer(),
  zone_config_level: integer(),
  create_table_statement: string(),
  configure_zone_statement: string(),
  data_total_bytes: optional(integer()),
  data_live_bytes: optional(integer()),
  data_live_percentage: optional(number()),
  stats_last_created_at: raw(),
  has_index_recommendations: optional(boolean()),
  columns: array(
    object({
      name: nameText(),
      type: string(),
      nullable: boolean(),
      default_value: string(),
      generation_expression: string(),
      hidden: boolean(),
    }),
  ),
  indexes: array(
    object({
      name: nameText(),
      unique: boolean(),
      seq: integer(),
      column: nameText(),
      direction: string(),
      storing: boolean(),
      implicit: boolean(),
    }),
  ),
  grants: array(object({ user: nameText(), privileges: array(nameText()) })),
  zone_config: object({
    num_replicas: optional(integer()),
    num_voters: optional(integer()),
    range_min_bytes: optional(integer()),
    range_max_bytes: optional(integer()),
    gc: object({ ttl_seconds: optional(integer()) }),
    global_reads: optional(boolean()),
    constraints: raw(),
    voter_constraints: raw(),
    lease_preferences: raw(),
    inherited_constraints: boolean(),
    inherited_lease_preferences: boolean(),
  }),
});

/** Reads one table. Throws for a response without columns: each table has one, if only the hidden `rowid`. */
export async function readTable(
  api: ClusterApi,
  stats: PollStats,
  database: string,
  table: string,
): Promise<Infer<typeof tableShape>> {
  const found = await api.table(stats, { database, table, shape: tableShape });
  if (found.columns.length > 0) return found;
  throw new CollectError('decode', 'table: the response describes no table');
}

/** Levels at which a zone configuration is defined, indexed by zone_config_level. */
export const ZONE_LEVELS = ['unknown', 'cluster', 'database', 'table'] as const;

/** One table, as its response describes it. */
export interface TableDetails extends TableName {
  /** '' when the server sends none. */
  readonly tableId: string;
  readonly zoneConfigLevel: (typeof ZONE_LEVELS)[number];
  readonly ranges: number | undefined;
  readonly columns: number;
  readonly indexes: number;
  /** Number of users and roles by privilege. */
  readonly grants: ReadonlyMap<string, number>;
  readonly schemaHash: number | undefined;
  /** Inherited settings are undefined. */
  readonly zone: Infer<typeof tableShape>['zone_config'];
}

/** Reads what is exported of the response for a table. */
export function toTableDetails(name: TableName, response: Infer<typeof tableShape>): TableDetails {
  const { descriptor_id: id = 0, create_table_statement: statement = '' } = response;
  return {
    ...name,
    // Ids begin at 1.
    tableId: id > 0 ? String(id) : '',
    zoneConfigLevel: ZONE_LEVELS[response.zone_config_level ?? 0] ?? 'unknown',
    ranges: response.range_count,
    columns: response.columns.length,
    // The response has one entry for each column of an index.
    indexes: new Set(response.indexes.map((index) => index.name)).size,
    grants: countGrantees(response.grants),
    schemaHash: statement === '' ? undefined : crc32(statement),
    zone: response.zone_config,
  };
}

function countGrantees(grants: Infer<typeof tableShape>['grants']): ReadonlyMap<string, number> {
  const grantees = new Map<string, Set<string>>();
  for (const { user = '', privileges } of grants) {
    for (const privilege of privileges) {
      grantees.set(privilege, (grantees.get(privilege) ?? new Set()).add(user));
    }
  }
  return new Map(Array.from(grantees, ([privilege, { size }]) => [privilege, size]));
}

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
  readonly others: TableSizes;
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

/** Summarizes the discovered tables: shows the watched ones, the largest `max` and those that other collectors name by id. */
export function summarizeTables(
  all: readonly DiscoveredTable[],
  watched: readonly TableName[],
  named: ReadonlySet<string>,
  max: number,
): TableSummary {
  const watchedNames = new Set(watched.map(formatTableName));
  const bySize = all.toSorted((a, b) => (b.sizeBytes ?? 0) - (a.sizeBytes ?? 0));
  const shown = new Set([
    ...bySize.filter((table) => watchedNames.has(formatTableName(table))),
    ...bySize.slice(0, max),
    ...bySize.filter(({ tableId }) => named.has(tableId)),
  ]);
  const others = bySize.filter((table) => !shown.has(table));
  const databases = Array.from(
    Map.groupBy(all, ({ database }) => database),
    ([database, tables]) => ({ database, ...sumTables(tables) }),
  ).toSorted((a, b) => b.sizeBytes - a.sizeBytes);
  const shownNames = new Set(databases.slice(0, max).map(({ database }) => database));
  const inOthers = all.filter(({ database }) => !shownNames.has(database));
  return {
    all,
    shown: [...shown],
    others: sumTables(others),
    databases: [...databases.slice(0, max), { database: OTHER, ...sumTables(inOthers) }],
  };
}

function sumTables(tables: readonly DiscoveredTable[]) {
  return {
    tables: tables.length,
    sizeBytes: sum(tables.map(({ sizeBytes }) => sizeBytes)),
    dataBytes: sum(tables.map(({ dataBytes }) => dataBytes)),
    liveDataBytes: sum(tables.map(({ liveDataBytes }) => liveDataBytes)),
  };
}

function sum(sizes: readonly (number | undefined)[]): number {
  return sizes.reduce<number>((total, size = 0) => total + size, 0);
}
