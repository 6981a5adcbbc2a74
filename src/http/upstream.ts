import { Breaker, type BreakerOptions } from './breaker.ts';
import type { RequestError } from './errors.ts';

/** A single failure may be an accident. */
const MAX_FAILURES = 3;
/** With several URLs the next one is at hand. */
const MAX_FAILURES_OF_ONE_OF_SEVERAL = 1;
/** A single endpoint or node may be silent for reasons that do not concern its URL. */
const MIN_SILENT_TO_OPEN = 2;
/** While there is no response, one in this many requests gets the full deadline. */
const FULL_DEADLINE_EVERY = 3;
/** Servers name nodes and tables; invented names must not fill the memory. */
const MAX_NAMES = 10_000;

export interface HealthOptions extends BreakerOptions {
  /** To the headers of a response; the short one is for requests after silence. */
  readonly deadlines: { readonly headersMs: number; readonly headersAfterSilenceMs: number };
  /** Largest share of the time that may be spent on waiting for a silent node. */
  readonly maxDuty: number;
}

/** The health of an endpoint or a table at one URL, or of a node behind all URLs. */
export class EndpointHealth {
  readonly breaker: Breaker;
  /** When the last request at a URL failed, monotonic ms; absent where it succeeded. */
  readonly failedAtMs = new Map<Upstream, number>();
  /** A silent node gets no requests until then, monotonic ms. */
  skippedUntilMs = -Infinity;
  /** The middle of the wait for the first request in a row without a response, monotonic ms. */
  silentSinceMs: number | undefined;
  readonly #options: HealthOptions;
  readonly #isNode: boolean;
  /** Requests in a row without a response. */
  #silences = 0;
  /** How long the last response took to its headers. */
  #responseMs: number | undefined;

  constructor(options: HealthOptions, isNode = false) {
    this.breaker = new Breaker(MAX_FAILURES, options);
    this.#options = options;
    this.#isNode = isNode;
  }

  /**
   * How long the next request may wait for headers, `fullMs` at most. Example: of a deadline of 30 s, a server without a
   * response costs 30 s at first, then 5 s, and 30 s in every third request: it may have become slow.
   */
  headersMs(isTrial: boolean, fullMs: number): number {
    const attempt = this.#silences + 1;
    const isFirst = attempt === 1 && !isTrial;
    return isFirst || attempt % FULL_DEADLINE_EVERY === 0 ? fullMs : this.shortHeadersMs(fullMs);
  }

  /**
   * The deadline after silence: 5 s, or 16 s where the last response took 8 s. A node that has never responded may need
   * the full one: it prepares a long list before it sends headers.
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

  /** Records a request that was sent at this time and waited for in vain. */
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

/** The health of what has this name, which begins as good. Above 10,000 names all of them begin anew. */
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
  /** Opened by failures to connect, by the silence of several endpoints or nodes, and by refusals of what another URL accepts. */
  readonly breaker: Breaker;
  /** By the names of the endpoints and tables that were requested here. */
  readonly endpoints = new Map<string, EndpointHealth>();
  /** Why it is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** When headers last arrived from it, monotonic ms. */
  respondedAtMs = -Infinity;
  readonly #options: HealthOptions;
  /** Endpoints and nodes that have been silent since the last response of this URL, or since it was opened. */
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
   * Records that an endpoint or a node got no response here, and that nothing else has arrived meanwhile. The second one
   * opens the breaker; then the count begins anew, so that a single endpoint that hangs cannot keep the URL open.
   */
  recordSilence(name: string, sentAtMs: number): void {
    this.#silent.add(name);
    if (this.#silent.size < MIN_SILENT_TO_OPEN) return;
    this.#silent.clear();
    this.breaker.open(sentAtMs);
  }
}
