import { classOf, type Family } from './family.ts';

/** The series of one family, as a sample set or a snapshot holds them. */
export interface FamilySeries {
  readonly family: Family;
  readonly series: number;
  /** The rank of the entry of each series, if the family belongs to a list. */
  readonly ranks?: readonly number[] | undefined;
}

/** Whether the budget keeps a family, or the entries of that rank if it belongs to a list. */
export type Keeps = (family: Family, rank: number) => boolean;

/**
 * Decides what a budget keeps: by importance, and within one class in the order of writing (lists: by rank). From the
 * first unit that does not fit everything less important is dropped, so what is kept is a matter of importance
 * alone. Series of the whole cluster are kept even where they exceed the budget.
 */
export function planBudget(all: Iterable<FamilySeries>, maxSeries: number): Keeps {
  const kept = new Set<string>();
  let series = 0;
  for (const [key, unit] of mostImportantFirst(all)) {
    series += unit.series;
    if (series > maxSeries && unit.class > 0) break;
    kept.add(key);
  }
  return (family, rank) => kept.has(keyOf(family, rank));
}

/** What is kept or dropped as a whole: a family, or the entries of one rank in all families of a list. */
function mostImportantFirst(all: Iterable<FamilySeries>) {
  const units = new Map<
    string,
    { readonly class: number; readonly rank: number; series: number }
  >();
  const add = (family: Family, rank: number, series: number): void => {
    const key = keyOf(family, rank);
    const unit = units.get(key);
    if (unit === undefined) units.set(key, { class: classOf(family, rank), rank, series });
    else unit.series += series;
  };
  for (const { family, series, ranks } of all) {
    if (ranks === undefined) add(family, 0, series);
    else for (const rank of ranks) add(family, rank, 1);
  }
  return [...units].toSorted(([, a], [, b]) => a.class - b.class || a.rank - b.rank);
}

function keyOf({ name, list }: Family, rank: number): string {
  return list === undefined ? name : `${list.name} ${rank}`;
}
