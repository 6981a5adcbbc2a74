import { crc32 } from 'node:zlib';
import { sum } from '#base';
import { type ClusterApi, isId, type PollStats, RequestError } from '#cockroach';
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
} from '#json';
import { cleanLabelValue } from '#metrics';

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
  throw new RequestError('decode', 'table: the response describes no table');
}

/** Levels at which a zone configuration is defined, indexed by zone_config_level. */
export const ZONE_LEVELS = ['unknown', 'cluster', 'database', 'table'] as const;

/** Figures of a table, or of several together; undefined where a response does not have them. */
export interface TableFigures {
  readonly ranges?: number | undefined;
  readonly columns?: number | undefined;
  readonly indexes?: number | undefined;
  readonly schemaHash?: number | undefined;
  /** When the statistics of the optimizer were made, Unix time. */
  readonly statisticsSeconds?: number | undefined;
  /** Inherited settings are undefined. */
  readonly zone?: Infer<typeof tableShape>['zone_config'];
  /** On disk, over all replicas. */
  readonly sizeBytes?: number | undefined;
  /** The data of one replica, deleted and overwritten rows included. */
  readonly dataBytes?: number | undefined;
  readonly liveDataBytes?: number | undefined;
}

/** A table by its own response, by the list of all tables, or by both; its names are valid label values. */
export interface KnownTable extends TableName, TableFigures {
  /** '' when the server sends none. */
  readonly tableId: string;
  /** Not in the list of all tables. */
  readonly zoneConfigLevel?: (typeof ZONE_LEVELS)[number];
  /** Number of users and roles by privilege; not in the list of all tables. */
  readonly grants?: ReadonlyMap<string, number>;
  /** When the server computed the sizes, Unix time; undefined when never. */
  readonly updatedSeconds?: number | undefined;
}

/** Reads what is exported of a listed table. */
export async function readDetails(
  api: ClusterApi,
  stats: PollStats,
  name: TableName,
): Promise<KnownTable> {
  const found = await readTable(api, stats, name.database, `${name.schema}.${name.table}`);
  const { descriptor_id: id = 0, create_table_statement: statement = '' } = found;
  const privileges = found.grants.flatMap((grant) =>
    grant.privileges.map((privilege) => ({ privilege, user: grant.user })),
  );
  const grants = Map.groupBy(privileges, ({ privilege }) => privilege);
  return {
    ...name,
    // Ids begin at 1.
    tableId: id > 0 ? String(id) : '',
    zoneConfigLevel: ZONE_LEVELS[found.zone_config_level ?? 0] ?? 'unknown',
    ranges: found.range_count,
    columns: found.columns.length,
    // The response has one entry for each column of an index.
    indexes: countDistinct(found.indexes, (index) => index.name),
    grants: new Map(
      Array.from(grants, ([privilege, all]) => [privilege, countDistinct(all, ({ user }) => user)]),
    ),
    schemaHash: statement === '' ? undefined : crc32(statement),
    zone: found.zone_config,
    statisticsSeconds: toSeconds(found.stats_last_created_at),
  };
}

/** A time as Unix seconds; undefined for what is none, and for Go's zero time, the year 1. */
export function toSeconds(text: unknown): number | undefined {
  const milliseconds = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return milliseconds > 0 ? milliseconds / 1000 : undefined;
}

function countDistinct<T>(items: readonly T[], read: (item: T) => unknown): number {
  return new Set(items.map(read)).size;
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
  last_update_error: string(),
});

/** The tables of a database, or of `other` databases. */
export interface DatabaseSums {
  readonly database: string;
  readonly tables: number;
  /** Undefined where the size of one of them is. */
  readonly sizeBytes: number | undefined;
}

/** What is exported of all tables: some by name, the others as sums. */
export interface TableSummary {
  readonly all: readonly KnownTable[];
  /** The tables with series of their own, the most important first. */
  readonly shown: readonly KnownTable[];
  /** Sizes of all others together, under the name `other`; undefined where the size of one of them is. */
  readonly others: TableName & TableFigures;
  /** The largest ones, then the sum of all others. */
  readonly databases: readonly DatabaseSums[];
}

