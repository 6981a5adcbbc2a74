/** Share of the slots that may be taken; linear probing gets slow above. */
const MAX_LOAD = 0.9;
/** The table grows in small steps: one that has just grown must not waste memory (34 bytes a slot, at most 40 a range). */
const GROWTH = 1.05;
/** Growing in small steps costs as much as filling; a table that is soon dropped may waste memory. */
const SHORT_LIVED_GROWTH = 2;
const MIN_CAPACITY = 32;
const MAX_NARROW_ID = 0xffff_ffff;
/** Ranges that one exporter knows, in 200 MB. More need shards. */
export const MAX_RANGES = 5_000_000;
/** Nodes that have a column of their own in each slot. */
export const HOLDER_COLUMNS = 8;

// Marks of a range, as bits of the column `marks`.
/** Its sequence comes from an earlier scan. */
export const HAS_OLD_SEQUENCE = 1;
/** It was under-replicated in the last complete scan. */
export const WAS_UNDERREPLICATED = 2;
/** One of its holders has no column: it is a ninth one, or its id is above 65,535. */
export const HAS_UNPLACED = 4;

/** Slots of a table that make a step, some tenths of a millisecond. */
const STEP_SLOTS = 4096;

/** Work in steps; other callbacks may run between two steps, but must not change what it works on. */
export type Work<Result = void> = Generator<undefined, Result>;

/** The ranges do not fit: the scan must fail, for its sums would lack the others. */
export class RangeLimitError extends Error {
  override readonly name = 'RangeLimitError';
}

/**
 * A hash table by range id, open addressing in columns: millions of ranges as JavaScript objects, or in a Map, would take
 * three to four times the memory. A slot is valid until the next `put`, `makeRoomFor` or `prune`, and so are the columns.
 * Example: `const slot = table.put(1234)`, then `table.sequences[slot] = 7`.
 */
export class RangeTable {
  readonly #hasHolders: boolean;
  readonly #growth: number;
  /** Number of ids. */
  size = 0;
  /** Id by slot, 0 where the slot is free. The column takes 8 bytes a slot once there is an id above 2^32, which real ones are not. */
  ids!: Uint32Array | Float64Array;
  /** Sequence of the last lease, 0 while it is not known. It outlives scans. */
  sequences!: Uint32Array;
  /** A bit for each of PROBLEMS that a replica reports in this scan. */
  problems!: Uint16Array;
  /** Kind of the lease that a replica holds in this scan, as an index in LEASE_KINDS. */
  leases!: Uint8Array;
  /** Above 0: replicas seen in this scan, up to 15. Below 0: it was missing from scans, 5 for a complete one, 1 for a partial one. */
  presence!: Int8Array;
  /** Number of the table index where the range begins. */
  tableIndexes!: Uint16Array;

  // A staging table has none of the columns below.

  /** Ids of up to 8 nodes that hold the range, without gaps: those of slot 5 are from 40 on. */
  nodes!: Uint16Array;
  /** A bit for each column of `nodes`: whether that node reported the range in this scan. */
  seen!: Uint8Array;
  /** Number of nodes that held the range in the last complete scan. */
  lastHolders!: Uint8Array;
  /** Number of its replicas when it last had all of them in two scans; 0 while that is not known. */
  intended!: Uint8Array;
  /** HAS_OLD_SEQUENCE and the other marks. */
  marks!: Uint8Array;

  constructor(hasHolders = true, growth = GROWTH, expected = 0) {
    this.#hasHolders = hasHolders;
    this.#growth = growth;
    this.#allocate(Math.max(MIN_CAPACITY, Math.ceil(expected / MAX_LOAD)), Uint32Array);
  }

