import {
  COLON,
  findQuoteOrBackslash,
  QUOTE,
  type Cursor,
  NEED_MORE,
  skipWhiteSpace,
} from './cursor.ts';
import { bucketOf, BUCKETS, decodeString } from './text.ts';

/** Reads a member's key into `cursor.key` and moves the cursor to the value. */
export function readKey(cursor: Cursor): void {
  const { bytes, view, key, pos, end } = cursor;
  if (bytes[pos] !== QUOTE) cursor.unexpected(pos, 'expected a key');
  key.start = pos + 1;
  key.isEscaped = false;
  let at = findQuoteOrBackslash(view, pos + 1, end);
  while (at < end && bytes[at] !== QUOTE) {
    key.isEscaped = true;
    at = findQuoteOrBackslash(view, at + 2, end);
  }
  if (at >= end) throw NEED_MORE;
  key.end = at;
  cursor.pos = at + 1;
  skipWhiteSpace(cursor);
  if (bytes[cursor.pos] !== COLON) cursor.unexpected(cursor.pos, 'expected a colon');
  cursor.pos++;
  skipWhiteSpace(cursor);
}

/** The last key as text; undefined when its bytes are not UTF-8. */
export function keyText(cursor: Cursor): string | undefined {
  const { start, end, isEscaped } = cursor.key;
  return decodeString(cursor, start - 1, end + 1, isEscaped);
}

/** Finds keys of a document in a list of names by their bytes, without creating strings. */
export class KeyTable {
  readonly #names: Uint8Array[] = [];
  /** For each bucket the last name in it, and for each name the previous one in its bucket. */
  readonly #last = new Int32Array(BUCKETS).fill(-1);
  readonly #previous: number[] = [];

  constructor(names: readonly string[]) {
    for (const name of names) this.add(Buffer.from(name));
  }

  /** Adds a name that is not in the table yet; its index is the number of names before it. */
  add(name: Uint8Array): void {
    const bucket = bucketOf(name, 0, name.length);
    this.#previous.push(this.#last[bucket] ?? -1);
    this.#last[bucket] = this.#names.length;
    this.#names.push(name);
  }

  /** The index of the last key read among the names; -1 when it is none of them. */
  find(cursor: Cursor): number {
    const { start, end, isEscaped } = cursor.key;
    if (!isEscaped) return this.#findBytes(cursor.bytes, start, end);
    const text = keyText(cursor);
    if (text === undefined) return -1;
    const bytes = Buffer.from(text);
    return this.#findBytes(bytes, 0, bytes.length);
  }

  #findBytes(bytes: Uint8Array, start: number, end: number): number {
    let index = this.#last[bucketOf(bytes, start, end)] ?? -1;
    for (; index >= 0; index = this.#previous[index] ?? -1) {
      const name = this.#names[index];
      if (name?.length === end - start && startsWith(bytes, start, name)) break;
    }
    return index;
  }
}

/** Whether `text` is at `start`; a text without quotes is then within the key that starts there. */
export function startsWith(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[start + i] !== text[i]) return false;
  }
  return true;
}
