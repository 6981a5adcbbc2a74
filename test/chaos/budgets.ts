import type { Scrape } from '../support/exporter.ts';
import type { Setting } from './setting.ts';
import { INTERVAL_SECONDS } from './variants.ts';

/** Jitter takes a twentieth; a timer that is set at the end of a long turn of the event loop fires early by the turn. */
const MIN_SHARE = 0.5;
/** Retries of a new client, and per request. */
const INITIAL_RETRIES = 5;
const RETRIES_PER_REQUEST = 0.1;

/** Paths that each collector requests. */
const PATHS: Readonly<Record<string, RegExp>> = {
  nodes: /\/nodes\/(?:\?|$)/,
  ranges: /\/nodes\//,
  sessions: /\/sessions\//,
  users: /\/users\//,
  tables: /\/databases\//,
  cloud: /\/migration-assistant/,
};

/**
 * No collector polls more often than its interval says, but for the first poll after a start. A poll that was kept from
 * asking anything (a breaker, a pause) is no load, and the next one may come as soon as asking is allowed.
 */
export function checkPace({ polls, breaks, dimensions, flights }: Setting): void {
  for (const [collector, intervalSeconds] of Object.entries(INTERVAL_SECONDS)) {
    const begun = polls
      .filter((poll) => poll.collector === collector)
      .filter(({ beganAt, endedAt }) => flights.wasAsked(PATHS[collector] ?? /^/, beganAt, endedAt))
      .map(({ beganAt }) => beganAt);
    for (const [index, beganAt] of begun.entries()) {
      const before = begun[index - 1];
      if (before === undefined) continue;
      if (breaks.some((at) => at >= before && at <= beganAt)) continue;
      const gapMs = beganAt - before;
      if (gapMs < MIN_SHARE * dimensions.slowness * intervalSeconds * 1000) {
        throw new Error(`${collector}: two polls within ${gapMs} ms`);
      }
    }
  }
}

/** Requests in flight and retries stay within their limits. */
export function checkBudgets({ flights, dimensions, variants }: Setting, scrape: Scrape): void {
  const starts = 1 + variants.restarts;
  // A cluster that is no longer watched may be logging out beside the one in its place.
  const extra = variants.restarts;
  expectAtMost('requests in flight', flights.most.all, dimensions.maxConcurrentRequests + extra);
  expectAtMost('scans in flight', flights.most.ranges, dimensions.rangeConcurrency);
  const sum = (name: string, labels: Record<string, string>): number =>
    scrape.all(name, labels).reduce((total, { value }) => total + value, 0);
  for (const api of ['cluster', 'cloud']) {
    const requests = sum('crdb_exporter_http_requests_total', { api });
    const retries = sum('crdb_exporter_http_retries_total', { api });
    const allowed = INITIAL_RETRIES * starts + RETRIES_PER_REQUEST * requests;
    expectAtMost(`repeats at the ${api} API`, retries, allowed);
  }
}

function expectAtMost(what: string, count: number, allowed: number): void {
  if (count > allowed) throw new Error(`${count} ${what}, allowed are ${allowed}`);
}
