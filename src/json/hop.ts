import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  LETTERS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './characters.ts';
import type { Cursor } from './cursor.ts';

/**
 * Going to the last object of an array without looking at what lies between. A search for a byte
 * may land inside a string, so no landing is believed but where what stands there proves that it is
 * outside of strings:
 *
 * A comma or brace, then a quote, then a letter. If the comma were inside a string, the quote would
 * be its end (no backslash stands before it), and behind a string no letter can follow. So the
 * quote begins a string, and what stands before it is structure.
 *
 * The proof holds for JSON; where a document is broken inside what was passed over, nobody notices.
 */

/** `},{"`: what stands between two objects of an array when the writer is compact. */
const SEAM = [CLOSE_BRACE, COMMA, OPEN_BRACE, QUOTE];

/** How far a search backwards for the seam may go on when a byte of it, or another one, is met. */
const STRIDE = new Uint8Array(256).fill(SEAM.length);
STRIDE[COMMA] = 1;
STRIDE[OPEN_BRACE] = 2;
STRIDE[QUOTE] = 3;

/**
 * The start of an object in the array whose first item is at the cursor, most likely of the last
 * one; or the cursor's own place if that cannot be told without reading.
 */
export function findLateObject(cursor: Cursor): number {
  const { bytes, pos } = cursor;
  const end = findEnd(cursor);
  let at = end - SEAM.length - 1;
  while (at >= pos) {
    const isSeam =
      bytes[at] === CLOSE_BRACE &&
      bytes[at + 1] === COMMA &&
      bytes[at + 2] === OPEN_BRACE &&
      beginsKey(bytes, at + 3);
    // Without other brackets in the array, objects that follow each other can only be its items.
    if (isSeam) return at + 2;
    at -= STRIDE[bytes[at] ?? 0] ?? 1;
  }
  return pos;
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