/** Tables that are kept, the largest ones: some 5 MB. */
const MAX_TABLES = 10_000;

/**
 * All tables that the user may see, the largest first, as far as the bound allows. Rejects when one cannot be read: numbers and
 * sums without it would be too low.
 */
export async function discoverTables(
  api: ClusterApi,
  stats: PollStats,
): Promise<readonly KnownTable[]> {
  // By id: a table that moves between two pages is listed twice.
  const byId = new Map<number, KnownTable>();
  let listed = 0;
  let unreadable = 0;
  await api.tableMetadata(stats, {
    shape: discoveredShape,
    onTable({ table_id: id, ...found }) {
      listed += 1;
      if (byId.size >= MAX_TABLES) stats.limits.add('items');
      if (!isId(id)) unreadable += 1;
      if (byId.size >= MAX_TABLES || !isId(id)) return;
      byId.set(id, {
        database: cleanLabelValue(found.db_name ?? ''),
        schema: cleanLabelValue(found.schema_name ?? ''),
        table: cleanLabelValue(found.table_name ?? ''),
        tableId: String(id),
        columns: found.column_count,
        indexes: found.index_count,
        ...readSizes(found),
        updatedSeconds: found.last_updated && found.last_updated / 1000,
      });
    },
  });
  if (unreadable === 0) return [...byId.values()];
  const text = `list of tables: ${unreadable} of ${listed} cannot be read`;
  throw new RequestError('decode', text, { endpoint: 'table_metadata' });
}

/**
 * The sizes of a table; none where the server could not compute them yet. Example: a table of 800 GiB was restored while a
 * node was down: its row has an error and zeros. An older table keeps its old sizes beside the error.
 */
function readSizes(found: Omit<Infer<typeof discoveredShape>, 'table_id'>): TableFigures {
  const { range_count: ranges, replication_size_bytes: sizeBytes } = found;
  const { total_data_bytes: dataBytes, total_live_data_bytes: liveDataBytes } = found;
  if (found.last_update_error && !sizeBytes && !dataBytes) return {};
  return { ranges, sizeBytes, dataBytes, liveDataBytes };
}

/** The label of what has no series of its own. */
const OTHER = 'other';

/**
 * Summarizes the discovered tables: shows the watched ones, the largest `max` and those that other collectors name by id.
 * Example with `max` 1: of the tables A (40 bytes), B (30), C (20) and D (10), where C is watched and D has a hot range, the
 * shown ones are C, A and D, and the others have 30.
 */
export function summarizeTables(
  all: readonly KnownTable[],
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
  const databases = [...Map.groupBy(all, ({ database }) => database)]
    .map(([database, tables]) => {
      const knownBytes = sum(tables.map(({ sizeBytes = 0 }) => sizeBytes));
      return { ...sumDatabase(database, tables), knownBytes };
    })
    .toSorted((a, b) => b.knownBytes - a.knownBytes);
  const shownNames = new Set(databases.slice(0, max).map(({ database }) => database));
  const inOthers = all.filter(({ database }) => !shownNames.has(database));
  return {
    all,
    shown: [...shown],
    others: {
      database: OTHER,
      schema: OTHER,
      table: OTHER,
      sizeBytes: sumOfAll(others.map(({ sizeBytes }) => sizeBytes)),
      dataBytes: sumOfAll(others.map(({ dataBytes }) => dataBytes)),
      liveDataBytes: sumOfAll(others.map(({ liveDataBytes }) => liveDataBytes)),
    },
    databases: [...databases.slice(0, max), sumDatabase(OTHER, inOthers)],
  };
}

function sumDatabase(database: string, tables: readonly KnownTable[]): DatabaseSums {
  return {
    database,
    tables: tables.length,
    sizeBytes: sumOfAll(tables.map(({ sizeBytes }) => sizeBytes)),
  };
}

/** The sum of sizes; undefined where one is not known, as that may be the largest. */
function sumOfAll(sizes: readonly (number | undefined)[]): number | undefined {
  const known = sizes.filter((size) => size !== undefined);
  return known.length === sizes.length ? sum(known) : undefined;
}
