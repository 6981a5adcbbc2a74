import { expect, test } from 'vitest';
import { Timetable } from '../../src/poll/timetable.ts';

test('a poll that was kept from asking is tried again as soon as it may, and only then', () => {
  let now = 1_000;
  const timetable = new Timetable({ monotonicMs: () => now }, () => 0.5);
  expect(timetable.isDue(30_000)).toBe(true);
  timetable.begin();
  timetable.retryIn(16_000);
  expect(timetable.nextDelayMs(30_000)).toBe(16_001);
  now += 15_999;
  expect(timetable.isDue(30_000)).toBe(false);
  now += 1;
  expect(timetable.isDue(30_000)).toBe(true);
  timetable.begin();
  timetable.retryIn(undefined);
  expect(timetable.isDue(30_000)).toBe(false);
  // The second regular poll is the one that comes later by a share of the interval.
  expect(timetable.nextDelayMs(30_000)).toBe(45_000);
  expect(timetable.nextDelayMs(30_000)).toBe(30_000);
});

test('a trial that is later than the interval changes nothing, and one that is due does not spin', () => {
  const timetable = new Timetable({ monotonicMs: () => 0 }, () => 0.5);
  timetable.begin();
  timetable.nextDelayMs(1_000);
  timetable.retryIn(5_000);
  expect(timetable.nextDelayMs(1_000)).toBe(1_000);
  timetable.retryIn(0);
  expect(timetable.nextDelayMs(1_000)).toBe(50);
});
