import { Breaker, type BreakerOptions } from './breaker.ts';
import type { RequestError } from './errors.ts';

/** This many failures in a row open the breaker of the only URL, of an endpoint or of a node. */
const MAX_FAILURES = 3;
/** One failure opens the breaker of one of several URLs, as the next URL can be used at once. */
const MAX_FAILURES_OF_ONE_OF_SEVERAL = 1;
/** A URL counts as silent when this many of its endpoints and nodes are: a single one may have reasons of its own. */
const MIN_SILENT_TO_OPEN = 2;
/** While there is no response, every third request gets the full deadline. */
const FULL_DEADLINE_EVERY = 3;
/** Bounds the memory: servers choose the ids of nodes and the names of tables. */
const MAX_NAMES = 10_000;

export interface HealthOptions extends BreakerOptions {
  /** The waits for the headers of a response. The second one, which is shorter, is for requests after silence. */
  readonly deadlines: { readonly headersMs: number; readonly headersAfterSilenceMs: number };
  /** Largest share of the time that is spent on a silent node: with 0.1 a wait of 5 s is followed by 50 s without requests. */
  readonly maxDuty: number;
}

/** The health of an endpoint or a table at one URL, or of a node at all URLs. */
export class EndpointHealth {
  readonly breaker: Breaker;
  /** When the last request failed, by URL, monotonic ms. A URL where it succeeded is absent. */
  readonly failedAtMs = new Map<Upstream, number>();
  /** Until when a silent node gets no requests, monotonic ms. */
  skippedUntilMs = -Infinity;
  /** The middle of the wait for the first of the requests in `#silences`, monotonic ms. */
  silentSinceMs: number | undefined;
  readonly #options: HealthOptions;
  readonly #isNode: boolean;
  /** Number of requests in a row that got no response. */
  #silences = 0;
  /** How long the headers of the last response took. */
  #responseMs: number | undefined;

  constructor(options: HealthOptions, isNode = false) {
    this.breaker = new Breaker(MAX_FAILURES, options);
    this.#options = options;
    this.#isNode = isNode;
  }

  /**
   * How long the next request may wait for headers, at most `fullMs`. Example: a server that does not respond is waited for
   * 30 s, 5 s, 30 s, 5 s, 5 s, 30 s and so on. Every third wait is long, as the server may only have become slow.
   */
  headersMs(isTrial: boolean, fullMs: number): number {
    const attempt = this.#silences + 1;
    const isFirst = attempt === 1 && !isTrial;
    return isFirst || attempt % FULL_DEADLINE_EVERY === 0 ? fullMs : this.shortHeadersMs(fullMs);
  }

  /**
   * The wait for headers after silence: 5 s, or 16 s if the last response took 8 s. A node that has never responded gets
   * all of `fullMs`, as it may prepare a long list before it sends headers.
   */
  shortHeadersMs(fullMs: number): number {
    if (this.#isNode && this.#responseMs === undefined) return fullMs;
    const { headersAfterSilenceMs } = this.#options.deadlines;
    return Math.min(fullMs, Math.max(headersAfterSilenceMs, 2 * (this.#responseMs ?? 0)));
  }

  recordHeaders(tookMs: number): void {
    this.#responseMs = tookMs;
    this.#silences = 0;
    this.silentSinceMs = undefined;
  }

  /** Records a request that got no response in `waitedMs`. */
  recordSilence(sentAtMs: number, waitedMs: number): void {
    this.#silences += 1;
    this.silentSinceMs ??= sentAtMs + waitedMs / 2;
    this.breaker.failed(sentAtMs);
  }

  succeeded(upstream: Upstream, sentAtMs: number): void {
    this.failedAtMs.delete(upstream);
    this.skippedUntilMs = -Infinity;
    this.breaker.succeeded();
    this.breaker.endPause(sentAtMs);
  }
}

/** The health of this name, which is created if it is new. A name beyond the first 10,000 removes all others. */
export function healthOf<K>(
  healths: Map<K, EndpointHealth>,
  name: K,
  create: () => EndpointHealth,
): EndpointHealth {
  const health = healths.get(name) ?? create();
  if (healths.size >= MAX_NAMES && !healths.has(name)) healths.clear();
  healths.set(name, health);
  return health;
}

/** One of the configured URLs of an API, with its health. */
export class Upstream {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened when connecting fails, when two endpoints or nodes are silent, and when the URL refuses what another one accepts. */
  readonly breaker: Breaker;
  /** The health of each endpoint and table that was requested here, by name. */
  readonly endpoints = new Map<string, EndpointHealth>();
  /** The last failure because of which the URL is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** When headers last arrived from the URL, monotonic ms. */
  respondedAtMs = -Infinity;
  readonly #options: HealthOptions;
  /** Endpoints and nodes that were silent since the URL last responded, or since its breaker was last opened. */
  readonly #silent = new Set<string>();

  constructor(text: string, isOnly: boolean, options: HealthOptions) {
    const maxFailures = isOnly ? MAX_FAILURES : MAX_FAILURES_OF_ONE_OF_SEVERAL;
    this.url = new URL(text);
    const { hostname, port, protocol } = this.url;
    this.name = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
    this.breaker = new Breaker(maxFailures, options);
    this.#options = options;
  }

  recordHeaders(): void {
    this.respondedAtMs = this.#options.monotonicMs();
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
