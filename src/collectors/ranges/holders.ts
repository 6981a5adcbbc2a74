import { type FailureDomains, type HolderCounts, quorumOf } from './failure-domains.ts';
import type { RangeTable } from './range-table.ts';

/** Of one range. The first six nodes with an id up to 1,023 are in the words of its slot, all others in a side table. */
export const HOLDER_WORDS = 3;

/**
 * A word has two nodes: ten bits for the id, one that is set when the node reported the range in the present scan.
 * Ten bits are left: in the first word two numbers of replicas and two marks, in the others the place.
 */
const ID_BITS = 10;
const MAX_NODE_ID = (1 << ID_BITS) - 1;
const SEEN = 1 << ID_BITS;
const ENTRY_BITS = ID_BITS + 1;
const ENTRY_MASK = (1 << ENTRY_BITS) - 1;
const SEEN_BITS = SEEN | (SEEN << ENTRY_BITS);
const REST_SHIFT = 2 * ENTRY_BITS;
const ENTRIES = 2 * HOLDER_WORDS;
const COUNT_BITS = 4;
const MAX_COUNT = (1 << COUNT_BITS) - 1;
const HAS_MORE = 1 << (2 * COUNT_BITS);
const WAS_MISSING_SOME = HAS_MORE << 1;
/** Numbers of places that fit. */
export const MAX_PLACES = 2 ** (2 * (32 - REST_SHIFT));

/** The nodes that hold each range: those that reported it in this scan, and those that did before. */
export class Holders {
  /** Node ids of the range that `read` was called for last. */
  readonly nodes: number[] = [];
  /** Whether the node of the same index reported the range in this scan. */
  readonly seen: boolean[] = [];
  /** By range id: nodes that do not fit the slot, and whether they reported it. */
  readonly #more = new Map<number, Map<number, boolean>>();
  readonly #table: RangeTable;

  /** The words of the table are for the holders, their counts and the place. */
  constructor(table: RangeTable) {
    this.#table = table;
  }

  /** The node has reported the range in this scan. */
  add(slot: number, nodeId: number): void {
    const { words } = this.#table;
    const first = slot * HOLDER_WORDS;
    for (let at = first; at < first + HOLDER_WORDS; at += 1) {
      const word = words[at] ?? 0;
      if ((word & MAX_NODE_ID) === nodeId) {
        words[at] = word | SEEN;
        return;
      }
      if (((word >>> ENTRY_BITS) & MAX_NODE_ID) === nodeId) {
        words[at] = word | (SEEN << ENTRY_BITS);
        return;
      }
    }
    this.#addNew(slot, nodeId);
  }

