import type { NodeBatch } from '../../batches.ts';
import { reportersOf } from './descriptors.ts';
import type { KnownRanges } from './known-ranges.ts';
import { IS_CLAIMED, IS_EXHAUSTED, IS_SUSPECT, walk, type Work } from './range-table.ts';
import { ticksOf } from './scan-clock.ts';
import type { DescriptorAges, Verification } from './verification.ts';

// Which descriptors are read next. What is due comes in classes, the most important first.
const NOT_DUE = 0;
const UNKNOWN = 1;
const UNCONFIRMED = 2;
const LOST_MEMBER = 3;
const SUSPECT = 4;
/** So old that the range is not verified, for no other reason. */
const TOO_OLD = 5;
/** Too old soon: with 330,000 ranges the class after this one would leave no time for them. */
const EXPIRING = 6;
/** One of its nodes is not live, so that it has little to spare: its voters may have changed in place. At most once a minute. */
const NAMES_DOWN = 7;
/** A node without the lease reports that it has no quorum: whether the holder serves is read in each scan. */
const DISPUTED = 8;
/** Due by age alone. */
const OLD = 9;
/** Old enough to fill the batch of a node that has older ones. */
const AGING = 10;
const CLASSES = AGING + 1;

/** Contradictory or not known. */
export const SUSPECTS: ReadonlySet<number> = new Set([UNKNOWN, UNCONFIRMED, LOST_MEMBER, SUSPECT]);
/** What a scan waits for, without what is only old: a pause of the exporter must not make all ranges urgent. */
export const URGENT: ReadonlySet<number> = new Set([...SUSPECTS, NAMES_DOWN, DISPUTED]);
/** Not certain until it is read. */
const UNCERTAIN: ReadonlySet<number> = new Set([...URGENT, TOO_OLD]);
const ALL: ReadonlySet<number> = new Set([...UNCERTAIN, EXPIRING, OLD, AGING]);

/**
 * Descriptors that name a node that is not live are read once a minute: while it is down, the nodes that report a range do not show
 * that its voters have changed. Of scans a minute apart one may come some moments early.
 */
const REPLACING = ticksOf(58);

/** Ranges that are planned at a time. */
const MAX_PLANNED = 20_000;
/** Classes are divided by age: up to 2 ticks, up to 4, and so on. */
const AGES = 32;

/** What the choice depends on. */
export interface PlanBasis {
  readonly known: KnownRanges;
  readonly verification: Verification;
  readonly ages: DescriptorAges;
  readonly nowTick: number;
  /** The reporters of the range that were asked since the scan began and gave no answer. */
  readonly askedBefore: (rangeId: number) => readonly number[];
}

/** What to read next. */
export interface DescriptorPlan {
  /** Number of ranges whose replicas are not certain until they are read. */
  readonly due: number;
  /** Number of ranges that this plan and those after it read. */
  readonly wanted: number;
  /** The most urgent first. */
  readonly batches: readonly NodeBatch[];
}

/**
 * Chooses the most urgent ranges of some classes, within their class those with the oldest descriptors, and groups them by the
 * node to ask.
 */
export function* planDescriptors(
  basis: PlanBasis,
  batchSize: number,
  classes = ALL,
): Work<DescriptorPlan> {
  const { table } = basis.known;
  const counts = new Uint32Array(CLASSES * AGES);
  yield* walk(table.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      const key = keyOf(basis, slot);
      if (key !== NOT_DUE) counts[key] = (counts[key] ?? 0) + 1;
    }
  });
  const due = countRanges(counts, (key) => UNCERTAIN.has(classAt(key)));
  const wanted = countRanges(counts, (key) => classAt(key) !== AGING && classes.has(classAt(key)));
  if (wanted === 0) return { due, wanted, batches: [] };
  const last = lastPlanned(counts, classes);
  let leftOfLast = last.count;
  const planned: { readonly slot: number; readonly key: number }[] = [];
  yield* walk(table.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      const key = keyOf(basis, slot);
      if (key > last.key || !classes.has(classAt(key))) continue;
      if (key === last.key) {
        if (leftOfLast === 0) continue;
        leftOfLast -= 1;
      }
      planned.push({ slot, key });
    }
  });
  planned.sort((a, b) => a.key - b.key);
  return { due, wanted, batches: groupByNode(basis, planned, batchSize) };
}

