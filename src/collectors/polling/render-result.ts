import { inSlices } from '#base';
import { fitBudget, renderSnapshot, SampleSet, type Snapshot } from '#metrics';
import type { Collector, CollectorResult } from '../collector.ts';

/** A result as frozen text, and how many series of each family were left out. */
interface RenderedResult {
  readonly snapshot: Snapshot;
  /** Series beyond the budget of the collector, by the name of the family. */
  readonly dropped: ReadonlyMap<string, number>;
  /** Series with the labels of another one, by the name of the family. */
  readonly duplicates: ReadonlyMap<string, number>;
}

/** Renders a result in slices, without the series that exceed `maxSeries`. */
export async function renderResult(
  collector: Collector,
  result: CollectorResult,
  cluster: string,
  maxSeries: number,
): Promise<RenderedResult> {
  const samples = new SampleSet({ crdb_cluster: cluster });
  const steps = collector.samples(result, samples);
  if (steps !== undefined) await inSlices(steps[Symbol.iterator]());
  const { families, dropped } = fitBudget(samples, maxSeries);
  const snapshot = await renderSnapshot(samples, families);
  return { snapshot, dropped, duplicates: samples.duplicates };
}
