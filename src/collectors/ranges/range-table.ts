/** Share of the slots that may be taken; linear probing gets slow above. */
const MAX_LOAD = 0.9;
/** The table grows in small steps: one that has just grown must not waste memory (34 bytes a slot, at most 40 a range). */
const GROWTH = 1.05;
const MIN_CAPACITY = 32;
/** The largest id of a range that fits; real ones count up from 1. */
export const MAX_RANGE_ID = 0xffff_ffff;
/** Nodes that have a column of their own in each slot. */
const HOLDER_COLUMNS = 8;

/** The largest number that the column `nodes` holds. */
const MAX_NODE_ID = 0xffff;
/** The largest number that the columns of counts hold. */
const MAX_COUNT = 0xff;

// Marks of a range, as bits of the column `marks`.
/** Its sequence comes from an earlier scan. */
export const HAS_OLD_SEQUENCE = 1;
/** It was under-replicated in the last complete scan. */
const WAS_UNDERREPLICATED = 2;
/** One of its holders has no column: it is a ninth one, or its id is above 65,535. */
const HAS_UNPLACED = 4;

/** Slots of a table that make a step, some tenths of a millisecond. */
const STEP_SLOTS = 4096;

/** Work in steps; other callbacks may run between two steps, but must not change what it works on. */
export type Work<Result = void> = Generator<undefined, Result>;

/** A range, as the complete scans before have shown it. */
export interface ReplicaHistory {
  /** Number of nodes that held the range in the last scan. */
  readonly lastHolders: number;
  /** Number of its replicas when two scans in a row last found the same number and none was missing; 0 before that. */
  readonly intended: number;
  /** Whether a replica reported the range as under-replicated in the last scan. */
  readonly wasUnderreplicated: boolean;
}

/** The columns of so many slots. */
function createColumns(capacity: number) {
  return {
    /** Id by slot, 0 where the slot is free. */
    ids: new Uint32Array(capacity),
    /** Sequence of the last lease, 0 while it is not known. It outlives scans. */
    sequences: new Uint32Array(capacity),
    /** A bit for each of PROBLEMS that a replica reports in this scan. */
    problems: new Uint16Array(capacity),
    /** Kind of the lease that a replica holds in this scan, as an index in LEASE_KINDS. */
    leases: new Uint8Array(capacity),
    /** Replicas seen in this scan, up to 15. */
    found: new Uint8Array(capacity),
    /** Number of the table index where the range begins. */
    tableIndexes: new Uint16Array(capacity),
    /** Ids of up to 8 nodes that hold the range, without gaps: those of slot 5 are from 40 on. The reporting ones come first. */
    nodes: new Uint16Array(capacity * HOLDER_COLUMNS),
    /** Number of the `nodes` that report the range in this scan. */
    reporting: new Uint8Array(capacity),
    /** Number of nodes that held the range in the last complete scan. */
    lastHolders: new Uint8Array(capacity),
    /** Number of its replicas when it last had all of them in two scans; 0 while that is not known. */
    intended: new Uint8Array(capacity),
    /** HAS_OLD_SEQUENCE and the other marks. */
    marks: new Uint8Array(capacity),
  };
}

/**
 * A hash table by range id, open addressing in columns: millions of ranges as JavaScript objects, or in a Map, would take
 * three to four times the memory. A slot is valid until the next `reserve` or `prune`, and so are the columns. Example:
 * `const slot = table.put(1234)`, then `table.columns.sequences[slot] = 7`.
 */
export class RangeTable {
  /** Number of ids. */
  size = 0;
  columns = createColumns(MIN_CAPACITY);
  #history: ReplicaHistory = { lastHolders: 0, intended: 0, wasUnderreplicated: false };

  /** Number of slots. */
  get capacity(): number {
    return this.columns.ids.length;
  }

  /** Number of ids that fit before the table must grow. */
  get maxSize(): number {
    return this.capacity * MAX_LOAD;
  }

