import { type Breaker, type BreakerOptions, createBreaker } from './breaker.ts';
import { HeaderDeadline, type HeaderDeadlineOptions } from './header-deadline.ts';
import type { Target } from './targets.ts';

const FAILURES_TO_OPEN = 3;
/** Servers name nodes; what they invent must not fill the memory. */
const MAX_STATES = 10_000;

export type EndpointStateOptions = HeaderDeadlineOptions & Omit<BreakerOptions, 'failures'>;

/** What can fail while the rest is well: an endpoint or a table at one URL, or a node behind all of them. */
export class EndpointState {
  readonly breaker: Breaker;
  readonly headerDeadline: HeaderDeadline;
  /** Where its last request brought nothing usable, and in which order. */
  readonly #failedAt = new Map<Target, number>();

  constructor(options: EndpointStateOptions) {
    this.breaker = createBreaker({ ...options, failures: FAILURES_TO_OPEN });
    this.headerDeadline = new HeaderDeadline(options);
  }

  /** 0 where its last request brought something; the URL with the lowest number is asked first. */
  failureAt(target: Target): number {
    return this.#failedAt.get(target) ?? 0;
  }

  succeeded(target: Target): void {
    this.#failedAt.delete(target);
    this.breaker.succeeded();
  }

  /** Nothing usable came from this URL: others are asked first the next time. */
  askLater(target: Target, order: number): void {
    this.#failedAt.set(target, order);
  }
}

/** EndpointStates by name, made when they are first asked about; the oldest go when there are too many. */
export class EndpointStates {
  readonly #options: EndpointStateOptions;
  readonly #byName = new Map<string, EndpointState>();

  constructor(options: EndpointStateOptions) {
    this.#options = options;
  }

  get(name: string): EndpointState {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#byName.size < MAX_STATES ? [] : this.#byName.keys();
    if (oldest !== undefined) this.#byName.delete(oldest);
    const state = new EndpointState(this.#options);
    this.#byName.set(name, state);
    return state;
  }
}
