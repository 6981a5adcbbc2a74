import type { RetryReason } from '../vocabulary.ts';
import { isNodeTimeout, type RequestError } from './errors.ts';
import type { HttpRequest } from './request.ts';

/** A request is sent three times at most, or once to each URL. */
export const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 200;
/** A server that wants a longer pause is not waited for: the poll fails and the pause is kept. */
export const MAX_WAIT_MS = 5_000;

/** In the long run at most one retry in ten requests, so that retries never double the load of an outage. */
const BUDGET_PER_REQUEST = 0.1;
/** What a process that has just started may spend, and the most that can be saved up. */
const FIRST_BUDGET = 5;
const MAX_BUDGET = 10;

const TOO_MANY_REQUESTS = 429;

/**
 * Why this failure is worth a retry; undefined when it is not. Only reads without a byte received are retried, and only
 * after failures that may pass: 429, 502, 503, 504 and failures of the network. A 500 stands for a dead target or a
 * missing privilege, and the next URL was tried where that could help. A timeout would cost its time again, so `timeout`
 * is never the reason.
 */
function retryReason(error: RequestError, request: HttpRequest): RetryReason | undefined {
  if (request.method !== 'GET' || isNodeTimeout(error, request)) return undefined;
  if (error.status === TOO_MANY_REQUESTS) return 'throttled';
  if (error.status !== undefined) return error.scope === 'endpoint' ? 'http' : undefined;
  return error.reason === 'network' ? 'network' : undefined;
}

interface RetryCircumstances {
  /** So many were made before. */
  readonly retries: number;
  /** What is left of a pause that the servers requested. */
  readonly pausedMs: number;
  readonly random: () => number;
}

/** The reason for a retry, and the wait before it; undefined when there is to be none. */
export function planRetry(
  error: RequestError,
  request: HttpRequest,
  { retries, pausedMs, random }: RetryCircumstances,
): { readonly reason: RetryReason; readonly waitMs: number } | undefined {
  const reason = retryReason(error, request);
  // Full jitter: anything up to a bound that doubles; never less than the pause.
  const jitteredMs = random() * FIRST_BACKOFF_MS * 2 ** retries;
  const waitMs = Math.max(jitteredMs, pausedMs);
  return reason === undefined || waitMs > MAX_WAIT_MS ? undefined : { reason, waitMs };
}

export class RetryBudget {
  #budget = FIRST_BUDGET;

  /** Call for each request that is not a retry. */
  deposit(): void {
    this.#budget = Math.min(MAX_BUDGET, this.#budget + BUDGET_PER_REQUEST);
  }

  /** True when one retry may be sent; it is then paid for. */
  withdraw(): boolean {
    if (this.#budget < 1) return false;
    this.#budget -= 1;
    return true;
  }
}
