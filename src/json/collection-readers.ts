import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  OPEN_BRACE,
  OPEN_BRACKET,
  type Cursor,
  enter,
  toNextItem,
} from './cursor.ts';
import { KeyTable, keyText, readKey, startsWith } from './keys.ts';
import {
  booleanReader,
  countWrong,
  isNull,
  type Reader,
  readNullOrWrong,
  WRONG_TYPE,
} from './scalar-readers.ts';
import type { KeyFilter } from './shape.ts';
import { findLastObject, skipValue } from './skip.ts';

/** All elements of an array, without those of the wrong type. */
export function createArrayReader(inner: Reader): Reader {
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACKET) return readNullOrWrong(cursor, reader);
      const items: unknown[] = [];
      for (
        let more = enter(cursor, CLOSE_BRACKET);
        more;
        more = toNextItem(cursor, CLOSE_BRACKET)
      ) {
        cursor.countItems(1);
        const item = inner.read(cursor);
        if (item !== WRONG_TYPE) items.push(item);
      }
      return items;
    },
    absent: () => [],
    fallback: () => [],
  };
  return reader;
}

/** In an array of that many bytes it pays to search for the last element. */
const LONG_ARRAY = 300;

/** The last element of an array. */
export function createLastReader(inner: Reader): Reader {
  /** Of the previous array; the next one will have a similar length. */
  let previousLength = 0;
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACKET) return readNullOrWrong(cursor, reader);
      const start = cursor.pos;
      const wrongBefore = cursor.wrongTypes;
      let item: unknown;
      let more = enter(cursor, CLOSE_BRACKET);
      if (more && previousLength >= LONG_ARRAY) cursor.pos = findLastObject(cursor);
      for (; more; more = toNextItem(cursor, CLOSE_BRACKET)) {
        cursor.wrongTypes = wrongBefore;
        item = inner.read(cursor);
      }
      previousLength = cursor.pos - start;
      return item;
    },
    absent: () => undefined,
  };
  return reader;
}

/** Every entry of a map; one whose key is not UTF-8 is left out and counted as of the wrong type. */
export function createRecordReader(inner: Reader): Reader {
  return createMapReader(inner, (cursor) => {
    const key = keyText(cursor);
    if (key === undefined) countWrong(cursor);
    return key;
  });
}

/** The entries of a map that pass the filter. */
export function createSelectedReader(filter: KeyFilter, inner: Reader): Reader {
  const keys = new KeyTable(filter.keys);
  const prefixes = filter.prefixes.map((prefix) => Buffer.from(prefix));
  return createMapReader(inner, (cursor) => {
    const name = filter.keys[keys.find(cursor)];
    if (name !== undefined) return name;
    if (!mayHavePrefix(cursor, prefixes)) return undefined;
    const key = keyText(cursor);
    return filter.prefixes.some((prefix) => key?.startsWith(prefix)) ? key : undefined;
  });
}

/** Rules out most keys without creating strings. */
function mayHavePrefix({ bytes, key }: Cursor, prefixes: readonly Uint8Array[]): boolean {
  if (key.isEscaped) return true;
  for (const prefix of prefixes) if (startsWith(bytes, key.start, prefix)) return true;
  return false;
}

/** @param keyOf returns the last key read as text if its entry is wanted */
function createMapReader(inner: Reader, keyOf: (cursor: Cursor) => string | undefined): Reader {
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readNullOrWrong(cursor, reader);
      const entries = new Map<string, unknown>();
      for (let more = enter(cursor, CLOSE_BRACE); more; more = toNextItem(cursor, CLOSE_BRACE)) {
        readKey(cursor);
        const key = keyOf(cursor);
        if (key === undefined) skipValue(cursor);
        else readEntry(cursor, key, inner, entries);
      }
      return entries;
    },
    absent: () => new Map(),
    fallback: () => new Map(),
  };
  return reader;
}

function readEntry(
  cursor: Cursor,
  key: string,
  inner: Reader,
  entries: Map<string, unknown>,
): void {
  cursor.countItems(1);
  // Of a key that occurs twice the last value counts, even when it is null or of the wrong type.
  entries.delete(key);
  if (isNull(cursor)) {
    skipValue(cursor);
    return;
  }
  const value = inner.read(cursor);
  if (value !== WRONG_TYPE) entries.set(key, value);
}

/** An object of booleans as a bit mask; the bit after those of the names is for all other keys. */
export function createFlagsReader(names: readonly string[]): Reader {
  const keys = new KeyTable(names);
  const otherBit = 1 << names.length;
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readNullOrWrong(cursor, reader);
      // Mostly nothing is set.
      return enter(cursor, CLOSE_BRACE) ? readMask(cursor, keys, otherBit) : 0;
    },
    absent: () => 0,
  };
  return reader;
}

/** Reads the members of an object that has some; the cursor is at the first one. */
function readMask(cursor: Cursor, keys: KeyTable, otherBit: number): number {
  let mask = 0;
  // Of a key that occurs twice the last value counts, so the keys that are true are remembered.
  const others = new Set<string>();
  for (let more = true; more; more = toNextItem(cursor, CLOSE_BRACE)) {
    readKey(cursor);
    const index = keys.find(cursor);
    const key = index < 0 ? (keyText(cursor) ?? '') : '';
    const isSet = booleanReader.read(cursor) === true;
    if (index >= 0) mask = isSet ? mask | (1 << index) : mask & ~(1 << index);
    else if (isSet) others.add(key);
    else others.delete(key);
  }
  return others.size === 0 ? mask : mask | otherBit;
}
