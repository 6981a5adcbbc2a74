import { isUtf8 } from 'node:buffer';
import { COMMA, DOT, OPEN, OUTSIDE_STRING, QUOTE, type Cursor, NEED_MORE } from './cursor.ts';
import { digitAt, isNumberStart, POWERS, readNumber } from './number.ts';
import { findStringEnd, skipValue } from './skip.ts';
import { parseSlice, readString, StringCache } from './text.ts';

/** Reads the values of one place in a document. */
export interface Reader {
  /** Moves the cursor from the value's first byte to after it; returns the value or WRONG_TYPE. */
  read(cursor: Cursor): unknown;
  /** What an absent or null value means. */
  absent(): unknown;
  /** What replaces a value of the wrong type; undefined if not given. */
  fallback?(): unknown;
}

/** Returned for a value of the wrong type, which was skipped and counted. */
export const WRONG_TYPE: unique symbol = Symbol('wrong type');

const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;

/** Whether the value at the cursor can only be null. */
export function isNull(cursor: Cursor): boolean {
  return cursor.bytes[cursor.pos] === LETTER_N;
}

/** For a value at the cursor that does not begin as expected: it is null, or of the wrong type. */
export function readNullOrWrong(cursor: Cursor, reader: Reader): unknown {
  const isAbsent = isNull(cursor);
  skipValue(cursor);
  return isAbsent ? reader.absent() : countWrong(cursor);
}

/** Counts a value of the wrong type that the cursor has passed. */
export function countWrong(cursor: Cursor): typeof WRONG_TYPE {
  cursor.wrongTypes++;
  return WRONG_TYPE;
}

export function readOrFallback(cursor: Cursor, reader: Reader): unknown {
  const value = reader.read(cursor);
  return value === WRONG_TYPE ? reader.fallback?.() : value;
}

export const integerReader: Reader = {
  read(cursor) {
    if (!isNumberStart(cursor.bytes[cursor.pos])) return readNullOrWrong(cursor, integerReader);
    const value = readNumber(cursor);
    return Number.isInteger(value) ? value : countWrong(cursor);
  },
  absent: () => 0,
};

export const numberReader: Reader = {
  read(cursor) {
    if (!isNumberStart(cursor.bytes[cursor.pos])) return readNullOrWrong(cursor, numberReader);
    const value = readNumber(cursor);
    return Number.isFinite(value) ? value : countWrong(cursor);
  },
  absent: () => 0,
};

export function createStringReader(): Reader {
  const cache = new StringCache();
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== QUOTE) return readNullOrWrong(cursor, reader);
      return readString(cursor, cache) ?? countWrong(cursor);
    },
    absent: () => '',
  };
  return reader;
}

export const booleanReader: Reader = {
  read(cursor) {
    const first = cursor.bytes[cursor.pos];
    if (first !== LETTER_T && first !== LETTER_F) return readNullOrWrong(cursor, booleanReader);
    skipValue(cursor);
    return first === LETTER_T;
  },
  absent: () => false,
};

export const timeReader: Reader = {
  read(cursor) {
    if (cursor.bytes[cursor.pos] !== QUOTE) return readNullOrWrong(cursor, timeReader);
    const time = readTime(cursor);
    if (Number.isNaN(time)) return countWrong(cursor);
    return time === ZERO_TIME_MS ? undefined : time;
  },
  absent: () => undefined,
};

export const rawReader: Reader = {
  read(cursor) {
    const start = cursor.pos;
    skipValue(cursor);
    const bytes = cursor.bytes.subarray(start, cursor.pos);
    if (!isUtf8(bytes)) return countWrong(cursor);
    cursor.countItems(countSeparators(bytes));
    return parseSlice(cursor, start, cursor.pos, 'a malformed value');
  },
  absent: () => undefined,
};

/** At least the number of values inside a value: separators in its strings count, too. */
function countSeparators(bytes: Buffer): number {
  const [first = 0] = bytes;
  if (OUTSIDE_STRING[first] !== OPEN) return 0;
  let count = 0;
  for (const byte of bytes) if (byte === COMMA || OUTSIDE_STRING[byte] === OPEN) count++;
  return count;
}

/** Like `inner`, but undefined when the value is absent or null. */
export function createOptionalReader(inner: Reader): Reader {
  return {
    read(cursor) {
      if (!isNull(cursor)) return inner.read(cursor);
      skipValue(cursor);
      return undefined;
    },
    absent: () => undefined,
  };
}

