import { PROBLEMS, REPORTED_PROBLEMS } from '../../vocabulary.ts';
import type { FailureDomains } from './failure-domains.ts';
import { Holders } from './holders.ts';
import type { ListedRange } from './listed-ranges.ts';
import { HAS_OLD_SEQUENCE, RangeTable, walk, type Work } from './range-table.ts';
import { countProblems, LEASE_KINDS, NO_LEASE, TableIndexes } from './replica.ts';
import { MIN_WITH_NON_VOTERS, type SampleChoice } from './voters.ts';

/** Replicas of a range are counted up to this number. */
const MAX_REPLICAS = 15;
/** A range is forgotten at this presence: it was missing from 3 complete scans, or from 15 partial ones. */
const FORGOTTEN = -15;
const MISSING_FROM_COMPLETE_SCAN = 5;
const MISSING_FROM_PARTIAL_SCAN = 1;
/** The table is rebuilt, which costs as much as all of it, once one in so many ranges is to be forgotten. */
const EXPIRED_SHARE = 8;
const MAX_SEQUENCE = 0xffff_ffff;
const NO_LIVE_REPLICA = PROBLEMS.indexOf('no_live_replica');

/** The range, as one of its replicas reports it. */
export interface ReportedRange {
  readonly rangeId: number;
  /** A bit for each of PROBLEMS. */
  readonly problems: number;
  /** Index in LEASE_KINDS of the lease that this replica holds; NO_LEASE when it holds none. */
  readonly lease: number;
  /** Sequence of the lease, where this replica is a source for it, else 0. */
  readonly sequence: number;
  /** Number of the table index where the range begins. */
  readonly tableIndex: number;
}

/** Stages a replica of one store until its node is complete; false when the store has reported that range before. */
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

/** Results that only a scan of all live nodes has. */
export interface WholeView {
  /** Counts what depends on the nodes and localities. */
  readonly domains: FailureDomains;
  /** Gets the ranges that no live node holds, each with the lowest node that held it; its store is not known. */
  readonly onLost: (range: ListedRange) => void;
}

/** The ranges of a cluster, from scan to scan. */
export class KnownRanges {
  readonly table = new RangeTable();
  readonly tableIndexes = new TableIndexes();
  readonly #holders = new Holders(this.table);
  /** Increases of lease sequences since the start of the exporter. */
  leaseChanges: number;

  constructor(leaseChanges = 0) {
    this.leaseChanges = leaseChanges;
  }

  /** Forgets the last scan, except the sequences and holders that it left. */
  *beginScan(): Work {
    const { problems, leases, seen } = this.table;
    yield* walk(this.table.capacity, (from, to) => {
      problems.fill(0, from, to);
      leases.fill(NO_LEASE, from, to);
      seen.fill(0, from, to);
      beginSlots(this.table, from, to);
    });
  }

  /** Adds the replicas of one store of a node, which is complete. */
  *commit(staged: RangeTable, nodeId: number): Work {
    yield* this.table.makeRoomFor(staged);
    yield* walk(staged.capacity, (from, to) => {
      this.#commitSlots(staged, nodeId, from, to);
    });
  }

  #commitSlots(staged: RangeTable, nodeId: number, from: number, end: number): void {
    const { table } = this;
    for (let slot = from; slot < end; slot += 1) {
      const id = staged.ids[slot] ?? 0;
      if (id === 0) continue;
      const to = table.put(id);
      const replicas = Math.max(table.presence[to] ?? 0, 0);
      if (replicas === 0) table.tableIndexes[to] = staged.tableIndexes[slot] ?? 0;
      table.presence[to] = Math.min(replicas + 1, MAX_REPLICAS);
      table.problems[to] = (table.problems[to] ?? 0) | (staged.problems[slot] ?? 0);
      this.#commitLease(to, staged.leases[slot] ?? NO_LEASE, staged.sequences[slot] ?? 0);
      this.#holders.add(to, nodeId);
    }
  }

  /**
   * Changes are counted where the lease is held now, against the sequence of an earlier scan. Example: it was 7, and the
   * store that holds the lease reports 9: two changes. Two stores may claim a range for a moment: the one with the higher
   * sequence is believed.
   */
  #commitLease(slot: number, lease: number, sequence: number): void {
    const { leases, sequences, marks } = this.table;
    const known = sequences[slot] ?? 0;
    if (lease !== NO_LEASE) {
      const isOld = ((marks[slot] ?? 0) & HAS_OLD_SEQUENCE) !== 0;
      if (isOld && sequence > known) this.leaseChanges += sequence - known;
      if (leases[slot] === NO_LEASE || sequence >= known) leases[slot] = lease;
    }
    sequences[slot] = Math.max(sequence, known);
  }

  /** Offers the ranges that may have non-voters, before `endScan`. */
  *chooseSamples(choice: SampleChoice): Work {
    yield* walk(this.table.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) this.#offerSample(choice, slot);
    });
  }

  #offerSample(choice: SampleChoice, slot: number): void {
    const { ids, presence, intended: intendedColumn, tableIndexes } = this.table;
    const replicas = presence[slot] ?? 0;
    // A range of 3 replicas may be one of 5.
    if (replicas <= 0 || (replicas < 3 && (intendedColumn[slot] ?? 0) < MIN_WITH_NON_VOTERS))
      return;
    const { live, intended } = this.#holders.countReplicas(slot, replicas);
    if (intended < MIN_WITH_NON_VOTERS) return;
    const range = { tableIndex: tableIndexes[slot] ?? 0, rangeId: ids[slot] ?? 0 };
    choice.offer(range, intended, live < intended, () => this.#holders.seenNodes(slot));
  }

  /**
   * Ends a scan that read these nodes: counts its ranges and forgets those that were not seen for long. With `whole` it
   * takes over which nodes hold each range and counts what depends on them.
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
    let forgotten = 0;
    yield* walk(table.capacity, (from, to) => {
      forgotten += this.#endSlots(summary, readNodes, whole, from, to);
    });
    if (forgotten * EXPIRED_SHARE > table.size) yield* table.prune(FORGOTTEN);
    return summary;
  }

  /** Returns the number of ranges to be forgotten. */
  #endSlots(
    summary: RangeSummary,
    readNodes: ReadonlySet<number>,
    whole: WholeView | undefined,
    from: number,
    to: number,
  ): number {
    const { ids, presence } = this.table;
    const step = whole === undefined ? MISSING_FROM_PARTIAL_SCAN : MISSING_FROM_COMPLETE_SCAN;
    let forgotten = 0;
    for (let slot = from; slot < to; slot += 1) {
      if (ids[slot] === 0) continue;
      const present = presence[slot] ?? 0;
      if (present > 0) this.#count(summary, slot, present);
      if (whole !== undefined) this.#settle(summary, slot, Math.max(present, 0), whole);
      // Nothing is known of a range whose nodes were not read.
      if (present > 0 || this.#holders.isUnread(slot, readNodes)) continue;
      presence[slot] = Math.max(present - step, FORGOTTEN);
      if (presence[slot] === FORGOTTEN) forgotten += 1;
    }
    return forgotten;
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
