import { setTimeout as sleep } from 'node:timers/promises';
import type { ObservedPoll } from '../observed-polls.ts';
import type { Scraper } from '../scraper.ts';
import type { Setting } from '../setting.ts';
import { INTERVAL_SECONDS, POLL_SECONDS, REQUEST_SECONDS } from '../variants.ts';

type Scrape = Awaited<ReturnType<Scraper['scrape']>>;

/** Some intervals of one exporter, with what was scraped at both ends. */
export interface Window {
  readonly from: number;
  readonly polls: readonly ObservedPoll[];
  readonly before: Scrape;
  readonly after: Scrape;
}

/** Enough to tell a poll in time from one that came late, and a breaker that opens from one that does not. */
const POLLS = 2;
const PAUSE_MS = 10;
/** Windows in which the machine was too busy are watched again, but not for ever. */
const MAX_WINDOWS = 3;
/** Longest stop of the event loop, as a share of a request's deadline, after which late answers prove nothing. */
const STARVED_SHARE = 0.3;
const JITTER = 0.05;
/** Timers, and the time between a poll's decision to begin and its beginning. */
const SLACK_MS = 40;

/**
 * Watches windows until one lets the exporter be judged, and throws what is wrong with it. On a machine that starves
 * the exporter (which runs in this process, with its servers) nothing is said.
 */
export async function judgeWindow(
  setting: Setting,
  scraper: Scraper,
  judge: (window: Window) => string | undefined,
): Promise<void> {
  for (let attempt = 1; attempt <= MAX_WINDOWS; attempt += 1) {
    setting.lag.reset();
    const from = setting.clocks.clock.monotonicMs();
    const before = await scraper.scrape();
    await pollsEnded(setting, from);
    const after = await scraper.scrape();
    const polls = setting.polls.filter(
      ({ beganAt, endedAt }) => beganAt >= from && isFinite(endedAt),
    );
    const fault = judge({ from, polls, before, after });
    if (fault === undefined) return;
    if (!isStarved(setting)) throw new Error(fault);
  }
}

/** Whether the process stood still for so long that deadlines were missed for no other reason. */
function isStarved({ lag, dimensions }: Setting): boolean {
  return lag.maxMs() > STARVED_SHARE * REQUEST_SECONDS * 1000 * dimensions.slowness;
}

/** Resolves when each planned collector has ended its polls, or would have had the time to. */
async function pollsEnded(setting: Setting, from: number): Promise<void> {
  const { variants, polls, dimensions } = setting;
  const longest = POLLS * Math.max(...Object.values(INTERVAL_SECONDS)) + POLL_SECONDS.ranges;
  const startedAt = performance.now();
  const isDone = (collector: string): boolean =>
    pollsOf({ polls }, collector).filter(
      ({ beganAt, result }) => beganAt >= from && result !== 'running',
    ).length >= POLLS;
  while (!Object.values(variants.plan).flat().every(isDone)) {
    if (performance.now() - startedAt > 1.5 * longest * 1000 * dimensions.slowness) return;
    await sleep(PAUSE_MS);
  }
}

/** What is wrong with the collectors that the fault does not concern. */
export function findBlinded(
  setting: Setting,
  { polls, before, after }: Pick<Window, 'polls' | 'before' | 'after'>,
  victims: readonly string[],
): string | undefined {
  for (const [crdb_cluster, collectors] of Object.entries(setting.variants.plan)) {
    for (const collector of collectors) {
      if (victims.includes(collector)) continue;
      const bad = pollsOf({ polls }, collector).find(({ result }) => result !== 'good');
      if (bad !== undefined) return `${collector} failed as well: ${bad.reason}`;
      const skips =
        skipsOf(after, { crdb_cluster, collector }) - skipsOf(before, { crdb_cluster, collector });
      if (skips > 0) return `${collector} was skipped ${skips} times`;
      const count = pollsOf({ polls }, collector).length;
      if (count < POLLS) return `${collector} was polled ${count} times only`;
    }
  }
  return undefined;
}

/** What is wrong with the collectors that cannot succeed. */
export function findUntouched(
  { polls }: Pick<Window, 'polls'>,
  victims: readonly string[],
): string | undefined {
  const good = polls.find(
    ({ collector, result }) => victims.includes(collector) && result === 'good',
  );
  return good && `${good.collector} succeeded although its endpoint is broken`;
}

