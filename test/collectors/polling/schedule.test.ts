import { expect, test } from 'vitest';
import { Schedule } from '../../../src/collectors/polling/schedule.ts';

/** When the first polls of a collector start, ms after the process, if each takes that long. */
function starts(intervalMs: number, tookMs: number, random: () => number): readonly number[] {
  let now = 0;
  const schedule = new Schedule({ monotonicMs: () => now }, random);
  now = schedule.firstDelayMs();
  return [0, 1, 2].map(() => {
    schedule.start();
    const startedAt = now;
    now += tookMs;
    now += schedule.nextDelayMs(intervalMs, true);
    return startedAt;
  });
}

test('all clusters are polled at the start, and then at times spread over the interval', () => {
  const clusters = Array.from({ length: 60 }, (_, at) => starts(60_000, 5_000, () => at / 60));
  const firsts = clusters.map(([first = NaN]) => first);
  expect(Math.max(...firsts)).toBeLessThan(1_000);
  const seconds = clusters.map(([, second = NaN]) => Math.floor((second - 57_000) / 6_000));
  expect(new Set(seconds)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
});

test('no cluster is polled sooner than the interval less the jitter', () => {
  for (const share of [0, 0.3, 0.99]) {
    const [first = NaN, second = NaN, third = NaN] = starts(60_000, 5_000, () => share);
    expect(second - first).toBeGreaterThanOrEqual(57_000);
    expect(third - second).toBeGreaterThanOrEqual(57_000);
    expect(third - second).toBeLessThanOrEqual(63_000);
  }
});

test('only the first poll with a result delays the next one', () => {
  const schedule = new Schedule({ monotonicMs: () => 0 }, () => 0.5);
  schedule.start();
  const delays = [false, false, true, true].map((has) => schedule.nextDelayMs(30_000, has));
  expect(delays).toEqual([30_000, 30_000, 45_000, 30_000]);
});

test('a poll that was blocked is retried as soon as possible, and only then', () => {
  let now = 1_000;
  const schedule = new Schedule({ monotonicMs: () => now }, () => 0.5);
  expect(schedule.isDue(30_000)).toBe(true);
  schedule.start();
  schedule.retryIn(16_000);
  expect(schedule.nextDelayMs(30_000, false)).toBe(16_001);
  now += 15_999;
  expect(schedule.isDue(30_000)).toBe(false);
  now += 1;
  expect(schedule.isDue(30_000)).toBe(true);
  schedule.start();
  expect(schedule.isDue(30_000)).toBe(false);
  // The second regular poll comes later by a share of the interval.
  expect(schedule.nextDelayMs(30_000, true)).toBe(45_000);
  expect(schedule.nextDelayMs(30_000, true)).toBe(30_000);
});

test('a retry that is later than the interval changes nothing, and one that is due does not spin', () => {
  const schedule = new Schedule({ monotonicMs: () => 0 }, () => 0.5);
  schedule.start();
  schedule.nextDelayMs(1_000, true);
  schedule.retryIn(5_000);
  expect(schedule.nextDelayMs(1_000, true)).toBe(1_000);
  schedule.retryIn(0);
  expect(schedule.nextDelayMs(1_000, true)).toBe(50);
});
