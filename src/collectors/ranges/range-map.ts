import { MAX_PLACES, MorePlaces, PLACES } from './more-places.ts';

/** Share of the slots that may be taken; linear probing gets slow above. */
const MAX_LOAD = 0.9;
/** The map grows in small steps: one that has just grown must not waste memory (41 bytes a slot, at most 48 a range). */
const GROWTH = 1.05;
const MIN_CAPACITY = 32;
/** The largest id of a range that fits; real ones count up from 1. */
export const MAX_RANGE_ID = 0xffff_ffff;
/** The largest node id that a place holds. */
export const MAX_NODE_ID = 0xffff;
/** Most replicas of a descriptor that are counted. */
export const MAX_REPLICAS = 31;
/** This many generations are told apart. */
export const GENERATIONS = 2 ** 19;
/** A bit for each place in the columns. */
const IN_COLUMNS = (1 << PLACES) - 1;
/** The place of the lease holder while it is not known. */
export const NO_PLACE = 15;

/** Marks of a range, as bits of the column `marks`. */
export const MARK = {
  /** Its sequence comes from an earlier scan. */
  hasOldSequence: 1,
  /** Its descriptor was read from a replica with a valid lease. */
  readAtLeaseholder: 2,
  /** Its descriptor has learners, or voters that come or go: it changes in the next moments. */
  isChanging: 32,
  // The marks of one scan.
  /** Its replicas report different keys, or one of them does not know the range any more. */
  isUncertain: 4,
  /** Its descriptor is not asked for again before the next scan: a request failed, or no reporter that was asked sent enough. */
  isExhausted: 16,
  /** A replica that holds the lease reports that the range is unavailable. */
  holderHasNoQuorum: 64,
  /** A replica without the lease reports that. */
  isClaimed: 128,
} as const;
const SCAN_MARKS = MARK.isUncertain | MARK.isExhausted | MARK.holderHasNoQuorum | MARK.isClaimed;

/** Slots of a map that make a step, some tenths of a millisecond. */
const STEP_SLOTS = 4096;

/** Work in steps; other callbacks may run between two steps, but must not change what it works on. */
export type Work<Result = void> = Generator<undefined, Result>;

/** The columns of this many slots. */
function createColumns(capacity: number) {
  return {
    /** Id by slot, 0 where the slot is free. */
    ids: new Uint32Array(capacity),
    /** Sequence of the last lease, 0 while it is not known. It outlives scans. */
    sequences: new Uint32Array(capacity),
    /** A bit for each of PROBLEMS that a replica reports in this scan. */
    problems: new Uint16Array(capacity),
    /** Kind of the lease that a replica holds in this scan (an index in LEASE_KINDS) + 4 × the place of that replica. */
    leases: new Uint8Array(capacity),
    /** Replicas seen in this scan, up to 255. */
    found: new Uint8Array(capacity),
    /** Number of the table index where the range begins. */
    tableIndexes: new Uint16Array(capacity),
    /**
     * Ids of up to 8 nodes, without gaps: those of slot 5 are from 40 on. The replicas of the descriptor come first, its voters
     * before the others; then the nodes that report the range in this scan and that the descriptor does not name. Bits and ids of
     * further places are beside the map.
     */
    nodes: new Uint16Array(capacity * PLACES),
    /** A bit for each place whose node reports the range in this scan. */
    reported: new Uint8Array(capacity),
    /** A bit for each place that votes by the descriptor, after a change of the configuration that is going on. */
    voters: new Uint8Array(capacity),
    /** A bit for each place that votes before that change; as `voters` where none is going on. */
    votersBefore: new Uint8Array(capacity),
    /** Number of replicas of the descriptor in 5 bits, and above them 3 bits of its generation. */
    described: new Uint8Array(capacity),
    /** The other 16 bits of the generation, the lowest. */
    generations: new Uint16Array(capacity),
    /** When the descriptor was requested, in ticks (scan-clock.ts); 0 for never. */
    readAt: new Uint32Array(capacity),
    /** Bits of MARK. */
    marks: new Uint8Array(capacity),
  };
}

