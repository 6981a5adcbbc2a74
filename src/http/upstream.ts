import type { BreakerState } from '../vocabulary.ts';
import { BoundedMap } from './bounded-map.ts';
import { Breaker } from './breaker.ts';
import { EndpointHealth, type HealthOptions } from './endpoint-health.ts';
import type { RequestError } from './errors.ts';

/** With one URL a single refused connection may be an accident; with several, the next one is at hand. */
const MAX_FAILURES_OF_THE_ONLY_URL = 3;
const MAX_FAILURES_OF_ONE_OF_SEVERAL = 1;
/** A single endpoint or node may be silent for its own reasons. */
const MIN_SILENT_TO_OPEN = 2;
/** How long a URL is not used that refused a login or a token which another URL accepted. */
const LEFT_OUT_MS = 5 * 60_000;

/** One of the configured URLs of an API, with its health. */
export class Upstream {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened by failures to connect, or by the silence of several endpoints or nodes. */
  readonly breaker: Breaker;
  /** By the names of the endpoints and tables that were requested here. */
  readonly endpoints = new BoundedMap<string, EndpointHealth>();
  /** Why it is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** When it last accepted a login or a token, monotonic ms. */
  acceptedAtMs = -Infinity;
  /** When headers last arrived from it, monotonic ms. */
  answeredAtMs = -Infinity;
  readonly #options: HealthOptions;
  #leftOutUntilMs = -Infinity;
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
    return this.endpoints.getOrAdd(name, () => new EndpointHealth(this.#options));
  }

  recordAnswer(): void {
    this.answeredAtMs = this.#options.monotonicMs();
    this.#silent.clear();
    this.breaker.succeeded();
  }

  /** Records that an endpoint or a node is silent here, and nothing has arrived since it fell silent. */
  recordSilence(name: string, sentAtMs: number): void {
    this.#silent.add(name);
    if (this.#silent.size >= MIN_SILENT_TO_OPEN) this.breaker.open(sentAtMs);
  }
}
