import { RequestError } from '../../cockroach/cluster-api.ts';
import { PROBLEMS, REPORTED_PROBLEMS } from '../../vocabulary.ts';
import { type FailureDomains, isUnderreplicated } from './failure-domains.ts';
import { judgeUnreported } from './lost-ranges.ts';
import {
  HAS_OLD_SEQUENCE,
  RangeTable,
  type ReplicaHistory,
  walk,
  type Work,
} from './range-table.ts';
import {
  countProblems,
  LEASE_KINDS,
  NO_LEASE,
  type ReplicaColumns,
  TableIndexes,
} from './replica.ts';
import type { ListedRange, RangeCounts } from './result.ts';

/** Ranges that one exporter knows, in 200 MB. More need shards. */
export const MAX_RANGES = 5_000_000;
/** Replicas of a range are counted up to this number. */
const MAX_REPLICAS = 15;
/** The table is rebuilt without the ranges that are gone once they are an eighth of all: that takes as long as filling it. */
const MAX_GONE_SHARE = 1 / 8;
const MAX_SEQUENCE = 0xffff_ffff;
const NO_LIVE_REPLICA = PROBLEMS.indexOf('no_live_replica');
const NO_NODES: readonly number[] = [];
const NO_HISTORY: ReplicaHistory = { lastHolders: 0, intended: 0, wasUnderreplicated: false };

/** Gets each range that is lost, with the lowest id of the nodes that held it. */
type OnLost = (range: Omit<ListedRange, 'storeId'>) => void;

/** A range of which the types of the replicas may be requested. */
export interface SampledRange {
  readonly rangeId: number;
  /** Number of its table index. */
  readonly tableIndexNumber: number;
  /** Number of replicas that it was found with, or should have. */
  readonly replicas: number;
  readonly isMissingSome: boolean;
}

/**
 * The ranges that the scans of a cluster have found. A scan calls `beginScan`, `commit` for each node, `offerSamples` and
 * `endScan`, in this order.
 */
