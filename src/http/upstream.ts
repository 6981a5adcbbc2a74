import type { BreakerState } from '../vocabulary.ts';
import { Breaker, type BreakerOptions } from './breaker.ts';
import type { RequestError } from './errors.ts';

/** With one URL a single refused connection proves little; with several, the next one is at hand. */
const MAX_FAILURES_OF_THE_ONLY_URL = 3;
const MAX_FAILURES_OF_ONE_OF_SEVERAL = 1;
/** A single endpoint or node may be silent for its own reasons. */
const MIN_SILENT_TO_OPEN = 2;
const MAX_FAILURES_OF_AN_ENDPOINT = 3;
/** Without responses, one in this many requests gets the full deadline: to an endpoint of a URL, and for a node. */
const FULL_DEADLINE_EVERY = 10;
const FULL_DEADLINE_OF_A_NODE_EVERY = 3;
/** How long a URL is not used that refused a login or a token which another URL accepted. */
const LEFT_OUT_MS = 5 * 60_000;
/** Servers name nodes and tables; invented names must not fill the memory. */
const MAX_NAMES = 10_000;

export interface HealthOptions extends BreakerOptions {
  /** To the headers of a response; the short one is for requests after silence. */
  readonly deadlines: { readonly headersMs: number; readonly headersAfterSilenceMs: number };
  /** Largest share of the time that may be spent on waiting for a silent node. */
  readonly maxDuty: number;
}

