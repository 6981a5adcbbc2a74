import type { Family } from './family.ts';
import { counter, gauge, histogram } from './family.ts';
import { labelText } from './label-text.ts';
import { SELF_FAMILIES } from './self-families.ts';
import type { RenderedFamily } from './snapshot.ts';
import { sampleWriter } from './text.ts';

/** A metric as prom-client hands it out; `type` is a word there, whatever its declaration says. */
export interface CollectedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly CollectedValue[];
}

interface CollectedValue {
  /** Differs from the metric's for `_bucket`, `_sum` and `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

const OWN_FAMILIES = new Map(SELF_FAMILIES.map((family) => [family.name, family]));
const EVENT_LOOP_LAG = 'nodejs_eventloop_lag_';

/**
 * Writes collected metrics as families. Not left to prom-client: it cannot write both formats from one registry
 * and escapes HELP wrongly in one.
 */
export function renderMetrics(
  metrics: readonly CollectedMetric[],
  constantLabels: string,
): readonly RenderedFamily[] {
  return metrics
    .filter(({ values }) => values.length > 0)
    .map((metric) => {
      const lines = metric.values.map((value) => renderValue(metric.name, constantLabels, value));
      const family = OWN_FAMILIES.get(metric.name) ?? describe(metric);
      return { family, lines: Buffer.from(lines.join('')), series: lines.length };
    });
}

/** Without the values that speak of a collector that is not chosen. */
export function ofCollectors(
  metrics: readonly CollectedMetric[],
  isChosen: (collector: string) => boolean,
): readonly CollectedMetric[] {
  const isWanted = ({ labels: { collector } }: CollectedValue): boolean =>
    collector === undefined || isChosen(String(collector));
  return metrics.map((metric) => ({ ...metric, values: metric.values.filter(isWanted) }));
}

/**
 * prom-client shows a gauge that was never set as 0, and the lag of an event loop of which it has no measurement
 * since the scrape before as 0, NaN and 292 years.
 */
export function withoutUnset(metrics: readonly CollectedMetric[]): readonly CollectedMetric[] {
  const isMeasured = metrics.some(
    ({ name, values }) => name === `${EVENT_LOOP_LAG}max_seconds` && (values[0]?.value ?? 0) > 0,
  );
  return metrics
    .filter(({ name }) => isMeasured || !name.startsWith(EVENT_LOOP_LAG))
    .filter((metric) => !metric.values.some((value) => isUnset(metric, value)));
}

function isUnset(metric: CollectedMetric, { labels, value }: CollectedValue): boolean {
  return metric.type === 'gauge' && value === 0 && Object.keys(labels).length === 0;
}

function renderValue(name: string, constantLabels: string, collected: CollectedValue): string {
  const entries = Object.entries(collected.labels).map(([label, value]) => [
    label,
    `${value ?? ''}`,
  ]);
  const labels = labelText(Object.keys(collected.labels), Object.fromEntries(entries));
  return sampleWriter(collected.metricName ?? name, constantLabels)(labels, collected.value);
}

/** The definition of a metric that prom-client brings with it. */
function describe({ name, help, type, values }: CollectedMetric): Family {
  const labels = new Set(values.flatMap((value) => Object.keys(value.labels)));
  labels.delete('le');
  const definition = { name, help, labels: [...labels] };
  if (type === 'histogram') {
    return histogram({ ...definition, buckets: [] });
  }
  return type === 'counter' ? counter(definition) : gauge(definition);
}
