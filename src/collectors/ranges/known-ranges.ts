import { PROBLEMS } from '../../vocabulary.ts';
import type { FailureDomains } from './failure-domains.ts';
import { HOLDER_WORDS, Holders, placeNumber, setPlaceNumber } from './holders.ts';
import { Places } from './places.ts';
import { RangeTable, walk, type Work } from './range-table.ts';
import { countProblems, LEASE_KINDS, type Place } from './range.ts';

/**
 * What a slot of a RangeTable holds of a range. The sequence outlives scans; the rest, but for the age, is of the
 * present scan.
 * - flags: a bit per problem, then two bits for the kind of the lease (0: no replica was seen to hold it), then one
 *   that is set when the sequence comes from an earlier scan
 * - counts: replicas seen (four bits, up to 15), then the age (four bits)
 * - words: the holders and the place; of a staged replica the number of the place
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

/** `heldKind`: index in LEASE_KINDS when the replica holds the lease. */
export function stagedFlags(problems: number, heldKind: number | undefined): number {
  const kind = heldKind === undefined ? 0 : heldKind + 1;
  return (problems & PROBLEM_BITS) | (kind << KIND_SHIFT);
}

/**
 * Stages what a replica of one store reports of its range until its node is complete; false when the store has reported
 * that range before. `sequence`: of the lease, where this replica is a source for it, else 0; `place`: number of the
 * place where the range begins.
 */
export function stage(
  table: RangeTable,
  rangeId: number,
  flags: number,
  sequence: number,
  place: number,
): boolean {
  const size = table.size;
  const slot = table.put(rangeId);
  if (table.size === size) return false;
  table.flags[slot] = flags;
  table.sequences[slot] = sequence > 0 && sequence <= MAX_SEQUENCE ? sequence : 0;
  table.words[slot] = place;
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
  };
}

export type RangeSummary = ReturnType<typeof createSummary>;

/** The ranges of a cluster, from scan to scan. */
export class KnownRanges {
  readonly table = new RangeTable(HOLDER_WORDS);
  readonly places = new Places();
  readonly #holders = new Holders();
  /** Increases of lease sequences since the start of the exporter. */
  leaseChanges = 0;

  /** Forgets the last scan, but not the sequences it left. */
  *beginScan(): Work {
    const { table } = this;
    yield* walk(table.capacity, (from, to) => {
      beginSlots(table, from, to);
      this.#holders.beginScan(table, from, to);
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
    { ids, sequences, flags, words }: RangeTable,
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
      this.#holders.add(table, to, nodeId);
      if (replicas === 0) setPlaceNumber(table, to, words[slot] ?? 0);
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

  *summarize(): Work<RangeSummary> {
    const summary = createSummary();
    yield* walk(this.table.capacity, (from, to) => this.#addSlots(summary, from, to));
    return summary;
  }

  #addSlots(summary: RangeSummary, from: number, to: number): void {
    const { table } = this;
    const { flags, counts } = table;
    for (let slot = from; slot < to; slot += 1) {
      const replicas = (counts[slot] ?? 0) & REPLICA_BITS;
      if (replicas === 0) continue;
      summary.ranges += 1;
      increase(summary.byReplicas, replicas);
      const kind = ((flags[slot] ?? 0) & KIND_BITS) >>> KIND_SHIFT;
      if (kind !== 0) increase(summary.byLeaseKind, kind - 1);
      const problems = (flags[slot] ?? 0) & PROBLEM_BITS;
      if (problems !== 0) this.#addProblems(summary, problems, placeNumber(table, slot));
    }
  }

  #addProblems({ byProblem, problemsByTable }: RangeSummary, problems: number, at: number): void {
    const tableId = this.places.tableAt(at);
    const ofTable = problemsByTable.get(tableId) ?? PROBLEMS.map(() => 0);
    problemsByTable.set(tableId, ofTable);
    countProblems(byProblem, problems);
    countProblems(ofTable, problems);
  }

  /**
   * Takes over which nodes hold each range, after a scan that read all live nodes, and counts for `domains` what
   * depends on them. `onLost` gets the ranges that no live node holds, each with the lowest of its holders.
   */
  *settle(
    domains: FailureDomains,
    onLost: (rangeId: number, nodeId: number, place: Place) => void,
  ): Work {
    yield* walk(this.table.capacity, (from, to) => {
      this.#settleSlots(domains, onLost, from, to);
    });
  }

  #settleSlots(
    domains: FailureDomains,
    onLost: (rangeId: number, nodeId: number, place: Place) => void,
    from: number,
    to: number,
  ): void {
    const { table } = this;
    for (let slot = from; slot < to; slot += 1) {
      const rangeId = table.ids[slot] ?? 0;
      if (rangeId === 0) continue;
      const problems = (table.flags[slot] ?? 0) & PROBLEM_BITS;
      const nodeId = this.#holders.settle(table, slot, problems, domains);
      if (nodeId === undefined) continue;
      onLost(rangeId, nodeId, this.places.at(placeNumber(table, slot)) ?? 0);
    }
  }

  /** Ages the ranges that the scan did not see and forgets old ones. One stays while none of its holders was read. */
  *expire(isComplete: boolean, readNodes: ReadonlySet<number>): Work {
    const { table } = this;
    const ageStep = isComplete ? COMPLETE_SCAN_AGE : PARTIAL_SCAN_AGE;
    let expired = 0;
    yield* walk(table.capacity, (from, to) => {
      expired += this.#ageSlots(ageStep, readNodes, from, to);
    });
    if (expired * EXPIRED_SHARE > table.size) {
      yield* table.prune((count) => count >>> AGE_SHIFT < MAX_AGE);
    }
  }

  /** Returns the number of ranges to be forgotten. */
  #ageSlots(ageStep: number, readNodes: ReadonlySet<number>, from: number, to: number): number {
    const { table } = this;
    const { ids, counts } = table;
    let expired = 0;
    for (let slot = from; slot < to; slot += 1) {
      const count = counts[slot] ?? 0;
      if (ids[slot] === 0 || (count & REPLICA_BITS) !== 0) continue;
      if (this.#holders.isUnread(table, slot, readNodes)) continue;
      const age = Math.min((count >>> AGE_SHIFT) + ageStep, MAX_AGE);
      counts[slot] = age << AGE_SHIFT;
      if (age < MAX_AGE) continue;
      expired += 1;
      this.#holders.forget(table, slot);
    }
    return expired;
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
