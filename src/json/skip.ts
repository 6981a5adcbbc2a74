import {
  BACKSLASH,
  CLOSE,
  MINUS,
  NINE,
  NUMERIC,
  OPEN,
  OPEN_BRACE,
  OUTSIDE,
  PLAIN,
  QUOTE,
  STRING,
  ZERO,
} from './characters.ts';
import { hopFlatObject } from './hop.ts';
import { CUT, TOO_DEEP, type Cursor } from './cursor.ts';
import { areDigits } from './digits.ts';
import { findMark } from './marks.ts';

/**
 * Finding the end of a value without looking into it. Checked: brackets match in number and kind,
 * strings end, a value that stands alone is a literal or made of a number's characters, and inside
 * brackets no byte occurs that JSON does not know outside of strings. Not checked: what strings
 * contain, the order of values, commas and colons inside brackets, the spelling of numbers and
 * literals there, the kind of brackets nested deeper than the limit; and nothing of what is leapt
 * over (hop.ts).
 */

/** From so many bytes on, looking for a quote with `indexOf` is faster than by four bytes. */
const LONG_STRING = 64;

const LITERALS = ['true', 'false', 'null'].map((text) => Buffer.from(text));

/** Moves the cursor from a value's first byte to the one behind it. */
export function skipValue(cursor: Cursor): void {
  const byte = cursor.bytes[cursor.pos] ?? 0;
  if (byte === QUOTE) {
    const after = endOfString(cursor, cursor.pos + 1);
    if (after < 0) throw CUT;
    cursor.pos = after;
  } else if (OUTSIDE[byte] !== OPEN) {
    if (!skipScalar(cursor)) throw CUT;
  } else if (byte !== OPEN_BRACE || !hopFlatObject(cursor)) {
    beginSkip(cursor);
    if (!skipBrackets(cursor)) throw CUT;
    if (cursor.skip.deepest > cursor.maxDepth) throw TOO_DEEP;
  }
}

/** Makes ready to skip the value whose first byte is at the cursor. */
export function beginSkip(cursor: Cursor): void {
  const { skip, depth } = cursor;
  skip.depth = depth;
  skip.base = depth;
  skip.deepest = depth;
  skip.inString = false;
}

/**
 * Moves the cursor behind the value, or as far as the bytes at hand go; then says false and wants
 * to be called again when there are more. Of a number or literal that is cut nothing is consumed.
 */
export function resumeSkip(cursor: Cursor): boolean {
  const { skip } = cursor;
  if (skip.depth === skip.base && !skip.inString) {
    const byte = cursor.bytes[cursor.pos] ?? 0;
    if (byte !== QUOTE) return OUTSIDE[byte] === OPEN ? skipBrackets(cursor) : skipScalar(cursor);
    cursor.pos++;
    skip.inString = true;
  }
  if (skip.inString) {
    const after = endOfString(cursor, cursor.pos);
    if (after < 0) return false;
    cursor.pos = after;
    skip.inString = false;
    if (skip.depth === skip.base) return true;
  }
  return skipBrackets(cursor);
}

function skipBrackets(cursor: Cursor): boolean {
  const { bytes, skip } = cursor;
  let { depth } = skip;
  let at = cursor.pos;
  for (;;) {
    const byte = bytes[at] ?? 0;
    const kind = OUTSIDE[byte];
    if (kind === PLAIN) {
      at++;
    } else if (kind === STRING) {
      const after = endOfString(cursor, at + 1);
      if (after < 0) {
        skip.depth = depth;
        skip.inString = true;
        return false;
      }
      at = after;
    } else if (kind === OPEN) {
      depth++;
      if (depth > skip.deepest) skip.deepest = depth;
      // In ASCII both kinds of bracket close two places behind where they open.
      if (depth <= cursor.maxDepth) skip.closing[depth] = byte + 2;
      at++;
    } else if (kind === CLOSE) {
      if (depth <= cursor.maxDepth && skip.closing[depth] !== byte) {
        cursor.fail('syntax', 'a bracket closes another kind of bracket', at);
      }
      depth--;
      at++;
      if (depth === skip.base) {
        cursor.pos = at;
        return true;
      }
    } else {
      if (at < cursor.end) cursor.fail('syntax', 'a character that JSON does not know', at);
      cursor.pos = at;
      skip.depth = depth;
      return false;
    }
  }
}

/**
 * The place behind the quote that ends the string in which `from` is. When the string is cut: -1,
 * and the cursor is where to go on (a backslash at the very end is not passed without its
 * successor).
 */
export function endOfString(cursor: Cursor, from: number): number {
  const { bytes, view, end } = cursor;
  let at = from;
  let near = Math.min(at + LONG_STRING, end);
  for (;;) {
    at = findMark(view, at, near);
    if (at >= end) {
      cursor.pos = end;
      return -1;
    }
    if (at >= near) {
      at = leap(cursor, at);
      near = Math.min(at + LONG_STRING, end);
    } else if (bytes[at] === QUOTE) {
      return at + 1;
    } else if (at + 1 >= end) {
      cursor.pos = at;
      return -1;
    } else {
      at += 2;
    }
  }
}

/**
 * From inside a string to the next quote, or to the end of the bytes at hand; when a backslash
 * stands before that place, to the first of the backslashes, so that the caller counts them.
 */
function leap(cursor: Cursor, from: number): number {
  const quote = cursor.filled.indexOf(QUOTE, from);
  let landing = quote < 0 ? cursor.end : quote;
  while (landing > from && cursor.bytes[landing - 1] === BACKSLASH) landing--;
  return landing;
}

/** A number (its characters, not their order), true, false or null. */
function skipScalar(cursor: Cursor): boolean {
  const { bytes, view } = cursor;
  let at = cursor.pos;
  if (isNumberStart(bytes[at])) {
    for (;;) {
      if (areDigits(view.getInt32(at, true))) at += 4;
      else if (NUMERIC[bytes[at] ?? 0] === 1) at++;
      else break;
    }
    if (at >= cursor.end) return false;
    cursor.pos = at;
    return true;
  }
  for (const literal of LITERALS) {
    if (bytes[at] === literal[0]) return skipLiteral(cursor, literal);
  }
  if (at >= cursor.end) return false;
  return cursor.fail('syntax', 'a value was expected');
}

export function isNumberStart(byte: number | undefined): boolean {
  return byte === MINUS || (byte !== undefined && byte >= ZERO && byte <= NINE);
}

function skipLiteral(cursor: Cursor, literal: Uint8Array): boolean {
  for (let i = 1; i < literal.length; i++) {
    if (cursor.bytes[cursor.pos + i] === literal[i]) continue;
    if (cursor.pos + i >= cursor.end) return false;
    cursor.fail('syntax', 'a broken literal', cursor.pos + i);
  }
  cursor.pos += literal.length;
  return true;
}
