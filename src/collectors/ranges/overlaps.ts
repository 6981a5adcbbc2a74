import { findUncertain, MAX_READ_AGAIN, type OpenEnds } from './key-space.ts';
import { type RangeMap, type Work } from './range-map.ts';

// What is left of a range that was merged lies over the range that it was merged into. Hashes of keys have no order, so that an
// overlap is told from a gap by the ranges: those that are one too many lead from a key where too many begin to one where
// too many end.

/** Ranges that may be of an overlap: those at open ends, and doubtful ones anywhere, which may be the middle of a chain. */
export function* findCandidates(
  map: RangeMap,
  open: OpenEnds,
  isDoubtful: (slot: number) => boolean,
): Work<readonly number[]> {
  const slots = new Set(yield* findUncertain(map, open));
  const isOther = (slot: number): boolean => !slots.has(slot) && isDoubtful(slot);
  return [...slots, ...(yield* map.findSlots(isOther, MAX_READ_AGAIN))];
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
  { keys }: RangeMap,
  open: OpenEnds,
  candidates: readonly number[],
  isDoubtful: (slot: number) => boolean,
): Work<ReadonlySet<number> | undefined> {
  const left = new Map(open);
  const found = new Set<number>();
  const graphs = [candidates.filter(isDoubtful), candidates].map((slots) =>
    Map.groupBy(slots, (slot) => keys[2 * slot] ?? 0),
  );
  const endOf = (slot: number): number => keys[2 * slot + 1] ?? 0;
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