  has(id: number): boolean {
    return this.columns.ids[this.#find(id)] === id;
  }

  /** Slot of the id, whose values are 0 when it was not there; `reserve` must have made the table large enough for it. */
  put(id: number): number {
    const slot = this.#find(id);
    const { ids } = this.columns;
    if (ids[slot] !== id) {
      ids[slot] = id;
      this.size += 1;
    }
    return slot;
  }

  /** Grows the table until so many ids fit. */
  *reserve(size: number): Work {
    if (size <= this.maxSize) return;
    const capacity = Math.max(this.capacity * GROWTH, size / MAX_LOAD);
    yield* this.#rebuild(Math.ceil(capacity), false);
  }

  /** Drops the ranges without a replica in this scan and without a holder; so many are left. */
  *prune(left: number): Work {
    const capacity = Math.ceil((left * GROWTH) / MAX_LOAD);
    yield* this.#rebuild(Math.max(MIN_CAPACITY, capacity), true);
  }

  /** Puts the node behind those that report the range already. A former holder in that place takes the node's old one. */
  addHolder(slot: number, nodeId: number): void {
    const { nodes, reporting, marks } = this.columns;
    const first = slot * HOLDER_COLUMNS;
    const next = reporting[slot] ?? 0;
    const columns = nodeId <= MAX_NODE_ID ? HOLDER_COLUMNS : 0;
    for (let column = 0; column < columns; column += 1) {
      const holder = nodes[first + column];
      if (holder !== nodeId && holder !== 0) continue;
      // Another store of the node may have reported the range.
      if (column < next) return;
      nodes[first + column] = nodes[first + next] ?? 0;
      nodes[first + next] = nodeId;
      reporting[slot] = next + 1;
      return;
    }
    marks[slot] = (marks[slot] ?? 0) | HAS_UNPLACED;
  }

  /** Fills `holders` with the nodes that hold the range, the reporting ones first, and returns their number. */
  readHolders(slot: number, holders: number[]): number {
    const { nodes } = this.columns;
    let count = 0;
    for (; count < HOLDER_COLUMNS; count += 1) {
      const nodeId = nodes[slot * HOLDER_COLUMNS + count] ?? 0;
      if (nodeId === 0) break;
      holders[count] = nodeId;
    }
    return count;
  }

  /** Replaces the holders behind those that report the range. */
  replaceFormer(slot: number, former: readonly number[]): void {
    const { nodes, reporting } = this.columns;
    const first = reporting[slot] ?? 0;
    for (let column = first; column < HOLDER_COLUMNS; column += 1) {
      nodes[slot * HOLDER_COLUMNS + column] = former[column - first] ?? 0;
    }
  }

  hasHolders(slot: number): boolean {
    return this.columns.nodes[slot * HOLDER_COLUMNS] !== 0;
  }

  /** Whether a node without a column reports the range, or did when the range was found last. */
  hasUnplaced(slot: number): boolean {
    return ((this.columns.marks[slot] ?? 0) & HAS_UNPLACED) !== 0;
  }

  /** Returns one object for a run of ranges with an equal history, which most have: garbage is collected less often. */
  historyOf(slot: number): ReplicaHistory {
    const { columns } = this;
    const lastHolders = columns.lastHolders[slot] ?? 0;
    const intended = columns.intended[slot] ?? 0;
    const wasUnderreplicated = ((columns.marks[slot] ?? 0) & WAS_UNDERREPLICATED) !== 0;
    const before = this.#history;
    const isEqual =
      before.lastHolders === lastHolders &&
      before.intended === intended &&
      before.wasUnderreplicated === wasUnderreplicated;
    if (!isEqual) this.#history = { lastHolders, intended, wasUnderreplicated };
    return this.#history;
  }

  /** Keeps the history of the range, and whether one of its holders has no column. */
  remember(slot: number, history: ReplicaHistory, hasUnplaced: boolean): void {
    const { lastHolders, intended, marks } = this.columns;
    lastHolders[slot] = Math.min(history.lastHolders, MAX_COUNT);
    intended[slot] = Math.min(history.intended, MAX_COUNT);
    marks[slot] =
      ((marks[slot] ?? 0) & HAS_OLD_SEQUENCE) |
      (history.wasUnderreplicated ? WAS_UNDERREPLICATED : 0) |
      (hasUnplaced ? HAS_UNPLACED : 0);
  }

  /** Slot of the id, or the free slot where it belongs. */
  #find(id: number): number {
    const { ids } = this.columns;
    let slot = Math.floor(mix(id) * (ids.length / 0x1_0000_0000));
    for (;;) {
      const found = ids[slot];
      if (found === id || found === 0) return slot;
      slot += 1;
      if (slot === ids.length) slot = 0;
    }
  }

  /** Old slots are in the order of the hash, and so are the new ones: memory is walked, not jumped through. */
  *#rebuild(capacity: number, isPruned: boolean): Work {
    const before = this.columns;
    const after = createColumns(capacity);
    this.columns = after;
    this.size = 0;
    yield* walk(before.ids.length, (first, end) => {
      for (let from = first; from < end; from += 1) {
        const id = before.ids[from] ?? 0;
        const isGone = before.found[from] === 0 && before.nodes[from * HOLDER_COLUMNS] === 0;
        if (id === 0 || (isPruned && isGone)) continue;
        const to = this.put(id);
        after.sequences[to] = before.sequences[from] ?? 0;
        after.problems[to] = before.problems[from] ?? 0;
        after.leases[to] = before.leases[from] ?? 0;
        after.found[to] = before.found[from] ?? 0;
        after.tableIndexes[to] = before.tableIndexes[from] ?? 0;
        for (let column = 0; column < HOLDER_COLUMNS; column += 1) {
          const nodeId = before.nodes[from * HOLDER_COLUMNS + column] ?? 0;
          if (nodeId === 0) break;
          after.nodes[to * HOLDER_COLUMNS + column] = nodeId;
        }
        after.reporting[to] = before.reporting[from] ?? 0;
        after.lastHolders[to] = before.lastHolders[from] ?? 0;
        after.intended[to] = before.intended[from] ?? 0;
        after.marks[to] = before.marks[from] ?? 0;
      }
    });
  }
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

/** Mixes 32 bits as the finalizer of MurmurHash3 does: it changes about half of the 32 bits when one bit of the value changes. */
export function mix(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
