import type { NodeBatch } from './batches.ts';
import { firstReporter } from './descriptors.ts';
import { type RangeMap, walk, type Work } from './range-map.ts';

/** How urgent it is to read the descriptor of a range; of two that are equally urgent the older one comes first. */
export const URGENCY = {
  notDue: 0,
  /** Not known or not confirmed, a member went down, or a replica reports that the range serves nothing. */
  contradicted: 1,
  /** Older than three quarters of its age, or it names a node that is down. */
  expiring: 2,
  /** Older than half of its age. */
  old: 3,
  /** Old enough to fill the batch of a node that has older ones. */
  aging: 4,
} as const;
export type Urgency = (typeof URGENCY)[keyof typeof URGENCY];

// A constant is read faster than a property, for each of a million ranges.
const { notDue, contradicted, expiring, old, aging } = URGENCY;

/** Ranges that are planned at a time. */
const MAX_PLANNED = 20_000;
/** Ages are told apart by their power of two and the three bits below it: 1,000 ticks from 1,100, but not from 1,010. */
const AGES = 256;
const KEYS = (aging + 1) * AGES;
const NO_SLOT = 0xffff_ffff;

/** What the choice depends on. */
export interface PlanBasis {
  readonly map: RangeMap;
  readonly nowTick: number;
  readonly urgencyOf: (slot: number) => Urgency;
  /** The reporters of the range that were asked since the scan began, and whose responses were not enough. */
  readonly askedBefore: (rangeId: number) => readonly number[] | undefined;
}

/** What to read next. */
export interface DescriptorPlan {
  /** Number of ranges that are contradicted or expiring. */
  readonly due: number;
  /** Number of ranges that this plan and those after it read. */
  readonly wanted: number;
  /** The most urgent first. */
  readonly batches: readonly NodeBatch[];
}

/** Chooses the most urgent ranges, up to the least urgency that is wanted, and groups them by the node to ask. */
export function* planDescriptors(
  basis: PlanBasis,
  batchSize: number,
  least: Urgency = old,
): Work<DescriptorPlan> {
  const { map } = basis;
  const counts = new Uint32Array(KEYS);
  yield* walk(map.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      const key = keyOf(basis, slot);
      counts[key] = (counts[key] ?? 0) + 1;
    }
  });
  const count = (last: Urgency): number => sumBetween(counts, contradicted, last + 1);
  const wanted = count(least);
  const due = count(expiring);
  if (wanted === 0) return { due, wanted, batches: [] };
  const fillers = least === old ? sumBetween(counts, aging, aging + 1) : 0;
  // Where the ranges of each key begin.
  const places = new Uint32Array(KEYS);
  for (let key = AGES + 1; key < KEYS; key += 1) {
    places[key] = (places[key - 1] ?? 0) + (counts[key - 1] ?? 0);
  }
  const slots = new Uint32Array(Math.min(wanted + fillers, MAX_PLANNED)).fill(NO_SLOT);
  yield* walk(map.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      const key = keyOf(basis, slot);
      if (key < AGES) continue;
      const place = places[key] ?? 0;
      places[key] = place + 1;
      // Beyond its end an array of numbers ignores what is assigned.
      slots[place] = slot;
    }
  });
  return { due, wanted, batches: groupByNode(basis, slots, wanted, batchSize) };
}

/** All ranges of the scan, or those in these slots, by the first node that is asked for them. */
export function* planAll(map: RangeMap, slots?: ReadonlySet<number>): Work<readonly NodeBatch[]> {
  const byNode = new Map<number, number[]>();
  yield* walk(map.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      const isListed = map.columns.found[slot] !== 0 && slots?.has(slot) !== false;
      const nodeId = isListed ? firstReporter(map, slot) : undefined;
      if (nodeId === undefined) continue;
      const ids = byNode.get(nodeId) ?? [];
      ids.push(map.columns.ids[slot] ?? 0);
      byNode.set(nodeId, ids);
    }
  });
  return Array.from(byNode, ([nodeId, rangeIds]) => ({ nodeId, rangeIds }));
}

function sumBetween(counts: Uint32Array, first: number, end: number): number {
  return counts.subarray(first * AGES, end * AGES).reduce((all, count) => all + count, 0);
}

/** The urgency and, in it, the age: the smaller, the sooner it is read. */
function keyOf(basis: PlanBasis, slot: number): number {
  const urgency = basis.urgencyOf(slot);
  if (urgency === notDue) return 0;
  const age = Math.max(1, basis.nowTick - (basis.map.columns.readAt[slot] ?? 0));
  const power = 31 - Math.clz32(age);
  const below = Math.floor(age / 2 ** (power - 3)) & 7;
  return (urgency + 1) * AGES - 1 - (8 * power + below);
}

/** Groups slots by node. The first `wanted` slots must be read. The others are only aging: they fill batches, and begin none. */
function groupByNode(
  { map, askedBefore }: PlanBasis,
  slots: Uint32Array,
  wanted: number,
  batchSize: number,
): readonly NodeBatch[] {
  const byNode = new Map<number, number[]>();
  for (const [place, slot] of slots.entries()) {
    if (slot === NO_SLOT) continue;
    const rangeId = map.columns.ids[slot] ?? 0;
    // Not by their position: a response puts them in another order.
    const nodeId = firstReporter(map, slot, askedBefore(rangeId));
    if (nodeId === undefined) continue;
    const ids = byNode.get(nodeId) ?? [];
    const isFull = ids.length % batchSize === 0;
    if (place >= wanted && isFull) continue;
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
