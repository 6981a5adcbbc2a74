import type { Family } from './family.ts';
import type { ListSample, SampleSet, SampleSetFamily } from './sample-set.ts';

/** What a budget leaves of the samples of a poll, and how many series it drops by family name. */
export interface WithinBudget {
  readonly families: readonly SampleSetFamily[];
  readonly dropped: ReadonlyMap<string, number>;
}

/** The most important first. Series of the whole cluster are never dropped, the last ones are dropped first. */
const STEPS = ['cluster', 'list head', 'node', 'store', 'store_and_kind', 'list', 'chosen'];
/** So many entries of a list are its head. */
const LIST_HEAD = 5;
/** Between the ranks of two steps: more than a list has entries, or a collector families. */
const STEP = 1e9;

/**
 * Drops what is least important until at most `maxSeries` are left. Within a step the last family goes first, as a
 * whole, and the last entries of all lists: with 20 hot ranges of 4 series each, 9 series too many cost 3 ranges.
 */
export function fitBudget(set: SampleSet, maxSeries: number): WithinBudget {
  const all = [...set.families()];
  const dropped = new Map<string, number>();
  if (set.series <= maxSeries) return { families: all, dropped };
  const places = findPlaces(set.listSamples);
  const ranksOf = all.map(({ family }, at) => rankFamily(family, places.get(family) ?? [at]));
  const firstDropped = findFirstDropped(all, ranksOf, maxSeries);
  const families = all.map(({ family, samples }, at) => {
    const isKept = ranksOf[at]?.map((rank) => rank < firstDropped) ?? [];
    if (!isKept.includes(false)) return { family, samples };
    // Only entries of lists, which are short, are looked at one by one.
    const rest = isKept.includes(true) ? [...samples].filter((_one, index) => isKept[index]) : [];
    const kept = new Map(rest);
    dropped.set(family.name, samples.size - kept.size);
    return { family, samples: kept };
  });
  return { families: families.filter(({ samples }) => samples.size > 0), dropped };
}

/** A family has one rank, the entries of a list have one each: the larger, the earlier it is dropped. */
function rankFamily({ importance }: Family, places: readonly number[]): readonly number[] {
  return places.map((place) => {
    const isHead = importance === 'list' && place < LIST_HEAD;
    return STEP * STEPS.indexOf(isHead ? 'list head' : importance) + place;
  });
}

function findFirstDropped(
  all: readonly SampleSetFamily[],
  ranksOf: readonly (readonly number[])[],
  maxSeries: number,
): number {
  const units = all.flatMap(({ samples }, at) => {
    const ranks = ranksOf[at] ?? [];
    return ranks.map((rank) => ({ rank, series: samples.size / ranks.length }));
  });
  let series = 0;
  const first = units
    .toSorted((a, b) => a.rank - b.rank)
    .find((unit) => (series += unit.series) > maxSeries && unit.rank >= STEP);
  return first?.rank ?? Infinity;
}

/**
 * The place of the entry of each sample in its list, by family: 0 for the entry that is written first. With `per`, each
 * problem has places of its own, and families without that label take the best one: of a range that is the 2nd
 * unavailable one and the 7th without a lease, the reporter has the 2nd place.
 */
function findPlaces(samples: readonly ListSample[]): ReadonlyMap<Family, readonly number[]> {
  const lists = new Map<string, Map<string, number>>();
  const best = new Map<string, number>();
  const placeOf = ({ list: { name, entry, per }, labels }: ListSample): number => {
    const key = JSON.stringify([name, ...entry.map((label) => labels[label])]);
    const known = best.get(key);
    if (per === undefined && known !== undefined) return known;
    const listKey = JSON.stringify([name, per && labels[per]]);
    const list = lists.get(listKey) ?? new Map<string, number>();
    const place = list.get(key) ?? list.size;
    lists.set(listKey, list.set(key, place));
    best.set(key, Math.min(place, known ?? place));
    return place;
  };
  const placed = samples.map((sample) => ({ family: sample.family, place: placeOf(sample) }));
  const byFamily = Map.groupBy(placed, ({ family }) => family);
  return new Map([...byFamily].map(([family, all]) => [family, all.map(({ place }) => place)]));
}
