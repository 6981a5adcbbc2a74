import { isNodeTimeout } from './failure-scope.ts';
import type { RequestError } from './errors.ts';
import type { HttpRequest } from './exchange.ts';

/**
 * Why a request was repeated; the label `reason` of crdb_exporter_http_retries_total. `timeout` stays 0: what timed out is not
 * repeated at the same URL.
 */
export type RetryReason = 'timeout' | 'network' | 'http' | 'throttled';

/** A request is sent three times at the most, or once to each URL. */
export const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 200;
/** A server that wants a longer pause is not waited for: the poll fails and the pause is kept. */
export const MAX_WAIT_MS = 5_000;

/** In the long run at most one repeat in ten requests, so that repeats never double the load of an outage. */
const BUDGET_PER_REQUEST = 0.1;
/** What a process that has just started may spend, and the most that can be saved up. */
const FIRST_BUDGET = 5;
const MAX_BUDGET = 10;

export interface RetryBudget {
  /** Call for each request that is not a repeat. */
  earn(): void;
  /** True when one repeat may be sent; it is then paid for. */
  spend(): boolean;
}

export function createRetryBudget(): RetryBudget {
  let budget = FIRST_BUDGET;
  return {
    earn() {
      budget = Math.min(MAX_BUDGET, budget + BUDGET_PER_REQUEST);
    },
    spend() {
      if (budget < 1) return false;
      budget -= 1;
      return true;
    },
  };
}

/**
 * Why this failure is worth asking the same again; undefined when it is not. Only reads of which
 * nothing has been handed on are repeated, and only failures that may pass: a 500 stands for a dead
 * target or a missing privilege, and the next URL has been asked where that could help. What timed out
 * has cost its time, and would cost it again.
 */
export function retryReason(
  error: RequestError,
  request: Pick<HttpRequest, 'method' | 'proxied'> & {
    readonly bytes: number;
    readonly node?: number;
  },
): RetryReason | undefined {
  if (request.method !== 'GET' || request.bytes > 0) return undefined;
  if (error.status === 429) return 'throttled';
  if (error.status === 502 && request.proxied === true) return undefined;
  if (isNodeTimeout(error, request)) return undefined;
  if (error.status === 502 || error.status === 503 || error.status === 504) return 'http';
  if (error.status !== undefined) return undefined;
  return error.reason === 'network' ? 'network' : undefined;
}

/** Full jitter: anything up to a bound that doubles; never less than what the server asked for. */
export function backoffMs(error: RequestError, repeats: number, random: () => number): number {
  const jittered = random() * FIRST_BACKOFF_MS * 2 ** repeats;
  return Math.max(jittered, (error.retryAfterSeconds ?? 0) * 1000);
}
