import { expect, test } from 'vitest';
import {
  formatAge,
  quoteArgument,
  formatBytes,
  formatDuration,
  formatList,
  formatNumber,
  formatPercent,
  formatRoughly,
} from '../src/format.ts';

test.each([
  [0, '0 s'],
  [0.0001, '1 ms'],
  [0.42, '420 ms'],
  [1, '1 s'],
  [4.52, '4.5 s'],
  [9.96, '10 s'],
  [59, '59 s'],
  [60, '1 min'],
  [61.4, '1 min 1 s'],
  [3_600, '1 h'],
  [3_605, '1 h'],
  [11_520, '3 h 12 min'],
  [183_600, '2 d 3 h'],
])('%d seconds is formatted as %s', (seconds, said) => {
  expect(formatDuration(seconds)).toBe(said);
});

test('a rough duration has its larger unit only', () => {
  expect(formatRoughly(11_520)).toBe('3 h');
});

test.each([
  [0.31, '0.3s'],
  [41, '41s'],
  [61.4, '1m1s'],
  [11_545, '3h12m'],
  [183_600, '2d3h'],
])('%d seconds in a table are %s', (seconds, expected) => {
  expect(formatAge(seconds)).toBe(expected);
});

test('numbers are grouped, and only small ones have decimals', () => {
  expect([0, 0.041, 0.25, 4.12, 12.7, 1_234_567.8].map(formatNumber)).toEqual([
    '0',
    '0.041',
    '0.25',
    '4.1',
    '13',
    '1,234,568',
  ]);
  expect(formatPercent(0.456)).toBe('46 %');
});

test('bytes have the largest unit that fits', () => {
  expect([0, 512, 1_536, 5e9, 2e13].map(formatBytes)).toEqual([
    '0 B',
    '512 B',
    '1.5 KiB',
    '4.7 GiB',
    '18 TiB',
  ]);
});

test('a long list is cut, with the number of omitted items', () => {
  expect(formatList([1])).toBe('1');
  expect(formatList([1, 2])).toBe('1 and 2');
  expect(formatList([1, 2, 3])).toBe('1, 2 and 3');
  expect(formatList(Array.from({ length: 300 }, (_, index) => index))).toBe(
    '0, 1, 2, 3, 4, 5, 6, 7 and 292 more',
  );
});

test('a name in a command is quoted where a shell would read more than a name', () => {
  expect(quoteArgument('prod-1.eu')).toBe('prod-1.eu');
  expect(quoteArgument('a b; rm')).toBe("'a b; rm'");
  expect(quoteArgument("it's $(x)")).toBe(String.raw`'it'\''s $(x)'`);
});
