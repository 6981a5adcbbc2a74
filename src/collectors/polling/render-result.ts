import { inSlices } from '#base';
import { fitBudget, renderSnapshot, SampleSet, type Snapshot } from '#metrics';
import type { Collector, CollectorResult } from '../collector.ts';

/** A result as frozen text, and how many series of each family were left out. */
export interface RenderedResult {
  readonly snapshot: Snapshot;
  /** Series beyond the budget of the collector, by the name of the family. */
  readonly dropped: ReadonlyMap<string, number>;
  /** Series with the labels of another one, by the name of the family. */
  readonly duplicates: ReadonlyMap<string, number>;
}

/** Whose results are rendered. */
interface ResultSource {
  readonly cluster: string;
  readonly shard: string;
  readonly collector: Collector;
  readonly settings: { readonly max_series: number };
}

/** Renders a result in slices, without the series that exceed `max_series`. */
export async function renderResult(
  { cluster, shard, collector, settings }: ResultSource,
  result: CollectorResult,
): Promise<RenderedResult> {
  const samples = new SampleSet({ crdb_cluster: cluster });
  const steps = collector.samples(result, samples, shard);
  if (steps !== undefined) await inSlices(steps[Symbol.iterator]());
  const { families, dropped } = fitBudget(samples, settings.max_series);
  const snapshot = await renderSnapshot(samples, families);
  return { snapshot, dropped, duplicates: samples.duplicates };
}
