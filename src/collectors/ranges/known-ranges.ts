import { PROBLEMS, REPORTED_PROBLEMS } from '../../vocabulary.ts';
import type { FailureDomains } from './failure-domains.ts';
import { Holders } from './holders.ts';
import type { ListedRange } from './listed-ranges.ts';
import { HAS_OLD_SEQUENCE, RangeTable, walk, type Work } from './range-table.ts';
import { countProblems, LEASE_KINDS, NO_LEASE, TableIndexes } from './replica.ts';
import { MIN_WITH_NON_VOTERS, type SampleChoice } from './voters.ts';

/** Replicas of a range are counted up to this number. */
const MAX_REPLICAS = 15;
/** A scan that lacks a range lowers its presence by one of these. At -15, after 3 complete scans, the range expires. */
const LOWERED_BY_COMPLETE_SCAN = 5;
const LOWERED_BY_PARTIAL_SCAN = 1;
const EXPIRED = -15;
/** The table is rebuilt without its expired ranges once they are an eighth of all: that takes as long as filling it. */
const EXPIRED_SHARE = 1 / 8;
const MAX_SEQUENCE = 0xffff_ffff;
const NO_LIVE_REPLICA = PROBLEMS.indexOf('no_live_replica');

/** The range, as one of its replicas reports it. */
export interface ReportedRange {
  readonly rangeId: number;
  /** A bit for each of PROBLEMS. */
  readonly problems: number;
  /** Index in LEASE_KINDS of the lease that this replica holds; NO_LEASE when it holds none. */
  readonly lease: number;
  /** Sequence of the lease; 0 where it is taken from another replica (node-tally.ts). */
  readonly sequence: number;
  /** Number of the table index where the range begins. */
  readonly tableIndex: number;
}

/**
 * Adds a replica to the staging table of its store, which `commit` reads once the node is complete. Returns false if the
 * store has reported the range before.
 */
export function stage(table: RangeTable, range: ReportedRange): boolean {
  const size = table.size;
  const slot = table.put(range.rangeId);
  if (table.size === size) return false;
  table.problems[slot] = range.problems;
  table.leases[slot] = range.lease;
  table.sequences[slot] = range.sequence > 0 && range.sequence <= MAX_SEQUENCE ? range.sequence : 0;
  table.tableIndexes[slot] = range.tableIndex;
  return true;
}

/** The distinct ranges of one scan, counted. */
export interface RangeSummary {
  ranges: number;
  /** Ranges by number of replicas seen, at that index; the last is for all that have more. */
  readonly byReplicas: number[];
  /** Ranges by index of LEASE_KINDS. */
  readonly byLeaseKind: number[];
  /** Ranges by index of PROBLEMS. */
  readonly byProblem: number[];
  /** Ranges by id of the table, then by index of REPORTED_PROBLEMS. */
  readonly problemsByTable: Map<number, number[]>;
}

/** Gets the results that only a scan of all live nodes has. */
export interface WholeView {
  /** Counts the ranges that depend on each node and locality. */
  readonly domains: FailureDomains;
  /** Gets each range that is lost, with the lowest id of the nodes that held it. Its `storeId` is 0: not known. */
  readonly onLost: (range: ListedRange) => void;
}

/**
 * The ranges that the scans of a cluster have found. A scan calls `beginScan`, `commit` for each store, `chooseSamples` and
 * `endScan`, in this order.
 */
export class KnownRanges {
  readonly table = new RangeTable();
  readonly tableIndexes = new TableIndexes();
  readonly #holders = new Holders(this.table);
  /** Increases of lease sequences since the start of the exporter. */
  leaseChanges: number;

  constructor(leaseChanges = 0) {
    this.leaseChanges = leaseChanges;
  }

  /** Clears what the last scan reported. The sequences and holders stay, as the next scan is compared with them. */
  *beginScan(): Work {
    const { problems, leases, seen } = this.table;
    yield* walk(this.table.capacity, (from, to) => {
      problems.fill(0, from, to);
      leases.fill(NO_LEASE, from, to);
      seen.fill(0, from, to);
      beginSlots(this.table, from, to);
    });
  }

  /** Adds the replicas that one store has reported, after its node was read to the end. */
  *commit(staged: RangeTable, nodeId: number): Work {
    yield* this.table.makeRoomFor(staged);
    yield* walk(staged.capacity, (from, to) => {
      this.#commitSlots(staged, nodeId, from, to);
    });
  }

