import type { Family } from './family.ts';
import { classOf } from './importance.ts';
import { cutSnapshot, type Snapshot } from './snapshot.ts';

/** The series of one family, as a sheet or a snapshot holds them. */
export interface FamilySeries {
  readonly family: Family;
  readonly series: number;
  /** The rank of the entry of each series, where the family belongs to a list. */
  readonly ranks?: readonly number[];
}

/** Whether the budget keeps a family, or the entries of that rank where it belongs to a list. */
export type Keeps = (family: Family, rank: number) => boolean;

/** What is kept or dropped as a whole: a family, or the entries of one rank in all families of a list. */
interface Unit {
  readonly key: string;
  readonly class: number;
  readonly rank: number;
  series: number;
}

/**
 * Decides what a budget keeps: by importance, and within one class in the order of writing (lists: by rank). From the
 * first unit that does not fit everything less important is dropped, so what is kept is a matter of importance
 * alone. Series of the whole cluster are kept even where they exceed the budget.
 */
export function planBudget(all: Iterable<FamilySeries>, maxSeries: number): Keeps {
  const kept = new Set<string>();
  let series = 0;
  for (const unit of mostImportantFirst(all)) {
    series += unit.series;
    if (series > maxSeries && unit.class > 0) break;
    kept.add(unit.key);
  }
  return (family, rank) => kept.has(keyOf(family, rank));
}

function mostImportantFirst(all: Iterable<FamilySeries>): readonly Unit[] {
  const units = new Map<string, Unit>();
  const add = (family: Family, rank: number, series: number): void => {
    const key = keyOf(family, rank);
    const unit = units.get(key);
    if (unit === undefined) units.set(key, { key, class: classOf(family, rank), rank, series });
    else unit.series += series;
  };
  for (const { family, series, ranks } of all) {
    if (ranks === undefined) add(family, 0, series);
    else for (const rank of ranks) add(family, rank, 1);
  }
  return [...units.values()].toSorted((a, b) => a.class - b.class || a.rank - b.rank);
}

function keyOf({ name, list }: Family, rank: number): string {
  return list === undefined ? name : `${list.name} ${rank}`;
}

/**
 * The budget that the collectors of one cluster share. It is applied to what they show, not to what they poll, so the
 * sum is within the budget at every moment and does not depend on which collector polled last.
 */
export class ClusterBudget {
  readonly maxSeries: number;
  readonly #published: () => readonly Snapshot[];
  #last: readonly Snapshot[] = [];
  #shown: ReadonlyMap<Snapshot, Snapshot> = new Map();
  /** Dropped series by family that have been counted for a snapshot. */
  readonly #counted = new WeakMap<Snapshot, Map<string, number>>();

  /** `published` lists what the collectors have published and is not too old, in their order of importance. */
  constructor(maxSeries: number, published: () => readonly Snapshot[]) {
    this.maxSeries = maxSeries;
    this.#published = published;
  }

  /** What may be shown of a published snapshot: itself while nothing of it is dropped. */
  shown(snapshot: Snapshot): Snapshot {
    return this.#fit().get(snapshot) ?? snapshot;
  }

  /** Reports series that were dropped since the last call: those of each snapshot once. */
  countDropped(seriesDropped: (family: string, reason: 'budget', count: number) => void): void {
    for (const [snapshot, shown] of this.#fit()) {
      if (shown === snapshot) continue;
      const counted = this.#counted.get(snapshot) ?? new Map<string, number>();
      this.#counted.set(snapshot, counted);
      for (const [name, { series }] of snapshot.families) {
        const dropped = series - (shown.families.get(name)?.series ?? 0);
        const before = counted.get(name) ?? 0;
        if (dropped <= before) continue;
        seriesDropped(name, 'budget', dropped - before);
        counted.set(name, dropped);
      }
    }
  }

  /** Again only when a snapshot came or went. */
  #fit(): ReadonlyMap<Snapshot, Snapshot> {
    const published = this.#published();
    if (!isSameList(published, this.#last)) {
      const all = published.flatMap(({ families }) => [...families.values()]);
      const keeps = planBudget(all, this.maxSeries);
      this.#shown = new Map(published.map((snapshot) => [snapshot, cutSnapshot(snapshot, keeps)]));
      this.#last = published;
    }
    return this.#shown;
  }
}

function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}
