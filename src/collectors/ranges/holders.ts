import {
  countReplicas,
  type FailureDomains,
  type HolderCounts,
  type HolderView,
  quorumOf,
  type ReplicaCount,
} from './failure-domains.ts';
import { HAS_UNPLACED, HOLDER_COLUMNS, type RangeTable, WAS_MISSING_SOME } from './range-table.ts';

/** The largest number that the column `nodes` holds. */
export const MAX_NODE_ID = 0xffff;
/** The largest number that the columns of counts hold. */
const MAX_COUNT = 0xff;

/** The nodes that hold each range: those that reported it in this scan, and those that did before. */
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
    const { nodes, seen } = this.#table;
    const first = slot * HOLDER_COLUMNS;
    const columns = nodeId <= MAX_NODE_ID ? HOLDER_COLUMNS : 0;
    for (let column = 0; column < columns; column += 1) {
      const other = nodes[first + column];
      if (other !== nodeId && other !== 0) continue;
      nodes[first + column] = nodeId;
      seen[slot] = (seen[slot] ?? 0) | (1 << column);
      return;
    }
    this.#mark(slot, HAS_UNPLACED, true);
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

  /** Nodes that reported the range in this scan. */
  seenNodes(slot: number): readonly number[] {
    const count = this.read(slot);
    return this.nodes.filter((_, index) => index < count && this.seen[index] === true);
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

  /** How many of the range's replicas are live, of which `replicas` were reported, and how many it should have. */
  countReplicas(slot: number, replicas: number): ReplicaCount {
    return countReplicas(replicas, this.#table.problems[slot] ?? 0, this.counts(slot));
  }

  /**
   * Takes over which nodes hold the range, of which `replicas` were reported, after a scan of all live nodes; returns the
   * lowest holder of a lost range. Example: nodes 1, 2 and 3 held it, none reports it now, and 1 and 2 are not live: no
   * quorum of them can have moved or dropped it, so it is lost, and 1 is returned. If only node 1 is not live, the two
   * others show that it was dropped.
   */
  settle(slot: number, replicas: number, domains: FailureDomains): number | undefined {
    const { nodes, seen } = this;
    const count = this.read(slot);
    let reporting = 0;
    let gone = 0;
    let down = 0;
    let lowestDown = Infinity;
    let members = 0;
    for (let index = 0; index < count; index += 1) {
      const nodeId = nodes[index] ?? 0;
      if (!domains.isMember(nodeId)) {
        this.remove(slot, nodeId);
        continue;
      }
      members += 1;
      if (seen[index] === true) {
        nodes[reporting] = nodeId;
        reporting += 1;
      } else if (domains.isLive(nodeId)) {
        this.remove(slot, nodeId);
        gone += 1;
      } else {
        lowestDown = Math.min(lowestDown, nodeId);
        down += 1;
      }
    }
    const before = this.counts(slot);
    const hasUnplaced = ((this.#table.marks[slot] ?? 0) & HAS_UNPLACED) !== 0;
    const unplaced = hasUnplaced ? Math.max(0, replicas - reporting) : 0;
    if (reporting + unplaced > 0) {
      this.#settleLive(slot, { reporting, unplaced, down, before }, domains);
      return undefined;
    }
    if (down === 0 || hasUnplaced) return undefined;
    // A range that was seen once, with one holder, had just been split off, and others hold it, too.
    if (members === 1 && before.intended === 0 && !before.wasMissingSome) return undefined;
    if (gone < quorumOf(before.intended > 1 ? before.intended : members)) return lowestDown;
    this.#removeAll(slot, () => true);
    return undefined;
  }

  /** `nodes` begins with those that reported the range. */
  #settleLive(slot: number, seen: HolderView, domains: FailureDomains): void {
    const { problems, tableIndexes } = this.#table;
    const counts = domains.addRange({
      ...seen,
      holders: this.nodes,
      problems: problems[slot] ?? 0,
      tableIndex: tableIndexes[slot] ?? 0,
    });
    this.setCounts(slot, counts);
    const isMissingSome = seen.before.wasMissingSome || counts.wasMissingSome;
    // The range has all of its replicas without those on nodes that are down: they were replaced.
    if (seen.down > 0 && counts.intended === seen.reporting && !isMissingSome) {
      this.#removeAll(slot, (nodeId) => !domains.isLive(nodeId));
    }
    if (seen.unplaced === 0) this.#mark(slot, HAS_UNPLACED, false);
  }

  #removeAll(slot: number, isRemoved: (nodeId: number) => boolean): void {
    const count = this.read(slot);
    for (const nodeId of this.nodes.slice(0, count)) {
      if (isRemoved(nodeId)) this.remove(slot, nodeId);
    }
  }

  /** Whether it has holders, of which none was read. */
  isUnread(slot: number, readNodes: ReadonlySet<number>): boolean {
    const count = this.read(slot);
    for (let index = 0; index < count; index += 1) {
      if (readNodes.has(this.nodes[index] ?? 0)) return false;
    }
    return count > 0;
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
    const { lastHolders, intended: intendedColumn } = this.#table;
    lastHolders[slot] = Math.min(last, MAX_COUNT);
    intendedColumn[slot] = Math.min(intended, MAX_COUNT);
    this.#mark(slot, WAS_MISSING_SOME, wasMissingSome);
  }

  #mark(slot: number, mark: number, isSet: boolean): void {
    const { marks } = this.#table;
    const others = (marks[slot] ?? 0) & ~mark;
    marks[slot] = isSet ? others | mark : others;
  }
}
