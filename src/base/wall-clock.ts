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