type Column = Uint8Array | Uint16Array | Uint32Array;

/**
 * A hash map by range id, open addressing in columns: millions of ranges as JavaScript objects, or in a Map, would take
 * three to four times the memory. A slot is valid until the next `reserve` or `prune`, and so are the columns. Example:
 * `const slot = map.put(1234)`, then `map.columns.sequences[slot] = 7`.
 */
export class RangeMap {
  /** Number of ids. */
  size = 0;
  columns = createColumns(MIN_CAPACITY);
  /** The hashes of start and end key, only while a scan runs: those of slot 5 are at 10 and 11, in one line of the cache. */
  keys = new Uint32Array(0);
  readonly #more = new MorePlaces();

  /** Number of slots. */
  get capacity(): number {
    return this.columns.ids.length;
  }

  /** Number of ids that fit before the map must grow. */
  get maxSize(): number {
    return this.capacity * MAX_LOAD;
  }

  /** Slot of the id; undefined when it is not in the map. */
  slotOf(id: number): number | undefined {
    const slot = this.#find(id);
    return this.columns.ids[slot] === id ? slot : undefined;
  }

  /** Slot of the id, whose values are 0 when it was not there; `reserve` must have made the map large enough for it. */
  put(id: number): number {
    const slot = this.#find(id);
    const { ids } = this.columns;
    if (ids[slot] !== id) {
      ids[slot] = id;
      this.columns.leases[slot] = NO_PLACE << 2;
      this.size += 1;
    }
    return slot;
  }

  /** Clears what the last scan reported: the columns of 5,000,000 ranges take some 20 ms. */
  *beginScan(): Work {
    const { problems, leases, found, reported } = this.columns;
    for (const column of [problems, found, reported]) column.fill(0);
    leases.fill(NO_PLACE << 2);
    free(this.keys);
    this.keys = new Uint32Array(2 * this.capacity);
    yield* walk(this.capacity, (from, to) => this.#forgetReporters(from, to));
    yield* this.#more.beginScan((id) => this.replicasOf(this.slotOf(id) ?? -1));
  }

  #forgetReporters(from: number, to: number): void {
    const { nodes, marks } = this.columns;
    for (let slot = from; slot < to; slot += 1) {
      marks[slot] = (marks[slot] ?? 0) & ~SCAN_MARKS;
      for (let place = this.replicasOf(slot); place < PLACES; place += 1) {
        nodes[slot * PLACES + place] = 0;
      }
    }
  }

  /** Frees the keys at once: those of five million ranges take 44 MB. */
  endScan(): void {
    free(this.keys);
    this.keys = new Uint32Array(0);
  }

  /** Grows the map until this many ids fit. */
  *reserve(size: number): Work {
    if (size <= this.maxSize) return;
    const capacity = Math.max(this.capacity * GROWTH, size / MAX_LOAD);
    yield* this.#rebuild(Math.ceil(capacity), () => true);
  }

  /** Keeps the ranges in these slots alone, `left` in number. */
  *prune(left: number, isKept: (slot: number) => boolean): Work {
    const capacity = Math.ceil((left * GROWTH) / MAX_LOAD);
    yield* this.#rebuild(Math.max(MIN_CAPACITY, capacity), isKept);
  }