export class KnownRanges {
  readonly table = new RangeTable();
  readonly tableIndexes = new TableIndexes();
  /** Increases of lease sequences since the start of the exporter. */
  leaseChanges = 0;
  /** Scratch space for the holders of one range; entries beyond the returned count are stale. */
  readonly #holders: number[] = [];
  /** Scratch space for one range: an object for each would be a third of the garbage of a scan. */
  readonly #range = {
    holders: this.#holders,
    reporting: 0,
    unplaced: 0,
    down: 0,
    history: NO_HISTORY,
    problems: 0,
    tableIndexNumber: 0,
  };

  /** Clears what the last scan reported. The sequences and holders stay, as the next scan is compared with them. */
  beginScan(): void {
    const { found, problems, leases, reporting } = this.table.columns;
    // The columns of 5,000,000 ranges are 27 MB: this takes a few milliseconds.
    for (const column of [found, problems, leases, reporting]) column.fill(0);
  }

  /** Adds the replicas of a node that was read to its end. Throws before it adds any when they do not fit. */
  *commit(nodeId: number, replicas: ReplicaColumns): Work {
    const { table } = this;
    const { rangeIds, length } = replicas;
    let size = table.size;
    // Most scans find known ranges: that all fit even if they were new saves a twentieth of the scan.
    if (size + length > Math.min(table.maxSize, MAX_RANGES)) {
      yield* walk(length, (from, to) => {
        size += this.#countNew(rangeIds, from, to);
      });
    }
    if (size > MAX_RANGES) {
      const most = MAX_RANGES.toLocaleString('en');
      const message = `the nodes of this exporter have more than ${most} ranges: divide the nodes among shards, which know their own ranges only`;
      throw new RequestError('limit', `ranges of node ${nodeId}: ${message}`);
    }
    yield* table.reserve(size);
    yield* walk(length, (from, to) => this.#commitReplicas(nodeId, replicas, from, to));
  }

  #countNew(rangeIds: Uint32Array, from: number, to: number): number {
    let added = 0;
    for (let index = from; index < to; index += 1) {
      if (!this.table.has(rangeIds[index] ?? 0)) added += 1;
    }
    return added;
  }

  #commitReplicas(nodeId: number, replicas: ReplicaColumns, from: number, to: number): void {
    const { table } = this;
    const { found, tableIndexes, problems: problemsColumn } = table.columns;
    for (let index = from; index < to; index += 1) {
      const slot = table.put(replicas.rangeIds[index] ?? 0);
      const foundBefore = found[slot] ?? 0;
      if (foundBefore === 0) {
        tableIndexes[slot] = this.tableIndexes.numberOf(replicas.tableIndexes[index] ?? 0);
      }
      found[slot] = Math.min(foundBefore + 1, MAX_REPLICAS);
      const problems = replicas.problems[index] ?? 0;
      // Writing a 0, too, would fetch one more cache line of a large table for each replica.
      if (problems !== 0) problemsColumn[slot] = (problemsColumn[slot] ?? 0) | problems;
      this.#commitLease(slot, replicas.leases[index] ?? NO_LEASE, replicas.sequences[index] ?? 0);
      table.addHolder(slot, nodeId);
    }
  }

  /**
   * Records the lease that a replica reports, and counts its changes since an earlier scan. Example: the sequence was 7 in
   * the last scan, and the replica that holds the lease reports 9, so the lease has changed twice. If two replicas report
   * that they hold it, as may happen while it moves, the one with the higher sequence counts.
   */
  #commitLease(slot: number, lease: number, reportedSequence: number): void {
    if (lease === NO_LEASE && reportedSequence === 0) return;
    const { leases, sequences, marks } = this.table.columns;
    const knownSequence = sequences[slot] ?? 0;
    const sequence = reportedSequence <= MAX_SEQUENCE ? reportedSequence : 0;
    if (lease !== NO_LEASE) {
      const isOfEarlierScan = ((marks[slot] ?? 0) & HAS_OLD_SEQUENCE) !== 0;
      if (isOfEarlierScan && sequence > knownSequence) {
        this.leaseChanges += sequence - knownSequence;
      }
      if (leases[slot] === NO_LEASE || sequence >= knownSequence) leases[slot] = lease;
    }
    sequences[slot] = Math.max(sequence, knownSequence);
  }

  /** Offers the ranges that have, or should have, at least `minReplicas` replicas. */
  *offerSamples(minReplicas: number, offer: (range: SampledRange) => void): Work {
    const { ids, found, intended, problems, tableIndexes } = this.table.columns;
    const offerSlots = (from: number, to: number): void => {
      for (let slot = from; slot < to; slot += 1) {
        if (found[slot] === 0) continue;
        const replicas = Math.max(found[slot] ?? 0, intended[slot] ?? 0);
        const isMissingSome = isUnderreplicated(problems[slot] ?? 0);
        const least = intended[slot] === 0 && isMissingSome ? replicas + 1 : replicas;
        if (least < minReplicas) continue;
        const tableIndexNumber = tableIndexes[slot] ?? 0;
        // Ranges of many tables share the last number, so that one cannot stand for all.
        if (this.tableIndexes.get(tableIndexNumber) === undefined) continue;
        offer({ rangeId: ids[slot] ?? 0, tableIndexNumber, replicas, isMissingSome });
      }
    };
    yield* walk(this.table.capacity, offerSlots);
  }

  /** The nodes that have reported a known range in this scan. */
  reportingNodes(rangeId: number): readonly number[] {
    const slot = this.table.put(rangeId);
    const count = this.table.readHolders(slot, this.#holders);
    return this.#holders.slice(0, Math.min(count, this.table.columns.reporting[slot] ?? 0));
  }

  /**
   * Ends a scan: counts its ranges. With `domains`, after a scan of all live nodes, it also updates the holders of each
   * range, adds the ranges to the domains, finds the lost ones, and drops those that are gone.
   */
  *endScan(domains: FailureDomains | undefined, onLost: OnLost): Work<RangeCounts> {
    const { table } = this;
    const counts: RangeCounts = {
      ranges: 0,
      byReplicas: Array.from({ length: MAX_REPLICAS + 1 }, () => 0),
      byLeaseKind: LEASE_KINDS.map(() => 0),
      byProblem: PROBLEMS.map(() => 0),
      problemsByTable: new Map(),
    };
    let gone = 0;
    yield* walk(table.capacity, (from, to) => {
      gone += this.#endSlots(counts, domains, onLost, from, to);
    });
    if (gone > table.size * MAX_GONE_SHARE) yield* table.prune(table.size - gone);
    return counts;
  }

  /** Returns the number of ranges that are gone. */
  #endSlots(
    counts: RangeCounts,
    domains: FailureDomains | undefined,
    onLost: OnLost,
    from: number,
    to: number,
  ): number {
    const { table } = this;
    const { ids, found, tableIndexes, sequences, marks } = table.columns;
    let gone = 0;
    for (let slot = from; slot < to; slot += 1) {
      if (ids[slot] === 0) continue;
      if (sequences[slot] !== 0) marks[slot] = (marks[slot] ?? 0) | HAS_OLD_SEQUENCE;
      const replicas = found[slot] ?? 0;
      if (replicas > 0) this.#count(counts, slot, replicas);
      if (domains === undefined) continue;
      const nodeId = this.#settle(slot, replicas, domains);
      if (nodeId !== undefined) {
        increase(counts.byProblem, NO_LIVE_REPLICA);
        const tableIndex = this.tableIndexes.get(tableIndexes[slot] ?? 0) ?? 0;
        onLost({ rangeId: ids[slot] ?? 0, nodeId, tableIndex });
      }
      // A range is not gone while nodes that are down may have it.
      if (replicas === 0 && !table.hasHolders(slot)) gone += 1;
    }
    return gone;
  }

  #count(counts: RangeCounts, slot: number, replicas: number): void {
    const { leases, problems: problemsColumn, tableIndexes } = this.table.columns;
    counts.ranges += 1;
    increase(counts.byReplicas, replicas);
    increase(counts.byLeaseKind, leases[slot] ?? NO_LEASE);
    const problems = problemsColumn[slot] ?? 0;
    if (problems === 0) return;
    const tableId = this.tableIndexes.tableOf(tableIndexes[slot] ?? 0);
    const tableCounts = counts.problemsByTable.get(tableId) ?? REPORTED_PROBLEMS.map(() => 0);
    counts.problemsByTable.set(tableId, tableCounts);
    countProblems(counts.byProblem, problems);
    countProblems(tableCounts, problems);
  }

  /**
   * Ends a scan of all live nodes for the range, of which it found `found` replicas: forgets the nodes that hold it no
   * more, and counts what depends on it. Returns the holder with the lowest id if the range is lost.
   */
  #settle(slot: number, found: number, domains: FailureDomains): number | undefined {
    const { table } = this;
    const { problems, tableIndexes, reporting: reportingColumn } = table.columns;
    const reporting = reportingColumn[slot] ?? 0;
    const count = table.readHolders(slot, this.#holders);
    // The nodes that held it before and do not report it now; most ranges have none.
    const former = count > reporting ? this.#holders.slice(reporting, count) : NO_NODES;
    const down = count > reporting ? former.filter((id) => domains.isDown(id)) : NO_NODES;
    const hasUnplaced = table.hasUnplaced(slot);
    const history = table.historyOf(slot);
    if (found === 0) {
      // The id of a ninth holder is not kept, so it may be live: such a range is never lost.
      const { lostOn, holders } = hasUnplaced
        ? { lostOn: undefined, holders: down }
        : judgeUnreported(former, down, domains, history);
      if (holders.length < former.length) table.replaceFormer(slot, holders);
      return lostOn;
    }
    const unplaced = hasUnplaced ? Math.max(0, found - reporting) : 0;
    const range = this.#range;
    range.reporting = reporting;
    range.unplaced = unplaced;
    range.down = down.length;
    range.history = history;
    range.problems = problems[slot] ?? 0;
    range.tableIndexNumber = tableIndexes[slot] ?? 0;
    const after = domains.addRange(range);
    if (after !== history || hasUnplaced !== unplaced > 0) {
      table.remember(slot, after, unplaced > 0);
    }
    // A range that has all of its replicas elsewhere does not need those on nodes that are down.
    const isShort = history.wasUnderreplicated || after.wasUnderreplicated;
    const remembered = after.intended === reporting && !isShort ? NO_NODES : down;
    if (remembered.length < former.length) table.replaceFormer(slot, remembered);
    return undefined;
  }
}

function increase(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}
