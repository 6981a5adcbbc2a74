import type { Family, FamilySamples } from './family.ts';
import type { ListSample, SampleSet } from './sample-set.ts';

/** The samples of a poll that fit into the budget. */
export interface WithinBudget {
  readonly families: readonly FamilySamples[];
  /** Number of dropped series by name of the family. */
  readonly dropped: ReadonlyMap<string, number>;
}

/**
 * The classes of series, from those that are never dropped to those that are dropped first: `chosen` are the metrics of
 * nodes and stores that the configuration adds.
 */
const CLASSES = ['cluster', 'list head', 'node', 'store', 'store_and_kind', 'list', 'chosen'];
/** The first entries of each list are its head. */
const LIST_HEAD_ENTRIES = 5;
/** Difference of the ranks of two classes: more than a list has entries, or a collector has families. */
const CLASS_RANKS = 1e9;

/**
 * Drops the least important series until at most `maxSeries` are left. Lists lose their last entries, each with all of its
 * series; of other families the last one is dropped as a whole. Example: with 20 hot ranges of 4 series each and 9 series
 * too many, the last 3 ranges are dropped.
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
  const limit = findLimit(ranked, maxSeries);
  const families = ranked.map(({ family, samples, ranks }) => {
    if (ranks.every((rank) => rank < limit)) return { family, samples };
    // Samples are compared one by one in lists alone, which are short.
    const important = [...(ranks.length > 1 ? samples : [])].filter(
      (_sample, index) => (ranks[index] ?? Infinity) < limit,
    );
    dropped.set(family.name, samples.size - important.length);
    return { family, samples: new Map(important) };
  });
  return { families: families.filter(({ samples }) => samples.size > 0), dropped };
}

interface RankedFamily extends FamilySamples {
  /** The rank of the family, or one for each sample of a list. The largest rank is dropped first. */
  readonly ranks: readonly number[];
}

/** Example: the rank of the 7th hot range is 5e9 + 6: class 5 is `list`, and positions begin with 0. */
function rankFamily({ importance }: Family, positions: readonly number[]): readonly number[] {
  return positions.map((position) => {
    const isHead = importance === 'list' && position < LIST_HEAD_ENTRIES;
    return CLASS_RANKS * CLASSES.indexOf(isHead ? 'list head' : importance) + position;
  });
}

/** The lowest rank that is dropped, with all above it; Infinity if none is dropped. */
function findLimit(families: readonly RankedFamily[], maxSeries: number): number {
  const units = families.flatMap(({ samples, ranks }) =>
    ranks.map((rank) => ({ rank, series: samples.size / ranks.length })),
  );
  let series = 0;
  const first = units
    .toSorted((a, b) => a.rank - b.rank)
    .find((unit) => (series += unit.series) > maxSeries && unit.rank >= CLASS_RANKS);
  return first?.rank ?? Infinity;
}

/**
 * The position of each sample of a list: that of its entry, 0 for the entry that was written first. With `per`, each value
 * of that label has a list of its own, and a sample without that label has the lowest position of its entry. Example: a
 * range is the 2nd unavailable one and the 7th without a lease. Its series of these two problems have the positions 1 and
 * 6; the series that names its node, for both problems, has 1.
 */
function findPositions(samples: readonly ListSample[]): ReadonlyMap<Family, readonly number[]> {
  const lists = new Map<string, Map<string, number>>();
  const lowest = new Map<string, number>();
  const positionOf = ({ list: { name, entry, per }, labels }: ListSample): number => {
    const key = JSON.stringify([name, ...entry.map((label) => labels[label])]);
    const before = lowest.get(key);
    if (per === undefined && before !== undefined) return before;
    const listKey = JSON.stringify([name, per && labels[per]]);
    const list = lists.get(listKey) ?? new Map<string, number>();
    const position = list.get(key) ?? list.size;
    lists.set(listKey, list.set(key, position));
    lowest.set(key, Math.min(position, before ?? position));
    return position;
  };
  const placed = samples.map((sample) => ({ ...sample, position: positionOf(sample) }));
  const byFamily = Map.groupBy(placed, ({ family }) => family);
  return new Map(
    [...byFamily].map(([family, entries]) => [family, entries.map(({ position }) => position)]),
  );
}