  #allocate(capacity: number, Ids: typeof Uint32Array | typeof Float64Array): void {
    this.size = 0;
    this.ids = new Ids(capacity);
    this.sequences = new Uint32Array(capacity);
    this.problems = new Uint16Array(capacity);
    this.leases = new Uint8Array(capacity);
    this.presence = new Int8Array(capacity);
    this.tableIndexes = new Uint16Array(capacity);
    const holders = this.#hasHolders ? capacity : 0;
    this.nodes = new Uint16Array(holders * HOLDER_COLUMNS);
    this.seen = new Uint8Array(holders);
    this.lastHolders = new Uint8Array(holders);
    this.intended = new Uint8Array(holders);
    this.marks = new Uint8Array(holders);
  }

  /** Number of slots. */
  get capacity(): number {
    return this.ids.length;
  }

  /** Slot of the id, whose values are 0 when it was not there. The id is a positive integer. */
  put(id: number): number {
    const slot = this.#find(id);
    if (this.ids[slot] === id) return slot;
    checkSize(this.size + 1);
    const mustWiden = id > MAX_NARROW_ID && !this.#isWide;
    if (!mustWiden && this.size + 1 <= this.capacity * MAX_LOAD) return this.#take(slot, id);
    const capacity = Math.ceil(this.capacity * this.#growth);
    const rebuild = this.#rebuild(capacity, this.#isWide || mustWiden);
    while (rebuild.next().done !== true) continue;
    return this.#take(this.#find(id), id);
  }

  get #isWide(): boolean {
    return this.ids instanceof Float64Array;
  }

  /** Reserves slots for the ids of another table: they come in the order of hashes, and would crowd a table that grows. */
  *makeRoomFor(other: RangeTable): Work {
    const mustWiden = other.#isWide && !this.#isWide;
    if (!mustWiden && this.size + other.size <= this.capacity * MAX_LOAD) return;
    let size = this.size;
    yield* walk(other.capacity, (from, to) => {
      size += this.#countNew(other, from, to);
    });
    checkSize(size);
    if (!mustWiden && size <= this.capacity * MAX_LOAD) return;
    const enough = Math.ceil(size / MAX_LOAD);
    const capacity = Math.max(Math.ceil(this.capacity * this.#growth), enough);
    yield* this.#rebuild(capacity, this.#isWide || mustWiden);
  }

  /** Drops the ranges whose presence is not above `expired`. */
  *prune(expired: number): Work {
    let left = 0;
    yield* walk(this.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if (this.ids[slot] !== 0 && (this.presence[slot] ?? 0) > expired) left += 1;
      }
    });
    if (left === this.size) return;
    const capacity = Math.max(MIN_CAPACITY, Math.ceil((left * GROWTH) / MAX_LOAD));
    yield* this.#rebuild(capacity, this.#isWide, expired);
  }

  #countNew({ ids }: RangeTable, from: number, to: number): number {
    let added = 0;
    for (let slot = from; slot < to; slot += 1) {
      const id = ids[slot] ?? 0;
      if (id !== 0 && this.ids[this.#find(id)] !== id) added += 1;
    }
    return added;
  }

  #take(slot: number, id: number): number {
    this.ids[slot] = id;
    this.size += 1;
    return slot;
  }

  /** Slot of the id, or the free slot where it belongs. */
  #find(id: number): number {
    const ids = this.ids;
    let slot = Math.floor(hashId(id) * (ids.length / 0x1_0000_0000));
    for (;;) {
      const found = ids[slot];
      if (found === id || found === 0) return slot;
      slot += 1;
      if (slot === ids.length) slot = 0;
    }
  }

  /** Old slots are in the order of the hash, and so are the new ones: memory is walked, not jumped through. */
  *#rebuild(capacity: number, isWide: boolean, expired = -Infinity): Work {
    const { ids, sequences, problems, leases, presence, tableIndexes } = this;
    const { nodes, seen, lastHolders, intended, marks } = this;
    this.#allocate(capacity, isWide ? Float64Array : Uint32Array);
    yield* walk(ids.length, (first, end) => {
      for (let from = first; from < end; from += 1) {
        const id = ids[from] ?? 0;
        const present = presence[from] ?? 0;
        if (id === 0 || present <= expired) continue;
        const to = this.#take(this.#find(id), id);
        this.sequences[to] = sequences[from] ?? 0;
        this.problems[to] = problems[from] ?? 0;
        this.leases[to] = leases[from] ?? 0;
        this.presence[to] = present;
        this.tableIndexes[to] = tableIndexes[from] ?? 0;
        if (!this.#hasHolders) continue;
        for (let column = 0; column < HOLDER_COLUMNS; column += 1) {
          const node = nodes[from * HOLDER_COLUMNS + column] ?? 0;
          if (node === 0) break;
          this.nodes[to * HOLDER_COLUMNS + column] = node;
        }
        this.seen[to] = seen[from] ?? 0;
        this.lastHolders[to] = lastHolders[from] ?? 0;
        this.intended[to] = intended[from] ?? 0;
        this.marks[to] = marks[from] ?? 0;
      }
    });
  }
}

function checkSize(ranges: number): void {
  if (ranges <= MAX_RANGES) return;
  const most = MAX_RANGES.toLocaleString('en');
  throw new RangeLimitError(
    `the cluster has more than ${most} ranges: divide its nodes among shards, which know their own ranges only`,
  );
}

/** Creates a table without holders that is filled quickly, with about so many ids, and dropped soon. */
export function createStagingTable(expected: number): RangeTable {
  return new RangeTable(false, SHORT_LIVED_GROWTH, expected);
}

/**
 * Walks over the slots, a step at a time: `visit` gets the first slot and the one behind the last. A loop
 * that runs often belongs in a function that it calls: V8 compiles the function expression again for each walk.
 */
export function* walk(slots: number, visit: (from: number, to: number) => void): Work {
  for (let from = 0; from < slots; from += STEP_SLOTS) {
    visit(from, Math.min(from + STEP_SLOTS, slots));
    yield;
  }
}

/** Spreads ids, which come in sequence, over 32 bits. */
function hashId(id: number): number {
  return mix((id | 0) ^ Math.imul(Math.floor(id / 0x1_0000_0000), 0x9e37_79b1));
}

/** Mixes 32 bits as the finalizer of MurmurHash3 does: it changes about half of the 32 bits when one bit of the value changes. */
export function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
