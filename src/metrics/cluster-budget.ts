import type { Limit } from '../vocabulary.ts';
import { planBudget } from './budget.ts';
import type { ClusterMetrics } from './exporter-metrics.ts';
import type { SampleSet } from './sample-set.ts';
import { cutSnapshot, renderSnapshot, type Snapshot } from './snapshot.ts';

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
    // What exceeds the budget of the cluster alone would never be shown: it is not kept in memory.
    for (const [family, count] of samples.fit(Math.min(maxSeries ?? Infinity, this.maxSeries))) {
      limits.add('series');
      this.#seriesDropped(family, 'budget', count);
    }
    return renderSnapshot(samples);
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
