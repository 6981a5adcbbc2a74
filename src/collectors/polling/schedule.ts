import type { Clock } from '#base';

/** Spread of the first polls after start: all clusters and collectors at once would be a burst. */
const FIRST_POLL_SPREAD_MS = 800;
/** Later polls begin up to this share of the interval earlier or later, so that exporters drift apart. */
const JITTER = 0.05;
/** Minimum share of an interval from the end of a poll to one that `retryIn` has set. */
const MIN_RETRY = 0.05;

/** Decides when one collector polls. Intervals run from start to start; a poll that was blocked is tried again sooner. */
export class Schedule {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #random: () => number;
  #startedAtMs: number | undefined;
  /** When a poll is due before its interval has passed, monotonic ms; `retryIn` sets it. */
  #retryAtMs: number | undefined;
  #isSpread = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Start of the last poll, monotonic ms. */
  get startedAtMs(): number | undefined {
    return this.#startedAtMs;
  }

  /** Delay of the first poll after the start of the process. */
  firstDelayMs(): number {
    return this.#random() * FIRST_POLL_SPREAD_MS;
  }

  /** Records that a poll starts now. */
  start(): void {
    this.#retryAtMs = undefined;
    this.#startedAtMs = this.#clock.monotonicMs();
  }

  /**
   * Makes the next poll due in this time, although its interval has not passed: a breaker lets a request through then, or a login may
   * be accepted.
   */
  retryIn(milliseconds: number): void {
    this.#retryAtMs = this.#clock.monotonicMs() + milliseconds;
  }

  /** Whether the interval of the last poll has passed, give or take the jitter. */
  isDue(intervalMs: number): boolean {
    if (this.#startedAtMs === undefined) return true;
    const now = this.#clock.monotonicMs();
    if (this.#retryAtMs !== undefined && now >= this.#retryAtMs) return true;
    return now - this.#startedAtMs >= intervalMs * (1 - JITTER);
  }

  /**
   * Delay from the end of a poll to the start of the next. First polls all come at once, because everybody waits for
   * them; the one after the first result comes up to an interval later, which spreads the scans of many clusters over the interval.
   */
  nextDelayMs(intervalMs: number, hasResult: boolean): number {
    const now = this.#clock.monotonicMs();
    const jittered = intervalMs * (1 + JITTER * (2 * this.#random() - 1));
    const delayMs = Math.max(0, jittered - (now - (this.#startedAtMs ?? 0)));
    // A timer may fire a millisecond early.
    const retryMs = Math.max((this.#retryAtMs ?? Infinity) - now + 1, intervalMs * MIN_RETRY);
    if (retryMs < delayMs) return retryMs;
    if (this.#isSpread || !hasResult) return delayMs;
    this.#isSpread = true;
    return delayMs + this.#random() * intervalMs;
  }
}
