import { uptime } from 'node:os';

/** The three readings of time. */
export interface Clock {
  /** For timestamps only: it is set, ahead and back. */
  readonly wallMs: () => number;
  /** For every interval and age: it goes on while the host is suspended, and nobody sets it. */
  readonly monotonicMs: () => number;
  /** For how long something took: it stands still while the host is suspended, as timers do. */
  readonly runningMs: () => number;
}

/** Some systems count their uptime in whole seconds: only more than that between two readings is a suspension. */
const GAP_MS = 2_000;
/** A reading of the uptime is good for this much running time. */
const READ_AGAIN_MS = 1;

/**
 * A clock whose monotonic time also counts while the host is suspended: the monotonic time of Linux stands still then, so that old
 * data would be young. The uptime of the host goes on meanwhile, and unlike the wall clock nobody sets it. Example: after an hour of
 * sleep the uptime is 3,600 s ahead. A response that was on its way did not take that time: with a `max_duty` of 0.1 an
 * hour would stretch the interval to ten.
 */
export function createClock(
  wallMs: () => number = Date.now,
  runningMs: () => number = () => performance.now(),
  uptimeMs: () => number = () => uptime() * 1000,
): Clock {
  let lastUptimeMs = uptimeMs();
  let lastMs = runningMs();
  let suspendedMs = 0;
  return {
    wallMs,
    runningMs,
    monotonicMs() {
      const nowMs = runningMs();
      // The uptime takes longer to read than all else that a poll asks of the clock.
      if (nowMs - lastMs < READ_AGAIN_MS) return nowMs + suspendedMs;
      const nowUptimeMs = uptimeMs();
      const gapMs = nowUptimeMs - lastUptimeMs - (nowMs - lastMs);
      if (gapMs > GAP_MS) suspendedMs += gapMs;
      lastUptimeMs = nowUptimeMs;
      lastMs = nowMs;
      return nowMs + suspendedMs;
    },
  };
}

export const SYSTEM_CLOCK: Clock = createClock();

/** Only a wall clock that somebody sets gets a second ahead of the monotonic one at once, or a second behind it. */
const STEP_MS = 1_000;

/**
 * Follows how far the wall clock is set, so that times by it can be moved with it. Example: a problem has lasted for 5 min, since
 * 12:00. The clock is set ahead by an hour: the problem still lasts for 5 min, since 13:00.
 */
export class WallClockSteps {
  #aheadMs: number | undefined;

  /** How far the wall clock was set ahead since the last call, ms, negative where it was set back; 0 while it runs or is adjusted slowly. */
  read(wallMs: number, monotonicMs: number): number {
    const aheadMs = wallMs - monotonicMs;
    const stepMs = aheadMs - (this.#aheadMs ?? aheadMs);
    this.#aheadMs = aheadMs;
    return Math.abs(stepMs) > STEP_MS ? stepMs : 0;
  }
}
