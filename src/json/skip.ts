import {
  BACKSLASH,
  CLOSE,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  findBrace,
  findQuoteOrBackslash,
  hasOpenBrace,
  KEY_START,
  NUMERIC,
  OPEN,
  OPEN_BRACE,
  OPEN_BRACKET,
  OUTSIDE_STRING,
  PLAIN,
  QUOTE,
  STRING,
  type Cursor,
  NEED_MORE,
  TOO_DEEP,
} from './cursor.ts';
import { areDigits, isNumberStart } from './number.ts';

/**
 * Finding the end of a value without reading its content. Checked: brackets match in number and
 * type, strings end, a value that stands alone is a literal or made of a number's characters, and
 * inside brackets every byte outside of strings occurs in JSON. Not checked: the content of strings,
 * the order of values, commas and colons inside brackets, the spelling of numbers and literals
 * there, the type of brackets nested deeper than the limit; and nothing between the positions that
 * `skipFlatObject` and `findLastObject` jump over.
 */

/** From this distance on, `indexOf` finds a quote faster than a search by four bytes. */
const LONG_STRING = 64;

const LITERALS = ['true', 'false', 'null'].map((text) => Buffer.from(text));

/** Moves the cursor from a value's first byte to the one after it. */
export function skipValue(cursor: Cursor): void {
  const byte = cursor.bytes[cursor.pos] ?? 0;
  if (byte === QUOTE) {
    const after = findStringEnd(cursor, cursor.pos + 1);
    if (after < 0) throw NEED_MORE;
    cursor.pos = after;
  } else if (OUTSIDE_STRING[byte] !== OPEN) {
    if (!skipScalar(cursor)) throw NEED_MORE;
  } else if (byte !== OPEN_BRACE || !skipFlatObject(cursor)) {
    beginSkip(cursor);
    if (!skipBrackets(cursor)) throw NEED_MORE;
    if (cursor.skip.deepest > cursor.maxDepth) throw TOO_DEEP;
  }
}

/** Prepares `resumeSkip` for the value whose first byte is at the cursor. */
export function beginSkip(cursor: Cursor): void {
  const { skip, depth } = cursor;
  skip.depth = depth;
  skip.base = depth;
  skip.deepest = depth;
  skip.inString = false;
}

/**
 * Moves the cursor after the value; or, when it is incomplete, to the end of the available bytes,
 * and returns false: then it is called again with more. An incomplete number or literal is not
 * consumed.
 */
export function resumeSkip(cursor: Cursor): boolean {
  const { skip } = cursor;
  if (skip.depth === skip.base && !skip.inString) {
    const byte = cursor.bytes[cursor.pos] ?? 0;
    if (byte !== QUOTE) {
      return OUTSIDE_STRING[byte] === OPEN ? skipBrackets(cursor) : skipScalar(cursor);
    }
    cursor.pos++;
    skip.inString = true;
  }
  if (skip.inString) {
    const after = findStringEnd(cursor, cursor.pos);
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
    const byteClass = OUTSIDE_STRING[byte];
    if (byteClass === PLAIN) {
      at++;
    } else if (byteClass === STRING) {
      const after = findStringEnd(cursor, at + 1);
      if (after < 0) {
        skip.depth = depth;
        skip.inString = true;
        return false;
      }
      at = after;
    } else if (byteClass === OPEN) {
      depth++;
      if (depth > skip.deepest) skip.deepest = depth;
      // In ASCII a closing bracket or brace comes two places after the opening one.
      if (depth <= cursor.maxDepth) skip.closing[depth] = byte + 2;
      at++;
    } else if (byteClass === CLOSE) {
      if (depth <= cursor.maxDepth && skip.closing[depth] !== byte) {
        cursor.fail('syntax', 'a closing bracket that does not match the opening one', at);
      }
      depth--;
      at++;
      if (depth === skip.base) {
        cursor.pos = at;
        return true;
      }
    } else {
      if (at < cursor.end) cursor.fail('syntax', 'an unexpected character', at);
      cursor.pos = at;
      skip.depth = depth;
      return false;
    }
  }
}