const DASH = 0x2d;
const PLUS = 0x2b;
/** T, between date and time. */
const DATE_END = 0x54;
const UTC = 0x5a;

const DAY_MS = 86_400_000;

/** Days from 1 March of the year 0 to the epoch. */
const EPOCH_DAY = 719_468;

/** `2006-01-02T15:04:05` and `+02:00`. */
const DATE_TIME_BYTES = 19;
const OFFSET_BYTES = 6;
const MAX_DECIMALS = 9;

/** Go's zero time, 0001-01-01T00:00:00Z, which stands for "none". */
const ZERO_TIME_MS = -62_135_596_800_000;

/** Reads the string at the cursor as RFC 3339 time in milliseconds since the epoch, or NaN. */
function readTime(cursor: Cursor): number {
  const start = cursor.pos;
  const after = findStringEnd(cursor, start + 1);
  if (after < 0) throw NEED_MORE;
  cursor.pos = after;
  const time = parseTime(cursor.bytes, start + 1, after - 1);
  if (!Number.isNaN(time)) return time;
  // With its escapes decoded it may still be a time.
  cursor.pos = start;
  const text = Buffer.from(readString(cursor) ?? '');
  return parseTime(text, 0, text.length);
}

function parseTime(bytes: Uint8Array, start: number, end: number): number {
  const dateTime = parseDateTime(bytes, start);
  let at = start + DATE_TIME_BYTES;
  let fraction = 0;
  if (bytes[at] === DOT) {
    const first = ++at;
    for (; digitAt(bytes, at) <= 9 && at < end; at++) fraction = fraction * 10 + digitAt(bytes, at);
    const decimals = at - first;
    if (decimals === 0 || decimals > MAX_DECIMALS) return NaN;
    fraction = (fraction * 1000) / (POWERS[decimals] ?? NaN);
  }
  return dateTime + fraction - parseOffset(bytes, at, end);
}

function parseDateTime(bytes: Uint8Array, at: number): number {
  const hasSeparators =
    bytes[at + 4] === DASH &&
    bytes[at + 7] === DASH &&
    bytes[at + 10] === DATE_END &&
    bytes[at + 13] === 0x3a &&
    bytes[at + 16] === 0x3a;
  if (!hasSeparators) return NaN;
  const year = twoDigits(bytes, at) * 100 + twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  const hour = twoDigits(bytes, at + 11);
  const minute = twoDigits(bytes, at + 14);
  const second = twoDigits(bytes, at + 17);
  const isInRange =
    month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59 && second <= 59;
  if (!isInRange || (day > 28 && day > daysInMonth(year, month))) return NaN;
  const seconds = (hour * 60 + minute) * 60 + second;
  return dayNumber(year, month, day) * DAY_MS + seconds * 1000;
}

/** Milliseconds east of UTC: `Z`, `+02:00` or `-05:30`; NaN for anything else. */
function parseOffset(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] === UTC && at + 1 === end) return 0;
  const sign = bytes[at] === PLUS ? 1 : bytes[at] === DASH ? -1 : NaN;
  if (at + OFFSET_BYTES !== end || bytes[at + 3] !== 0x3a) return NaN;
  const hours = twoDigits(bytes, at + 1);
  const minutes = twoDigits(bytes, at + 4);
  return hours <= 23 && minutes <= 59 ? sign * (hours * 60 + minutes) * 60_000 : NaN;
}

/**
 * Days since the epoch. Counted in years that begin on 1 March, so that the leap day is the last
 * one; from there the months have 31, 30, 31, 30, 31 days twice and once more, or 153 days in 5
 * months. Date.UTC would do the same three times as slowly, and misreads years below 100.
 */
function dayNumber(year: number, month: number, day: number): number {
  const monthFromMarch = (month + 9) % 12;
  const years = monthFromMarch >= 10 ? year - 1 : year;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  const daysBefore = Math.floor((153 * monthFromMarch + 2) / 5);
  return 365 * years + leapDays + daysBefore + day - 1 - EPOCH_DAY;
}

function daysInMonth(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** Two digits as a number, NaN when they are not digits. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = digitAt(bytes, at);
  const ones = digitAt(bytes, at + 1);
  return tens <= 9 && ones <= 9 ? tens * 10 + ones : NaN;
}
