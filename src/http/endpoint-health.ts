import { Breaker, type BreakerOptions } from './breaker.ts';

const MAX_FAILURES = 3;
/** Without responses, one in this many requests gets the full deadline: to an endpoint of a URL, and for a node. */
const FULL_DEADLINE_EVERY = 10;
const FULL_DEADLINE_OF_A_NODE_EVERY = 3;

export interface HealthOptions extends BreakerOptions {
  /** To the headers of a response; the short one is for requests after silence. */
  readonly deadlines: { readonly headersMs: number; readonly headersAfterSilenceMs: number };
  /** Largest share of the time that may be spent on waiting for a silent node. */
  readonly maxDuty: number;
}

/** Requests in a row that got no response. */
interface Silence {
  /** The middle of the wait for the first of them, monotonic ms. */
  readonly sinceMs: number;
  readonly requests: number;
}

/** The health of an endpoint or a table at one URL, or of a node behind all URLs. */
export class EndpointHealth {
  readonly breaker: Breaker;
  /** The order of the failures of the last request at each URL; absent where it brought something usable. */
  readonly failureOrder = new Map<URL, number>();
  /** A silent node gets no requests until then, monotonic ms. */
  skippedUntilMs = -Infinity;
  readonly #options: HealthOptions;
  readonly #isNode: boolean;
  /** How long the last response took to its headers. */
  #answerMs: number | undefined;
  #silence: Silence | undefined;

  /** `isNode`: it prepares a long list of its own before it sends headers, so it gets more time. */
  constructor(options: HealthOptions, isNode = false) {
    this.breaker = new Breaker(MAX_FAILURES, options);
    this.#options = options;
    this.#isNode = isNode;
  }

  /**
   * How long the next request may wait for headers, `fullMs` at most. What sent no response is not waited for as long the
   * next time: of a deadline of 30 s a frozen server costs 30 s once, and 5 s at the next polls. When the poll has only
   * `leftMs`, time is left for the next URL: of 20 s this one gets 15 s, of 8 s a trial gets 4 s.
   */
  headersMs(isTrial: boolean, fullMs: number, leftMs = Infinity): number {
    const isFirst = this.#silence === undefined && !isTrial;
    const every = this.#isNode ? FULL_DEADLINE_OF_A_NODE_EVERY : FULL_DEADLINE_EVERY;
    const isFull = (this.#silence?.requests ?? 0) % every === every - 1;
    const shortMs = this.shortHeadersMs(fullMs);
    const deadlineMs = isFirst || isFull ? fullMs : shortMs;
    if (leftMs > 2 * shortMs) return Math.min(deadlineMs, Math.round(leftMs - shortMs));
    return isTrial ? Math.min(deadlineMs, Math.max(1, Math.round(leftMs / 2))) : deadlineMs;
  }

  /**
   * The deadline after silence: 5 s, or 16 s where the last response took 8 s. Nobody knows how long a node takes that has
   * never responded.
   */
  shortHeadersMs(fullMs: number): number {
    if (this.#isNode && this.#answerMs === undefined) return fullMs;
    const { headersAfterSilenceMs } = this.#options.deadlines;
    return Math.min(fullMs, Math.max(headersAfterSilenceMs, 2 * (this.#answerMs ?? 0)));
  }

  recordHeaders(tookMs: number): void {
    this.#answerMs = tookMs;
    this.#silence = undefined;
  }

  recordSilence(atMs: number): Silence {
    const { sinceMs = atMs, requests = 0 } = this.#silence ?? {};
    this.#silence = { sinceMs, requests: requests + 1 };
    return this.#silence;
  }

  succeeded(url: URL): void {
    this.failureOrder.delete(url);
    this.skippedUntilMs = -Infinity;
    this.breaker.succeeded();
  }
}