  #commitSlots(staged: RangeTable, nodeId: number, from: number, to: number): void {
    const { table } = this;
    for (let stagedSlot = from; stagedSlot < to; stagedSlot += 1) {
      const id = staged.ids[stagedSlot] ?? 0;
      if (id === 0) continue;
      const slot = table.put(id);
      const replicas = Math.max(table.presence[slot] ?? 0, 0);
      if (replicas === 0) table.tableIndexes[slot] = staged.tableIndexes[stagedSlot] ?? 0;
      table.presence[slot] = Math.min(replicas + 1, MAX_REPLICAS);
      table.problems[slot] = (table.problems[slot] ?? 0) | (staged.problems[stagedSlot] ?? 0);
      const lease = staged.leases[stagedSlot] ?? NO_LEASE;
      this.#commitLease(slot, lease, staged.sequences[stagedSlot] ?? 0);
      this.#holders.add(slot, nodeId);
    }
  }

  /**
   * Records the lease that a replica reports, and counts its changes since an earlier scan. Example: the sequence was 7 in
   * the last scan, and the replica that holds the lease reports 9, so the lease has changed twice. If two replicas report
   * that they hold it, as may happen while it moves, the one with the higher sequence counts.
   */
  #commitLease(slot: number, lease: number, sequence: number): void {
    const { leases, sequences, marks } = this.table;
    const knownSequence = sequences[slot] ?? 0;
    if (lease !== NO_LEASE) {
      const isOfEarlierScan = ((marks[slot] ?? 0) & HAS_OLD_SEQUENCE) !== 0;
      if (isOfEarlierScan && sequence > knownSequence) {
        this.leaseChanges += sequence - knownSequence;
      }
      if (leases[slot] === NO_LEASE || sequence >= knownSequence) leases[slot] = lease;
    }
    sequences[slot] = Math.max(sequence, knownSequence);
  }

  /** Offers the ranges that may have non-voters to `choice`, which chooses those whose voters are requested. */
  *chooseSamples(choice: SampleChoice): Work {
    yield* walk(this.table.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) this.#offerSample(choice, slot);
    });
  }

  #offerSample(choice: SampleChoice, slot: number): void {
    const { ids, presence, intended: intendedColumn, tableIndexes } = this.table;
    const replicas = presence[slot] ?? 0;
    // Most ranges have 3 replicas and no non-voters. One that was found with 3 may have 5, of which 2 are missing.
    if (replicas <= 0 || (replicas < 3 && (intendedColumn[slot] ?? 0) < MIN_WITH_NON_VOTERS))
      return;
    const { live, intended } = this.#holders.countReplicas(slot, replicas);
    if (intended < MIN_WITH_NON_VOTERS) return;
    const range = { tableIndex: tableIndexes[slot] ?? 0, rangeId: ids[slot] ?? 0 };
    choice.offer(range, intended, live < intended, () => this.#holders.seenNodes(slot));
  }

  /**
   * Ends a scan that read these nodes: counts its ranges and drops the expired ones. With `whole`, after a scan of all
   * live nodes, it also updates the holders of each range, and finds the lost ranges.
   */
  *endScan(readNodes: ReadonlySet<number>, whole?: WholeView): Work<RangeSummary> {
    const { table } = this;
    const summary: RangeSummary = {
      ranges: 0,
      byReplicas: Array.from({ length: MAX_REPLICAS + 1 }, () => 0),
      byLeaseKind: LEASE_KINDS.map(() => 0),
      byProblem: PROBLEMS.map(() => 0),
      problemsByTable: new Map(),
    };
    let expired = 0;
    yield* walk(table.capacity, (from, to) => {
      expired += this.#endSlots(summary, readNodes, whole, from, to);
    });
    if (expired > table.size * EXPIRED_SHARE) yield* table.prune(EXPIRED);
    return summary;
  }

  /** Returns the number of expired ranges. */
  #endSlots(
    summary: RangeSummary,
    readNodes: ReadonlySet<number>,
    whole: WholeView | undefined,
    from: number,
    to: number,
  ): number {
    const { ids, presence } = this.table;
    const lowered = whole === undefined ? LOWERED_BY_PARTIAL_SCAN : LOWERED_BY_COMPLETE_SCAN;
    let expired = 0;
    for (let slot = from; slot < to; slot += 1) {
      if (ids[slot] === 0) continue;
      const replicas = Math.max(presence[slot] ?? 0, 0);
      if (replicas > 0) this.#count(summary, slot, replicas);
      if (whole !== undefined) this.#settle(summary, slot, replicas, whole);
      // A range is not missing if its nodes were not read.
      if (replicas > 0 || this.#holders.isUnread(slot, readNodes)) continue;
      presence[slot] = Math.max((presence[slot] ?? 0) - lowered, EXPIRED);
      if (presence[slot] === EXPIRED) expired += 1;
    }
    return expired;
  }

  #count(summary: RangeSummary, slot: number, replicas: number): void {
    const { leases, problems: problemsColumn, tableIndexes } = this.table;
    summary.ranges += 1;
    increase(summary.byReplicas, replicas);
    increase(summary.byLeaseKind, leases[slot] ?? NO_LEASE);
    const problems = problemsColumn[slot] ?? 0;
    if (problems === 0) return;
    const tableId = this.tableIndexes.tableOf(tableIndexes[slot] ?? 0);
    const counts = summary.problemsByTable.get(tableId) ?? REPORTED_PROBLEMS.map(() => 0);
    summary.problemsByTable.set(tableId, counts);
    countProblems(summary.byProblem, problems);
    countProblems(counts, problems);
  }

  /** Updates the holders of the range, and counts and reports it if it is lost. */
  #settle(
    summary: RangeSummary,
    slot: number,
    replicas: number,
    { domains, onLost }: WholeView,
  ): void {
    const { ids, tableIndexes } = this.table;
    const nodeId = this.#holders.settle(slot, replicas, domains);
    if (nodeId === undefined) return;
    increase(summary.byProblem, NO_LIVE_REPLICA);
    const tableIndex = this.tableIndexes.get(tableIndexes[slot] ?? 0) ?? 0;
    onLost({ rangeId: ids[slot] ?? 0, nodeId, storeId: 0, tableIndex });
  }
}

function beginSlots({ sequences, presence, marks }: RangeTable, from: number, to: number): void {
  for (let slot = from; slot < to; slot += 1) {
    presence[slot] = Math.min(presence[slot] ?? 0, 0);
    if (sequences[slot] !== 0) marks[slot] = (marks[slot] ?? 0) | HAS_OLD_SEQUENCE;
  }
}

function increase(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}
