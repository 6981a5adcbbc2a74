import {
  array,
  boolean,
  type Infer,
  integer,
  number,
  object,
  optional,
  raw,
  record,
  string,
} from '../json/index.ts';

/** One element of GET /nodes/{node_id}/ranges/. */
export const rangeElement = object({
  desc: object({ range_id: integer() }),
  span: object({ start_key: string(), end_key: string() }),
  source_node_id: integer(),
  source_store_id: integer(),
  lease_history: array(
    object({
      start: raw(),
      expiration: raw(),
      proposed_ts: raw(),
      epoch: integer(),
      term: integer(),
      sequence: integer(),
      acquisition_type: integer(),
      replica: object({ node_id: integer(), store_id: integer(), replica_id: integer() }),
    }),
  ),
  problems: record(boolean()),
  stats: object({
    queries_per_second: number(),
    writes_per_second: number(),
    requests_per_second: optional(number()),
    reads_per_second: optional(number()),
    write_bytes_per_second: optional(number()),
    read_bytes_per_second: optional(number()),
    cpu_time_per_second: optional(number()),
  }),
  quiescent: boolean(),
  ticking: boolean(),
});

export type RangeElement = Infer<typeof rangeElement>;