  /** Adds a node that is not in the slot; it may be in the side table. */
  #addNew(slot: number, nodeId: number): void {
    const { words } = this.#table;
    const more = this.#moreOf(slot);
    for (let entry = 0; entry < ENTRIES; entry += 1) {
      if (nodeId > MAX_NODE_ID || more?.has(nodeId) === true) break;
      const at = wordOf(slot, entry);
      const word = words[at] ?? 0;
      if (((word >>> shiftOf(entry)) & ENTRY_MASK) !== 0) continue;
      words[at] = word | ((nodeId | SEEN) << shiftOf(entry));
      return;
    }
    if (more !== undefined) more.set(nodeId, true);
    else this.#more.set(this.#table.ids[slot] ?? 0, new Map([[nodeId, true]]));
    this.#setRest(slot, 0, this.#rest(slot, 0) | HAS_MORE);
  }

  /** Fills `nodes` and `seen`, and returns their number. */
  read(slot: number): number {
    const { words } = this.#table;
    let count = 0;
    for (let entry = 0; entry < ENTRIES; entry += 1) {
      const bits = ((words[wordOf(slot, entry)] ?? 0) >>> shiftOf(entry)) & ENTRY_MASK;
      if (bits === 0) continue;
      this.nodes[count] = bits & MAX_NODE_ID;
      this.seen[count] = bits >= SEEN;
      count += 1;
    }
    for (const [nodeId, isSeen] of this.#moreOf(slot) ?? []) {
      this.nodes[count] = nodeId;
      this.seen[count] = isSeen;
      count += 1;
    }
    return count;
  }

  remove(slot: number, nodeId: number): void {
    const { words } = this.#table;
    for (let entry = 0; entry < ENTRIES; entry += 1) {
      const at = wordOf(slot, entry);
      const shift = shiftOf(entry);
      if ((((words[at] ?? 0) >>> shift) & MAX_NODE_ID) !== nodeId) continue;
      words[at] = (words[at] ?? 0) & ~(ENTRY_MASK << shift);
      return;
    }
    const more = this.#moreOf(slot);
    more?.delete(nodeId);
    if (more?.size === 0) this.#dropMore(slot);
  }

  /** Takes over which nodes hold the range after a scan of all live nodes; returns the lowest holder when none is live. */
  settle(slot: number, problems: number, domains: FailureDomains): number | undefined {
    const { nodes, seen } = this;
    const count = this.read(slot);
    let present = 0;
    let absent = 0;
    let lowestDown = Infinity;
    let known = 0;
    for (let at = 0; at < count; at += 1) {
      const nodeId = nodes[at] ?? 0;
      if (!domains.isMember(nodeId)) {
        this.remove(slot, nodeId);
        continue;
      }
      known += 1;
      if (seen[at] === true) {
        nodes[present] = nodeId;
        present += 1;
      } else if (domains.isLive(nodeId)) {
        this.remove(slot, nodeId);
        absent += 1;
      } else {
        lowestDown = Math.min(lowestDown, nodeId);
      }
    }
    const counts = this.counts(slot);
    if (present > 0) {
      this.setCounts(slot, domains.addRange(nodes, present, problems, counts));
      return undefined;
    }
    if (lowestDown === Infinity) return undefined;
    // Seen once, with one holder: it had just been split off, and others hold it, too.
    if (known === 1 && counts.intended === 0 && !counts.wasMissingSome) return undefined;
    // A range can leave its live holders only with a quorum of them: it was merged, dropped, or it has moved.
    if (absent < quorumOf(counts.intended > 1 ? counts.intended : known)) return lowestDown;
    const left = this.read(slot);
    for (const nodeId of nodes.slice(0, left)) this.remove(slot, nodeId);
    return undefined;
  }

  /** Whether it has holders, of which none was read. */
  isUnread(slot: number, readNodes: ReadonlySet<number>): boolean {
    const count = this.read(slot);
    for (let at = 0; at < count; at += 1) {
      if (readNodes.has(this.nodes[at] ?? 0)) return false;
    }
    return count > 0;
  }

  /** No node of these slots has been seen yet. */
  beginScan(from: number, to: number): void {
    const { words } = this.#table;
    for (let at = from * HOLDER_WORDS; at < to * HOLDER_WORDS; at += 1) {
      words[at] = (words[at] ?? 0) & ~SEEN_BITS;
    }
    if (this.#more.size === 0) return;
    for (let slot = from; slot < to; slot += 1) {
      const more = this.#moreOf(slot);
      if (more !== undefined) for (const nodeId of more.keys()) more.set(nodeId, false);
    }
  }

  /** For a range that is to be dropped from the table. */
  forget(slot: number): void {
    if (this.#moreOf(slot) !== undefined) this.#dropMore(slot);
  }

  #moreOf(slot: number): Map<number, boolean> | undefined {
    const hasMore = (this.#rest(slot, 0) & HAS_MORE) !== 0;
    return hasMore ? this.#more.get(this.#table.ids[slot] ?? 0) : undefined;
  }

  #dropMore(slot: number): void {
    this.#more.delete(this.#table.ids[slot] ?? 0);
    this.#setRest(slot, 0, this.#rest(slot, 0) & ~HAS_MORE);
  }

  counts(slot: number): HolderCounts {
    const bits = this.#rest(slot, 0);
    return {
      last: bits & MAX_COUNT,
      intended: (bits >>> COUNT_BITS) & MAX_COUNT,
      wasMissingSome: (bits & WAS_MISSING_SOME) !== 0,
    };
  }

  setCounts(slot: number, { last, intended, wasMissingSome }: HolderCounts): void {
    const counts = Math.min(last, MAX_COUNT) | (Math.min(intended, MAX_COUNT) << COUNT_BITS);
    const marks = (this.#rest(slot, 0) & HAS_MORE) | (wasMissingSome ? WAS_MISSING_SOME : 0);
    this.#setRest(slot, 0, marks | counts);
  }

  /** The number of the place of the range, below MAX_PLACES. */
  place(slot: number): number {
    return this.#rest(slot, 1) | (this.#rest(slot, 2) << (32 - REST_SHIFT));
  }

  setPlace(slot: number, place: number): void {
    this.#setRest(slot, 1, place);
    this.#setRest(slot, 2, place >>> (32 - REST_SHIFT));
  }

  /** The upper bits of a word, which no node needs. */
  #rest(slot: number, word: number): number {
    return (this.#table.words[slot * HOLDER_WORDS + word] ?? 0) >>> REST_SHIFT;
  }

  /** Of `bits` the lowest ten. */
  #setRest(slot: number, word: number, bits: number): void {
    const { words } = this.#table;
    const at = slot * HOLDER_WORDS + word;
    words[at] = ((words[at] ?? 0) & ((1 << REST_SHIFT) - 1)) | (bits << REST_SHIFT);
  }
}

function wordOf(slot: number, entry: number): number {
  return slot * HOLDER_WORDS + (entry >> 1);
}

function shiftOf(entry: number): number {
  return (entry & 1) * ENTRY_BITS;
}