/** Whose effective interval waiting has stretched: waiting puts no load on a server. */
function findStretched({ variants }: Setting, scrape: Scrape): string | undefined {
  for (const [crdb_cluster, collectors] of Object.entries(variants.plan)) {
    for (const collector of collectors) {
      const value = (name: string): number | undefined =>
        scrape.value(`crdb_exporter_collector_${name}`, { crdb_cluster, collector });
      const [effective, configured] = [
        value('interval_seconds'),
        value('configured_interval_seconds'),
      ];
      if (effective !== configured) return `the interval of ${collector} is ${effective} s`;
    }
  }
  return undefined;
}

/** A URL whose breaker is not closed although the URL answers. */
function findOpenBreaker(scrape: Scrape): string | undefined {
  const open = scrape
    .all('crdb_exporter_breaker_state')
    .find(({ labels, value }) => value === 1 && labels['state'] !== 'closed');
  return open && `the breaker of ${open.labels['target']} is ${open.labels['state']}`;
}

/**
 * Waits until every collector has had a poll that began since and succeeded; throws when one came later than within one
 * configured interval. A poll that ran when the fault ended may fail by it, and delays the next one until its end; a scan
 * lacks its silent nodes until they are no longer left alone, `rangesLateMs` at most.
 */
export async function expectPromptRecovery(
  setting: Setting,
  endedAt: number,
  rangesLateMs = 0,
): Promise<void> {
  const { variants, polls, dimensions, lag } = setting;
  for (const collector of Object.values(variants.plan).flat()) {
    const success = await firstSuccess(setting, collector, endedAt);
    const running = pollsOf({ polls }, collector).findLast(({ beganAt }) => beganAt < endedAt);
    const intervalMs = (INTERVAL_SECONDS[collector] ?? 1) * 1000 * dimensions.slowness;
    const slackMs = SLACK_MS * dimensions.slowness + 2 * lag.maxMs();
    const firstDueAt = endedAt + (1 + JITTER) * intervalMs;
    const lateMs = collector === 'ranges' ? rangesLateMs : 0;
    const dueAt = Math.max(firstDueAt + lateMs, running?.endedAt ?? 0) + slackMs;
    if (success.beganAt <= dueAt || isStarved(setting)) continue;
    const failures = pollsOf({ polls }, collector).filter(({ beganAt }) => beganAt >= endedAt);
    const story = failures.map(({ result, reason }) => `${result} ${reason}`.trim()).join(', ');
    const tookMs = Math.round(success.beganAt - endedAt);
    throw new Error(
      `${collector} recovered after ${tookMs} ms, its interval is ${intervalMs} ms: ${story}`,
    );
  }
}

/** Longer than any machine needs: a collector that has not recovered by then never will. */
const MAX_RECOVERY_MS = 60_000;

async function firstSuccess(
  { polls }: Setting,
  collector: string,
  since: number,
): Promise<ObservedPoll> {
  const startedAt = performance.now();
  for (;;) {
    const success = pollsOf({ polls }, collector).find(
      ({ beganAt, result }) => beganAt >= since && result === 'good',
    );
    if (success !== undefined) return success;
    if (performance.now() - startedAt > MAX_RECOVERY_MS)
      throw new Error(`${collector} never recovered`);
    await sleep(PAUSE_MS);
  }
}

function pollsOf(
  { polls }: { readonly polls: readonly ObservedPoll[] },
  wanted: string,
): readonly ObservedPoll[] {
  return polls.filter(({ collector }) => collector === wanted);
}

function skipsOf(scrape: Scrape, labels: Record<string, string>): number {
  const reason = 'breaker_open';
  return scrape.value('crdb_exporter_polls_skipped_total', { ...labels, reason }) ?? 0;
}

/** What a fault does to others than its victims: failures, breakers of URLs, stretched intervals. */
export function findSpread(
  setting: Setting,
  window: Window,
  victims: readonly string[],
): string | undefined {
  return (
    findBlinded(setting, window, victims) ??
    findUntouched(window, victims) ??
    findOpenBreaker(window.after) ??
    findStretched(setting, window.after)
  );
}
