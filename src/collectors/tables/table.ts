import { crc32 } from 'node:zlib';
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
} from '../../json/shape.ts';

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

export const tableShape = object({
  descriptor_id: integer(),
  range_count: integer(),
  zone_config_level: integer(),
  create_table_statement: string(),
  columns: array(object({})),
  indexes: array(object({ name: nameText() })),
  grants: array(object({ user: nameText(), privileges: array(nameText()) })),
  zone_config: object({
    num_replicas: optional(integer()),
    num_voters: optional(integer()),
    range_min_bytes: optional(integer()),
    range_max_bytes: optional(integer()),
    gc: object({ ttl_seconds: optional(integer()) }),
  }),
});

/** With what only the command `table` shows; without the keys of subzones. */
export const tableDetails = object({
  ...tableShape.fields,
  descriptor_id: optional(integer()),
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
  zone_config: object({
    ...tableShape.fields.zone_config.fields,
    global_reads: optional(boolean()),
    constraints: raw(),
    voter_constraints: raw(),
    lease_preferences: raw(),
    inherited_constraints: boolean(),
    inherited_lease_preferences: boolean(),
  }),
});

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
  const pairs = grants.flatMap(({ user = '', privileges }) =>
    privileges.map((privilege) => ({ user, privilege })),
  );
  const byPrivilege = Map.groupBy(pairs, ({ privilege }) => privilege);
  return new Map(
    Array.from(byPrivilege, ([privilege, list]) => [
      privilege,
      new Set(list.map(({ user }) => user)).size,
    ]),
  );
}
