import type { BreakerState } from '../vocabulary.ts';

export interface BreakerOptions {
  /** How long it stays open, from the start of the request that opened it. */
  readonly breakerOpenMs: number;
  /** Monotonic clock, ms. */
  readonly monotonicMs: () => number;
}

/** Keeps requests away from what failed several times in a row; when half open, one probe at a time is let through. */
export class Breaker {
  readonly #maxFailures: number;
  readonly #options: BreakerOptions;
  #failures = 0;
  #openedAtMs: number | undefined;

  /** `maxFailures` consecutive failures open it. */
  constructor(maxFailures: number, options: BreakerOptions) {
    this.#maxFailures = maxFailures;
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openedAtMs === undefined) return 'closed';
    return this.#options.monotonicMs() < this.probeAtMs ? 'open' : 'half_open';
  }

  /** When it lets a probe through, monotonic ms; 0 while it is closed. */
  get probeAtMs(): number {
    return this.#openedAtMs === undefined ? 0 : this.#openedAtMs + this.#options.breakerOpenMs;
  }

  allows(probe: Probe): boolean {
    const { state } = this;
    return state === 'closed' || (state === 'half_open' && probe.ended === undefined);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openedAtMs = undefined;
  }

  failed(sentAtMs: number): void {
    this.#failures += 1;
    if (this.#failures >= this.#maxFailures) this.open(sentAtMs);
  }

  open(sentAtMs: number): void {
    this.#failures = this.#maxFailures;
    this.#openedAtMs = Math.max(this.#openedAtMs ?? 0, sentAtMs);
  }
}

/** A request that finds out whether something works again; others wait for its end. */
export class Probe {
  #running: PromiseWithResolvers<void> | undefined;

  /** Resolves when the running probe ends; undefined while none is running. */
  get ended(): Promise<void> | undefined {
    return this.#running?.promise;
  }

  start(): void {
    this.#running = Promise.withResolvers();
  }

  release(): void {
    this.#running?.resolve();
    this.#running = undefined;
  }
}
