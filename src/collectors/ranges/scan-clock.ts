/** 2^32 ticks are 2.7 years. */
const TICK_MS = 20;
/** Then ticks are counted from a later time on: 497 days after the start, and each 249 days from then on. */
const MAX_TICK = 2 ** 31;
const KEPT_TICKS = 2 ** 30;

/**
 * Orders what happens to a cluster in ticks of 20 ms, which take 4 bytes a range. An event that must be told from all that
 * came before it gets a tick of its own. Example: a descriptor is requested in tick 7, then a scan begins: that is tick 8,
 * although only 3 ms have passed. Of a descriptor with tick 8 or later it is certain that it was requested after.
 */
export class ScanClock {
  /** The first time that was asked for. */
  #startMs: number | undefined;
  #tick = 1;

  /** The tick of what happens now (monotonic, here and below), at least 1; never less than that of what has happened before. */
  now(nowMs: number): number {
    this.#startMs ??= nowMs;
    this.#tick = Math.max(this.#tick, Math.floor((nowMs - this.#startMs) / TICK_MS) + 1);
    return this.#tick;
  }

  /** Begins to count ticks from a later time on, before they get too large. Returns by how many all ticks have become smaller. */
  rebase(): number {
    if (this.#startMs === undefined || this.#tick < MAX_TICK) return 0;
    const shift = this.#tick - KEPT_TICKS;
    this.#tick -= shift;
    this.#startMs += shift * TICK_MS;
    return shift;
  }

  /** The tick of an event that all before came before. */
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

/** A tick after the clock was rebased; 0 is no tick, and the oldest ones become one. */
export function shifted(tick: number, shift: number): number {
  return tick === 0 ? 0 : Math.max(1, tick - shift);
}
