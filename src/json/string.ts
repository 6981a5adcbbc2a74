import { isUtf8 } from 'node:buffer';
import { END, ESCAPE, INSIDE, WIDE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { findUnusual } from './marks.ts';
import type { Texts } from './texts.ts';

/**
 * Reads the string at the cursor, whose first byte is a quote, as JSON.parse would; undefined when
 * its bytes are not UTF-8. `texts` remembers texts that may come again.
 */
export function readString(cursor: Cursor, texts?: Texts): string | undefined {
  const { bytes, view } = cursor;
  const start = cursor.pos;
  let at = start + 1;
  let kinds = 0;
  for (;;) {
    at = findUnusual(view, at);
    const kind = INSIDE[bytes[at] ?? 0];
    if (kind === END) {
      break;
    } else if (kind === ESCAPE) {
      kinds |= ESCAPE;
      if (at + 1 >= cursor.end) cursor.unexpected(cursor.end, '');
      at += 2;
    } else if (kind === WIDE) {
      kinds |= WIDE;
      at++;
    } else {
      cursor.unexpected(at, 'a control character in a string');
    }
  }
  cursor.pos = at + 1;
  if (kinds === 0 && texts !== undefined) return texts.get(bytes, start + 1, at);
  return decodeString(cursor, start, at + 1, kinds);
}

/** The text between two quotes, these included, given which kinds of byte occur in it. */
function decodeString(
  cursor: Cursor,
  start: number,
  after: number,
  kinds: number,
): string | undefined {
  const { bytes } = cursor;
  if (kinds === 0) return bytes.toString('latin1', start + 1, after - 1);
  if ((kinds & WIDE) !== 0 && !isUtf8(bytes.subarray(start, after))) return undefined;
  if ((kinds & ESCAPE) === 0) return bytes.toString('utf8', start + 1, after - 1);
  try {
    const text: unknown = JSON.parse(bytes.toString('utf8', start, after));
    return String(text);
  } catch {
    // Without the cause: JSON.parse quotes the text in its message.
    return cursor.fail('syntax', 'a malformed escape in a string', start);
  }
}
