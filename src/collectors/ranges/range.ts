import {
  flags,
  type Infer,
  integer,
  last,
  numbers,
  object,
  boolean,
  parsed,
} from '../../json/shape.ts';
import { PROBLEMS } from '../../vocabulary.ts';

export const LEASE_KINDS = ['epoch', 'expiration', 'leader'] as const;

/** Load of a replica as the server names it. It always sends the first two; newer ones send all but zeros. */
export const LOADS = [
  'queries_per_second',
  'writes_per_second',
  'requests_per_second',
  'reads_per_second',
  'read_bytes_per_second',
  'write_bytes_per_second',
  'cpu_time_per_second',
] as const;

/** Index in LOADS. */
export const QUERIES = LOADS.indexOf('queries_per_second');
export const WRITES = LOADS.indexOf('writes_per_second');
export const CPU_NANOS = LOADS.indexOf('cpu_time_per_second');

/** Bounds of crdb_ranges_by_queries_per_second. */
export const QUERY_BOUNDS = [1, 10, 50, 100, 250, 500, 1000, 2500, 5000, Infinity] as const;

/** One element of GET /nodes/{node_id}/ranges/: a replica, as its store sees it and its range. */
export const rangeShape = object({
  desc: object({ range_id: integer() }),
  span: object({ start_key: parsed(parsePlace) }),
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
  stats: numbers(LOADS),
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

/** Adds one to the count of each problem, by index in PROBLEMS. */
export function countProblems(counts: number[], bits: number): void {
  forEachProblem(bits, (problem) => {
    counts[problem] = (counts[problem] ?? 0) + 1;
  });
}

/** The table and the index that a range begins in, as one number, 0 outside of tables. No more of a key leaves this file. */
export type Place = number;

const TABLE_PREFIX = Buffer.from('/Table/');
const SLASH = 0x2f;
const ZERO = 0x30;
const MAX_TABLE_ID = 0xffff_ffff;
/** Index ids are below; a place is an exact double. */
const INDEX_LIMIT = 2 ** 20;

/** Of a pretty key as `/Table/104/1/…`. */
export function placeOf(key: string): Place {
  const bytes = Buffer.from(key);
  return parsePlace(bytes, 0, bytes.length);
}

function parsePlace(bytes: Uint8Array, start: number, end: number): Place {
  let at = start;
  for (; at < start + TABLE_PREFIX.length; at += 1) {
    if (at >= end || bytes[at] !== TABLE_PREFIX[at - start]) return 0;
  }
  let tableId = 0;
  for (; at < end && bytes[at] !== SLASH; at += 1) tableId = withDigit(tableId, bytes[at]);
  let indexId = 0;
  for (at += 1; at < end && bytes[at] !== SLASH; at += 1) indexId = withDigit(indexId, bytes[at]);
  if (!(tableId > 0 && tableId <= MAX_TABLE_ID)) return 0;
  return tableId * INDEX_LIMIT + (indexId < INDEX_LIMIT ? indexId : 0);
}

/** NaN when that is no digit. */
function withDigit(id: number, byte = 0): number {
  const digit = byte - ZERO;
  return digit < 0 || digit > 9 ? NaN : id * 10 + digit;
}

/** 0 outside of tables. */
export function tableOf(place: Place): number {
  return Math.floor(place / INDEX_LIMIT);
}

/** The ids as label values; empty where there is none. */
export function labelsOfPlace(place: Place) {
  const [tableId, indexId] = [tableOf(place), place % INDEX_LIMIT];
  return { table_id: String(tableId || ''), index_id: String(indexId || '') };
}
