/** A tick. 2^32 ticks are 13 years. */
export const TICK_MS = 100;

/**
 * Orders what happens to a cluster in ticks of 100 ms, which take 4 bytes a range. An event that must be told from all that
 * came before it gets a tick of its own. Example: a descriptor is requested in tick 7, then a scan begins: that is tick 8,
 * although only 30 ms have passed. Of a descriptor with tick 8 or later it is certain that it was requested after.
 */
export class ScanClock {
  /** The first time that was asked for. */
  #startMs: number | undefined;
  #tick = 1;

  /** The tick of what happens now (monotonic, here and below), at least 1; never less than an earlier tick. */
  now(nowMs: number): number {
    this.#startMs ??= nowMs;
    this.#tick = Math.max(this.#tick, Math.floor((nowMs - this.#startMs) / TICK_MS) + 1);
    return this.#tick;
  }

  /** The tick of an event that is later than all events so far. */
  next(nowMs: number): number {
    const before = this.#tick;
    this.#tick = Math.max(this.now(nowMs), before + 1);
    return this.#tick;
  }
}

/** A length of time in ticks. */
export function ticksOf(seconds: number): number {
  return (seconds * 1000) / TICK_MS;
}
