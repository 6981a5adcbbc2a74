import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { ParsedSample } from '../metrics/parse-exposition.ts';
import { readScrape, type Scrape } from '../support/exporter.ts';
import type { Chronicle } from './chronicle.ts';
import type { Clocks } from './clocks.ts';
import { findUntruth } from './data-checks.ts';
import type { ObservedPoll } from './observed-polls.ts';

/** What a scrape is held against. */
export interface Witness {
  /** Monotonic ms when the scrape began. */
  readonly askedAt: number;
  readonly clocks: Clocks;
  readonly chronicle: Chronicle;
  readonly polls: readonly ObservedPoll[];
  readonly pagedCollectors: ReadonlySet<string>;
  readonly sessionsPageCap: number;
  /** Polls whose data was seen and found true; it does not change. */
  readonly checked: Set<unknown>;
}

/** The collectors that must be there, by cluster. */
export type Plan = Readonly<Record<string, readonly string[]>>;

const COLLECTOR_OF = new Map(
  COLLECTORS.flatMap(({ name, families }) => families.map((family) => [family.name, name])),
);
/** What is always there, with how many values of its last label. */
const OUTCOMES: Readonly<Record<string, number>> = {
  crdb_exporter_collector_success: 1,
  crdb_exporter_collector_interval_seconds: 1,
  crdb_exporter_collector_configured_interval_seconds: 1,
  crdb_exporter_series: 1,
  crdb_exporter_collector_limit_hit: 5,
  crdb_exporter_polls_total: 1,
  crdb_exporter_poll_failures_total: 11,
  crdb_exporter_polls_skipped_total: 3,
};
/** The longest pause that a server is granted, whatever its Retry-After says. */
const MAX_PAUSE_SECONDS = 120;
const MAX_AGE_BEYOND = 600;
/** Polls of which one published what is shown after a failure. */
const CANDIDATES = 3;
/** Between the end of a poll and the moment its data is there. */
const PUBLISHING_MS = 100;
/** Timestamps are printed as seconds. */
const ROUNDING_MS = 0.01;

/** Reads a scrape and checks the data it shows; throws at the first thing that is not as it must be. */
export function checkScrape(text: string, witness: Witness): Scrape {
  const scrape = readScrape(text);
  const keys = scrape.samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
  if (new Set(keys).size < keys.length) throw new Error('a series is there twice');
  const shown = Map.groupBy(
    scrape.samples.filter(({ name }) => COLLECTOR_OF.has(name)),
    ({ name, labels }) => `${labels['crdb_cluster']} ${COLLECTOR_OF.get(name)}`,
  );
  for (const [of, samples] of shown) {
    const [cluster = '', collector = ''] = of.split(' ');
    checkData(scrape, { crdb_cluster: cluster, collector }, samples, witness);
  }
  return scrape;
}

/** Outcome families of every planned cluster and collector are there, and `crdb_up` says what they say. */
export function checkPlan(scrape: Scrape, plan: Plan): void {
  for (const [crdb_cluster, collectors] of Object.entries(plan)) {
    for (const collector of collectors) {
      for (const [name, count] of Object.entries(OUTCOMES)) {
        const found = scrape.all(name, { crdb_cluster, collector }).length;
        if (found !== count) throw new Error(`${name} of ${collector} is there ${found} times`);
      }
    }
    for (const [api, collector] of [
      ['cluster', 'nodes'],
      ['cloud', 'cloud'],
    ] as const) {
      const isPlanned = plan[crdb_cluster]?.includes(collector) === true;
      const paused = scrape.value('crdb_exporter_api_paused_seconds', { crdb_cluster, api });
      if (isPlanned && !(paused !== undefined && paused >= 0 && paused <= MAX_PAUSE_SECONDS)) {
        throw new Error(`crdb_exporter_api_paused_seconds of ${api} is ${paused}`);
      }
      const up = scrape.value('crdb_up', { crdb_cluster, api });
      const success = scrape.value('crdb_exporter_collector_success', { crdb_cluster, collector });
      if (up !== undefined && up !== success) throw new Error(`crdb_up of ${api} is ${up}`);
    }
  }
  const unplanned = scrape.all('crdb_exporter_collector_success').filter(({ labels }) => {
    const { crdb_cluster = '', collector = '' } = labels;
    return !plan[crdb_cluster]?.includes(collector);
  });
  if (unplanned.length > 0) throw new Error('a collector is exported that is not planned');
}

function checkData(
  scrape: Scrape,
  labels: { readonly crdb_cluster: string; readonly collector: string },
  samples: readonly ParsedSample[],
  { askedAt, clocks, chronicle, polls, pagedCollectors, sessionsPageCap, checked }: Witness,
): void {
  const { collector } = labels;
  const value = (name: string): number =>
    scrape.value(`crdb_exporter_collector_${name}`, labels) ?? Number.NaN;
  const isGood = value('success') === 1;
  const timeOf = (what: string): number => {
    const seconds = value(`last_${what}_timestamp_seconds`);
    return Number.isNaN(seconds) ? 0 : clocks.monotonicAt(seconds * 1000) + ROUNDING_MS;
  };
  const at = timeOf(isGood ? 'success' : 'attempt');
  const published = polls.filter(
    (poll) =>
      poll.collector === collector &&
      poll.endedAt <= at &&
      (poll.result === 'good' || (poll.result === 'partial' && !isGood)),
  );
  // After a failure it is not told which of the last polls published what is shown.
  const candidates = published.slice(isGood ? -1 : -CANDIDATES);
  const intervalSeconds = value('interval_seconds');
  const maxAgeMs = 1000 * (intervalSeconds + Math.min(2 * intervalSeconds, MAX_AGE_BEYOND));
  const endedAt = candidates.at(-1)?.endedAt ?? 0;
  const publishedAt = Math.max(timeOf('success'), endedAt + (isGood ? 0 : PUBLISHING_MS));
  if (askedAt - publishedAt > maxAgeMs) {
    throw new Error(`${collector}: data ${askedAt - publishedAt} ms old, max_age ${maxAgeMs} ms`);
  }
  if (isGood && checked.has(candidates[0])) return;
  const faults = candidates.map((poll) =>
    findUntruth({
      collector,
      samples,
      moments: chronicle.between(poll.beganAt, poll.endedAt),
      isPaged: pagedCollectors.has(collector) || (collector === 'sessions' && sessionsPageCap > 0),
    }),
  );
  if (faults.every((fault) => fault !== undefined)) {
    throw new Error(`${collector}: ${faults.at(-1) ?? 'data of no poll'}`);
  }
  if (isGood) checked.add(candidates[0]);
}
