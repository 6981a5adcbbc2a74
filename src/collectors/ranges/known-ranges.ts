import { PROBLEMS } from '../../vocabulary.ts';
import { countReplicas, type FailureDomains, MIN_WITH_NON_VOTERS } from './failure-domains.ts';
import { Holders } from './holders.ts';
import type { SampleChoice } from './known-voters.ts';
import { RangeTable, walk, type Work } from './range-table.ts';
import { countProblems, LEASE_KINDS, type Place, tableOf } from './range.ts';

/**
 * What a slot of a RangeTable holds of a range. The sequence outlives scans; the rest, but for the age, is of the
 * present scan.
 * - flags: a bit per problem, then two bits for the kind of the lease (0: no replica was seen to hold it), then one
 *   that is set when the sequence comes from an earlier scan
 * - counts: replicas seen (four bits, up to 15), then the age (four bits)
 * - places: the number of its place
 */
const PROBLEM_BITS = (1 << PROBLEMS.length) - 1;
const KIND_SHIFT = PROBLEMS.length;
const KIND_BITS = 3 << KIND_SHIFT;
const FROM_EARLIER_SCAN = 4 << KIND_SHIFT;
const REPLICA_BITS = 15;
const AGE_SHIFT = 4;
/** A range of this age is forgotten: it was missing from 3 complete scans, or 15 partial ones. */
const MAX_AGE = 15;
const COMPLETE_SCAN_AGE = 5;
const PARTIAL_SCAN_AGE = 1;
/** The table is rebuilt, which costs as much as all of it, once one in so many ranges is to be forgotten. */
const EXPIRED_SHARE = 8;
const MAX_SEQUENCE = 0xffff_ffff;

/**
 * Stages what a replica of one store reports of its range until its node is complete; false when the store has reported
 * that range before. `heldKind`: index in LEASE_KINDS when the replica holds the lease; `sequence`: of the lease, where
 * this replica is a source for it, else 0; `place`: number of the place where the range begins.
 */
export function stage(
  table: RangeTable,
  rangeId: number,
  problems: number,
  heldKind: number | undefined,
  sequence: number,
  place: number,
): boolean {
  const size = table.size;
  const slot = table.put(rangeId);
  if (table.size === size) return false;
  const kind = heldKind === undefined ? 0 : heldKind + 1;
  table.flags[slot] = (problems & PROBLEM_BITS) | (kind << KIND_SHIFT);
  table.sequences[slot] = sequence > 0 && sequence <= MAX_SEQUENCE ? sequence : 0;
  table.places[slot] = place;
  return true;
}

/** The ranges of one scan, counted. */
function createSummary() {
  return {
    ranges: 0,
    /** Ranges by number of replicas seen, at that index; the last is for all that have more. */
    byReplicas: Array.from({ length: REPLICA_BITS + 1 }, () => 0),
    /** By index of LEASE_KINDS. */
    byLeaseKind: LEASE_KINDS.map(() => 0),
    /** By index of PROBLEMS. */
    byProblem: PROBLEMS.map(() => 0),
    /** The same by id of the table; UNKNOWN_TABLE where that is not known. */
    problemsByTable: new Map<number, number[]>(),
    /** Ranges that no live node holds, as far as a view of the whole cluster shows. */
    lost: 0,
  };
}

export type RangeSummary = ReturnType<typeof createSummary>;

/** For a scan that read all live nodes of its cluster. */
export interface WholeView {
  /** Counts what depends on the nodes and localities. */
  readonly domains: FailureDomains;
  /** Gets the ranges that no live node holds, each with the lowest of its holders. */
  readonly onLost: (rangeId: number, nodeId: number, place: Place) => void;
}

export const UNKNOWN_TABLE = -1;

/** What the column `places` holds. */
const MAX_PLACES = 2 ** 16;

/** Numbers for places: millions of ranges begin in some thousand of them. Those that do not fit share one number. */
export class Places {
  readonly #numbers = new Map<Place, number>([[0, 0]]);
  readonly #places: Place[] = [0];

  numberOf(place: Place): number {
    const known = this.#numbers.get(place);
    if (known !== undefined) return known;
    const next = this.#places.length;
    if (next >= MAX_PLACES - 1) return MAX_PLACES - 1;
    this.#numbers.set(place, next);
    this.#places.push(place);
    return next;
  }

  /** Undefined when it did not fit. */
  at(number: number): Place | undefined {
    return this.#places[number];
  }

  /** The table of the place, 0 outside of tables; UNKNOWN_TABLE when it did not fit. */
  tableAt(number: number): number {
    const place = this.#places[number];
    return place === undefined ? UNKNOWN_TABLE : tableOf(place);
  }
}

/** The ranges of a cluster, from scan to scan. */
export class KnownRanges {
  readonly table = new RangeTable();
  readonly places = new Places();
  readonly #holders = new Holders(this.table);
  /** Increases of lease sequences since the start of the exporter. */
  leaseChanges = 0;

  /** Forgets the last scan, but not the sequences it left. */
  *beginScan(): Work {
    const { table } = this;
    yield* walk(table.capacity, (from, to) => {
      beginSlots(table, from, to);
      this.#holders.beginScan(from, to);
    });
  }

  /** Adds the replicas of one store of a node, which is complete. */
  *commit(staged: RangeTable, nodeId: number): Work {
    yield* this.table.makeRoomFor(staged);
    yield* walk(staged.capacity, (from, to) => {
      this.#commitSlots(staged, nodeId, from, to);
    });
  }

