import type { Family } from './family.ts';
import type { ListSample, SampleSet, SampleSetFamily } from './sample-set.ts';

/** The samples of a poll within a budget, and the numbers of series that it drops, by family name. */
export interface WithinBudget {
  readonly families: readonly SampleSetFamily[];
  readonly dropped: ReadonlyMap<string, number>;
}

/** The most important first. Series of the whole cluster are never dropped, the last ones are dropped first. */
const STEPS = ['cluster', 'list head', 'node', 'store', 'store_and_kind', 'list', 'chosen'];
/** So many entries of a list are its head. */
const LIST_HEAD = 5;
/** Distance of the ranks of two steps: more than a list has entries, or a collector families. */
const STEP = 1e9;

/**
 * Drops what is least important until at most `maxSeries` are left. Within a step the last family goes first, as a
 * whole, and the last entries of all lists: with 20 hot ranges of 4 series each, 9 series too many cost 3 ranges.
 */
export function fitBudget(set: SampleSet, maxSeries: number): WithinBudget {
  const all = [...set.families()];
  const dropped = new Map<string, number>();
  if (set.series <= maxSeries) return { families: all, dropped };
  const positions = findPositions(set.listSamples);
  const ranked = all.map(({ family, samples }, index) => {
    const ranks = rankFamily(family, positions.get(family) ?? [index]);
    return { family, samples, ranks };
  });
  const firstDropped = findFirstDropped(ranked, maxSeries);
  const families = ranked.map(({ family, samples, ranks }) => {
    if (ranks.every((rank) => rank < firstDropped)) return { family, samples };
    // Only entries of lists, which are short, are looked at one by one; other families go as a whole.
    const important = [...(ranks.length > 1 ? samples : [])].filter(
      (_sample, index) => (ranks[index] ?? Infinity) < firstDropped,
    );
    dropped.set(family.name, samples.size - important.length);
    return { family, samples: new Map(important) };
  });
  return { families: families.filter(({ samples }) => samples.size > 0), dropped };
}

interface RankedFamily extends SampleSetFamily {
  /** One rank of the family, or one of each entry of a list: the larger, the earlier it is dropped. */
  readonly ranks: readonly number[];
}

function rankFamily({ importance }: Family, positions: readonly number[]): readonly number[] {
  return positions.map((position) => {
    const isHead = importance === 'list' && position < LIST_HEAD;
    return STEP * STEPS.indexOf(isHead ? 'list head' : importance) + position;
  });
}

/** The rank from which on everything is dropped. */
function findFirstDropped(families: readonly RankedFamily[], maxSeries: number): number {
  const units = families.flatMap(({ samples, ranks }) =>
    ranks.map((rank) => ({ rank, series: samples.size / ranks.length })),
  );
  let series = 0;
  const first = units
    .toSorted((a, b) => a.rank - b.rank)
    .find((unit) => (series += unit.series) > maxSeries && unit.rank >= STEP);
  return first?.rank ?? Infinity;
}

/**
 * The position of the entry of each sample in its list, by family: 0 for the entry that is written first. With `per`,
 * each problem has positions of its own, and families without that label take the best one: of a range that is the 2nd
 * unavailable one and the 7th without a lease, the reporter has the 2nd position.
 */
function findPositions(samples: readonly ListSample[]): ReadonlyMap<Family, readonly number[]> {
  const lists = new Map<string, Map<string, number>>();
  const best = new Map<string, number>();
  const positionOf = ({ list: { name, entry, per }, labels }: ListSample): number => {
    const key = JSON.stringify([name, ...entry.map((label) => labels[label])]);
    const known = best.get(key);
    if (per === undefined && known !== undefined) return known;
    const listKey = JSON.stringify([name, per && labels[per]]);
    const list = lists.get(listKey) ?? new Map<string, number>();
    const position = list.get(key) ?? list.size;
    lists.set(listKey, list.set(key, position));
    best.set(key, Math.min(position, known ?? position));
    return position;
  };
  const placed = samples.map((sample) => ({ ...sample, position: positionOf(sample) }));
  const byFamily = Map.groupBy(placed, ({ family }) => family);
  return new Map(
    [...byFamily].map(([family, entries]) => [family, entries.map(({ position }) => position)]),
  );
}
