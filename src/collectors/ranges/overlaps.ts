import { findUncertain, nameKeys, type OpenEnds } from './key-space.ts';
import { type RangeTable, walk, type Work } from './range-table.ts';

// What is left of a range that was merged lies over the range that it was merged into. Hashes of keys have no order, so that an
// overlap is told from a gap by the ranges: those that are one too many lead from a key where too many begin to one where
// too many end.

/** What no proof says is left over is judged like any other range after so many scans in a row. */
const SPARED_SCANS = 2;

/**
 * Which ranges that lie over others are not judged although it is not known now that they are left over: those that were proved to be,
 * as no range comes back once it was merged, and new ones for two scans, in which descriptors are read. Example: r12 was left over. Then
 * the range over its keys moves, and for a scan it is not verified: what r12 reports is still no outage.
 */
export class OverlapHistory {
  #proven: ReadonlySet<number> = new Set();
  #spared: ReadonlySet<number> = new Set();
  /** In how many scans in a row a range lay over others without a proof, by its id. */
  #scans: ReadonlyMap<number, number> = new Map();

  /** Ids of the ranges that were left over when the keys last joined. */
  get proven(): ReadonlySet<number> {
    return this.#proven;
  }

  /** Ids of the ranges that are not judged. */
  get spared(): ReadonlySet<number> {
    return this.#spared;
  }

  /** Takes over the ids that a complete scan has found. */
  add(
    leftOver: ReadonlySet<number>,
    overlapping: ReadonlySet<number>,
    isComplete: boolean,
  ): ReadonlySet<number> {
    if (isComplete) this.#proven = leftOver;
    const before = this.#scans;
    this.#scans = new Map(Array.from(overlapping, (id) => [id, 1 + (before.get(id) ?? 0)]));
    const isNew = (id: number): boolean => (this.#scans.get(id) ?? 0) <= SPARED_SCANS;
    this.#spared = new Set([...this.#proven, ...[...overlapping].filter(isNew)]);
    return this.#spared;
  }
}

/** At most `max` ranges that may be of an overlap: those at open ends, and doubtful ones anywhere, which may be the middle of a chain. */
export function* findCandidates(
  table: RangeTable,
  open: OpenEnds,
  max: number,
  isDoubtful: (slot: number) => boolean,
): Work<readonly number[]> {
  const slots = new Set(yield* findUncertain(table, open, max));
  const most = slots.size + max;
  yield* walk(table.capacity, (from, to) => {
    for (let slot = from; slot < to && slots.size < most; slot += 1) {
      if (table.columns.found[slot] !== 0 && isDoubtful(slot)) slots.add(slot);
    }
  });
  return [...slots];
}

/** What a search for a chain needs: where a range ends, whether too many end there, and the ranges that were found before. */
interface ChainSearch {
  readonly endOf: (slot: number) => number;
  readonly isEnd: (key: number) => boolean;
  readonly found: ReadonlySet<number>;
}

/**
 * Finds ranges without which the others join from the first key to the last, the doubtful ones if possible. Undefined where
 * there are none: then keys are missing.
 *
 * Example: [a, c) and [c, d) join, and [b, c) is there, too. More ranges begin at b than end there, and more end at c than
 * begin there: the range from b to c is one too many. Where [b, c) is missing, no range leads from c to b.
 */
export function* findOverlapping(
  { keys }: RangeTable,
  open: OpenEnds,
  candidates: readonly number[],
  isDoubtful: (slot: number) => boolean,
): Work<ReadonlySet<number> | undefined> {
  const keyOf = nameKeys();
  const left = new Map(Array.from(open, ([hash, more]) => [keyOf(hash), more]));
  const found = new Set<number>();
  const graphs = [candidates.filter(isDoubtful), candidates].map((slots) =>
    Map.groupBy(slots, (slot) => keyOf(keys[2 * slot] ?? 0)),
  );
  const endOf = (slot: number): number => keyOf(keys[2 * slot + 1] ?? 0);
  for (const start of left.keys()) {
    while ((left.get(start) ?? 0) > 0) {
      const isEnd = (key: number): boolean => (left.get(key) ?? 0) < 0;
      const chains = graphs.map((graph) => findChain(graph, start, { endOf, isEnd, found }));
      const chain = chains.find((each) => each.length > 0);
      const last = chain?.at(-1);
      if (chain === undefined || last === undefined) return undefined;
      for (const slot of chain) found.add(slot);
      left.set(start, (left.get(start) ?? 0) - 1);
      left.set(endOf(last), (left.get(endOf(last)) ?? 0) + 1);
      yield;
    }
  }
  return [...left.values()].every((more) => more === 0) ? found : undefined;
}

/** The shortest chain of ranges from this key to one where too many end; empty for none. */
function findChain(
  byStart: ReadonlyMap<number, readonly number[]>,
  start: number,
  { endOf, isEnd, found }: ChainSearch,
): readonly number[] {
  // The range that leads to a key, and the key where it begins.
  const leads = new Map<number, { readonly slot: number; readonly from: number }>();
  const reached = new Set([start]);
  for (const from of reached) {
    for (const slot of byStart.get(from) ?? []) {
      const end = endOf(slot);
      if (found.has(slot) || reached.has(end)) continue;
      reached.add(end);
      leads.set(end, { slot, from });
      if (isEnd(end)) return followBack(leads, end);
    }
  }
  return [];
}

function followBack(
  leads: ReadonlyMap<number, { readonly slot: number; readonly from: number }>,
  end: number,
): readonly number[] {
  const chain: number[] = [];
  for (let lead = leads.get(end); lead !== undefined; lead = leads.get(lead.from)) {
    chain.unshift(lead.slot);
  }
  return chain;
}
