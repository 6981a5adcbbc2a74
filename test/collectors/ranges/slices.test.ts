import { expect, test } from 'vitest';
import { atOnce, inSlices, walk, type Work } from '../../../src/collectors/ranges/slices.ts';

/** Steps that each hold the event loop for longer than a slice. */
function* longSteps(log: string[], steps: number): Work<number> {
  for (let step = 0; step < steps; step += 1) {
    const end = performance.now() + 5;
    while (performance.now() < end) continue;
    log.push('step');
    yield;
  }
  return steps;
}

test('other callbacks run between the slices of long work', async () => {
  const log: string[] = [];
  const work = inSlices(longSteps(log, 3));
  setImmediate(() => log.push('other'));
  expect(await work).toBe(3);
  expect(log.indexOf('other')).toBeLessThan(log.lastIndexOf('step'));
});

test('work that is done at once gives the same result', () => {
  expect(atOnce(longSteps([], 2))).toBe(2);
});

test.each([0, 1, 4_096, 10_000])('a walk over %d slots visits each once, in order', (slots) => {
  const seen: number[] = [];
  atOnce(
    walk(slots, (from, to) => {
      for (let slot = from; slot < to; slot += 1) seen.push(slot);
    }),
  );
  expect(seen).toEqual(Array.from({ length: slots }, (_, slot) => slot));
});
