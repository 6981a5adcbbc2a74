import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import {
  formatAgo,
  formatAge,
  quoteArgument,
  formatBytes,
  formatCount,
  formatDuration,
  formatJson,
  formatLine,
  formatList,
  formatNumber,
  formatPercent,
  messageOf,
} from '../../src/base/format.ts';

test.each([
  [0, '0 s'],
  [0.0001, '1 ms'],
  [0.42, '420 ms'],
  [0.999, '999 ms'],
  [0.9994, '1 s'],
  [1, '1 s'],
  [4.52, '4.5 s'],
  [9.96, '10 s'],
  [10.4, '10 s'],
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

test('the text of formatDuration works alone, as the page runs it in browsers', () => {
  const said = runInNewContext(`${formatDuration.toString()}; formatDuration(3_720)`);
  expect(said).toBe('1 h 2 min');
});

test.each([
  [0, '0s'],
  [0.31, '310ms'],
  [9.94, '9.9s'],
  [10.4, '10s'],
  [41, '41s'],
  [61.4, '1m1s'],
  [11_545, '3h12m'],
  [183_600, '2d3h'],
])('%d seconds in a table are %s', (seconds, expected) => {
  expect(formatAge(seconds)).toBe(expected);
});

test('numbers are grouped, and only small ones have decimals', () => {
  const numbers = [0, 0.0004, 0.0416, 0.256, 1, 1.05, 4.12, 12.7, -0.256, 1_234_567.8, Number.NaN];
  expect(numbers.map(formatNumber).join(' ')).toBe(
    '0 0 0.042 0.26 1 1.1 4.1 13 -0.26 1,234,568 NaN',
  );
  expect(formatCount(1_234_567)).toBe('1,234,567');
});

test('a percentage is rounded, but what is begun is not 0 % and what is unfinished not 100 %', () => {
  const ratios = [0, 1e-9, 0.0049, 0.005, 0.456, 0.994, 0.996, 0.999999, 1, 1.004, 1.5];
  expect(ratios.map(formatPercent).join(', ')).toBe(
    '0 %, <1 %, <1 %, 1 %, 46 %, 99 %, >99 %, >99 %, 100 %, 100 %, 150 %',
  );
});

test('numbers of all sizes are written as the format of American English has them', () => {
  const american = new Intl.NumberFormat('en-US');
  const counts = Array.from({ length: 17 }, (_, power) => [
    10 ** power - 1,
    10 ** power,
    -(10 ** power),
  ]);
  for (const count of counts.flat()) expect(formatCount(count)).toBe(american.format(count));
});

test('bytes have the largest unit that fits', () => {
  const sizes = [0, 512, 1023, 1024, 1_536, 1024 ** 2, 5e9, 2e13, 1024 ** 5, 1024 ** 6, -2048];
  expect(sizes.map(formatBytes).join(', ')).toBe(
    '0 B, 512 B, 1,023 B, 1 KiB, 1.5 KiB, 1 MiB, 4.7 GiB, 18 TiB, 1 PiB, 1,024 PiB, -2 KiB',
  );
});

test('a long list is cut, with the number of omitted items', () => {
  expect(formatList([])).toBe('');
  expect(formatList([1])).toBe('1');
  expect(formatList([1, 2])).toBe('1 and 2');
  expect(formatList([1, 2, 3])).toBe('1, 2 and 3');
  const many = Array.from({ length: 300 }, (_, index) => index);
  expect(formatList(many.slice(0, 8))).toBe('0, 1, 2, 3, 4, 5, 6 and 7');
  expect(formatList(many.slice(0, 9))).toBe('0, 1, 2, 3, 4, 5, 6, 7 and 8');
  expect(formatList(many.slice(0, 10))).toBe('0, 1, 2, 3, 4, 5, 6, 7 and 2 more');
  expect(formatList(many)).toBe('0, 1, 2, 3, 4, 5, 6, 7 and 292 more');
});

test('a name in a command is quoted where a shell would read more than a name', () => {
  expect(quoteArgument('prod-1.eu')).toBe('prod-1.eu');
  expect(quoteArgument('a b; rm')).toBe("'a b; rm'");
  expect(quoteArgument("it's $(x)")).toBe(String.raw`'it'\''s $(x)'`);
});

/** A tab, a line break, an escape, text from right to left, and a tag beyond the first plane. */
const OBEYED = 'a  b\tc\nd\u001B\u202E\u{E0041}\u009B é😀';

test('a line of a terminal has its own characters escaped, and tabs as spaces', () => {
  expect(formatLine(OBEYED)).toBe(String.raw`a  b  c\nd\u{1b}\u{202e}\u{e0041}\u{9b} é😀`);
});

test('JSON for a terminal is read back as the same value, on one line or indented', () => {
  const value = { k: OBEYED };
  const text = String.raw`"a  b\tc\nd\u001b\u202e\udb40\udc41\u009b é😀"`;
  expect(formatJson(value)).toBe(`{"k":${text}}`);
  expect(formatJson(value, 2)).toBe(`{\n  "k": ${text}\n}`);
  expect(JSON.parse(formatJson(value))).toEqual(value);
});

test('what was thrown is told by its message, or as text', () => {
  expect([new Error('refused'), 'text', undefined].map(messageOf)).toEqual([
    'refused',
    'text',
    'undefined',
  ]);
});

test.each([
  ['2026-03-01T11:56:00Z', '4 min ago'],
  ['2026-03-01T12:00:07Z', '0 s ago'],
  [undefined, '0 s ago'],
])('at 12:00:00 the time %s is %s', (at, expected) => {
  expect(formatAgo(at, Date.parse('2026-03-01T12:00:00Z'))).toBe(expected);
});
