import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { inSlices } from '../../src/base/time-slice.ts';

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

test.each([
  ['of 3 ms by default', undefined, 3],
  ['of the given length', 20, 20],
])('a slice %s ends in time, and so does the next one', async (_, lengthMs, expectedMs) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const pauses: number[] = [];
  function* work(): Generator<undefined, void> {
    for (let step = 1; step <= 3 * expectedMs; step += 1) {
      vi.advanceTimersByTime(1);
      if (step % expectedMs === 1) setImmediate(() => pauses.push(performance.now()));
      yield;
    }
  }
  const startMs = performance.now();
  await inSlices(work(), lengthMs);
  expect(pauses.map((ms) => ms - startMs)).toEqual([1, 2, 3].map((slice) => slice * expectedMs));
});
