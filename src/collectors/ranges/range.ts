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
import { PROBLEMS } from '../../vocabulary.ts';

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

/** Index in LEASE_KINDS. */
export function leaseKindOf(lease: Lease): number {
  if ((lease.term ?? 0) > 0) return 2;
  return (lease.epoch ?? 0) > 0 ? 0 : 1;
}

/** `visit` gets the index in PROBLEMS of each bit. */
export function forEachProblem(bits: number, visit: (problem: number) => void): void {
  for (let rest = bits; rest !== 0; rest &= rest - 1) visit(31 - Math.clz32(rest & -rest));
}

const TABLE_KEY = /^\/Table\/(\d+)(?:\/|$)/;

/** Digits of the table that the range begins in, else ''. Nothing else of a key may leave this file. */
export function tableIdOf({ span }: Pick<Range, 'span'>): string {
  return span.start_key?.match(TABLE_KEY)?.[1] ?? '';
}
