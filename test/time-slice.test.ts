import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { inSlices, TimeSlice } from '../src/time-slice.ts';

function* holdEventLoop(
  log: string[],
  steps: number,
  stepMs: number,
): Generator<undefined, number> {
  for (let step = 0; step < steps; step += 1) {
    const end = performance.now() + stepMs;
    while (performance.now() < end) continue;
    log.push('step');
    yield;
  }
  return steps;
}

describe('work in slices', () => {
  test('lets other callbacks run once a slice is over', async () => {
    const log: string[] = [];
    const work = inSlices(holdEventLoop(log, 3, 5));
    setImmediate(() => log.push('other'));
    expect(await work).toBe(3);
    expect(log.slice(0, -1)).toContain('other');
  });

  test('does not pause within a slice', async () => {
    const log: string[] = [];
    const work = inSlices(holdEventLoop(log, 100, 0), 60_000);
    setImmediate(() => log.push('other'));
    expect(await work).toBe(100);
    expect(log).not.toContain('other');
  });
});

describe('a slice', () => {
  test.each([
    ['of 3 ms by default', undefined, 3],
    ['of the given length', 20, 20],
  ])('%s is over at its end, and begins again after a pause', async (_, lengthMs, expectedMs) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const slice = new TimeSlice(lengthMs);
    for (let round = 0; round < 2; round += 1) {
      vi.advanceTimersByTime(expectedMs - 1);
      expect(slice.isOver).toBe(false);
      vi.advanceTimersByTime(1);
      expect(slice.isOver).toBe(true);
      await slice.pause();
      expect(slice.isOver).toBe(false);
    }
  });

  test('lets other callbacks run in a pause', async () => {
    const log: string[] = [];
    setImmediate(() => log.push('other'));
    await new TimeSlice(0).pause();
    expect(log).toEqual(['other']);
  });
});
