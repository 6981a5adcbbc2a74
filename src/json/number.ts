import { DOT, MINUS, NINE, NUMERIC, ZERO, NEED_MORE, type Cursor } from './cursor.ts';

/** A number as RFC 8259 spells it; Number() alone would also accept '01', '1.' and '.5'. */
const SPELLING = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A double holds every integer of that many digits exactly. */
const MAX_EXACT_DIGITS = 15;
const FULL = 10 ** (MAX_EXACT_DIGITS - 1);

/** Below this, four more digits fit. */
const ALMOST_FULL = 10 ** (MAX_EXACT_DIGITS - 4);

/** The powers of ten that a double holds exactly. */
export const POWERS: readonly number[] = Array.from({ length: 23 }, (_, exponent) =>
  Number(`1e${exponent}`),
);

/** A number with more decimals, or more digits after the first 15, is parsed as text. */
const MAX_DECIMALS = POWERS.length - 1;
const MAX_TAIL_DIGITS = 7;

export function isNumberStart(byte: number | undefined): boolean {
  return byte === MINUS || (byte !== undefined && byte >= ZERO && byte <= NINE);
}

/**
 * Reads the number at the cursor, whose first byte is a digit or a minus, as JSON.parse would:
 * common spellings directly, all others as text.
 */
export function readNumber(cursor: Cursor): number {
  const { bytes, view } = cursor;
  let at = cursor.pos;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at++;
  const first = at;
  let value = 0;
  let word = view.getInt32(at, true);
  for (; value < ALMOST_FULL && areDigits(word); word = view.getInt32((at += 4), true)) {
    value = value * 10_000 + fourDigits(word);
  }
  for (let digit = digitAt(bytes, at); digit <= 9; digit = digitAt(bytes, ++at)) {
    value = value * 10 + digit;
  }
  const digits = at - first;
  if (digits > MAX_EXACT_DIGITS || digits === 0 || (digits > 1 && bytes[first] === ZERO)) {
    return readAsText(cursor);
  }
  if (bytes[at] === DOT) return readDecimal(cursor, at, value, isNegative);
  if (NUMERIC[bytes[at] ?? 0] === 1) return readAsText(cursor);
  if (at >= cursor.end) throw NEED_MORE;
  cursor.pos = at;
  return isNegative ? -value : value;
}

/** A number whose integer part `whole` is read and whose decimal point is at `point`. */
function readDecimal(cursor: Cursor, point: number, whole: number, isNegative: boolean): number {
  const { bytes, view } = cursor;
  let at = point + 1;
  let head = whole;
  let word = view.getInt32(at, true);
  for (; head < ALMOST_FULL && areDigits(word); word = view.getInt32((at += 4), true)) {
    head = head * 10_000 + fourDigits(word);
  }
  let digit = digitAt(bytes, at);
  for (; digit <= 9 && head < FULL; digit = digitAt(bytes, ++at)) head = head * 10 + digit;
  const headEnd = at;
  let tail = 0;
  for (; digit <= 9; digit = digitAt(bytes, ++at)) tail = tail * 10 + digit;
  const decimals = at - point - 1;
  const isCommon = decimals > 0 && decimals <= MAX_DECIMALS && at - headEnd <= MAX_TAIL_DIGITS;
  if (!isCommon || NUMERIC[bytes[at] ?? 0] === 1) return readAsText(cursor);
  const value = scaleDown(head, at - headEnd, tail, decimals);
  if (Number.isNaN(value)) return readAsText(cursor);
  if (at >= cursor.end) throw NEED_MORE;
  cursor.pos = at;
  return isNegative ? -value : value;
}

function readAsText(cursor: Cursor): number {
  const { bytes } = cursor;
  let at = cursor.pos;
  while (NUMERIC[bytes[at] ?? 0] === 1) at++;
  if (at >= cursor.end) throw NEED_MORE;
  const text = bytes.toString('latin1', cursor.pos, at);
  if (!SPELLING.test(text)) cursor.fail('syntax', 'a malformed number');
  cursor.pos = at;
  return Number(text);
}

/** Four zeros; the upper halves of digits; what added to a digit keeps its upper half. */
const ZEROS = 0x30303030;
const UPPER_HALVES = 0xf0f0f0f0 | 0;
const SIXES = 0x06060606;

/** 0 to 9, or more when the byte is no digit. */
export function digitAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) - ZERO) >>> 0;
}

/** Whether the four bytes of a word, read as a little-endian integer, are all digits. */
export function areDigits(word: number): boolean {
  return (word & UPPER_HALVES) === ZEROS && ((word + SIXES) & UPPER_HALVES) === ZEROS;
}

/** The value of four digits; the first is the lowest byte. */
function fourDigits(word: number): number {
  const digits = word - ZEROS;
  // Neighbours are joined to two numbers below 100, and these to one.
  const pairs = digits * 10 + (digits >>> 8);
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff);
}

/** Splits a double into two halves of 26 bits, whose products are exact (Veltkamp). */
const SPLITTER = 2 ** 27 + 1;

/** Likewise an integer below 2^50. */
const HALF = 2 ** 25;

/** More than the rounding errors of the correction can amount to, relative to the quotient. */
const MAX_RELATIVE_ERROR = 2 ** -98;

/**
 * head · 10^tailDigits + tail, divided by 10^decimals and correctly rounded, as Number() would give
 * it; NaN in the very rare case that the rounding is uncertain. `head` is an integer below 10^15.
 *
 * Servers write floating-point numbers with up to 17 digits, more than a double holds as an
 * integer. Parsing each as text would cost more than reading all the rest. So the dividend is kept
 * as the sum of two doubles, the remainder of their quotient is computed exactly, and the
 * correction that follows from it is added (Dekker's method).
 */
function scaleDown(head: number, tailDigits: number, tail: number, decimals: number): number {
  const divisor = POWERS[decimals] ?? NaN;
  // Two integers of 53 bits at most: IEEE division rounds correctly.
  if (tailDigits === 0) return head / divisor;
  const scale = POWERS[tailDigits] ?? NaN;
  const upper = Math.floor(head / HALF) * HALF;
  // Both products are exact, as their factors have 25 significant bits.
  const large = upper * scale;
  const small = (head - upper) * scale + tail;
  const dividend = large + small;
  const dividendError = small - (dividend - large);
  const quotient = dividend / divisor;
  const correction =
    (dividend - quotient * divisor - productError(quotient, divisor) + dividendError) / divisor;
  const maxError = quotient * MAX_RELATIVE_ERROR;
  const result = quotient + (correction - maxError);
  return result === quotient + (correction + maxError) ? result : NaN;
}

/** What must be added to the rounded product to make it exact. */
function productError(a: number, b: number): number {
  const aHigh = upperHalf(a);
  const aLow = a - aHigh;
  const bHigh = upperHalf(b);
  const bLow = b - bHigh;
  return aHigh * bHigh - a * b + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

function upperHalf(value: number): number {
  const shifted = value * SPLITTER;
  return shifted - (shifted - value);
}
