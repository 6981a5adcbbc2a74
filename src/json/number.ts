import { DOT, MINUS, NUMERIC, ZERO } from './characters.ts';
import { CUT, type Cursor } from './cursor.ts';
import { areDigits, digitAt, fourDigits } from './digits.ts';
import { MOST_DECIMALS, MOST_TAIL_DIGITS, scaleDown } from './decimal.ts';

/** A number as RFC 8259 spells it; Number() alone would also take '01', '1.' and '.5'. */
const SPELLING = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** So many digits always make an integer that a double holds exactly. */
const EXACT_DIGITS = 15;
const FULL = 10 ** (EXACT_DIGITS - 1);

/** Below this, four more digits can be taken in. */
const ALMOST_FULL = 10 ** (EXACT_DIGITS - 4);

/**
 * Reads the number at the cursor, whose first byte is a digit or a minus, as JSON.parse would:
 * what is common by hand, everything else by way of text.
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
  if (digits > EXACT_DIGITS || digits === 0 || (digits > 1 && bytes[first] === ZERO)) {
    return readSlowly(cursor);
  }
  if (bytes[at] === DOT) return readDecimal(cursor, at, value, isNegative);
  if (NUMERIC[bytes[at] ?? 0] === 1) return readSlowly(cursor);
  if (at >= cursor.end) throw CUT;
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
  const isCommon = decimals > 0 && decimals <= MOST_DECIMALS && at - headEnd <= MOST_TAIL_DIGITS;
  if (!isCommon || NUMERIC[bytes[at] ?? 0] === 1) return readSlowly(cursor);
  const value = scaleDown(head, at - headEnd, tail, decimals);
  if (Number.isNaN(value)) return readSlowly(cursor);
  if (at >= cursor.end) throw CUT;
  cursor.pos = at;
  return isNegative ? -value : value;
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