/** A map that drops its oldest entries when there are too many. */
export class BoundedMap<K, V> extends Map<K, V> {
  override set(key: K, value: V): this {
    const [oldest] = this.size < MAX_NAMES || this.has(key) ? [] : this.keys();
    if (oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}

/** One of the configured URLs of an API, with its health. */
export class Upstream {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened by failures to connect, or by silence of several endpoints or nodes. */
  readonly breaker: Breaker;
  /** Why it is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** When it last accepted a login or a token, monotonic ms. */
  acceptedAtMs = -Infinity;
  /** When headers last arrived from it, monotonic ms. */
  answeredAtMs = -Infinity;
  readonly #options: HealthOptions;
  #avoidForNodesUntilMs = -Infinity;
  #leftOutUntilMs = -Infinity;
  readonly #endpoints = new BoundedMap<string, EndpointHealth>();
  /** Endpoints and nodes that were silent here since the last response. */
  readonly #silent = new Set<string>();

  constructor(text: string, isOnly: boolean, options: HealthOptions) {
    const maxFailures = isOnly ? MAX_FAILURES_OF_THE_ONLY_URL : MAX_FAILURES_OF_ONE_OF_SEVERAL;
    this.url = new URL(text);
    const { hostname, port, protocol } = this.url;
    this.name = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
    this.breaker = new Breaker(maxFailures, options);
    this.#options = options;
  }

  get state(): BreakerState {
    return this.isLeftOut ? 'open' : this.breaker.state;
  }

  /** Whether it refused what another URL accepted, in the last minutes. */
  get isLeftOut(): boolean {
    return this.#options.monotonicMs() < this.#leftOutUntilMs;
  }

  leaveOut(error: RequestError): void {
    this.lastFailure = error;
    this.#leftOutUntilMs = this.#options.monotonicMs() + LEFT_OUT_MS;
  }

  useAgain(): void {
    this.#leftOutUntilMs = -Infinity;
  }

  recordAcceptance(): void {
    this.acceptedAtMs = this.#options.monotonicMs();
    this.useAgain();
  }

  /** The health of an endpoint, or of a table, at this URL. */
  endpoint(name: string): EndpointHealth {
    const health = this.#endpoints.get(name) ?? new EndpointHealth(this.#options);
    this.#endpoints.set(name, health);
    return health;
  }

  /** Names of the endpoints and tables that were requested here. */
  endpointNames(): Iterable<string> {
    return this.#endpoints.keys();
  }

  endPauses(): void {
    for (const { breaker } of [this, ...this.#endpoints.values()]) breaker.endPause();
  }

  /** Whether ranges of nodes are rather read at another URL. */
  get isAvoidedForNodes(): boolean {
    return this.state !== 'closed' || this.#options.monotonicMs() < this.#avoidForNodesUntilMs;
  }

  /** For so long, or until it answers. */
  avoidForNodes(ms: number): void {
    this.#avoidForNodesUntilMs = this.#options.monotonicMs() + ms;
  }

  recordAnswer(): void {
    this.answeredAtMs = this.#options.monotonicMs();
    this.avoidForNodes(-Infinity);
    this.#silent.clear();
    this.breaker.succeeded();
  }

  /**
   * Records that an endpoint, or a node that answers elsewhere, has been silent since `sinceMs`. This proves nothing of
   * a URL that has answered other requests since.
   */
  recordSilence(name: string, sentAtMs: number, sinceMs: number): void {
    if (sinceMs < this.answeredAtMs) return;
    this.#silent.add(name);
    if (this.#silent.size >= MIN_SILENT_TO_OPEN) this.breaker.open(sentAtMs);
  }
}

/** The health of an endpoint or a table at one URL, or of a node behind all URLs. */
export class EndpointHealth {
  readonly breaker: Breaker;
  /** The order of the failures of the last request at each URL; absent where it brought something usable. */
  readonly failureOrder = new Map<Upstream, number>();
  /** The last silence of a node that has not answered since. */
  silence:
    | {
        readonly upstream: Upstream;
        readonly sentAtMs: number;
        readonly endedAtMs: number;
        /** Time spent on waiting, not yet followed by a pause. */
        readonly owedMs: number;
        readonly retryAtMs: number;
        /** Another URL answered meanwhile, but not this one. */
        readonly isUrlSuspect: boolean;
      }
    | undefined;
  readonly #options: HealthOptions;
  readonly #isNode: boolean;
  #answerMs: number | undefined;
  #silentRequests = 0;
  #silentSinceMs: number | undefined;

  /** `isNode`: it prepares a long list of its own before it sends headers, so it gets more time. */
  constructor(options: HealthOptions, isNode = false) {
    this.breaker = new Breaker(MAX_FAILURES_OF_AN_ENDPOINT, options);
    this.#options = options;
    this.#isNode = isNode;
  }

  /**
   * How long the next request may wait for headers, `fullMs` at most. What sent no response is not waited for as long the
   * next time: a frozen server costs the full time once, not at every poll.
   */
  headersMs(isProbe: boolean, fullMs: number): number {
    const isFirst = this.#silentSinceMs === undefined && !isProbe;
    const every = this.#isNode ? FULL_DEADLINE_OF_A_NODE_EVERY : FULL_DEADLINE_EVERY;
    const isFull = this.#silentRequests % every === every - 1;
    return isFirst || isFull ? fullMs : this.shortHeadersMs(fullMs);
  }

  /** For a request after silence. Nobody knows how long a node takes that has never answered. */
  shortHeadersMs(fullMs: number): number {
    if (this.#isNode && this.#answerMs === undefined) return fullMs;
    const { headersAfterSilenceMs } = this.#options.deadlines;
    return Math.min(fullMs, Math.max(headersAfterSilenceMs, 2 * (this.#answerMs ?? 0)));
  }

  recordHeaders(tookMs: number): void {
    this.#answerMs = tookMs;
    this.#silentSinceMs = undefined;
    this.#silentRequests = 0;
  }

  /** Returns when the first of the requests was sent that have had no response since. */
  recordSilence(sentAtMs: number): number {
    this.#silentSinceMs ??= sentAtMs;
    this.#silentRequests += 1;
    return this.#silentSinceMs;
  }

  succeeded(upstream: Upstream): void {
    this.failureOrder.delete(upstream);
    this.breaker.succeeded();
  }
}
