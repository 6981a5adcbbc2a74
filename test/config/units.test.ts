import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeBytes, writeDuration, parseBytes, parseDuration } from '../../src/config/values.ts';

test.each([
  ['0', 0],
  ['0s', 0],
  ['500ms', 0.5],
  ['1500ms', 1.5],
  ['30s', 30],
  ['90s', 90],
  ['1m30s', 90],
  ['5m', 300],
  ['1h1m1s1ms', 3661.001],
  ['6h', 21_600],
  ['1d', 86_400],
  ['2w', 1_209_600],
  ['1y', 31_536_000],
])('the duration %s is %d seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

const NO_DURATIONS = [
  '',
  '1',
  '30',
  's',
  '-1s',
  '+1s',
  '1.5s',
  '1 s',
  ' 1s',
  '1s ',
  '1s1m',
  '1s1s',
];
test.each([...NO_DURATIONS, '1µs', '1S', '0x1s', '1e3s'])('the text %j is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each([
  [0, '0s'],
  [0.25, '250ms'],
  [90, '1m30s'],
  [3600, '1h'],
  [86_400, '1d'],
  [694_861.5, '8d1h1m1s500ms'],
])('%d seconds are written %s', (seconds, text) => {
  expect(writeDuration(seconds)).toBe(text);
});

test.each([
  ['0B', 0],
  ['100B', 100],
  ['16KiB', 16_384],
  ['512MiB', 536_870_912],
  ['2GiB', 2_147_483_648],
  ['1TiB', 1_099_511_627_776],
])('the size %s is %d bytes', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
  expect(writeBytes(bytes)).toBe(text);
});

test.each(['', '1', '1024', '2GB', '2gib', '1.5GiB', '-1B', '1 MiB', 'MiB', '1MiB1KiB'])(
  'the text %j is no size',
  (text) => {
    expect(parseBytes(text)).toBeUndefined();
  },
);

test('every duration of whole milliseconds and every size is read back as it was written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (count) => {
      expect(parseDuration(writeDuration(count / 1000))).toBe(count / 1000);
      expect(parseBytes(writeBytes(count))).toBe(count);
    }),
  );
});
