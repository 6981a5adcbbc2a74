import { describe, expect, test } from 'vitest';
import { inSlices } from '../src/time-slice.ts';

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
