import { expect, test } from 'vitest';
import { firstDelayMs, nextDelayMs, phaseMs } from '../../src/poll/schedule.ts';

/** When the first polls of a collector begin, ms after the start, if each takes that long. */
function beginnings(intervalMs: number, tookMs: number, random: () => number): readonly number[] {
  const first = firstDelayMs(random);
  const second =
    first + tookMs + nextDelayMs(intervalMs, tookMs, random) + phaseMs(intervalMs, random);
  return [first, second, second + tookMs + nextDelayMs(intervalMs, tookMs, random)];
}

test('all clusters are asked at the start, and then at times spread over the interval', () => {
  const clusters = Array.from({ length: 60 }, (_, at) => beginnings(60_000, 5_000, () => at / 60));
  const firsts = clusters.map(([first = NaN]) => first);
  expect(Math.max(...firsts)).toBeLessThan(1_000);
  const seconds = clusters.map(([, second = NaN]) => Math.floor((second - 57_000) / 6_000));
  expect(new Set(seconds)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
});

test('no cluster is asked sooner than the interval less the drift', () => {
  for (const share of [0, 0.3, 0.99]) {
    const [first = NaN, second = NaN, third = NaN] = beginnings(60_000, 5_000, () => share);
    expect(second - first).toBeGreaterThanOrEqual(57_000);
    expect(third - second).toBeGreaterThanOrEqual(57_000);
    expect(third - second).toBeLessThanOrEqual(63_000);
  }
});

test('a poll that takes longer than the interval is followed by the next one at once', () => {
  expect(nextDelayMs(1_000, 5_000, () => 0.5)).toBe(0);
});
