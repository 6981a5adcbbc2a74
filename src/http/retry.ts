import type { RetryReason } from '../vocabulary.ts';
import {
  isNodeTimeout,
  missedDeadline,
  type RequestError,
  TOO_MANY_REQUESTS,
  wasRefused,
} from './errors.ts';
import type { HttpRequest } from './request.ts';

// The whole policy of what is sent more than once. A failed request
// 1. goes to the next URL at once (`goesToNextUrl`), as long as there is one;
// 2. is sent again after a short wait (`retryReason`), if the budget of retries allows it;
// 3. fails. The next poll begins at another URL (health.ts).
// A response with Retry-After pauses its URL, endpoint or node for so long (`pauseSeconds`; health.ts chooses which).
// Example with two URLs: A refuses the connection, so B gets the request at once. B responds 503: some 100 ms later the
// request is sent again, and again to B, because the circuit breaker of A is open. The third attempt is the last one.

/** A server that requests a longer pause gets one request then: a balancer may ask for years. */
const MAX_PAUSE_SECONDS = 120;
/** Statuses that do not pass with time: their Retry-After is ignored. */
const LASTING_STATUSES: ReadonlySet<number | undefined> = new Set([401, 403, 404, 501]);
/** A request is sent three times at most, or once to each URL. */
export const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 200;
/** A request does not wait for a longer pause: the poll fails, and the pause of its URL or endpoint goes on (breaker.ts). */
export const MAX_WAIT_MS = 5_000;

/**
 * Whether another URL may do better now. One gateway may wrongly answer 500, 401 or 403 to everything. If two URLs give the
 * same status, it is that of the cluster: `previous` is the failure at the URL before. An endpoint or node that hangs at a
 * URL that responds to others would cost its time again at each URL.
 */
export function goesToNextUrl(
  request: HttpRequest,
  error: RequestError,
  previous: RequestError | undefined,
): boolean {
  if (missedDeadline(error) || isNodeTimeout(error, request)) return false;
  const isGatewayFault =
    isRefusal(request, error) || (error.status === 500 && request.retryOn500 === true);
  if (isGatewayFault) return previous?.status !== error.status;
  // With Retry-After, other URLs may be used meanwhile.
  const isPaused = error.status === TOO_MANY_REQUESTS && error.retryAfterSeconds !== undefined;
  return error.scope !== 'none' || isPaused;
}

/** Whether the failure is a refusal of a login, or of a request that would be accepted with another token or user. */
export function isRefusal({ endpoint, sentToken }: HttpRequest, { reason }: RequestError): boolean {
  const isWithLogin = endpoint === 'login' || sentToken === true;
  return isWithLogin && (reason === 'auth' || reason === 'forbidden');
}

/**
 * Why a failure is worth a retry; undefined when it is not: 429, 502, 503, 504 and failures of the network may pass. A 500
 * stands for a dead target or a missing privilege. What changes something is only sent again if the server has surely
 * not begun with it: 429, or no connection.
 */
export function retryReason(error: RequestError, request: HttpRequest): RetryReason | undefined {
  if (isNodeTimeout(error, request)) return undefined;
  if (request.method !== 'GET' && !wasRefused(error)) return undefined;
  if (error.status === TOO_MANY_REQUESTS) return 'throttled';
  if (error.status !== undefined) return error.scope === 'endpoint' ? 'http' : undefined;
  return error.reason === 'network' ? 'network' : undefined;
}

/** The pause that a failure starts, seconds: the server's Retry-After, at most two minutes. Undefined for none. */
export function pauseSeconds({ status, retryAfterSeconds }: RequestError): number | undefined {
  if (retryAfterSeconds === undefined || LASTING_STATUSES.has(status)) return undefined;
  return Math.min(retryAfterSeconds, MAX_PAUSE_SECONDS);
}

/** The wait before a retry: a random part of 200 ms, then of 400 ms; `retries` were made before. */
export function backoffMs(retries: number, random: () => number): number {
  return random() * FIRST_BACKOFF_MS * 2 ** retries;
}

/** In the long run at most one retry in ten requests, so that retries never double the load of an outage. */
const BUDGET_PER_REQUEST = 0.1;
/** The retries that a process that has just started may spend, and the most that can be saved up. */
const FIRST_BUDGET = 5;
const MAX_BUDGET = 10;

/** Limits the retries of a client. Example: after 40 requests without a retry 9 retries may be sent in a row. */
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
