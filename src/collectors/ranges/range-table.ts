/** Of the slots; linear probing gets slow above. */
const MAX_LOAD = 0.88;
/** Small steps: a table that has just grown must not waste memory (33 bytes a slot, at most 40 a range). */
const GROWTH = 1.06;
/** Growing in small steps costs as much as filling; a table that is soon dropped may waste memory. */
const SHORT_LIVED_GROWTH = 2;
const MIN_CAPACITY = 32;
const MAX_NARROW_ID = 0xffff_ffff;
/** Of one exporter: 200 MB. More need shards. */
export const MAX_RANGES = 5_000_000;
/** Nodes that have a column of their own in each slot. */
export const HOLDER_COLUMNS = 8;

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
 * three to four times the memory. A slot is valid until the next `put` or `prune`, and so are the columns. What they hold is said
 * in known-ranges.ts and holders.ts; a table without holders has none of the columns of holders.ts.
 */
export class RangeTable {
  readonly #hasHolders: boolean;
  readonly #growth: number;
  /** Number of ids. */
  size = 0;
  /** Id by slot, 0 where the slot is free. Doubles once there is an id above 2^32, which real ones are not. */
  ids!: Uint32Array | Float64Array;
  sequences!: Uint32Array;
  flags!: Uint16Array;
  counts!: Uint8Array;
  /** Number of the place where the range begins. */
  places!: Uint16Array;
  /** HOLDER_COLUMNS node ids a slot, without gaps: `nodes[slot * HOLDER_COLUMNS]` is the first. */
  nodes!: Uint16Array;
  /** A bit for each column of `nodes`. */
  seen!: Uint8Array;
  lastHolders!: Uint8Array;
  intended!: Uint8Array;
  marks!: Uint8Array;

  /** With holders it needs 33 bytes a slot, 35 to 40 a range; 4 more with ids above 2^32. */
  constructor(hasHolders = true, growth = GROWTH, expected = 0) {
    this.#hasHolders = hasHolders;
    this.#growth = growth;
    this.#allocate(Math.max(MIN_CAPACITY, Math.ceil(expected / MAX_LOAD)), Uint32Array);
  }

  #allocate(capacity: number, Ids: typeof Uint32Array | typeof Float64Array): void {
    this.size = 0;
    this.ids = new Ids(capacity);
    this.sequences = new Uint32Array(capacity);
    this.flags = new Uint16Array(capacity);
    this.counts = new Uint8Array(capacity);
    this.places = new Uint16Array(capacity);
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

  /** Drops the ids whose count is not to be kept. */
  *prune(isKept: (count: number) => boolean): Work {
    let kept = 0;
    yield* walk(this.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if (this.ids[slot] !== 0 && isKept(this.counts[slot] ?? 0)) kept += 1;
      }
    });
    if (kept === this.size) return;
    const capacity = Math.max(MIN_CAPACITY, Math.ceil((kept * GROWTH) / MAX_LOAD));
    yield* this.#rebuild(capacity, this.#isWide, isKept);
  }

  #countNew({ ids }: RangeTable, from: number, to: number): number {
    let fresh = 0;
    for (let slot = from; slot < to; slot += 1) {
      const id = ids[slot] ?? 0;
      if (id !== 0 && this.ids[this.#find(id)] !== id) fresh += 1;
    }
    return fresh;
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
  *#rebuild(
    capacity: number,
    isWide: boolean,
    isKept: (count: number) => boolean = () => true,
  ): Work {
    const { ids, sequences, flags, counts, places, nodes, seen, lastHolders, intended, marks } =
      this;
    const columns = this.#hasHolders ? HOLDER_COLUMNS : 0;
    this.#allocate(capacity, isWide ? Float64Array : Uint32Array);
    yield* walk(ids.length, (first, end) => {
      for (let from = first; from < end; from += 1) {
        const id = ids[from] ?? 0;
        const count = counts[from] ?? 0;
        if (id === 0 || !isKept(count)) continue;
        const to = this.#take(this.#find(id), id);
        this.sequences[to] = sequences[from] ?? 0;
        this.flags[to] = flags[from] ?? 0;
        this.counts[to] = count;
        this.places[to] = places[from] ?? 0;
        for (let column = 0; column < columns; column += 1) {
          const node = nodes[from * HOLDER_COLUMNS + column] ?? 0;
          if (node === 0) break;
          this.nodes[to * HOLDER_COLUMNS + column] = node;
        }
        if (columns === 0) continue;
        this.seen[to] = seen[from] ?? 0;
        this.lastHolders[to] = lastHolders[from] ?? 0;
        this.intended[to] = intended[from] ?? 0;
        this.marks[to] = marks[from] ?? 0;
      }
    });
  }
}

/** The cause of a failure, which the API client wraps when its callback throws. */
export function findRangeLimit(error: unknown): RangeLimitError | undefined {
  if (error instanceof RangeLimitError) return error;
  return error instanceof Error ? findRangeLimit(error.cause) : undefined;
}

function checkSize(ranges: number): void {
  if (ranges <= MAX_RANGES) return;
  const most = MAX_RANGES.toLocaleString('en');
  throw new RangeLimitError(
    `the cluster has more than ${most} ranges: divide its nodes among shards, which know their own ranges only`,
  );
}

/** A table without holders that is filled quickly, with about so many ids, and dropped soon. */
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

/** The finalizer of MurmurHash3: changes about half of the 32 bits when one bit of the value changes. */
export function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
