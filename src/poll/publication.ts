import type { Limit } from '../collectors/collector.ts';
import { type ClusterBudget, type FamilySeries, planBudget } from '../metrics/budget.ts';
import type { Sheet } from '../metrics/sheet.ts';
import { renderSnapshot, type Snapshot } from '../metrics/snapshot.ts';
import { maxAgeSeconds } from './schedule.ts';

export interface PublicationOptions {
  readonly monotonicMs: () => number;
  readonly maxAgeSeconds: number | undefined;
  /** Series that the collector may have. */
  readonly maxSeries: number | undefined;
  /** What all collectors of the cluster may have together. */
  readonly clusterBudget: ClusterBudget;
  readonly seriesDropped: (family: string, reason: 'budget' | 'duplicate', count: number) => void;
}

/** What one collector shows of one cluster: the last sheet that was published, until it is too old. */
export class Publication {
  readonly #options: PublicationOptions;
  #last: { readonly snapshot: Snapshot; readonly atMonotonicMs: number } | undefined;

  /** Begins with what the previous one shows. */
  constructor(options: PublicationOptions, previous: Publication | undefined) {
    this.#options = options;
    if (previous !== undefined) this.#last = previous.#last;
  }

  /**
   * What was published, before the budget of the cluster; undefined before the first sheet, and when the last one is
   * older than the interval allows.
   */
  snapshot(intervalSeconds: number): Snapshot | undefined {
    if (this.#last === undefined) return undefined;
    const ageSeconds = (this.#options.monotonicMs() - this.#last.atMonotonicMs) / 1000;
    const limit = maxAgeSeconds(this.#options.maxAgeSeconds, intervalSeconds);
    return ageSeconds <= limit ? this.#last.snapshot : undefined;
  }

  /** Puts a sheet in the place of the last one, without what is over a budget. */
  async publish(sheet: Sheet, limits: Set<Limit>): Promise<void> {
    const { maxSeries = Infinity, clusterBudget, seriesDropped, monotonicMs } = this.#options;
    for (const [family, count] of sheet.duplicates) seriesDropped(family, 'duplicate', count);
    // What exceeds the cluster's budget alone would never be shown: it is not kept in memory.
    const most = Math.min(maxSeries, clusterBudget.maxSeries);
    for (const [family, count] of sheet.drop(planBudget(seriesOf(sheet), most))) {
      limits.add('series');
      seriesDropped(family, 'budget', count);
    }
    const snapshot = await renderSnapshot(sheet);
    this.#last = { snapshot, atMonotonicMs: monotonicMs() };
    clusterBudget.countDropped(seriesDropped);
  }
}

function* seriesOf(sheet: Sheet): Iterable<FamilySeries> {
  for (const { samples, ...rest } of sheet.families()) yield { ...rest, series: samples.size };
}
