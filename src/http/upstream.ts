import { Breaker, type BreakerOptions } from './breaker.ts';
import type { RequestError } from './errors.ts';

/** This many failures in a row open the breaker of the only URL, of an endpoint or of a node: at least one for each URL. */
const MAX_FAILURES = 3;
/** One failure opens the breaker of one of several URLs, as the next URL can be used at once. */
const MAX_FAILURES_OF_ONE_OF_SEVERAL = 1;
/** A URL counts as silent when this many of its endpoints and nodes are: a single one may have reasons of its own. */
const MIN_SILENT_TO_OPEN = 2;

export interface HealthOptions extends BreakerOptions {
  /** The waits for the headers of a response. The second one, which is shorter, is for requests after silence. */
  readonly deadlines: { readonly headersMs: number; readonly headersAfterSilenceMs: number };
  /** Largest share of the time that is spent on a silent node: with 0.1 a wait of 5 s is followed by 50 s without requests. */
  readonly maxDuty: number;
}

/** The health of an endpoint, or of a node, at all URLs. */
export class EndpointHealth {
  readonly breaker: Breaker;
  /** When the last request failed, by URL, monotonic ms. A URL where it succeeded is absent. */
  readonly failedAtMs = new Map<Upstream, number>();
  /** Until when a silent node gets no requests, monotonic ms. */
  skippedUntilMs = -Infinity;
  /** The middle of the wait for the first of the requests in `silences`, monotonic ms. */
  silentSinceMs = Infinity;
  /** Number of requests in a row that got no response. */
  silences = 0;
  /** How long the headers of the last response took. */
  responseMs: number | undefined;

  constructor(urls: number, options: HealthOptions) {
    this.breaker = new Breaker(Math.max(MAX_FAILURES, urls), options);
  }

  recordHeaders(tookMs: number): void {
    this.responseMs = tookMs;
    this.silences = 0;
    this.silentSinceMs = Infinity;
  }

  succeeded(upstream: Upstream, sentAtMs: number): void {
    this.failedAtMs.delete(upstream);
    this.skippedUntilMs = -Infinity;
    this.breaker.succeeded();
    this.breaker.endPause(sentAtMs);
  }
}

/** One of the configured URLs of an API, with its health. */
export class Upstream {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened when connecting fails, when two endpoints or nodes are silent, and when the URL refuses what another one accepts. */
  readonly breaker: Breaker;
  /** The last failure because of which the URL is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** When headers last arrived from the URL, monotonic ms. */
  respondedAtMs = -Infinity;
  /** Endpoints and nodes that were silent since the URL last responded, or since its breaker was last opened. */
  readonly #silent = new Set<string>();

  constructor(text: string, isOnly: boolean, options: HealthOptions) {
    this.url = new URL(text);
    const { hostname, port, protocol } = this.url;
    this.name = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
    this.breaker = new Breaker(isOnly ? MAX_FAILURES : MAX_FAILURES_OF_ONE_OF_SEVERAL, options);
  }

  recordHeaders(nowMs: number): void {
    this.respondedAtMs = nowMs;
    this.#silent.clear();
    this.breaker.succeeded();
  }

  /**
   * Records that an endpoint or a node was silent, and that the URL has sent nothing else meanwhile. The second name opens
   * the breaker, and the names are removed, so that an endpoint that hangs for ever cannot open it again alone.
   */
  recordSilence(name: string, sentAtMs: number): void {
    this.#silent.add(name);
    if (this.#silent.size < MIN_SILENT_TO_OPEN) return;
    this.#silent.clear();
    this.breaker.open(sentAtMs);
  }
}