function countRanges(counts: Uint32Array, isMeant: (key: number) => boolean): number {
  return counts.reduce((all, count, key) => (isMeant(key) ? all + count : all), 0);
}

/** The class of a key. */
function classAt(key: number): number {
  return Math.floor(key / AGES);
}

/** The class and, in it, the age: the smaller, the more urgent. */
function keyOf(basis: PlanBasis, slot: number): number {
  const dueClass = classOf(basis, slot);
  if (dueClass === NOT_DUE) return NOT_DUE;
  const age = basis.nowTick - (basis.known.table.columns.readAt[slot] ?? 0);
  return dueClass * AGES + Math.clz32(Math.max(1, age));
}

function classOf({ known, verification, ages, nowTick }: PlanBasis, slot: number): number {
  const { ids, found, marks, readAt } = known.table.columns;
  const marked = marks[slot] ?? 0;
  if (ids[slot] === 0 || found[slot] === 0 || (marked & IS_EXHAUSTED) !== 0) return NOT_DUE;
  const readTick = readAt[slot] ?? 0;
  const isNew = readTick >= ages.scanTick;
  if (!verification.hasDescriptor(slot)) return UNKNOWN;
  if (!verification.isVerified(slot)) {
    if (verification.hasLostMember(slot)) return LOST_MEMBER;
    const isOnlyOld = verification.isTooOld(slot) && verification.isConfirmed(slot);
    if (!isOnlyOld) return UNCONFIRMED;
    // Who holds the lease decides whether it serves.
    return (marked & IS_SUSPECT) === 0 ? TOO_OLD : SUSPECT;
  }
  if (isNew ? verification.lacksHolder(slot) : (marked & IS_SUSPECT) !== 0) return SUSPECT;
  if (!isNew && (marked & IS_CLAIMED) !== 0) return DISPUTED;
  if (readTick < nowTick - (3 * ages.maxAge) / 4) return EXPIRING;
  if (readTick < nowTick - REPLACING && verification.namesDown(slot)) {
    return NAMES_DOWN;
  }
  if (readTick < nowTick - ages.maxAge / 2) return OLD;
  return readTick < nowTick - ages.maxAge / 4 ? AGING : NOT_DUE;
}

/** The last key that is planned, and how many of its ranges: the most that a plan has ends there. */
function lastPlanned(
  counts: Uint32Array,
  classes: ReadonlySet<number>,
): { readonly key: number; readonly count: number } {
  let left = MAX_PLANNED;
  for (let key = 0; key < counts.length; key += 1) {
    const count = classes.has(classAt(key)) ? (counts[key] ?? 0) : 0;
    if (count >= left) return { key, count: left };
    left -= count;
  }
  return { key: counts.length, count: left };
}

/** Ranges that are only aging fill the batches of nodes that have others, and make none of their own. */
function groupByNode(
  { known, askedBefore }: PlanBasis,
  planned: readonly { readonly slot: number; readonly key: number }[],
  batchSize: number,
): readonly NodeBatch[] {
  const byNode = new Map<number, number[]>();
  for (const { slot, key } of planned) {
    const rangeId = known.table.columns.ids[slot] ?? 0;
    const asked = askedBefore(rangeId);
    // Not by their position: an answer puts them in another order.
    const nodeId = reportersOf(known.table, slot).find((id) => !asked.includes(id));
    if (nodeId === undefined) continue;
    const ids = byNode.get(nodeId) ?? [];
    const isFull = ids.length % batchSize === 0;
    if (key >= AGING * AGES && isFull) continue;
    ids.push(rangeId);
    byNode.set(nodeId, ids);
  }
  const batches: NodeBatch[] = [];
  const lists = [...byNode];
  for (let from = 0; lists.some(([, ids]) => ids.length > from); from += batchSize) {
    for (const [nodeId, ids] of lists) {
      const rangeIds = ids.slice(from, from + batchSize);
      if (rangeIds.length > 0) batches.push({ nodeId, rangeIds });
    }
  }
  return batches;
}
