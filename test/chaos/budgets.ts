import type { Scrape } from '../support/exporter.ts';
import type { Setting } from './setting.ts';

/** Retries of a new client, and per request. */
const INITIAL_RETRIES = 5;
const RETRIES_PER_REQUEST = 0.1;

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
