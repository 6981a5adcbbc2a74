import { LEASE_KINDS, PROBLEMS } from './range.ts';
import { createRangeTables, type RangeTable, type RangeTables, tableFor } from './range-table.ts';
import { walk, type Work } from './slices.ts';

/**
 * What is known of each range, in the columns of a RangeTable. The sequence outlives scans; the rest is of the
 * present scan, but for the age.
 * - flags: a bit per problem, then two bits for the kind of the lease (0: no replica was seen to hold it),
 *   then one that says that the sequence comes from an earlier scan
 * - counts: replicas seen (four bits, no further than 15), then the age (four bits)
 */
const PROBLEM_BITS = (1 << PROBLEMS.length) - 1;
const KIND_SHIFT = PROBLEMS.length;
const KIND_BITS = 3 << KIND_SHIFT;
const FROM_EARLIER_SCAN = 4 << KIND_SHIFT;
const REPLICA_BITS = 15;
const AGE_SHIFT = 4;
/** A range of this age is forgotten: seen neither in 3 complete scans nor in 15 partial ones. */
const FORGOTTEN_AGE = 15;
const COMPLETE_SCAN_AGE = 5;
const PARTIAL_SCAN_AGE = 1;
/** One in so many ranges must be forgotten before the table is rebuilt, which costs as much as all of it. */
const FORGOTTEN_SHARE = 8;
const MAX_SEQUENCE = 0xffff_ffff;

export interface KnownRanges {
  readonly tables: RangeTables;
  /** Increases of lease sequences that were ever seen. */
  leaseChanges: number;
}

export function createKnownRanges(): KnownRanges {
  return { tables: createRangeTables(), leaseChanges: 0 };
}

/** What one replica says of its range; staged until its node is complete. */
export interface Staged {
  readonly rangeId: number;
  readonly problems: number;
  /** Index in LEASE_KINDS when this replica holds the lease. */
  readonly heldKind: number | undefined;
  /** Sequence of a lease that this replica may speak of; 0 is none. */
  readonly sequence: number;
}

/** Notes a replica of one store; false when the store has said something of that range before. */
export function stage(tables: RangeTables, replica: Staged): boolean {
  const table = tableFor(tables, replica.rangeId);
  const size = table.size;
  const slot = table.put(replica.rangeId);
  if (table.size === size) return false;
  const kind = replica.heldKind === undefined ? 0 : replica.heldKind + 1;
  table.flags[slot] = (replica.problems & PROBLEM_BITS) | (kind << KIND_SHIFT);
  const isUsable = replica.sequence > 0 && replica.sequence <= MAX_SEQUENCE;
  table.sequences[slot] = isUsable ? replica.sequence : 0;
  return true;
}

/** Forgets the last scan, but not the sequences it left. */
export function* beginScan({ tables }: KnownRanges): Work {
  for (const { capacity, sequences, flags, counts } of bothOf(tables)) {
    yield* walk(capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        flags[slot] = sequences[slot] === 0 ? 0 : FROM_EARLIER_SCAN;
        counts[slot] = (counts[slot] ?? 0) & ~REPLICA_BITS;
      }
    });
  }
}

/** Adds what one store of a complete node said. */
export function* foldStore(known: KnownRanges, staged: RangeTables): Work {
  yield* foldTable(known, known.tables.narrow, staged.narrow);
  yield* foldTable(known, known.tables.wide, staged.wide);
}

function* foldTable(known: KnownRanges, table: RangeTable, staged: RangeTable): Work {
  yield* table.makeRoomFor(staged);
  const { ids, sequences, flags, capacity } = staged;
  yield* walk(capacity, (from, end) => {
    for (let slot = from; slot < end; slot += 1) {
      const id = ids[slot] ?? 0;
      if (id === 0) continue;
      const to = table.put(id);
      foldLease(known, table, { to, flags: flags[slot] ?? 0, sequence: sequences[slot] ?? 0 });
      const replicas = (table.counts[to] ?? 0) & REPLICA_BITS;
      table.counts[to] = Math.min(replicas + 1, REPLICA_BITS);
    }
  });
}

/**
 * Changes are counted where the lease is held now, against what an earlier scan knew. Two stores may
 * claim a range for a moment: the younger claim is believed.
 */
function foldLease(
  known: KnownRanges,
  table: RangeTable,
  {
    to,
    flags,
    sequence,
  }: { readonly to: number; readonly flags: number; readonly sequence: number },
): void {
  const before = table.flags[to] ?? 0;
  const knownSequence = table.sequences[to] ?? 0;
  const holds = (flags & KIND_BITS) !== 0;
  if (holds && (before & FROM_EARLIER_SCAN) !== 0 && sequence > knownSequence) {
    known.leaseChanges += sequence - knownSequence;
  }
  const isBelieved = holds && ((before & KIND_BITS) === 0 || sequence >= knownSequence);
  table.flags[to] = isBelieved ? (before & ~KIND_BITS) | flags : before | (flags & PROBLEM_BITS);
  table.sequences[to] = Math.max(sequence, knownSequence);
}

/** What the ranges of this scan are, put together. */
export interface RangeSummary {
  ranges: number;
  /** Ranges by number of replicas seen, at that index; the last is for all that have more. */
  readonly byReplicas: number[];
  /** By index of LEASE_KINDS. */
  readonly byLeaseKind: number[];
  /** By index of PROBLEMS. */
  readonly byProblem: number[];
}

export function* sumUp({ tables }: KnownRanges): Work<RangeSummary> {
  const summary: RangeSummary = {
    ranges: 0,
    byReplicas: Array.from({ length: REPLICA_BITS + 1 }, () => 0),
    byLeaseKind: LEASE_KINDS.map(() => 0),
    byProblem: PROBLEMS.map(() => 0),
  };
  for (const { capacity, flags, counts } of bothOf(tables)) {
    yield* walk(capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        const replicas = (counts[slot] ?? 0) & REPLICA_BITS;
        if (replicas === 0) continue;
        summary.ranges += 1;
        increase(summary.byReplicas, replicas);
        addFlags(summary, flags[slot] ?? 0);
      }
    });
  }
  return summary;
}

function addFlags({ byLeaseKind, byProblem }: RangeSummary, flags: number): void {
  const kind = (flags & KIND_BITS) >>> KIND_SHIFT;
  if (kind !== 0) increase(byLeaseKind, kind - 1);
  for (let problems = flags & PROBLEM_BITS; problems !== 0; problems &= problems - 1) {
    increase(byProblem, 31 - Math.clz32(problems & -problems));
  }
}

function increase(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

/** Lets the ranges that the scan did not see age, and forgets those that are gone: merged, or dropped. */
export function* ageUnseen({ tables }: KnownRanges, isComplete: boolean): Work {
  const years = isComplete ? COMPLETE_SCAN_AGE : PARTIAL_SCAN_AGE;
  for (const table of bothOf(tables)) {
    const { capacity, ids, counts } = table;
    let forgotten = 0;
    yield* walk(capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        const count = counts[slot] ?? 0;
        if (ids[slot] === 0 || (count & REPLICA_BITS) !== 0) continue;
        const age = Math.min((count >>> AGE_SHIFT) + years, FORGOTTEN_AGE);
        counts[slot] = age << AGE_SHIFT;
        if (age === FORGOTTEN_AGE) forgotten += 1;
      }
    });
    if (forgotten * FORGOTTEN_SHARE > table.size) {
      yield* table.prune((count) => count >>> AGE_SHIFT < FORGOTTEN_AGE);
    }
  }
}

function bothOf({ narrow, wide }: RangeTables): readonly RangeTable[] {
  return [narrow, wide];
}
