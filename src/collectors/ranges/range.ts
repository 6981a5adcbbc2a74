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

/**
 * The table and the index that a range begins in, as one exact integer, negative in a virtual cluster. Outside of tables
 * the first word of the key as a number below 2^20, 0 when it is not known. No more of a key leaves this file.
 */
export type Place = number;

const TABLE_PREFIX = Buffer.from('/Table/');
const VIRTUAL_CLUSTER_PREFIX = Buffer.from('/Tenant/');
const SLASH = 0x2f;
const ZERO = 0x30;

/** Ids from these on do not fit a place: a range of such a table counts as outside of tables, an index as unknown. */
const TABLE_LIMIT = 2 ** 32;
const INDEX_LIMIT = 2 ** 20;
/** The same of places in virtual clusters, which have fewer bits for each: 13 + 28 + 12. */
const VIRTUAL_CLUSTER_LIMIT = 2 ** 13;
const VIRTUAL_TABLE_LIMIT = 2 ** 28;
const VIRTUAL_INDEX_LIMIT = 2 ** 12;

/** Of a pretty key as `/Table/104/1/…`, in virtual cluster 3 `/Tenant/3/Table/104/1/…`. */
export function placeOf(key: string): Place {
  const bytes = Buffer.from(key);
  return parsePlace(bytes, 0, bytes.length);
}

function parsePlace(bytes: Uint8Array, start: number, end: number): Place {
  if (startsWith(bytes, start, end, TABLE_PREFIX)) {
    const tableAt = start + TABLE_PREFIX.length;
    const tableId = parseId(bytes, tableAt, end);
    if (!(tableId > 0 && tableId < TABLE_LIMIT)) return 0;
    const indexId = parseId(bytes, idEnd(bytes, tableAt, end) + 1, end);
    return tableId * INDEX_LIMIT + (indexId < INDEX_LIMIT ? indexId : 0);
  }
  const virtual = startsWith(bytes, start, end, VIRTUAL_CLUSTER_PREFIX)
    ? parseVirtualPlace(bytes, start + VIRTUAL_CLUSTER_PREFIX.length, end)
    : 0;
  return virtual === 0 ? placeOutsideOfTables(bytes, start, end) : virtual;
}

/** Of `/System/NodeLiveness` the first word, as a number below the index limit; 0 without one. */
function placeOutsideOfTables(bytes: Uint8Array, start: number, end: number): Place {
  let hash = 0;
  for (let at = start + 1; at < end && bytes[at] !== SLASH; at += 1) {
    hash = Math.imul(hash, 31) + (bytes[at] ?? 0);
  }
  return (hash >>> 0) % INDEX_LIMIT;
}

/** From the id of the virtual cluster on: `3/Table/104/1/…`. */
function parseVirtualPlace(bytes: Uint8Array, start: number, end: number): Place {
  const prefixAt = idEnd(bytes, start, end);
  if (!startsWith(bytes, prefixAt, end, TABLE_PREFIX)) return 0;
  const tableAt = prefixAt + TABLE_PREFIX.length;
  const cluster = parseId(bytes, start, end);
  const tableId = parseId(bytes, tableAt, end);
  if (!(cluster > 0 && cluster < VIRTUAL_CLUSTER_LIMIT)) return 0;
  if (!(tableId > 0 && tableId < VIRTUAL_TABLE_LIMIT)) return 0;
  const indexId = parseId(bytes, idEnd(bytes, tableAt, end) + 1, end);
  const table = cluster * VIRTUAL_TABLE_LIMIT + tableId;
  return -(table * VIRTUAL_INDEX_LIMIT + (indexId < VIRTUAL_INDEX_LIMIT ? indexId : 0));
}

function startsWith(bytes: Uint8Array, start: number, end: number, prefix: Uint8Array): boolean {
  if (start + prefix.length > end) return false;
  for (let at = 0; at < prefix.length; at += 1) {
    if (bytes[start + at] !== prefix[at]) return false;
  }
  return true;
}

function idEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== SLASH) at += 1;
  return at;
}

/** 104 of `104/1/…`; 0 when nothing is there, NaN when that is no number. */
function parseId(bytes: Uint8Array, start: number, end: number): number {
  let id = 0;
  for (let at = start; at < end && bytes[at] !== SLASH; at += 1) id = withDigit(id, bytes[at]);
  return id;
}

/** NaN when that is no digit. */
function withDigit(id: number, byte = 0): number {
  const digit = byte - ZERO;
  return digit < 0 || digit > 9 ? NaN : id * 10 + digit;
}

/** A table as one integer: its id, 0 outside of tables, negative in a virtual cluster. */
export function tableOf(place: Place): number {
  return place < 0 ? Math.ceil(place / VIRTUAL_INDEX_LIMIT) : Math.floor(place / INDEX_LIMIT);
}

/** `104`, in virtual cluster 3 `3/104`; empty outside of tables. */
export function labelOfTable(table: number): string {
  if (table >= 0) return String(table || '');
  return `${Math.floor(-table / VIRTUAL_TABLE_LIMIT)}/${-table % VIRTUAL_TABLE_LIMIT}`;
}

/** The ids as label values; empty where there is none. */
export function labelsOfPlace(place: Place) {
  if (tableOf(place) === 0) return { table_id: '', index_id: '' };
  const indexId = place < 0 ? -place % VIRTUAL_INDEX_LIMIT : place % INDEX_LIMIT;
  return { table_id: labelOfTable(tableOf(place)), index_id: String(indexId || '') };
}
