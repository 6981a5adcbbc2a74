/** Of the slots; linear probing gets slow above. */
const MAX_LOAD = 0.88;
/** Small steps: a table that has just grown must not waste memory. */
const GROWTH = 1.25;
/** Growing in small steps costs as much as filling; a table that is soon dropped may waste memory. */
const SHORT_LIVED_GROWTH = 2;
const MIN_CAPACITY = 32;
const MAX_NARROW_ID = 0xffff_ffff;

/** Slots of a table that make a step, some tenths of a millisecond. */
const STEP_SLOTS = 4096;

/** Work in steps; other callbacks may run between two steps, but must not change what it works on. */
export type Work<Result = void> = Generator<undefined, Result>;

/**
 * A hash table by range id, open addressing in columns: millions of ranges as JavaScript objects, or in a Map, would take
 * ten times the memory. The caller decides what `flags`, `counts` and `words` hold. A slot is valid until the next `put`
 * or `prune`, and so are the columns.
 */
export class RangeTable {
  readonly #wordsPerSlot: number;
  readonly #growth: number;
  /** Number of ids. */
  size = 0;
  /** Id by slot, 0 where the slot is free. Doubles once there is an id above 2^32, which real ones are not. */
  ids!: Uint32Array | Float64Array;
  sequences!: Uint32Array;
  flags!: Uint16Array;
  counts!: Uint8Array;
  /** Those of a slot lie together: `words[slot * wordsPerSlot]` is its first. */
  words!: Int32Array;

  /** With three words per slot it needs 26 to 33 bytes per range, 4 more with ids above 2^32. */
  constructor(wordsPerSlot: number, growth = GROWTH, expected = 0) {
    this.#wordsPerSlot = wordsPerSlot;
    this.#growth = growth;
    this.#allocate(Math.max(MIN_CAPACITY, Math.ceil(expected / MAX_LOAD)), Uint32Array);
  }

  #allocate(capacity: number, Ids: typeof Uint32Array | typeof Float64Array): void {
    this.size = 0;
    this.ids = new Ids(capacity);
    this.sequences = new Uint32Array(capacity);
    this.flags = new Uint16Array(capacity);
    this.counts = new Uint8Array(capacity);
    this.words = new Int32Array(capacity * this.#wordsPerSlot);
  }

  /** Number of slots. */
  get capacity(): number {
    return this.ids.length;
  }

  /** Slot of the id, whose values are 0 when it was not there. The id is a positive integer. */
  put(id: number): number {
    const slot = this.#find(id);
    if (this.ids[slot] === id) return slot;
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
    const { ids, sequences, flags, counts, words } = this;
    const wordsPerSlot = this.#wordsPerSlot;
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
        for (let at = 0; at < wordsPerSlot; at += 1) {
          this.words[to * wordsPerSlot + at] = words[from * wordsPerSlot + at] ?? 0;
        }
      }
    });
  }
}

/** A table with one word per slot that is filled quickly, with about so many ids, and dropped soon. */
export function createStagingTable(expected: number): RangeTable {
  return new RangeTable(1, SHORT_LIVED_GROWTH, expected);
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
