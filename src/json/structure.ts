import { isUtf8 } from 'node:buffer';
import { ALIEN, BLANK, COLON, COMMA, OUTSIDE, QUOTE, SPACE } from './characters.ts';
import { CUT, TOO_DEEP, type Cursor } from './cursor.ts';
import { findMark } from './marks.ts';

export function skipBlanks(cursor: Cursor): void {
  const { bytes } = cursor;
  // Compact writers send none.
  if ((bytes[cursor.pos] ?? 0) > SPACE) return;
  let at = cursor.pos;
  while (BLANK[bytes[at] ?? 0] === 1) at++;
  cursor.pos = at;
}

/** Tells early and clearly when a document is something else than JSON in UTF-8. */
export function checkStart(cursor: Cursor): void {
  if (cursor.pos >= cursor.end) throw CUT;
  const byte = cursor.bytes[cursor.pos] ?? 0;
  if (byte >= 128 || byte === 0) cursor.fail('encoding', 'a byte order mark, or not UTF-8');
  if (OUTSIDE[byte] === ALIEN) cursor.fail('syntax', 'the document is not JSON');
}

/**
 * Steps over an opening bracket, and says whether an item follows, on which the cursor then stands.
 * If not, the cursor is behind the closing bracket `close`.
 */
export function enter(cursor: Cursor, close: number): boolean {
  if (++cursor.depth > cursor.maxDepth) throw TOO_DEEP;
  cursor.pos++;
  skipBlanks(cursor);
  if (cursor.bytes[cursor.pos] !== close) return true;
  return leave(cursor);
}

/** Steps from behind one item to the next, or out of the brackets; says whether there is a next. */
export function proceed(cursor: Cursor, close: number): boolean {
  skipBlanks(cursor);
  const byte = cursor.bytes[cursor.pos];
  if (byte === close) return leave(cursor);
  if (byte !== COMMA) cursor.unexpected(cursor.pos, 'a comma or a closing bracket was expected');
  cursor.pos++;
  skipBlanks(cursor);
  return true;
}

function leave(cursor: Cursor): false {
  cursor.depth--;
  cursor.pos++;
  return false;
}

/** Reads a member's key into `cursor.key` and puts the cursor on the value. */
export function readKey(cursor: Cursor): void {
  const { bytes, view, key, pos, end } = cursor;
  if (bytes[pos] !== QUOTE) cursor.unexpected(pos, 'a key was expected');
  key.start = pos + 1;
  key.isEscaped = false;
  let at = findMark(view, pos + 1, end);
  while (at < end && bytes[at] !== QUOTE) {
    key.isEscaped = true;
    at = findMark(view, at + 2, end);
  }
  if (at >= end) throw CUT;
  key.end = at;
  cursor.pos = at + 1;
  skipBlanks(cursor);
  if (bytes[cursor.pos] !== COLON) cursor.unexpected(cursor.pos, 'a colon was expected');
  cursor.pos++;
  skipBlanks(cursor);
}

/** The last key as text; undefined when its bytes are not UTF-8. */
export function keyText(cursor: Cursor): string | undefined {
  const { start, end, isEscaped } = cursor.key;
  if (!isUtf8(cursor.bytes.subarray(start, end))) return undefined;
  if (!isEscaped) return cursor.bytes.toString('utf8', start, end);
  try {
    const text: unknown = JSON.parse(cursor.bytes.toString('utf8', start - 1, end + 1));
    return String(text);
  } catch {
    // Without the cause: JSON.parse quotes the text in its message.
    return cursor.fail('syntax', 'a malformed escape in a key', start);
  }
}
