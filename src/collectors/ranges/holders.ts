import { type FailureDomains, type HolderCounts, quorumOf } from './failure-domains.ts';
import { HOLDER_COLUMNS, type RangeTable } from './range-table.ts';

/** What the column `nodes` holds. */
export const MAX_NODE_ID = 0xffff;
/** What the columns of counts hold. */
const MAX_COUNT = 0xff;

/** Marks of a range. */
const WAS_MISSING_SOME = 1;
/** A holder has no column: it is a ninth one, or its id is too large. */
const HAS_UNPLACED = 2;

/**
 * The nodes that hold each range: those that reported it in this scan, and those that did before. Columns of the table:
 * - nodes: the ids of up to eight holders, 0 where there is none
 * - seen: which of these reported the range in this scan
 * - lastHolders, intended: HolderCounts
 * - marks: the two above
 */
export class Holders {
  /** Node ids of the range that `read` was called for last. */
  readonly nodes: number[] = [];
  /** Whether the node of the same index reported the range in this scan. */
  readonly seen: boolean[] = [];
  readonly #table: RangeTable;

  constructor(table: RangeTable) {
    this.#table = table;
  }

  /** The node has reported the range in this scan. */
  add(slot: number, nodeId: number): void {
    const { nodes, seen, marks } = this.#table;
    const first = slot * HOLDER_COLUMNS;
    const columns = nodeId <= MAX_NODE_ID ? HOLDER_COLUMNS : 0;
    for (let column = 0; column < columns; column += 1) {
      const other = nodes[first + column];
      if (other !== nodeId && other !== 0) continue;
      nodes[first + column] = nodeId;
      seen[slot] = (seen[slot] ?? 0) | (1 << column);
      return;
    }
    marks[slot] = (marks[slot] ?? 0) | HAS_UNPLACED;
  }

  /** Fills `nodes` and `seen`, and returns their number. */
  read(slot: number): number {
    const { nodes, seen } = this.#table;
    const first = slot * HOLDER_COLUMNS;
    const mask = seen[slot] ?? 0;
    let count = 0;
    for (; count < HOLDER_COLUMNS; count += 1) {
      const nodeId = nodes[first + count] ?? 0;
      if (nodeId === 0) break;
      this.nodes[count] = nodeId;
      this.seen[count] = (mask & (1 << count)) !== 0;
    }
    return count;
  }

  /** The last holder takes the column of the one that is removed. */
  remove(slot: number, nodeId: number): void {
    const { nodes, seen } = this.#table;
    const first = slot * HOLDER_COLUMNS;
    const column = nodes.subarray(first, first + HOLDER_COLUMNS).indexOf(nodeId);
    if (column < 0) return;
    let last = column;
    while (last + 1 < HOLDER_COLUMNS && nodes[first + last + 1] !== 0) last += 1;
    const mask = seen[slot] ?? 0;
    const moved = (mask & (1 << last)) === 0 ? 0 : 1 << column;
    seen[slot] = (mask & ~(1 << column) & ~(1 << last)) | (last === column ? 0 : moved);
    nodes[first + column] = nodes[first + last] ?? 0;
    nodes[first + last] = 0;
  }

  /**
   * Takes over which nodes hold the range, of which `replicas` were reported, after a scan of all live nodes; returns the
   * lowest holder when none is live.
   */
  settle(
    slot: number,
    replicas: number,
    problems: number,
    domains: FailureDomains,
  ): number | undefined {
    const { nodes, seen } = this;
    const count = this.read(slot);
    let present = 0;
    let absent = 0;
    let down = 0;
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
        down += 1;
      }
    }
    const counts = this.counts(slot);
    const unplaced = this.#hasUnplaced(slot) ? Math.max(0, replicas - present) : 0;
    if (present + unplaced > 0) {
      const place = this.#table.places[slot] ?? 0;
      const range = { holders: nodes, placed: present, unplaced, down, problems, place, ...counts };
      const settled = domains.addRange(range);
      this.setCounts(slot, settled);
      const isMissingSome = counts.wasMissingSome || settled.wasMissingSome;
      if (down > 0 && settled.intended === present && !isMissingSome) {
        this.#removeDown(slot, domains);
      }
      if (unplaced === 0) this.#unmark(slot, HAS_UNPLACED);
      return undefined;
    }
    if (lowestDown === Infinity || this.#hasUnplaced(slot)) return undefined;
    // Seen once, with one holder: it had just been split off, and others hold it, too.
    if (known === 1 && counts.intended === 0 && !counts.wasMissingSome) return undefined;
    // A range can leave its live holders only with a quorum of them: it was merged, dropped, or it has moved.
    if (absent < quorumOf(counts.intended > 1 ? counts.intended : known)) return lowestDown;
    const left = this.read(slot);
    for (const nodeId of nodes.slice(0, left)) this.remove(slot, nodeId);
    return undefined;
  }

  /** The range has all of its replicas without those on nodes that are down: they were replaced. */
  #removeDown(slot: number, domains: FailureDomains): void {
    const count = this.read(slot);
    for (const nodeId of this.nodes.slice(0, count)) {
      if (!domains.isLive(nodeId)) this.remove(slot, nodeId);
    }
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
    this.#table.seen.fill(0, from, to);
  }

  counts(slot: number): HolderCounts {
    const { lastHolders, intended, marks } = this.#table;
    return {
      last: lastHolders[slot] ?? 0,
      intended: intended[slot] ?? 0,
      wasMissingSome: ((marks[slot] ?? 0) & WAS_MISSING_SOME) !== 0,
    };
  }

  setCounts(slot: number, { last, intended, wasMissingSome }: HolderCounts): void {
    const { lastHolders, intended: intendedColumn, marks } = this.#table;
    lastHolders[slot] = Math.min(last, MAX_COUNT);
    intendedColumn[slot] = Math.min(intended, MAX_COUNT);
    if (wasMissingSome) marks[slot] = (marks[slot] ?? 0) | WAS_MISSING_SOME;
    else this.#unmark(slot, WAS_MISSING_SOME);
  }

  #hasUnplaced(slot: number): boolean {
    return ((this.#table.marks[slot] ?? 0) & HAS_UNPLACED) !== 0;
  }

  #unmark(slot: number, mark: number): void {
    const { marks } = this.#table;
    marks[slot] = (marks[slot] ?? 0) & ~mark;
  }
}
