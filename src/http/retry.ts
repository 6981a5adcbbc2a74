import type { RetryReason } from '../vocabulary.ts';
import { delay } from './deadlines.ts';
import { isNodeTimeout, type RequestError } from './errors.ts';
import type { HttpRequest } from './request.ts';
import { BoundedMap } from './upstream.ts';

/** A request is sent three times at most, or once to each URL. */
export const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 200;
/** A server that wants a longer pause is not waited for: the poll fails and the pause is kept. */
const MAX_WAIT_MS = 5_000;
/** A balancer that requests years must not silence the exporter. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** In the long run at most one retry in ten requests, so that retries never double the load of an outage. */
const BUDGET_PER_REQUEST = 0.1;
/** What a process that has just started may spend, and the most that can be saved up. */
const FIRST_BUDGET = 5;
const MAX_BUDGET = 10;

const TOO_MANY_REQUESTS = 429;
/** Statuses that do not pass with time. */
const STATUSES_IGNORING_RETRY_AFTER: ReadonlySet<number> = new Set([401, 403, 404, 501]);

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

/** The reason for a retry, and the pause before it; undefined when there is to be none. */
export function planRetry(
  error: RequestError,
  request: HttpRequest,
  retries: number,
  random: () => number,
): { readonly reason: RetryReason; readonly waitMs: number } | undefined {
  const reason = retryReason(error, request);
  // Full jitter: anything up to a bound that doubles; never less than the server's Retry-After.
  const jitteredMs = random() * FIRST_BACKOFF_MS * 2 ** retries;
  const waitMs = Math.max(jitteredMs, (error.retryAfterSeconds ?? 0) * 1000);
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

/** The name under which the pause of the whole API is kept. */
const WHOLE_API = '';

/** The pauses that servers request (Retry-After): of the whole API after a 429, else of one endpoint, table or node. */
export class RetryAfterPauses {
  readonly #monotonicMs: () => number;
  readonly #pauses = new BoundedMap<
    string,
    { readonly error: RequestError; readonly untilMs: number }
  >();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** What is left of it, ms. */
  leftMs(name = WHOLE_API): number {
    return Math.max(0, (this.#pauses.get(name)?.untilMs ?? 0) - this.#monotonicMs());
  }

  /** Waits out a short pause; during a long one, fails as the request did that started it. */
  async wait(name: string, signal: AbortSignal, what: string): Promise<void> {
    for (const each of [WHOLE_API, name]) {
      const leftMs = this.leftMs(each);
      const pause = this.#pauses.get(each);
      if (leftMs > MAX_WAIT_MS && pause !== undefined) throw pause.error;
      if (leftMs > 0) await delay(leftMs, signal, what);
    }
  }

  /** Keeps the pause that the response about `name` requested; a longer pause is not shortened. */
  record(name: string, error: RequestError): void {
    const { status = 0, retryAfterSeconds } = error;
    if (retryAfterSeconds === undefined || STATUSES_IGNORING_RETRY_AFTER.has(status)) return;
    const about = status === TOO_MANY_REQUESTS ? WHOLE_API : name;
    const lengthMs = Math.min(retryAfterSeconds * 1000, MAX_RETRY_AFTER_MS);
    if (lengthMs < this.leftMs(about)) return;
    this.#pauses.set(about, { error, untilMs: this.#monotonicMs() + lengthMs });
  }

  end(): void {
    this.#pauses.clear();
  }
}
