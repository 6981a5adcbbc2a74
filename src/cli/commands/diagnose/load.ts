import { COLLECTORS } from '../../../collectors/index.ts';
import type { ClusterConfig } from '../../../config/schema.ts';
import { formatDuration } from '../../../config/values.ts';
import { formatBytes, formatCount, formatMs } from '../../../format.ts';
import type { Family, SeriesFactor } from '../../../metrics/family.ts';
import type { KnownNodes } from './api-checks.ts';
import type { CheckResult } from './checklist.ts';

/** Intervals that people configure, seconds. */
const ROUND_INTERVALS = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** The cost of a scan of all ranges, estimated from one node, and whether the interval fits. */
export function estimateScan(
  config: ClusterConfig,
  { ids, replicas: reported }: KnownNodes,
  sample: { readonly replicas: number; readonly bytes: number; readonly seconds: number },
): CheckResult {
  const { ranges } = config.collectors;
  const { interval = 60, max_duty = 1, timeout = Infinity } = ranges ?? {};
  // Releases before 23.2 do not report replicas: assume that all nodes are like this one.
  const replicas = reported > 0 ? reported : sample.replicas * ids.length;
  const factor = sample.replicas === 0 ? ids.length : replicas / sample.replicas;
  const concurrency = Math.min(Number(ranges?.['concurrency'] ?? 1), ids.length);
  const seconds = (sample.seconds * factor) / Math.max(1, concurrency);
  const check = { check: 'range scan', target: 'load' };
  const detail = `about ${formatCount(replicas)} replicas, ${formatBytes(sample.bytes * factor)} in ${formatMs(seconds * 1000)}, every ${formatDuration(interval)}`;
  const fitting = formatDuration(
    ROUND_INTERVALS.find((each) => each * max_duty >= seconds) ?? 86_400,
  );
  if (seconds > timeout) {
    const advice = `set collectors.ranges.timeout to ${formatDuration(Math.ceil(seconds * 2))} and interval to ${fitting}, or divide the work with --shard.count`;
    return { ...check, verdict: 'failed', detail: `${detail}: longer than its timeout`, advice };
  }
  if (seconds <= interval * max_duty) return { ...check, verdict: 'ok', detail };
  const excess = `more than ${Math.round(max_duty * 100)} % of the time`;
  const advice = `set collectors.ranges.interval to ${fitting}; until then the exporter extends it automatically`;
  return { ...check, verdict: 'warning', detail: `${detail}: ${excess}`, advice };
}

/** The maximum number of series of the cluster. */
export function estimateSeries(
  config: ClusterConfig,
  known: KnownNodes,
  maxSeries: number,
): CheckResult {
  const counts = { nodes: known.ids.length, stores: known.stores };
  const bounds = COLLECTORS.flatMap(({ name, families }) => {
    const settings = config.collectors[name];
    if (settings?.enabled !== true) return [];
    return families.map((family) => boundOf(family, counts, settings));
  });
  const series = bounds.reduce((sum, bound) => sum + bound, 0);
  const detail = `at most about ${formatCount(series)}`;
  const check = { check: 'series', target: 'load' };
  if (series <= maxSeries) return { ...check, verdict: 'ok', detail };
  return {
    ...check,
    verdict: 'warning',
    detail: `${detail}, above the max_series of ${formatCount(maxSeries)}`,
    advice: 'raise max_series, or lower hot_ranges, problem_ranges and max_applications',
  };
}

/**
 * Upper bound of the series of a family: `counts` are those of the cluster (nodes, stores), `options` the settings of
 * the collector. A count that is not known is 1.
 */
export function boundOf(
  { series }: Pick<Family, 'series'>,
  counts: Readonly<Record<string, number>>,
  options: Readonly<Record<string, unknown>> = {},
): number {
  const valueOf = (factor: SeriesFactor): number => {
    if (typeof factor === 'number') return factor;
    if (typeof factor === 'string') return counts[factor] ?? 1;
    const value = options[factor.option];
    return (Array.isArray(value) ? value.length : Number(value ?? 0)) + valueOf(factor.plus ?? 0);
  };
  return series.reduce<number>((product, factor) => product * valueOf(factor), 1);
}
