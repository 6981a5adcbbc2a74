import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { findLateObject } from './hop.ts';
import { Names } from './names.ts';
import { Prefixes } from './prefixes.ts';
import { isNull, readOther, wrong, WRONG, type Reader } from './reader.ts';
import { skipValue } from './skip.ts';
import { enter, keyText, proceed, readKey } from './structure.ts';
import type { Choice } from './shape.ts';

/** All elements of an array, those of the wrong kind left out. */
export function arrayReader(inner: Reader): Reader {
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACKET) return readOther(cursor, reader);
      const items: unknown[] = [];
      for (let more = enter(cursor, CLOSE_BRACKET); more; more = proceed(cursor, CLOSE_BRACKET)) {
        cursor.countItems(1);
        const item = inner.read(cursor);
        if (item !== WRONG) items.push(item);
      }
      return items;
    },
    absent: () => [],
    unknown: () => [],
  };
  return reader;
}

/** From so many bytes on, an array is worth a hop to its last element. */
const LONG_ARRAY = 300;

/** The last element of an array. */
export function lastReader(inner: Reader): Reader {
  /** The length of the last array; the next one will be alike. */
  let usual = 0;
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACKET) return readOther(cursor, reader);
      const start = cursor.pos;
      const wrongBefore = cursor.wrong;
      let item: unknown;
      let more = enter(cursor, CLOSE_BRACKET);
      if (more && usual >= LONG_ARRAY) cursor.pos = findLateObject(cursor);
      for (; more; more = proceed(cursor, CLOSE_BRACKET)) {
        cursor.wrong = wrongBefore;
        item = inner.read(cursor);
      }
      usual = cursor.pos - start;
      return item;
    },
    absent: () => undefined,
    unknown: () => undefined,
  };
  return reader;
}

/** A map whose entries are chosen by `keyOf`, which gives the last key read as text if it is wanted. */
function mapReader(inner: Reader, keyOf: (cursor: Cursor) => string | undefined): Reader {
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readOther(cursor, reader);
      const entries = new Map<string, unknown>();
      for (let more = enter(cursor, CLOSE_BRACE); more; more = proceed(cursor, CLOSE_BRACE)) {
        readKey(cursor);
        const key = keyOf(cursor);
        if (key === undefined) skipValue(cursor);
        else readEntry(cursor, key, inner, entries);
      }
      return entries;
    },
    absent: () => new Map(),
    unknown: () => new Map(),
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
  // Of a key that comes twice the last value counts, also when it is none or a wrong one.
  entries.delete(key);
  if (isNull(cursor)) {
    skipValue(cursor);
    return;
  }
  const value = inner.read(cursor);
  if (value !== WRONG) entries.set(key, value);
}

/** Every entry of a map; one whose key is not UTF-8 is left out and counted as wrong. */
export function recordReader(inner: Reader): Reader {
  return mapReader(inner, (cursor) => {
    const key = keyText(cursor);
    if (key === undefined) wrong(cursor);
    return key;
  });
}

/** The entries of a map whose keys are named or begin with a prefix. */
export function selectedReader(choice: Choice, inner: Reader): Reader {
  const names = new Names(choice.keys);
  const prefixes = new Prefixes(choice.prefixes);
  return mapReader(inner, (cursor) => {
    const name = choice.keys[names.find(cursor)];
    if (name !== undefined) return name;
    if (!prefixes.mayStand(cursor)) return undefined;
    const key = keyText(cursor);
    return choice.prefixes.some((prefix) => key?.startsWith(prefix)) ? key : undefined;
  });
}
