import { collectorFamilies as families } from '../metrics/exporter-families.ts';
import type { SampleSet } from '../metrics/sample-set.ts';
import type { Poller } from '../polling/poller.ts';
import { LIMITS } from '../vocabulary.ts';

/** Writes the metrics of one collector. They exist whatever the cluster does; values of the last poll only after one. */
export function writeCollector(set: SampleSet, poller: Poller): void {
  const { state, last, lastSuccessMs } = poller.outcome;
  const labels = { collector: poller.collector.name, shard: poller.shard };
  set.set(families.success, labels, state === 'ok' ? 1 : 0);
  set.set(families.interval, labels, poller.intervalSeconds);
  set.set(families.configuredInterval, labels, poller.configuredIntervalSeconds);
  set.set(families.series, labels, poller.series);
  set.set(families.lastSuccess, labels, lastSuccessMs && lastSuccessMs / 1000);
  set.set(families.lastAttempt, labels, last && last.atMs / 1000);
  set.set(families.duration, labels, last?.durationSeconds);
  set.set(families.items, labels, last?.items);
  set.set(families.pages, labels, last?.pages);
  set.set(families.responseBytes, labels, last?.bytes);
  for (const limit of LIMITS) {
    set.set(families.limitHit, { ...labels, limit }, poller.limits.has(limit) ? 1 : 0);
  }
}
