import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createClock, SYSTEM_CLOCK } from '../../src/base/clock.ts';

/** Seconds between two looks at a clock, by these clocks of the host: each step by the wall, for the process, and by the uptime. */
function readAfter(
  steps: readonly (readonly [wall: number, running: number, uptime: number])[],
): number {
  let [wall, running, uptime] = [1_700_000_000_000, 5_000, 90_000];
  const clock = createClock(
    () => wall,
    () => running,
    () => uptime,
  );
  const before = clock.monotonicMs();
  for (const [wallSeconds, seconds, uptimeSeconds] of steps) {
    wall += wallSeconds * 1_000;
    running += seconds * 1_000;
    uptime += uptimeSeconds * 1_000;
    clock.monotonicMs();
  }
  return (clock.monotonicMs() - before) / 1_000;
}

describe('the clock of a host', () => {
  test.each([
    ['that runs', [[30, 30, 30] as const, [5, 5, 5] as const], 35],
    [
      'that was suspended for an hour',
      [[30, 30, 30] as const, [3_600, 0.5, 3_600] as const],
      3_630,
    ],
    ['whose wall clock is set ahead by ten minutes', [[630, 30, 30] as const], 30],
    ['whose wall clock is set back', [[10, 10, 10] as const, [-7_200, 10, 10] as const], 20],
    [
      'that was suspended for an hour, with a wall clock that is set back',
      [[-3_600, 1, 3_601] as const],
      3_601,
    ],
    [
      'that counts its uptime in whole seconds',
      Array.from({ length: 100 }, (_, at) => [0.3, 0.3, at % 3 === 0 ? 1 : 0] as const),
      30,
    ],
    ['whose uptime begins again', [[10, 10, -90] as const, [10, 10, 10] as const], 20],
  ])('%s', (_what, steps, expected) => {
    expect(readAfter(steps)).toBeCloseTo(expected, 3);
  });

  test('never goes back, and never with the wall clock', () => {
    const step = fc.tuple(fc.integer(), fc.nat(1e6), fc.integer());
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let [wall, running, uptime] = [0, 0, 0];
        const clock = createClock(
          () => wall,
          () => running,
          () => uptime,
        );
        let last = clock.monotonicMs();
        for (const [wallStep, runningStep, uptimeStep] of steps) {
          wall += wallStep;
          expect(clock.monotonicMs()).toBe(last);
          running += runningStep;
          uptime += uptimeStep;
          const now = clock.monotonicMs();
          expect(now - last).toBeGreaterThanOrEqual(runningStep);
          last = now;
        }
      }),
    );
  });

  test('is that of this host: it goes on with the timers', () => {
    const { monotonicMs, runningMs } = SYSTEM_CLOCK;
    const [first, running] = [monotonicMs(), runningMs()];
    while (runningMs() < running + 30);
    expect(monotonicMs() - first).toBeGreaterThanOrEqual(30);
  });
});
