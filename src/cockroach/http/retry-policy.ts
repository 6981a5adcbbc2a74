import type { RetryReason } from '#base';
import { type RequestError, TOO_MANY_REQUESTS } from './errors.ts';
import type { HttpRequest } from './request.ts';

// What is sent more than once, what is left alone, and for how long. A failed request
// 1. goes to the next URL at once (`goesToNextUrl`), as long as there is one, unless it may have changed something
//    (`mayBeRepeated`);
// 2. is sent again after a short wait (`retryReason`), if the budget of retries allows it;
// 3. fails. The next request of its kind begins at another URL (health.ts).
// Example with two URLs: A refuses the connection, so B gets the request at once. B responds 503: some 100 ms later the
// request is sent again, and again to B, because the circuit breaker of A is open. The third attempt is the last one.

/** Every number of the policy. */
export const POLICY = {
  /**
   * A request is sent three times at most, or once to each URL. As many failures in a row open the circuit breaker of an
   * endpoint, of a node and of the only URL: a breaker never cuts the attempts of one request short.
   */
  attempts: 3,
  /** The wait before the first retry is a random part of this, before the second one of twice as much. */
  backoffMs: 200,
  /** In the long run at most one retry in ten requests, so that retries never double the load of an outage. */
  budgetPerRequest: 0.1,
  /** The retries that a process that has just started may spend. */
  firstBudget: 5,
  /** The most retries that can be saved up. */
  maxBudget: 10,
  /** Circuit breakers are open for a little less than the shortest interval, so that the next poll is a trial. */
  breakerShareOfInterval: 0.9,
  maxBreakerIntervalMs: 30_000,
  /** A URL that was left alone has this time to respond while another one works. */
  trialHeadersMs: 5_000,
  /** The time for TCP and TLS together. */
  connectMs: 5_000,
  /** A server that requests a longer pause gets one request then: a balancer may ask for years. */
  maxPauseSeconds: 120,
  /** After a pause one request is sent in this time, until one of them succeeds. */
  trialIntervalMs: 5_000,
  /** A request does not wait for a longer pause: it fails, and the pause goes on. */
  maxWaitMs: 5_000,
  /** How often a request that waits looks whether the pause was ended by the response to a trial. */
  pauseCheckMs: 100,
  /** A node that did not respond is left alone no longer than this. */
  maxNodePauseMs: 300_000,
  /** The health of this many nodes is remembered, and the one whose last request is oldest forgotten: nodes come and go. */
  rememberedNodes: 10_000,
  /**
   * After a refused login, and twice as long after each further one: the same password is hardly accepted later, each login
   * costs the server a slow hash, and a directory behind it may lock the user.
   */
  refusedLoginPauseMs: 60_000,
  maxRefusedLoginPauseMs: 1_800_000,
  /** After any other response to a login without a token: the requests to hundreds of nodes would each log in. */
  uselessLoginPauseMs: 5_000,
} as const;

/** Statuses that do not pass with time: their Retry-After is ignored. */
const LASTING_STATUSES: ReadonlySet<number | undefined> = new Set([401, 403, 404, 501]);

/**
 * Whether another URL may do better now. One gateway may wrongly answer 500, 401 or 403 to everything, and a proxy may not
 * pass on the pages beside the API v2. If two URLs give the same status, the cluster gave it: `previous` is the failure at
 * the URL before. What hangs would cost its time again at each URL.
 */
export function goesToNextUrl(
  request: HttpRequest,
  error: RequestError,
  previous: RequestError | undefined,
): boolean {
  if (error.late !== undefined || error.isNodeTimeout) return false;
  if (request.wasRefused === true && isRefusal(request, error)) return false;
  const mayBeGateway = request.retryOn500 === true || request.node !== undefined;
  const isGatewayFault =
    isRefusal(request, error) ||
    (error.status === 500 && mayBeGateway) ||
    (request.isBesideApi === true && error.isNotOffered);
  if (isGatewayFault) return previous?.status !== error.status;
  // With Retry-After, other URLs may be used meanwhile.
  const isPaused = error.status === TOO_MANY_REQUESTS && error.retryAfterSeconds !== undefined;
  return error.blames !== 'nobody' || isPaused;
}

/**
 * Whether another server may get the request, too. What may change something (a statement) only if the server has surely not
 * begun with it: no connection, 429, 401, 403. A login or logout changes nothing else.
 */
export function mayBeRepeated(request: HttpRequest, error: RequestError): boolean {
  if (request.method === 'GET' || /^log(?:in|out)$/.test(request.endpoint)) return true;
  return error.wasRefused || isRefusal(request, error);
}

/** Whether the failure is a refusal of a login, or of a request that would be accepted with another token or user. */
export function isRefusal({ endpoint, sentToken }: HttpRequest, { reason }: RequestError): boolean {
  const isWithLogin = endpoint === 'login' || sentToken === true;
  return isWithLogin && (reason === 'auth' || reason === 'forbidden');
}

/**
 * Why a failure is worth a retry; undefined when it is not: 429, 502, 503, 504 and failures of the network may pass. A 500
 * stands for a dead target or a missing privilege. A POST is only sent again if the server has surely not begun with it: 429, or
 * no connection. That holds for the login, too, which is slow.
 */
export function retryReason(error: RequestError, request: HttpRequest): RetryReason | undefined {
  if (error.isNodeTimeout) return undefined;
  if (request.method !== 'GET' && !error.wasRefused) return undefined;
  if (error.status === TOO_MANY_REQUESTS) return 'throttled';
  if (error.status !== undefined) return error.blames === 'endpoint' ? 'http' : undefined;
  return error.reason === 'network' ? 'network' : undefined;
}

/** The pause after the first, second, third … refusal of the same login in a row: 1, 2, 4 … and at most 30 minutes. */
export function refusedLoginPauseMs(refusals: number): number {
  return Math.min(POLICY.refusedLoginPauseMs * 2 ** (refusals - 1), POLICY.maxRefusedLoginPauseMs);
}

/** The pause that a failure starts, seconds: the server's Retry-After, at most two minutes. Undefined for none. */
export function pauseSeconds({ status, retryAfterSeconds }: RequestError): number | undefined {
  if (retryAfterSeconds === undefined || LASTING_STATUSES.has(status)) return undefined;
  return Math.min(retryAfterSeconds, POLICY.maxPauseSeconds);
}

/** The wait before a retry: a random part of 200 ms, then of 400 ms; `retries` were made before. */
export function backoffMs(retries: number, random: () => number): number {
  return random() * POLICY.backoffMs * 2 ** retries;
}

/** Limits the retries of a client. Example: after 40 requests without a retry 9 retries may be sent in a row. */
export class RetryBudget {
  #budget: number = POLICY.firstBudget;

  /** Call for each request that is not a retry. */
  deposit(): void {
    this.#budget = Math.min(POLICY.maxBudget, this.#budget + POLICY.budgetPerRequest);
  }

  /** True when one retry may be sent; it is then paid for. */
  withdraw(): boolean {
    if (this.#budget < 1) return false;
    this.#budget -= 1;
    return true;
  }
}
