import { startSimulator } from '../../../simulator/index.ts';
import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { everyCollector } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';
import type { RuleCase } from '../cases.ts';
import { readRules } from '../rule-set.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60;
const JOB = 'crdb-exporter';
const STATEMENTS_PER_MINUTE = 6000;
const STATEMENT_KINDS = 5;
/** When the exporters started. */
const STARTED = 'process_start_time_seconds';
const STARTED_SECONDS = -3600;
/** Metrics with the time of the last poll or record, which goes on. */
const GOES_ON = /last_success_timestamp|last_attempt_timestamp|updated_timestamp/;
/** Of a poll: on a busy machine it takes long, and lists are older than the rules allow. */
const DURATION = 'crdb_exporter_collector_duration_seconds';
/** Families that an expression of the rules reads; promtool gets no others. */
export const READ = new Set([
  STARTED,
  ...readRules().flatMap(({ rules }) =>
    rules.flatMap(({ expr }) => expr.match(/\bcrdb_\w+/g) ?? []),
  ),
]);

export type Labels = Readonly<Record<string, string>>;
/** The value in a minute, from the one that was exposed; nothing where the series is absent. */
export type Change = (minute: number, value: number) => number | undefined;

/** What an exporter serves of a calm simulated cluster of six nodes in three regions, which it has polled once. */
export async function scrapeCalm(): Promise<readonly ParsedSample[]> {
  await using simulator = await startSimulator({
    scenario: 'calm',
    seed: 9,
    nodes: 6,
    ranges: 400,
    sessions: 4,
    metricKeys: 'useful',
    frozen: true,
    now: () => NOW_MS,
  });
  await using exporter = await startTestExporter({
    yaml: `${everyCollector({})}clusters:\n${clusterYaml(simulator)}`,
    app: {
      clock: {
        wallMs: () => NOW_MS,
        monotonicMs: () => 0,
        runningMs: () => performance.now(),
      },
    },
  });
  const { samples } = await exporter.until((scrape) => {
    const polled = scrape.all('crdb_exporter_collector_success');
    return polled.length >= 5 && polled.every(({ value }) => value === 1);
  });
  return samples
    .filter(({ name }) => READ.has(name))
    .map((sample) => (sample.name === DURATION ? { ...sample, value: 1 } : sample));
}

interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
  change: Change;
}

interface ExposedOptions {
  readonly instances?: readonly string[] | undefined;
  readonly stepMinutes?: number;
}

/** An exposition repeated minute by minute, by exporters of which every second one sees every change a minute later. */
export class Exposed {
  /** Its name. */
  readonly cluster: string;
  readonly #minutes: number;
  readonly #stepMinutes: number;
  readonly #instances: readonly string[];
  readonly #series: Series[];
  #isMissed: (minute: number) => boolean = () => false;

