import { isDue, nextDelayMs, phaseMs, retryDelayMs } from './schedule.ts';

/** When one collector polls: intervals run from start to start, a poll that was kept from asking is tried again sooner. */
export class Timetable {
  readonly #clock: { readonly monotonicMs: () => number };
  readonly #random: () => number;
  #beganAtMs: number | undefined;
  /** When breakers that kept the last poll from asking let it ask. */
  #retryAtMs: number | undefined;
  #isPhased = false;

  constructor(clock: { readonly monotonicMs: () => number }, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** When the last poll began, monotonic ms. */
  get beganAtMs(): number | undefined {
    return this.#beganAtMs;
  }

  /** A poll begins now. */
  begin(): number {
    this.#retryAtMs = undefined;
    this.#beganAtMs = this.#clock.monotonicMs();
    return this.#beganAtMs;
  }

  /** The poll that has just begun could not ask; undefined when it could. */
  retryIn(milliseconds: number | undefined): void {
    if (milliseconds !== undefined) this.#retryAtMs = this.#clock.monotonicMs() + milliseconds;
  }

  isDue(intervalMs: number): boolean {
    if (this.#beganAtMs === undefined) return true;
    const now = this.#clock.monotonicMs();
    if (this.#retryAtMs !== undefined && now >= this.#retryAtMs) return true;
    return isDue(now - this.#beganAtMs, intervalMs);
  }

  /** Pause until the next poll; the second one comes later by a share of the interval. */
  nextDelayMs(intervalMs: number): number {
    const now = this.#clock.monotonicMs();
    const delayMs = nextDelayMs(intervalMs, now - (this.#beganAtMs ?? 0), this.#random);
    const retryMs = retryDelayMs(intervalMs, (this.#retryAtMs ?? Infinity) - now);
    if (retryMs < delayMs) return retryMs;
    const isSecond = !this.#isPhased;
    this.#isPhased = true;
    return isSecond ? delayMs + phaseMs(intervalMs, this.#random) : delayMs;
  }
}
