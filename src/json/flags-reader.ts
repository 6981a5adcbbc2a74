import { CLOSE_BRACE, OPEN_BRACE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { Names } from './names.ts';
import { readOther, type Reader } from './reader.ts';
import { booleanReader } from './scalar-readers.ts';
import { enter, keyText, proceed, readKey } from './structure.ts';

/** An object of booleans as a bit mask; the bit behind those of the names is for all other keys. */
export function flagsReader(texts: readonly string[]): Reader {
  const names = new Names(texts);
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readOther(cursor, reader);
      // Mostly nothing is set.
      return enter(cursor, CLOSE_BRACE) ? readMask(cursor, names) : 0;
    },
    absent: () => 0,
    unknown: () => undefined,
  };
  return reader;
}

/** Reads the members of an object that has some; the cursor is on the first one. */
function readMask(cursor: Cursor, names: Names): number {
  let mask = 0;
  const others = new Set<string>();
  for (let more = true; more; more = proceed(cursor, CLOSE_BRACE)) {
    readKey(cursor);
    const index = names.find(cursor);
    if (index < 0) {
      readOtherFlag(cursor, others);
    } else {
      const bit = 1 << index;
      mask = booleanReader.read(cursor) === true ? mask | bit : mask & ~bit;
    }
  }
  return others.size === 0 ? mask : mask | (1 << names.size);
}

/** Of a key that comes twice the last value counts, so the keys that are true must be remembered. */
function readOtherFlag(cursor: Cursor, others: Set<string>): void {
  const key = keyText(cursor) ?? '';
  if (booleanReader.read(cursor) === true) others.add(key);
  else others.delete(key);
}
