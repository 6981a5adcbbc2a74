import type { Clock } from '../../src/base/clock.ts';

/** Both clocks of the exporter under test, which the trial can move. */
export interface Clocks {
  readonly clock: Clock;
  /** The wall clock is set again: that many milliseconds from the true time. */
  setWall(offsetMs: number): void;
  /** Time passes that nobody has to wait for: the monotonic clock goes on by that much. */
  pass(milliseconds: number): void;
  /** What the monotonic clock said when the wall clock said this; each offset is used by one seed once. */
  monotonicAt(wallMs: number): number;
}

/** Offsets further apart than a trial is long, what passes in it included, so that a wall time tells which of them was in force. */
export const WALL_OFFSETS_MS = [0, -3_600_000, 3_600_000, 90_000_000, -90_000_000] as const;

export function createClocks(): Clocks {
  const baseMs = Date.now();
  const startedAt = performance.now();
  let offsetMs = 0;
  let passedMs = 0;
  const elapsed = (): number => performance.now() - startedAt + passedMs;
  return {
    clock: {
      wallMs: () => baseMs + elapsed() + offsetMs,
      monotonicMs: elapsed,
      runningMs: elapsed,
    },
    setWall(offset) {
      offsetMs = offset;
    },
    pass(milliseconds) {
      passedMs += milliseconds;
    },
    monotonicAt(wallMs) {
      const ages = WALL_OFFSETS_MS.map((offset) => wallMs - baseMs - offset);
      const found = ages.find((age) => age > -1 && age < elapsed() + 1);
      if (found === undefined) throw new Error(`${wallMs} is no time of this trial`);
      return found;
    },
  };
}