/**
 * The position after the quote that ends the string around `from`. When the string is incomplete:
 * -1, with the cursor where the search continues (a backslash at the very end is not passed without
 * its successor).
 */
export function findStringEnd(cursor: Cursor, from: number): number {
  const { bytes, view, end } = cursor;
  let at = from;
  let near = Math.min(at + LONG_STRING, end);
  for (;;) {
    at = findQuoteOrBackslash(view, at, near);
    if (at >= end) {
      cursor.pos = end;
      return -1;
    }
    if (at >= near) {
      at = findFarQuote(cursor, at);
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
 * The next quote, or the end of the available bytes; but the first of the backslashes that directly
 * precede it, so that the caller counts them.
 */
function findFarQuote(cursor: Cursor, from: number): number {
  const quote = cursor.data.indexOf(QUOTE, from);
  let at = quote < 0 ? cursor.end : quote;
  while (at > from && cursor.bytes[at - 1] === BACKSLASH) at--;
  return at;
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
  return cursor.fail('syntax', 'expected a value');
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

/**
 * Jumping over objects by searching for one byte. A search may find a byte inside a string, so a
 * position is only accepted where the bytes around it prove that it is outside of strings:
 *
 * a comma or a brace, then a quote, then a letter. If the comma were inside a string, the quote
 * would be its end (no backslash precedes it), and no letter can follow a string. So the quote
 * begins a string, and what precedes it is structure.
 *
 * The proof holds for JSON; a syntax error in the bytes jumped over is not detected.
 */

const LETTER_Y = 0x79;

/** `},{"` as a word: the bytes between two objects of an array in compact JSON. */
const OBJECT_SEPARATOR = 0x227b2c7d;

/** The position of the opening brace in it. */
const SEPARATOR_TO_OBJECT = 2;

/**
 * The start of an object in the array whose first item is at the cursor, usually of the last one;
 * or the cursor's position if that is not certain without reading.
 */
export function findLastObject(cursor: Cursor): number {
  const { bytes, view, pos } = cursor;
  const close = findArrayEnd(cursor);
  // Without other brackets in the array, objects that follow each other can only be its items.
  for (let at = close - 4; at >= pos + SEPARATOR_TO_OBJECT; at -= 4) {
    if (!hasOpenBrace(view.getInt32(at, true))) continue;
    for (let object = at + 3; object >= at; object--) {
      const isSeparated = view.getInt32(object - SEPARATOR_TO_OBJECT, true) === OBJECT_SEPARATOR;
      if (isSeparated && isKeyStart(bytes, object + 1)) return object;
    }
  }
  return pos;
}

/**
 * Moves the cursor from the opening brace of an object to the byte after the closing one, when no
 * other brace is between them and the one found is proven; else returns false.
 */
function skipFlatObject(cursor: Cursor): boolean {
  const { bytes, view, end } = cursor;
  let at = cursor.pos;
  do at = findBrace(view, at + 1, end);
  while (at < end && bytes[at] === LETTER_Y);
  const isProven =
    at < end && bytes[at] === CLOSE_BRACE && bytes[at + 1] === COMMA && isKeyStart(bytes, at + 2);
  if (!isProven || cursor.depth >= cursor.maxDepth) return false;
  cursor.pos = at + 1;
  return true;
}

/** The position of the closing bracket of the array around the cursor, or -1 if not proven. */
function findArrayEnd(cursor: Cursor): number {
  const { bytes, data, pos } = cursor;
  const close = data.indexOf(CLOSE_BRACKET, pos);
  if (close < 0 || bytes[close + 1] !== COMMA || !isKeyStart(bytes, close + 2)) return -1;
  const open = data.indexOf(OPEN_BRACKET, pos);
  return open < 0 || open > close ? close : -1;
}

/** Whether a quote and a letter are there; after the available bytes there is neither. */
function isKeyStart(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === QUOTE && KEY_START[bytes[at + 1] ?? 0] === 1;
}