  /** Forgets which replicas the other ranges had, and the sequences of their leases. */
  *forget(isKept: (slot: number) => boolean): Work {
    const { described, voters, votersBefore, sequences, marks } = this.columns;
    const forgotten = [described, voters, votersBefore, sequences];
    yield* walk(this.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if ((described[slot] === 0 && sequences[slot] === 0) || isKept(slot)) continue;
        for (const column of forgotten) column[slot] = 0;
        marks[slot] = (marks[slot] ?? 0) & ~MARK.hasOldSequence;
      }
    });
  }

  /**
   * Records that the node reports the range in this scan. Returns its place; NO_PLACE when there is none. A node has two
   * places while a replica moves between two of its stores.
   */
  report(slot: number, nodeId: number): number {
    if (nodeId > MAX_NODE_ID) return NO_PLACE;
    const { nodes, reported } = this.columns;
    const first = slot * PLACES;
    let found = NO_PLACE;
    for (let place = 0; place < PLACES; place += 1) {
      const known = nodes[first + place];
      if (known === 0 && found !== NO_PLACE) return found;
      if (known !== nodeId && known !== 0) continue;
      nodes[first + place] = nodeId;
      reported[slot] = (reported[slot] ?? 0) | (1 << place);
      if (known === 0) return place;
      if (found === NO_PLACE) found = place;
    }
    const isKnown = found !== NO_PLACE;
    if (isKnown && this.#more.size === 0) return found;
    const more = this.#more.report(this.columns.ids[slot] ?? 0, nodeId, isKnown);
    return isKnown ? found : (more ?? NO_PLACE);
  }

  /** Records that the node does not have the range any more, which it reported in this scan. */
  takeBack(slot: number, nodeId: number): void {
    const { found, reported, leases } = this.columns;
    for (let place = 0; place < MAX_PLACES; place += 1) {
      if (this.nodeAt(slot, place) !== nodeId) continue;
      if ((this.reportedOf(slot) & (1 << place)) === 0) continue;
      if (place < PLACES) reported[slot] = (reported[slot] ?? 0) & ~(1 << place);
      else this.#more.takeBack(this.columns.ids[slot] ?? 0, place);
      found[slot] = Math.max(0, (found[slot] ?? 0) - 1);
      if ((leases[slot] ?? 0) >> 2 === place) leases[slot] = NO_PLACE << 2;
    }
  }

  /** Records that the node holds the lease, by its own response: it knows better than the last leases that replicas remember. */
  nameHolder(slot: number, nodeId: number): void {
    const { leases } = this.columns;
    for (let place = 0; place < MAX_PLACES; place += 1) {
      if (this.nodeAt(slot, place) !== nodeId) continue;
      leases[slot] = ((leases[slot] ?? 0) & 3) | (place << 2);
      return;
    }
  }

  /** The node in the place; 0 for none. */
  nodeAt(slot: number, place: number): number {
    if (place < PLACES) return this.columns.nodes[slot * PLACES + place] ?? 0;
    return this.#moreOf(slot)?.nodes[place - PLACES] ?? 0;
  }

  /** Number of replicas of the descriptor, those without a place included; 0 while it has not been read. */
  replicasOf(slot: number): number {
    return (this.columns.described[slot] ?? 0) & MAX_REPLICAS;
  }

  /** The low 19 bits of the generation of the descriptor. */
  generationOf(slot: number): number {
    const { described, generations } = this.columns;
    return (((described[slot] ?? 0) >> 5) << 16) | (generations[slot] ?? 0);
  }

  /** Sets how many replicas the descriptor has, up to MAX_REPLICAS, and its generation. */
  describe(slot: number, replicas: number, generation: number): void {
    this.columns.described[slot] = (((generation % GENERATIONS) >> 16) << 5) | replicas;
    this.columns.generations[slot] = generation;
  }

  /** Number of replicas of the descriptor that have a place. */
  placesOf(slot: number): number {
    const count = this.replicasOf(slot);
    if (count <= PLACES) return count;
    return Math.min(count, PLACES + (this.#moreOf(slot)?.nodes.length ?? 0));
  }

  /** A bit for each place whose node reports the range in this scan. */
  reportedOf(slot: number): number {
    return (this.columns.reported[slot] ?? 0) | (this.#moreOf(slot)?.reported ?? 0);
  }

  /** A bit for each place that votes after a change of the configuration that is going on. */
  votersOf(slot: number): number {
    return (this.columns.voters[slot] ?? 0) | (this.#moreOf(slot)?.voters ?? 0);
  }

  /** A bit for each place that votes before that change. */
  votersBeforeOf(slot: number): number {
    return (this.columns.votersBefore[slot] ?? 0) | (this.#moreOf(slot)?.votersBefore ?? 0);
  }

  /** How many places the range may have. */
  mostPlacesOf(slot: number): number {
    return this.#more.mostOf(this.columns.ids[slot] ?? 0);
  }

  /** Sets the places of the descriptor, as not reported. */
  place(slot: number, nodeIds: readonly number[], voters: number, votersBefore: number): void {
    const { columns } = this;
    for (let place = 0; place < PLACES; place += 1)
      columns.nodes[slot * PLACES + place] = nodeIds[place] ?? 0;
    columns.reported[slot] = 0;
    columns.voters[slot] = voters & IN_COLUMNS;
    columns.votersBefore[slot] = votersBefore & IN_COLUMNS;
    if (nodeIds.length <= PLACES && this.#more.size === 0) return;
    this.#more.set(columns.ids[slot] ?? 0, {
      nodes: nodeIds.slice(PLACES, MAX_PLACES),
      voters: voters & ~IN_COLUMNS,
      votersBefore: votersBefore & ~IN_COLUMNS,
    });
  }

  /** Undefined, as of most ranges, while the last place in the columns is free. */
  #moreOf(slot: number) {
    if (this.#more.size === 0 || this.columns.nodes[slot * PLACES + PLACES - 1] === 0) {
      return undefined;
    }
    return this.#more.get(this.columns.ids[slot] ?? 0);
  }

  /** The slots of the reported ranges that are meant, `most` of them at most. */
  *findSlots(isMeant: (slot: number) => boolean, most: number): Work<readonly number[]> {
    const { found } = this.columns;
    const slots: number[] = [];
    yield* walk(this.capacity, (from, to) => {
      for (let slot = from; slot < to && slots.length < most; slot += 1) {
        if (found[slot] !== 0 && isMeant(slot)) slots.push(slot);
      }
    });
    return slots;
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
  *#rebuild(capacity: number, isKept: (slot: number) => boolean): Work {
    const { columns: before, keys } = this;
    // First 1 for a slot that is kept; then its target, which is 1 more than the new slot.
    const targets = new Uint32Array(before.ids.length);
    yield* walk(targets.length, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if (before.ids[slot] !== 0 && isKept(slot)) targets[slot] = 1;
      }
    });
    const after = createColumns(capacity);
    this.columns = after;
    this.keys = new Uint32Array(keys.length === 0 ? 0 : 2 * capacity);
    this.size = 0;
    yield* walk(targets.length, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if (targets[slot] !== 0) targets[slot] = this.put(before.ids[slot] ?? 0) + 1;
      }
    });
    for (const [name, column] of Object.entries(after)) {
      if (name === 'ids') continue;
      const width = name === 'nodes' ? PLACES : 1;
      const old = columnOf(before, name);
      yield* copyColumn(old, column, targets, width);
      free(old);
    }
    if (keys.length > 0) {
      yield* copyColumn(keys, this.keys, targets, 2);
      free(keys);
    }
    free(before.ids);
    free(targets);
  }
}

function columnOf(columns: Readonly<Record<string, Column>>, name: string): Column {
  return columns[name] ?? new Uint8Array();
}

/** Frees the memory at once: a garbage collection may come much later. */
function free({ buffer }: Column): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function* copyColumn(from: Column, to: Column, targets: Uint32Array, width: number): Work {
  yield* walk(targets.length, (first, end) => {
    for (let slot = first; slot < end; slot += 1) {
      const target = targets[slot] ?? 0;
      if (target === 0) continue;
      for (let part = 0; part < width; part += 1) {
        to[(target - 1) * width + part] = from[slot * width + part] ?? 0;
      }
    }
  });
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
