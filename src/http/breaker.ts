import type { BreakerState, Endpoint } from '../vocabulary.ts';
import type { RequestError } from './errors.ts';

export interface BreakerOptions {
  /** How long it stays open, from the start of the request that opened it. */
  readonly breakerOpenMs: number;
  /** Monotonic clock, ms. */
  readonly monotonicMs: () => number;
}

/** A pause that a server requested by Retry-After. */
export interface Pause {
  readonly untilMs: number;
  /** The response that requested it. */
  readonly error: RequestError;
}

/**
 * Keeps requests away from what failed several times in a row, or what requested a pause. When half open, it lets one trial
 * of each endpoint through at a time: one failing endpoint must not keep the others from trying. After a pause it lets a
 * single trial through.
 */
export class Breaker {
  readonly #maxFailures: number;
  readonly #options: BreakerOptions;
  #failures = 0;
  #openedAtMs: number | undefined;
  #pause: Pause | undefined;
  /** The requests that find out whether it works again. */
  readonly #trials = new Map<Endpoint, PromiseWithResolvers<void>>();

  /** `maxFailures` consecutive failures open it. */
  constructor(maxFailures: number, options: BreakerOptions) {
    this.#maxFailures = maxFailures;
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openedAtMs === undefined && this.#pause === undefined) return 'closed';
    return this.#options.monotonicMs() < this.trialAtMs ? 'open' : 'half_open';
  }

  /** When it lets a trial through, monotonic ms; 0 while it is closed. */
  get trialAtMs(): number {
    return Math.max(this.failedUntilMs, this.#pause?.untilMs ?? 0);
  }

  /** The same without pauses. */
  get failedUntilMs(): number {
    return this.#openedAtMs === undefined ? 0 : this.#openedAtMs + this.#options.breakerOpenMs;
  }

  /** The pause that is not over yet. */
  get pause(): Pause | undefined {
    const isOver = (this.#pause?.untilMs ?? 0) <= this.#options.monotonicMs();
    return isOver ? undefined : this.#pause;
  }

  allows(endpoint: Endpoint): boolean {
    const { state } = this;
    return state === 'closed' || (state === 'half_open' && this.#trialOf(endpoint) === undefined);
  }

  /** Resolves when the running trial that decides for this endpoint ends; undefined while none is running. */
  trialEnded(endpoint: Endpoint): Promise<void> | undefined {
    return this.#trialOf(endpoint)?.promise;
  }

  #trialOf(endpoint: Endpoint): PromiseWithResolvers<void> | undefined {
    const [first] = this.#pause === undefined ? [] : this.#trials.values();
    return this.#trials.get(endpoint) ?? first;
  }

  startTrial(endpoint: Endpoint): void {
    this.#trials.set(endpoint, Promise.withResolvers());
  }

  endTrial(endpoint: Endpoint): void {
    this.#trials.get(endpoint)?.resolve();
    this.#trials.delete(endpoint);
  }

  /** Closes it, but for a pause. */
  succeeded(): void {
    this.#failures = 0;
    this.#openedAtMs = undefined;
    if (this.#pause !== undefined) return;
    for (const endpoint of this.#trials.keys()) this.endTrial(endpoint);
  }

  failed(sentAtMs: number): void {
    this.#failures += 1;
    if (this.#failures >= this.#maxFailures) this.open(sentAtMs);
  }

  open(sentAtMs: number): void {
    this.#failures = this.#maxFailures;
    this.#openedAtMs = Math.max(this.#openedAtMs ?? 0, sentAtMs);
  }

  /** A longer pause is not shortened. */
  startPause(pause: Pause): void {
    if (pause.untilMs > (this.#pause?.untilMs ?? 0)) this.#pause = pause;
  }

  endPause(): void {
    this.#pause = undefined;
  }

  /** To be called after a response that requests no pause: that of an earlier request ends none. */
  endPastPause(): void {
    if (this.pause === undefined) this.endPause();
  }
}
