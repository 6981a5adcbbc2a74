import { REPORTED_PROBLEMS } from '#base';
import {
  boolean,
  flags,
  hashed,
  type Infer,
  integer,
  last,
  number,
  object,
  optional,
  parsed,
} from '#json';
import { parseLastTable, parseTableIndex } from './table-index.ts';

/** Kinds of a lease; `none` where no replica is known to hold it. */
export const LEASE_KINDS = ['none', 'epoch', 'expiration', 'leader'] as const;

/** Index in LEASE_KINDS. */
export const NO_LEASE = 0;

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

/** Indexes in LOADS. */
export const LOAD_INDEX = {
  queries: LOADS.indexOf('queries_per_second'),
  writes: LOADS.indexOf('writes_per_second'),
  cpuNanos: LOADS.indexOf('cpu_time_per_second'),
} as const;

/** Bounds of crdb_ranges_by_queries_per_second. */
export const QUERY_RATE_BOUNDS = [1, 10, 50, 100, 250, 500, 1000, 2500, 5000, Infinity] as const;

/** Ranges with more replicas are counted together. */
export const MAX_COUNTED_REPLICAS = 7;

/** An element of GET /nodes/{node_id}/ranges/: a replica, as its store sees it and its range. */
export const replicaShape = object({
  desc: object({ range_id: integer(), start_key: hashed(), end_key: hashed() }),
  span: object({ start_key: parsed(parseTableIndex), end_key: parsed(parseLastTable) }),
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
  problems: optional(flags(REPORTED_PROBLEMS.slice(0, -1))),
  stats: object(Object.fromEntries(LOADS.map((name) => [name, optional(number())]))),
  quiescent: boolean(),
  ticking: boolean(),
});

/** A replica with the fields of the shape; the decoder reuses the object for the next one. */
export interface Replica extends Infer<typeof replicaShape> {}

const EPOCH = LEASE_KINDS.indexOf('epoch');
export const EXPIRATION = LEASE_KINDS.indexOf('expiration');
const LEADER = LEASE_KINDS.indexOf('leader');

/** Index in LEASE_KINDS; undefined where a number that it follows from is not known, which is NaN. */
export function leaseKindOf(term: number, epoch: number): number | undefined {
  if (term > 0) return LEADER;
  if (Number.isNaN(term + epoch)) return undefined;
  return epoch > 0 ? EPOCH : EXPIRATION;
}

/** Calls `visit` with the index in PROBLEMS of each bit: 5, binary 101, has the problems 0 and 2. */
export function forEachProblem(bits: number, visit: (problem: number) => void): void {
  for (let left = bits; left !== 0; left &= left - 1) visit(31 - Math.clz32(left & -left));
}

/** Adds one to the count of each problem, by index in PROBLEMS. */
export function countProblems(counts: number[], bits: number): void {
  forEachProblem(bits, (problem) => {
    counts[problem] = (counts[problem] ?? 0) + 1;
  });
}

/** Length of the columns of a node at first. */
const FIRST_CAPACITY = 1024;

/** A node of a million replicas wastes little, and copies each of them some three times. */
const GROWTH = 1.5;

interface Column {
  readonly buffer: ArrayBuffer;
  readonly BYTES_PER_ELEMENT: number;
}

/**
 * Replicas in columns, in the order of their arrival: as objects those of a node would take three times the memory. Typed
 * arrays are outside of the heap: plain ones fill its young generation, which is small in the image, again and again.
 */
export class ReplicaColumns {
  /** Number of replicas; the columns may be longer. */
  length = 0;
  rangeIds = new Uint32Array(FIRST_CAPACITY);
  storeIds = new Float64Array(FIRST_CAPACITY);
  /** A bit for each of REPORTED_PROBLEMS. */
  problems = new Uint16Array(FIRST_CAPACITY);
  /** Index in LEASE_KINDS of the lease that the replica holds; NO_LEASE when it holds none. */
  leases = new Uint8Array(FIRST_CAPACITY);
  /** Sequence of the lease; 0 where it is not known, or taken from another replica. */
  sequences = new Float64Array(FIRST_CAPACITY);
  /** A TableIndex each. */
  tableIndexes = new Float64Array(FIRST_CAPACITY);
  /** The id of the table that the range ends in, where that is another one than it begins in; else 0. */
  lastTableIds = new Uint32Array(FIRST_CAPACITY);
  queries = new Float64Array(FIRST_CAPACITY);
  writes = new Float64Array(FIRST_CAPACITY);
  /** Nanoseconds per second. */
  cpuNanos = new Float64Array(FIRST_CAPACITY);
  /** Hashes of the keys where the range begins and ends, as `nameKey` has them; 0 for none. */
  startKeys = new Uint32Array(FIRST_CAPACITY);
  endKeys = new Uint32Array(FIRST_CAPACITY);

  /** Adds a replica with zeros. Returns its index, the same in all columns. */
  append(): number {
    if (this.length === this.rangeIds.length) this.#grow();
    this.length += 1;
    return this.length - 1;
  }

  /** Frees the memory at once: a garbage collection may come much later. */
  free(): void {
    this.length = 0;
    this.#resize(() => 0);
  }

  #grow(): void {
    const capacity = Math.ceil(this.length * GROWTH);
    this.#resize((column) => capacity * column.BYTES_PER_ELEMENT);
  }

  /** Moves each column to memory of another length in bytes; the old one is freed at once. */
  #resize(lengthOf: (column: Column) => number): void {
    const moved = (column: Column): ArrayBuffer => column.buffer.transfer(lengthOf(column));
    this.rangeIds = new Uint32Array(moved(this.rangeIds));
    this.storeIds = new Float64Array(moved(this.storeIds));
    this.problems = new Uint16Array(moved(this.problems));
    this.leases = new Uint8Array(moved(this.leases));
    this.sequences = new Float64Array(moved(this.sequences));
    this.tableIndexes = new Float64Array(moved(this.tableIndexes));
    this.lastTableIds = new Uint32Array(moved(this.lastTableIds));
    this.queries = new Float64Array(moved(this.queries));
    this.writes = new Float64Array(moved(this.writes));
    this.cpuNanos = new Float64Array(moved(this.cpuNanos));
    this.startKeys = new Uint32Array(moved(this.startKeys));
    this.endKeys = new Uint32Array(moved(this.endKeys));
  }
}