  #commitSlots(
    { ids, sequences, flags, places }: RangeTable,
    nodeId: number,
    from: number,
    end: number,
  ): void {
    const { table } = this;
    for (let slot = from; slot < end; slot += 1) {
      const id = ids[slot] ?? 0;
      if (id === 0) continue;
      const to = table.put(id);
      this.#commitLease(to, flags[slot] ?? 0, sequences[slot] ?? 0);
      const replicas = (table.counts[to] ?? 0) & REPLICA_BITS;
      table.counts[to] = Math.min(replicas + 1, REPLICA_BITS);
      this.#holders.add(to, nodeId);
      if (replicas === 0) table.places[to] = places[slot] ?? 0;
    }
  }

  /**
   * Changes are counted where the lease is held now, against the sequence of an earlier scan. Two stores may claim a
   * range for a moment: the younger claim is believed.
   */
  #commitLease(slot: number, flags: number, sequence: number): void {
    const { table } = this;
    const before = table.flags[slot] ?? 0;
    const knownSequence = table.sequences[slot] ?? 0;
    const holds = (flags & KIND_BITS) !== 0;
    if (holds && (before & FROM_EARLIER_SCAN) !== 0 && sequence > knownSequence) {
      this.leaseChanges += sequence - knownSequence;
    }
    const isBelieved = holds && ((before & KIND_BITS) === 0 || sequence >= knownSequence);
    table.flags[slot] = isBelieved
      ? (before & ~KIND_BITS) | flags
      : before | (flags & PROBLEM_BITS);
    table.sequences[slot] = Math.max(sequence, knownSequence);
  }

  /** Offers the ranges that may have non-voters, before `endScan`. */
  *chooseSamples(choice: SampleChoice): Work {
    const { table } = this;
    yield* walk(table.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) this.#offer(choice, slot);
    });
  }

  #offer(choice: SampleChoice, slot: number): void {
    const { ids, counts, flags, intended, places } = this.table;
    const replicas = (counts[slot] ?? 0) & REPLICA_BITS;
    // A range of 3 replicas may be one of 5.
    if (replicas === 0 || (replicas < 3 && (intended[slot] ?? 0) < MIN_WITH_NON_VOTERS)) return;
    const problems = (flags[slot] ?? 0) & PROBLEM_BITS;
    const count = countReplicas(replicas, problems, this.#holders.counts(slot));
    if (count.intended < MIN_WITH_NON_VOTERS) return;
    const [place, rangeId] = [places[slot] ?? 0, ids[slot] ?? 0];
    if (!choice.isBetter(place, count.intended, rangeId, count.live < count.intended)) return;
    const holders = this.#holders.read(slot);
    const seen = this.#holders.nodes.slice(0, holders).filter((_, at) => this.#holders.seen[at]);
    choice.take(place, count.intended, rangeId, seen);
  }

  /**
   * Ends a scan that read these nodes: counts its ranges and forgets those that were not seen for long. With `whole` it
   * takes over which nodes hold each range and counts what depends on them.
   */
  *endScan(readNodes: ReadonlySet<number>, whole?: WholeView): Work<RangeSummary> {
    const { table } = this;
    const summary = createSummary();
    let expired = 0;
    yield* walk(table.capacity, (from, to) => {
      expired += this.#endSlots(summary, readNodes, whole, from, to);
    });
    if (expired * EXPIRED_SHARE > table.size) {
      yield* table.prune((count) => count >>> AGE_SHIFT < MAX_AGE);
    }
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
    const { ids, counts } = this.table;
    let expired = 0;
    for (let slot = from; slot < to; slot += 1) {
      if (ids[slot] === 0) continue;
      const replicas = (counts[slot] ?? 0) & REPLICA_BITS;
      if (replicas > 0) this.#count(summary, slot, replicas);
      if (whole !== undefined) this.#settle(summary, slot, replicas, whole);
      if (replicas > 0 || this.#holders.isUnread(slot, readNodes)) continue;
      const ageStep = whole === undefined ? PARTIAL_SCAN_AGE : COMPLETE_SCAN_AGE;
      const age = Math.min(((counts[slot] ?? 0) >>> AGE_SHIFT) + ageStep, MAX_AGE);
      counts[slot] = age << AGE_SHIFT;
      if (age < MAX_AGE) continue;
      expired += 1;
    }
    return expired;
  }

  #count(summary: RangeSummary, slot: number, replicas: number): void {
    const flags = this.table.flags[slot] ?? 0;
    summary.ranges += 1;
    increase(summary.byReplicas, replicas);
    const kind = (flags & KIND_BITS) >>> KIND_SHIFT;
    if (kind !== 0) increase(summary.byLeaseKind, kind - 1);
    const problems = flags & PROBLEM_BITS;
    if (problems === 0) return;
    const { byProblem, problemsByTable } = summary;
    const tableId = this.places.tableAt(this.table.places[slot] ?? 0);
    const ofTable = problemsByTable.get(tableId) ?? PROBLEMS.map(() => 0);
    problemsByTable.set(tableId, ofTable);
    countProblems(byProblem, problems);
    countProblems(ofTable, problems);
  }

  #settle(
    summary: RangeSummary,
    slot: number,
    replicas: number,
    { domains, onLost }: WholeView,
  ): void {
    const { table } = this;
    const problems = (table.flags[slot] ?? 0) & PROBLEM_BITS;
    const nodeId = this.#holders.settle(slot, replicas, problems, domains);
    if (nodeId === undefined) return;
    summary.lost += 1;
    onLost(table.ids[slot] ?? 0, nodeId, this.places.at(table.places[slot] ?? 0) ?? 0);
  }
}

function beginSlots({ sequences, flags, counts }: RangeTable, from: number, to: number): void {
  for (let slot = from; slot < to; slot += 1) {
    flags[slot] = sequences[slot] === 0 ? 0 : FROM_EARLIER_SCAN;
    counts[slot] = (counts[slot] ?? 0) & ~REPLICA_BITS;
  }
}

function increase(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}