  constructor(
    samples: readonly ParsedSample[],
    cluster: string,
    minutes: number,
    { instances = ['a', 'b'], stepMinutes = 1 }: ExposedOptions = {},
  ) {
    this.cluster = cluster;
    this.#minutes = minutes;
    this.#stepMinutes = stepMinutes;
    this.#instances = instances.map((instance) => `${cluster}-${instance}`);
    this.#series = this.#instances.flatMap((instance, late) => [
      ...samples.map((sample) => this.#repeat(sample, instance, late % 2)),
      {
        name: 'up',
        labels: { job: JOB, instance },
        value: 1,
        change: (_minute: number, value: number) => value,
      },
    ]);
  }

  #repeat({ name, labels, value }: ParsedSample, instance: string, late: number): Series {
    const named = { ...labels, job: JOB, instance };
    const series = 'crdb_cluster' in labels ? { ...named, crdb_cluster: this.cluster } : named;
    const shown =
      name === STARTED
        ? STARTED_SECONDS
        : name.endsWith('_timestamp_seconds')
          ? value - NOW_MS / 1000
          : value;
    return { name, labels: series, value: shown, change: course(name, late) };
  }

  /** Changes every series of these families with these labels, by all exporters or by one. */
  change(names: RegExp, labels: Labels, change: Change): this {
    for (const series of this.#matching(names, labels)) {
      const before = series.change;
      const late = this.#instances.indexOf(series.labels['instance'] ?? '');
      series.change = (minute, value) => {
        const unchanged = before(minute, value);
        return unchanged === undefined
          ? undefined
          : change(minute - (late === 1 ? 1 : 0), unchanged);
      };
    }
    return this;
  }

  /** No scrape of the exporter succeeds in these minutes. */
  exporterDown(instance: string, isDown: (minute: number) => boolean): this {
    const labels = { instance: `${this.cluster}-${instance}` };
    for (const series of this.#matching(/./, labels)) {
      const before = series.change;
      series.change = (minute, value) =>
        isDown(minute) ? (series.name === 'up' ? 0 : undefined) : before(minute, value);
    }
    return this;
  }

  /** The pod of an exporter is there from one minute to another; Prometheus has no target of that name otherwise. */
  exporterLives(instance: string, from: number, to: number): this {
    const labels = { instance: `${this.cluster}-${instance}` };
    for (const series of this.#matching(/./, labels)) {
      const before = series.change;
      series.change = (minute, value) => {
        if (minute < from || minute >= to) return undefined;
        return series.name === STARTED ? from * MINUTE : before(minute, value);
      };
    }
    return this;
  }

  /** A node is drained for two minutes, down for two, and starts again. */
  restartNode(id: string, at: number): this {
    const isAway = (minute: number): boolean => minute >= at + 2 && minute < at + 4;
    this.status(id, (minute) =>
      minute < at || minute >= at + 4 ? 'live' : minute < at + 2 ? 'draining' : 'unavailable',
    );
    this.change(
      /^crdb_(node_(?!liveness|info|locality|started|updated)|store_)/,
      { node_id: id },
      (minute, value) => (isAway(minute) ? undefined : value),
    );
    this.change(/^crdb_node_started/, { node_id: id }, (minute, value) =>
      minute >= at + 4 ? (at + 4) * MINUTE : value,
    );
    return this.change(/^crdb_range_leases$/, { node_id: id }, (minute, value) =>
      minute >= at && minute < at + 6 ? 0 : value,
    );
  }

  /** Sets the liveness of a node by minute. */
  status(id: string, statusAt: (minute: number) => string): this {
    for (const { labels } of this.#matching(/^crdb_node_liveness$/, { node_id: id })) {
      const { status = '', instance = '' } = labels;
      this.change(/^crdb_node_liveness$/, { node_id: id, status, instance }, (minute) =>
        statusAt(minute) === status ? 1 : 0,
      );
    }
    return this;
  }

  /** From a minute on, series of these families have other values of some labels. */
  relabel(names: RegExp, labels: Labels, changed: Labels, from: number): this {
    for (const series of this.#matching(names, labels)) {
      const before = series.change;
      const after = { ...series.labels, ...changed };
      series.change = (minute, value) => (minute < from ? before(minute, value) : undefined);
      const change: Change = (minute, value) => (minute < from ? undefined : before(minute, value));
      this.#series.push({ ...series, labels: after, change });
    }
    return this;
  }

  /** Prometheus is down from one minute to another: no value is scraped, and no series marked as ended. */
  prometheusDown(from: number, to: number): this {
    this.#isMissed = (minute) => minute >= from && minute < to;
    return this;
  }

  #matching(names: RegExp, labels: Labels): readonly Series[] {
    const wanted = Object.entries(labels);
    return this.#series.filter(
      (series) =>
        names.test(series.name) && wanted.every(([label, value]) => series.labels[label] === value),
    );
  }

  /** The exporters that are there in a minute: targets of Prometheus. */
  targetsAt(minute: number): readonly string[] {
    return this.#instances.filter((instance) => this.#upAt(instance, minute) !== undefined);
  }

  /** What an exporter exposes in a minute; nothing when it cannot be scraped. */
  samplesAt(instance: string, minute: number): readonly ParsedSample[] {
    if (!this.#instances.includes(instance) || this.#upAt(instance, minute) !== 1) return [];
    return this.#matching(/^(?!up$)/, { instance }).flatMap(({ name, labels, value, change }) => {
      const { job: _job, instance: _instance, ...own } = labels;
      const now = change(minute, value);
      return now === undefined ? [] : [{ name, labels: own, value: now }];
    });
  }

  #upAt(instance: string, minute: number): number | undefined {
    return this.#matching(/^up$/, { instance })[0]?.change(minute, 1);
  }

  /** In the notation of promtool. */
  write(): RuleCase['input_series'] {
    return this.#series.flatMap(({ name, labels, value, change }) => {
      const texts = Object.entries(labels).map(
        ([label, text]) => `${label}=${JSON.stringify(text)}`,
      );
      const values = Array.from({ length: this.#minutes / this.#stepMinutes + 1 }, (_, index) => {
        const minute = index * this.#stepMinutes;
        return this.#isMissed(minute) ? 'missed' : change(minute, value);
      });
      if (values.every((one) => one === undefined)) return [];
      return { series: `${name}{${texts.join(',')}}`, values: notation(values) };
    });
  }
}

/** How the value of a family goes on while nothing happens. */
function course(name: string, late: number): Change {
  if (name === 'crdb_node_sql_queries_total') {
    return (minute, value) => value + minute * STATEMENTS_PER_MINUTE;
  }
  if (name === 'crdb_node_sql_statements_started_total') {
    return (minute, value) => value + (minute * STATEMENTS_PER_MINUTE) / STATEMENT_KINDS;
  }
  if (GOES_ON.test(name)) return (minute, value) => value + minute * MINUTE - late * 17;
  return (_minute, value) => value;
}

/** A value, none because the series has ended, or none because nobody asked. */
type Scraped = number | 'missed' | undefined;

/** `[1, 1, 1, undefined, undefined]` -> `1+0x2 stale _x1`. */
export function notation(values: readonly Scraped[]): string {
  const parts: string[] = [];
  for (let from = 0; from < values.length;) {
    const run = runFrom(values, from);
    parts.push(run.text);
    from += run.length;
  }
  return parts.join(' ');
}

/** The values from this one on that rise or fall by the same step. */
function runFrom(
  values: readonly Scraped[],
  from: number,
): { readonly text: string; readonly length: number } {
  const first = values[from];
  if (typeof first !== 'number') {
    if (first === undefined && typeof values[from - 1] === 'number')
      return { text: 'stale', length: 1 };
    const next = values.findIndex((value, index) => index >= from && typeof value === 'number');
    const missing = (next === -1 ? values.length : next) - from;
    return { text: `_x${missing}`, length: missing };
  }
  const next = values[from + 1];
  const step = typeof next === 'number' ? next - first : 0;
  let length = 1;
  while (values[from + length] === first + step * length) length += 1;
  const sign = step < 0 ? '' : '+';
  return { text: length === 1 ? `${first}` : `${first}${sign}${step}x${length - 1}`, length };
}
