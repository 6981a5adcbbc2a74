import {
  flags,
  type Infer,
  integer,
  last,
  number,
  object,
  optional,
  boolean,
  string,
} from '../../json/shape.ts';

/** Members of `problems`, in the order of their bits; `other` is any true member not known here. */
export const PROBLEMS = [
  'unavailable',
  'underreplicated',
  'overreplicated',
  'no_lease',
  'no_raft_leader',
  'leader_not_lease_holder',
  'quiescent_equals_ticking',
  'raft_log_too_large',
  'circuit_breaker_error',
  'paused_followers',
  'range_too_large',
  'other',
] as const;

export const LEASE_KINDS = ['epoch', 'expiration', 'leader'] as const;

/** One element of GET /nodes/{node_id}/ranges/: a replica, as its store sees it and its range. */
export const rangeShape = object({
  desc: object({ range_id: integer() }),
  span: object({ start_key: string() }),
  source_node_id: integer(),
  source_store_id: integer(),
  lease_history: last(
    object({
      epoch: integer(),
      term: integer(),
      sequence: integer(),
      replica: object({ node_id: integer(), store_id: integer() }),
    }),
  ),
  problems: flags(PROBLEMS.slice(0, -1)),
  stats: object({
    queries_per_second: number(),
    writes_per_second: number(),
    requests_per_second: optional(number()),
    reads_per_second: optional(number()),
    read_bytes_per_second: optional(number()),
    write_bytes_per_second: optional(number()),
    cpu_time_per_second: optional(number()),
  }),
  quiescent: boolean(),
  ticking: boolean(),
});

export type Range = Infer<typeof rangeShape>;
export type Lease = NonNullable<Range['lease_history']>;

/** Ids of ranges, stores and nodes begin at 1; above 2^53 two of them could look alike. */
export function isId(id: number | undefined): id is number {
  return id !== undefined && id > 0 && Number.isSafeInteger(id);
}

/** Index in LEASE_KINDS. */
export function leaseKindOf(lease: Lease): number {
  if ((lease.term ?? 0) > 0) return 2;
  return (lease.epoch ?? 0) > 0 ? 0 : 1;
}

const TABLE_KEY = /^\/Table\/(\d+)(?:\/|$)/;

/** Digits of the table that the range begins in, else ''. Nothing else of a key may leave this file. */
export function tableIdOf({ span }: Pick<Range, 'span'>): string {
  return TABLE_KEY.exec(span.start_key ?? '')?.[1] ?? '';
}
