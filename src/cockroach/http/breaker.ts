import type { BreakerState } from '#base';
import { POLICY } from './retry-policy.ts';

export interface BreakerOptions {
  /** How long it stays open, from the start of the request that opened it. */
  readonly breakerOpenMs: number;
  /** Running time, ms. */
  readonly runningMs: () => number;
}

/** A pause that a server requested by Retry-After, or that a node is given after it did not respond. */
interface Pause {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The response that requested it, or the silence of the node: requests fail with it until the pause is over. */
  readonly error: Error;
}

/**
 * Keeps requests away from what failed several times in a row, or what is paused. Example: three requests to an endpoint
 * fail, the last one was sent at 20 s. With `breakerOpenMs` of 9 s no request is sent until 29 s; then it is half open: one
 * success closes it, one failure opens it again.
 */
export class Breaker {
  readonly #maxFailures: number;
  readonly #options: BreakerOptions;
  #failures = 0;
  #failedUntilMs = 0;
  #pause: Pause | undefined;

  /** `maxFailures` consecutive failures open it. */
  constructor(maxFailures: number, options: BreakerOptions) {
    this.#maxFailures = maxFailures;
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.openUntilMs === 0) return 'closed';
    return this.#options.runningMs() < this.openUntilMs ? 'open' : 'half_open';
  }

  /** Until when failures or a pause keep it open, running ms; 0 while it is closed. */
  get openUntilMs(): number {
    return Math.max(this.#failedUntilMs, this.#pause?.untilMs ?? 0);
  }

  /** Until when failures alone keep it open. */
  get failedUntilMs(): number {
    return this.#failedUntilMs;
  }

  /** The pause that is not over yet. */
  get pause(): Pause | undefined {
    const isOver = (this.#pause?.untilMs ?? 0) <= this.#options.runningMs();
    return isOver ? undefined : this.#pause;
  }

  /**
   * Call when a request is sent: after a pause it is a trial, and the next one is let through 5 s later. A pause that is not
   * over stays as it is: the request belongs to a round that had begun before it.
   */
  requestSent(): void {
    const nowMs = this.#options.runningMs();
    if (this.#pause === undefined || nowMs < this.#pause.untilMs) return;
    this.#pause = { ...this.#pause, untilMs: nowMs + POLICY.trialIntervalMs };
  }

  /** Closes it, unless there is a pause. */
  succeeded(): void {
    this.#failures = 0;
    this.#failedUntilMs = 0;
  }

  failed(sentAtMs: number): void {
    this.#failures += 1;
    if (this.#failures >= this.#maxFailures) this.open(sentAtMs);
  }

  /** Opens it from the start of a request on, whatever came before. */
  open(sentAtMs: number): void {
    this.#failures = this.#maxFailures;
    this.#failedUntilMs = Math.max(this.#failedUntilMs, sentAtMs + this.#options.breakerOpenMs);
  }

  /** A longer pause is not shortened. */
  startPause(error: Error, lengthMs: number): void {
    const sinceMs = this.#options.runningMs();
    const untilMs = sinceMs + lengthMs;
    if (untilMs > (this.#pause?.untilMs ?? 0)) this.#pause = { sinceMs, untilMs, error };
  }

  /** Ends the pause after a response that requests none; one to a request from before the pause proves nothing. */
  endPause(sentAtMs: number): void {
    if (this.#pause !== undefined && sentAtMs > this.#pause.sinceMs) this.#pause = undefined;
  }
}
