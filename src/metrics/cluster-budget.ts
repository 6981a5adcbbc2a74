import type { Limit } from '../vocabulary.ts';
import type { ClusterMetrics } from './exporter-metrics.ts';
import type { Family } from './family.ts';
import type { SampleSet } from './sample-set.ts';
import {
  cutSnapshot,
  type Keeps,
  type RenderedFamily,
  renderSnapshot,
  type Snapshot,
} from './snapshot.ts';

/**
 * The budget that the collectors of one cluster share. It limits what is exported, not what is polled, so the
 * sum is within the budget at every moment and does not depend on which collector polled last.
 */
export class ClusterBudget {
  readonly maxSeries: number;
  readonly #published: () => readonly Snapshot[];
  readonly #seriesDropped: ClusterMetrics['seriesDropped'];
  /** By what was published when it was last looked at. */
  #shown: ReadonlyMap<Snapshot, Snapshot> = new Map();
  /** Dropped series by family that have been counted for a snapshot. */
  readonly #counted = new WeakMap<Snapshot, Map<string, number>>();

  /** `published` lists what the collectors have published and is not too old, in their order of importance. */
  constructor(
    maxSeries: number,
    published: () => readonly Snapshot[],
    seriesDropped: ClusterMetrics['seriesDropped'] = () => undefined,
  ) {
    this.maxSeries = maxSeries;
    this.#published = published;
    this.#seriesDropped = seriesDropped;
  }

  /** Renders the samples of a poll, without what exceeds its own budget: then `series` is added to the limits. */
  async render(
    samples: SampleSet,
    maxSeries: number | undefined,
    limits: Set<Limit>,
  ): Promise<Snapshot> {
    for (const [family, count] of samples.duplicates) {
      this.#seriesDropped(family, 'duplicate', count);
    }
    const all = Array.from(samples.families(), ({ family, samples: { size: series }, ranks }) => {
      return { family, series, ranks };
    });
    // What exceeds the budget of the cluster alone would never be shown: it is not kept in memory.
    const keeps = planBudget(all, Math.min(maxSeries ?? Infinity, this.maxSeries));
    const snapshot = await renderSnapshot(samples, keeps);
    for (const { family, series } of all) {
      const dropped = series - (snapshot.families.get(family.name)?.series ?? 0);
      if (dropped === 0) continue;
      limits.add('series');
      this.#seriesDropped(family.name, 'budget', dropped);
    }
    return snapshot;
  }

  /** What may be shown of a published snapshot: itself while nothing of it is dropped. */
  shown(snapshot: Snapshot): Snapshot {
    return this.#fit().get(snapshot) ?? snapshot;
  }

  /** Reports series that were dropped since the last call: those of each snapshot once. */
  countDropped(): void {
    for (const [snapshot, shown] of this.#fit()) {
      if (shown === snapshot) continue;
      const counted = this.#counted.get(snapshot) ?? new Map<string, number>();
      this.#counted.set(snapshot, counted);
      for (const [name, { series }] of snapshot.families) {
        const dropped = series - (shown.families.get(name)?.series ?? 0);
        const before = counted.get(name) ?? 0;
        if (dropped <= before) continue;
        this.#seriesDropped(name, 'budget', dropped - before);
        counted.set(name, dropped);
      }
    }
  }

  /** Again only when a snapshot came or went. */
  #fit(): ReadonlyMap<Snapshot, Snapshot> {
    const published = this.#published();
    const known = [...this.#shown.keys()];
    if (published.length !== known.length || published.some((one, at) => one !== known[at])) {
      const all = published.flatMap(({ families }) => [...families.values()]);
      const keeps = planBudget(all, this.maxSeries);
      this.#shown = new Map(published.map((snapshot) => [snapshot, cutSnapshot(snapshot, keeps)]));
    }
    return this.#shown;
  }
}

type FamilySize = Pick<RenderedFamily, 'family' | 'series' | 'ranks'>;

/**
 * Decides what a budget keeps: by importance, and within one class in the order of writing (lists: by rank). From the
 * first unit that does not fit everything less important is dropped, so what is kept is a matter of importance
 * alone. Series of the whole cluster are kept even where they exceed the budget.
 */
function planBudget(all: Iterable<FamilySize>, maxSeries: number): Keeps {
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
function mostImportantFirst(all: Iterable<FamilySize>) {
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

/** Entries of a list that are more important than all that has a series for each node. */
const LIST_HEAD = 5;

/** The most important first. Series of the first class are never dropped. */
const ORDER = ['cluster', 'list head', 'node', 'store', 'store_and_kind', 'list', 'chosen'];

/** Where a family, or an entry of its list, stands among the classes: 0 is never dropped, the largest is dropped first. */
function classOf({ importance }: Family, rank: number): number {
  const isHead = importance === 'list' && rank < LIST_HEAD;
  return ORDER.indexOf(isHead ? 'list head' : importance);
}
