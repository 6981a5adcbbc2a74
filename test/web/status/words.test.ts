import { expect, test } from 'vitest';
import {
  sayArgument,
  sayBytes,
  sayDuration,
  sayList,
  sayNumber,
  sayPercent,
  sayRoughly,
} from '../../../src/web/status/words.ts';

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
])('%d seconds are said as %s', (seconds, said) => {
  expect(sayDuration(seconds)).toBe(said);
});

test('where there is little room, the larger unit says enough', () => {
  expect(sayRoughly(11_520)).toBe('3 h');
});

test('numbers are grouped, and only small ones have a decimal', () => {
  expect([0.25, 4, 12.7, 1_234_567].map(sayNumber)).toEqual(['0.3', '4', '13', '1,234,567']);
  expect(sayPercent(0.456)).toBe('46 %');
});

test('bytes are said in the unit that fits', () => {
  expect([0, 512, 1_536, 5e9, 2e13].map(sayBytes)).toEqual([
    '0 B',
    '512 B',
    '1.5 KiB',
    '4.7 GiB',
    '18,626 GiB',
  ]);
});

test('a long list is cut, and says how much is missing', () => {
  expect(sayList([1])).toBe('1');
  expect(sayList([1, 2])).toBe('1 and 2');
  expect(sayList([1, 2, 3])).toBe('1, 2 and 3');
  expect(sayList(Array.from({ length: 300 }, (_, index) => index))).toBe(
    '0, 1, 2, 3, 4, 5, 6, 7 and 292 more',
  );
});

test('a name in a command is quoted where a shell would read more than a name', () => {
  expect(sayArgument('prod-1.eu')).toBe('prod-1.eu');
  expect(sayArgument('a b; rm')).toBe("'a b; rm'");
  expect(sayArgument("it's $(x)")).toBe(String.raw`'it'\''s $(x)'`);
});
