import type { BreakerState, Endpoint } from '../vocabulary.ts';

export interface BreakerOptions {
  /** How long it stays open, from the start of the request that opened it. */
  readonly breakerOpenMs: number;
  /** Monotonic clock, ms. */
  readonly monotonicMs: () => number;
}

/**
 * Keeps requests away from what failed several times in a row. When half open, it lets one probe of each endpoint through
 * at a time: one failing endpoint must not keep the others from trying.
 */
export class Breaker {
  readonly #maxFailures: number;
  readonly #options: BreakerOptions;
  #failures = 0;
  #openedAtMs: number | undefined;
  /** The requests that find out whether it works again. */
  readonly #probes = new Map<Endpoint, PromiseWithResolvers<void>>();

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

  allows(endpoint: Endpoint): boolean {
    const { state } = this;
    return state === 'closed' || (state === 'half_open' && !this.#probes.has(endpoint));
  }

  /** Resolves when the running probe of this endpoint ends; undefined while none is running. */
  probeEnded(endpoint: Endpoint): Promise<void> | undefined {
    return this.#probes.get(endpoint)?.promise;
  }

  startProbe(endpoint: Endpoint): void {
    this.#probes.set(endpoint, Promise.withResolvers());
  }

  endProbe(endpoint: Endpoint): void {
    this.#probes.get(endpoint)?.resolve();
    this.#probes.delete(endpoint);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openedAtMs = undefined;
    for (const endpoint of this.#probes.keys()) this.endProbe(endpoint);
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
