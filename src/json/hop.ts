import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, LETTERS, OPEN_BRACKET, QUOTE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { findBrace, hasOpenBrace } from './marks.ts';

/**
 * Leaping over objects, without looking at what lies between. A search for a byte may land inside
 * a string, so a landing is only believed where what stands there proves that it is outside:
 *
 * A comma or a brace, then a quote, then a letter. If the comma were inside a string, the quote
 * would be its end (no backslash stands before it), and behind a string no letter can follow. So
 * the quote begins a string, and what stands before it is structure.
 *
 * The proof holds for JSON; where a document is broken inside what was leapt over, nobody notices.
 */

const LETTER_Y = 0x79;

/** `},{"` as a word: what stands between two objects of an array when the writer is compact. */
const SEAM = 0x227b2c7d;

/** The brace that opens an object stands so far behind the start of the seam. */
const SEAM_TO_OBJECT = 2;

/**
 * The start of an object in the array whose first item is at the cursor, most likely of the last
 * one; or the cursor's own place if that cannot be told without reading.
 */
export function findLateObject(cursor: Cursor): number {
  const { bytes, view, pos } = cursor;
  const close = findEnd(cursor);
  // Without other brackets in the array, objects that follow each other can only be its items.
  for (let at = close - 4; at >= pos + SEAM_TO_OBJECT; at -= 4) {
    if (!hasOpenBrace(view.getInt32(at, true))) continue;
    for (let object = at + 3; object >= at; object--) {
      const isSeam = view.getInt32(object - SEAM_TO_OBJECT, true) === SEAM;
      if (isSeam && beginsKey(bytes, object + 1)) return object;
    }
  }
  return pos;
}

/**
 * Moves the cursor from the brace that opens an object behind the one that closes it, when no other
 * brace stands between and the one found is proven; else says false.
 */
export function hopFlatObject(cursor: Cursor): boolean {
  const { bytes, view, end } = cursor;
  let at = cursor.pos;
  do at = findBrace(view, at + 1, end);
  while (at < end && bytes[at] === LETTER_Y);
  const isProven =
    at < end && bytes[at] === CLOSE_BRACE && bytes[at + 1] === COMMA && beginsKey(bytes, at + 2);
  if (!isProven || cursor.depth >= cursor.maxDepth) return false;
  cursor.pos = at + 1;
  return true;
}

/** The place of the bracket that closes the array in which the cursor is, or -1 if not proven. */
function findEnd(cursor: Cursor): number {
  const { bytes, filled, pos } = cursor;
  const close = filled.indexOf(CLOSE_BRACKET, pos);
  if (close < 0 || bytes[close + 1] !== COMMA || !beginsKey(bytes, close + 2)) return -1;
  const open = filled.indexOf(OPEN_BRACKET, pos);
  return open < 0 || open > close ? close : -1;
}

/** Whether a quote and a letter stand there. Behind the bytes at hand there is neither. */
function beginsKey(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === QUOTE && LETTERS[bytes[at + 1] ?? 0] === 1;
}
