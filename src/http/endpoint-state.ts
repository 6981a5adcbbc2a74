import { type Breaker, type BreakerOptions, createBreaker } from './breaker.ts';
import { HeaderDeadline, type HeaderDeadlineOptions } from './header-deadline.ts';
import type { Target } from './targets.ts';

const FAILURES_TO_OPEN = 3;

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
