import type { FailureDomains, ScannedHolders } from './failure-domains.ts';
import {
  countReplicas,
  type FormerHolders,
  judgeUnreported,
  type ReplicaCount,
  type ReplicaHistory,
} from './lost-replicas.ts';
import {
  HAS_UNPLACED,
  HOLDER_COLUMNS,
  type RangeTable,
  WAS_UNDERREPLICATED,
} from './range-table.ts';

/** The largest number that the column `nodes` holds. */
export const MAX_NODE_ID = 0xffff;
/** The largest number that the columns of counts hold. */
const MAX_COUNT = 0xff;

/** The nodes that hold each range: those that have reported it in this scan, and those that did in earlier ones. */
export class Holders {
  /** Node ids of the range that `read` was called for last. */
  readonly nodes: number[] = [];
  /** Whether the node of the same index reported the range in this scan. */
  readonly seen: boolean[] = [];
  readonly #table: RangeTable;

  constructor(table: RangeTable) {
    this.#table = table;
  }

  /** Records that the node has reported the range in this scan. */
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

  /** Fills `nodes` and `seen` with the holders of the range, and returns their number; what follows in the arrays is old. */
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

  /** The nodes that have reported the range in this scan. */
  seenNodes(slot: number): readonly number[] {
    const count = this.read(slot);
    return this.nodes.filter((_, index) => index < count && this.seen[index] === true);
  }

  /** Removes a holder. Example: without 5, the columns 4, 5, 6, 7 become 4, 7, 6. */
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

  /** Counts the replicas of a range of which this scan found `found`, before `settle`. */
  countReplicas(slot: number, found: number): ReplicaCount {
    return countReplicas(found, this.#table.problems[slot] ?? 0, this.history(slot));
  }

  /**
   * Ends a scan of all live nodes for the range, of which it found `found` replicas: removes the nodes that hold it no
   * more, and adds it to `domains`. Returns the holder with the lowest id if the range is lost.
   */
  settle(slot: number, found: number, domains: FailureDomains): number | undefined {
    const { reporting, live, down, lowestDown } = this.#removeFormer(slot, domains);
    const history = this.history(slot);
    const hasUnplaced = ((this.#table.marks[slot] ?? 0) & HAS_UNPLACED) !== 0;
    const unplaced = hasUnplaced ? Math.max(0, found - reporting) : 0;
    if (reporting + unplaced > 0) {
      this.#settleLive(slot, { reporting, unplaced, down, history }, domains);
      return undefined;
    }
    // It is not known whether the holders without a column are live.
    if (hasUnplaced) return undefined;
    const judgement = judgeUnreported({ live, down }, history);
    if (judgement === 'dropped') this.#removeAll(slot, () => true);
    return judgement === 'lost' ? lowestDown : undefined;
  }

  /**
   * Removes the nodes that have left the cluster, and live ones that do not report the range; counts the former holders.
   * `nodes` then begins with the `reporting` nodes that report it.
   */
  #removeFormer(
    slot: number,
    domains: FailureDomains,
  ): FormerHolders & { readonly reporting: number; readonly lowestDown: number } {
    const { nodes, seen } = this;
    const count = this.read(slot);
    let reporting = 0;
    let live = 0;
    let down = 0;
    let lowestDown = Infinity;
    for (let index = 0; index < count; index += 1) {
      const nodeId = nodes[index] ?? 0;
      const isMember = domains.isMember(nodeId);
      if (isMember && seen[index] === true) {
        nodes[reporting] = nodeId;
        reporting += 1;
      } else if (isMember && !domains.isLive(nodeId)) {
        lowestDown = Math.min(lowestDown, nodeId);
        down += 1;
      } else {
        this.remove(slot, nodeId);
        if (isMember) live += 1;
      }
    }
    return { reporting, live, down, lowestDown };
  }

  /** `nodes` begins with those that reported the range. */
  #settleLive(slot: number, scanned: ScannedHolders, domains: FailureDomains): void {
    const { problems, tableIndexes } = this.#table;
    const history = domains.addRange({
      ...scanned,
      holders: this.nodes,
      problems: problems[slot] ?? 0,
      tableIndex: tableIndexes[slot] ?? 0,
    });
    this.setHistory(slot, history);
    const isShort = scanned.history.wasUnderreplicated || history.wasUnderreplicated;
    // The range has all of its replicas without those on nodes that are down: they were replaced.
    if (scanned.down > 0 && history.intended === scanned.reporting && !isShort) {
      this.#removeAll(slot, (nodeId) => !domains.isLive(nodeId));
    }
    if (scanned.unplaced === 0) this.#mark(slot, HAS_UNPLACED, false);
  }

  #removeAll(slot: number, isRemoved: (nodeId: number) => boolean): void {
    const count = this.read(slot);
    for (const nodeId of this.nodes.slice(0, count)) {
      if (isRemoved(nodeId)) this.remove(slot, nodeId);
    }
  }

  /** Whether the range has holders, and the scan read none of them. */
  isUnread(slot: number, readNodes: ReadonlySet<number>): boolean {
    const count = this.read(slot);
    for (let index = 0; index < count; index += 1) {
      if (readNodes.has(this.nodes[index] ?? 0)) return false;
    }
    return count > 0;
  }

  history(slot: number): ReplicaHistory {
    const { lastHolders, intended, marks } = this.#table;
    return {
      lastHolders: lastHolders[slot] ?? 0,
      intended: intended[slot] ?? 0,
      wasUnderreplicated: ((marks[slot] ?? 0) & WAS_UNDERREPLICATED) !== 0,
    };
  }

  setHistory(slot: number, history: ReplicaHistory): void {
    const { lastHolders, intended } = this.#table;
    lastHolders[slot] = Math.min(history.lastHolders, MAX_COUNT);
    intended[slot] = Math.min(history.intended, MAX_COUNT);
    this.#mark(slot, WAS_UNDERREPLICATED, history.wasUnderreplicated);
  }

  #mark(slot: number, mark: number, isSet: boolean): void {
    const { marks } = this.#table;
    const others = (marks[slot] ?? 0) & ~mark;
    marks[slot] = isSet ? others | mark : others;
  }
}
