import {
  array,
  boolean,
  type Infer,
  integer,
  number,
  object,
  optional,
  raw,
  string,
} from '../../json/shape.ts';

/** Table details but for the keys of subzones. */
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
      name: string(),
      type: string(),
      nullable: boolean(),
      default_value: string(),
      generation_expression: string(),
      hidden: boolean(),
    }),
  ),
  indexes: array(
    object({
      name: string(),
      unique: boolean(),
      seq: integer(),
      column: string(),
      direction: string(),
      storing: boolean(),
      implicit: boolean(),
    }),
  ),
  grants: array(object({ user: string(), privileges: array(string()) })),
  zone_config: object({
    range_min_bytes: optional(integer()),
    range_max_bytes: optional(integer()),
    num_replicas: optional(integer()),
    num_voters: optional(integer()),
    global_reads: optional(boolean()),
    gc: object({ ttl_seconds: optional(integer()) }),
    constraints: raw(),
    voter_constraints: raw(),
    lease_preferences: raw(),
    inherited_constraints: boolean(),
    inherited_lease_preferences: boolean(),
  }),
});

type Details = Infer<typeof tableShape>;

const LEVELS = ['unknown', 'cluster', 'database', 'table'];

export type Table = ReturnType<typeof toTable>;

/** The details as JSON, names as in the API, what the table is called first. */
export function toTable(database: string, table: string, details: Details) {
  const { zone_config_level: level = 0, ...rest } = details;
  return {
    database,
    table,
    ...rest,
    zone_config_level: LEVELS[level] ?? `unknown(${level})`,
  };
}
