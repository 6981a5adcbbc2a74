import { COLLECTORS } from '../../collectors/index.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import { formatDuration } from '../../config/units.ts';
import { type Factor, seriesFactors } from '../../reference/series.ts';
import { writeBytes, writeCount, writeMs } from '../human.ts';
import type { Finding } from './finding.ts';
import type { Sample } from './listings.ts';
import type { Known } from './nodes.ts';

/** What people write in a configuration, seconds. */
const ROUND_INTERVALS = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** What a scan of all ranges will cost, from that of one node, and whether the interval fits. */
export function estimateScan(
  config: ClusterConfig,
  { nodes, replicas: told }: Known,
  sample: Sample,
): Finding {
  const { ranges } = config.collectors;
  const { interval = 60, max_duty = 1, timeout = Infinity } = ranges ?? {};
  // Releases before 23.2 do not tell the replicas: the other nodes will be like this one.
  const replicas = told > 0 ? told : sample.replicas * nodes.length;
  const factor = sample.replicas === 0 ? nodes.length : replicas / sample.replicas;
  const concurrency = Math.min(Number(ranges?.['concurrency'] ?? 1), nodes.length);
  const seconds = (sample.seconds * factor) / Math.max(1, concurrency);
  const about = { check: 'range scan', target: 'load' };
  const detail = `about ${writeCount(replicas)} replicas, ${writeBytes(sample.bytes * factor)} in ${writeMs(seconds * 1000)}, every ${formatDuration(interval)}`;
  const fitting = ROUND_INTERVALS.find((each) => each * max_duty >= seconds);
  if (seconds > timeout) {
    const advice = `set collectors.ranges.timeout to ${formatDuration(Math.ceil(seconds * 2))} and interval to ${formatDuration(fitting ?? 86_400)}, or share the work with --shard.count`;
    return { ...about, verdict: 'failed', detail: `${detail}: longer than its timeout`, advice };
  }
  if (seconds <= interval * max_duty) return { ...about, verdict: 'ok', detail };
  const share = `${Math.round(max_duty * 100)} %`;
  const advice = `set collectors.ranges.interval to ${formatDuration(fitting ?? 86_400)}; until then it is stretched by itself`;
  return {
    ...about,
    verdict: 'warning',
    detail: `${detail}: more than ${share} of the time`,
    advice,
  };
}

/** How many series the cluster will have at most. */
export function estimateSeries(config: ClusterConfig, known: Known, maxSeries: number): Finding {
  const series = COLLECTORS.filter(({ name }) => config.collectors[name]?.enabled === true)
    .flatMap(({ name, families }) => families.map((family) => ({ name, family })))
    .reduce((sum, { name, family }) => {
      return sum + multiply(seriesFactors(family), countsOf(config.collectors[name], known));
    }, 0);
  const detail = `at most about ${writeCount(series)}`;
  const about = { check: 'series', target: 'load' };
  if (series <= maxSeries) return { ...about, verdict: 'ok', detail };
  const advice = `raise max_series, or lower hot_ranges, problem_ranges and max_applications`;
  return {
    ...about,
    verdict: 'warning',
    detail: `${detail}, above the ${writeCount(maxSeries)} of max_series`,
    advice,
  };
}

/** How many there are of what the factors name; of what is not known here, one. */
function countsOf(
  settings: ClusterConfig['collectors'][string] | undefined,
  { nodes, stores }: Known,
): Readonly<Record<string, number>> {
  return {
    nodes: nodes.length,
    stores,
    hot_ranges: Number(settings?.['hot_ranges'] ?? 0),
    problem_ranges: Number(settings?.['problem_ranges'] ?? 0),
    '(max_applications + 1)': Number(settings?.['max_applications'] ?? 0) + 1,
    tables: lengthOf(settings?.['tables']),
    'chosen keys': lengthOf(settings?.['metrics']),
  };
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

function multiply(factors: readonly Factor[], counts: Readonly<Record<string, number>>): number {
  return factors.reduce<number>(
    (product, factor) => product * (typeof factor === 'number' ? factor : (counts[factor] ?? 1)),
    1,
  );
}
