import { DOT, MINUS, NUMERIC, ZERO } from './characters.ts';
import { CUT, type Cursor } from './cursor.ts';

/** A number as RFC 8259 spells it; Number() alone would also take '01', '1.' and '.5'. */
const SPELLING = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** So many digits always make an integer that a double holds exactly. */
const EXACT_DIGITS = 15;

/** The powers of ten that a double holds exactly. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/** Reads the number at the cursor, whose first byte is a digit or a minus, as JSON.parse would. */
export function readNumber(cursor: Cursor): number {
  const { bytes } = cursor;
  let at = cursor.pos;
  const negative = bytes[at] === MINUS;
  if (negative) at++;
  const first = at;
  let value = 0;
  for (let digit = digitAt(bytes, at); digit <= 9; digit = digitAt(bytes, ++at)) {
    value = value * 10 + digit;
  }
  const digits = at - first;
  if (digits > EXACT_DIGITS || digits === 0 || (bytes[first] === ZERO && digits > 1)) {
    return readSlowly(cursor);
  }
  if (NUMERIC[bytes[at] ?? 0] === 1) {
    return bytes[at] === DOT ? readDecimal(cursor, at, value, negative) : readSlowly(cursor);
  }
  if (at >= cursor.end) throw CUT;
  cursor.pos = at;
  return negative ? -value : value;
}

/**
 * The part from the decimal point on. A short decimal is the quotient of two integers that doubles
 * hold exactly, and IEEE division rounds correctly: the result is the one of Number().
 */
function readDecimal(cursor: Cursor, point: number, whole: number, negative: boolean): number {
  const { bytes } = cursor;
  let at = point + 1;
  let value = whole;
  for (let digit = digitAt(bytes, at); digit <= 9; digit = digitAt(bytes, ++at)) {
    value = value * 10 + digit;
  }
  const decimals = at - point - 1;
  const power = POWERS[decimals];
  const isExact = value < 1e15 && decimals > 0 && power !== undefined;
  if (!isExact || NUMERIC[bytes[at] ?? 0] === 1) return readSlowly(cursor);
  if (at >= cursor.end) throw CUT;
  cursor.pos = at;
  return negative ? -(value / power) : value / power;
}

/** 0 to 9, or more when the byte is no digit. */
function digitAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) - ZERO) >>> 0;
}

function readSlowly(cursor: Cursor): number {
  const { bytes } = cursor;
  let at = cursor.pos;
  while (NUMERIC[bytes[at] ?? 0] === 1) at++;
  if (at >= cursor.end) throw CUT;
  const text = bytes.toString('latin1', cursor.pos, at);
  if (!SPELLING.test(text)) cursor.fail('syntax', 'a malformed number');
  cursor.pos = at;
  return Number(text);
}
