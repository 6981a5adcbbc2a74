import { isUtf8 } from 'node:buffer';
import { COMMA, OPEN, OUTSIDE, QUOTE } from './characters.ts';
import { CUT, type Cursor } from './cursor.ts';
import { readNumber } from './number.ts';
import { readOther, wrong, type Reader } from './reader.ts';
import { endOfString, isNumberStart, skipValue } from './skip.ts';
import { readString } from './string.ts';
import { Texts } from './texts.ts';
import { parseTime, ZERO_TIME_MS } from './time.ts';

const LETTER_T = 0x74;
const LETTER_F = 0x66;

/** Readers for single values. */
export const integerReader: Reader = {
  read(cursor) {
    if (!isNumberStart(cursor.bytes[cursor.pos])) return readOther(cursor, integerReader);
    const value = readNumber(cursor);
    return Number.isInteger(value) ? value : wrong(cursor);
  },
  absent: () => 0,
  unknown: () => undefined,
};

export const numberReader: Reader = {
  read(cursor) {
    if (!isNumberStart(cursor.bytes[cursor.pos])) return readOther(cursor, numberReader);
    const value = readNumber(cursor);
    return Number.isFinite(value) ? value : wrong(cursor);
  },
  absent: () => 0,
  unknown: () => undefined,
};

export function stringReader(): Reader {
  const texts = new Texts();
  const reader: Reader = {
    read(cursor) {
      if (cursor.bytes[cursor.pos] !== QUOTE) return readOther(cursor, reader);
      return readString(cursor, texts) ?? wrong(cursor);
    },
    absent: () => '',
    unknown: () => undefined,
  };
  return reader;
}

export const booleanReader: Reader = {
  read(cursor) {
    const first = cursor.bytes[cursor.pos];
    if (first !== LETTER_T && first !== LETTER_F) return readOther(cursor, booleanReader);
    skipValue(cursor);
    return first === LETTER_T;
  },
  absent: () => false,
  unknown: () => undefined,
};

export const timeReader: Reader = {
  read(cursor) {
    if (cursor.bytes[cursor.pos] !== QUOTE) return readOther(cursor, timeReader);
    const time = readTime(cursor);
    if (Number.isNaN(time)) return wrong(cursor);
    return time === ZERO_TIME_MS ? undefined : time;
  },
  absent: () => undefined,
  unknown: () => undefined,
};

/** At least the number of values inside a value: also counts what stands in its strings. */
function countSeparators(bytes: Buffer): number {
  const [first = 0] = bytes;
  if (OUTSIDE[first] !== OPEN) return 0;
  let count = 0;
  for (const byte of bytes) if (byte === COMMA || OUTSIDE[byte] === OPEN) count++;
  return count;
}

export const rawReader: Reader = {
  read(cursor) {
    const start = cursor.pos;
    skipValue(cursor);
    const bytes = cursor.bytes.subarray(start, cursor.pos);
    if (!isUtf8(bytes)) return wrong(cursor);
    cursor.countItems(countSeparators(bytes));
    try {
      const value: unknown = JSON.parse(cursor.bytes.toString('utf8', start, cursor.pos));
      return value;
    } catch {
      // Without the cause: JSON.parse quotes the text in its message.
      return cursor.fail('syntax', 'a malformed value', start);
    }
  },
  absent: () => undefined,
  unknown: () => undefined,
};

function readTime(cursor: Cursor): number {
  const start = cursor.pos;
  const after = endOfString(cursor, start + 1);
  if (after < 0) throw CUT;
  cursor.pos = after;
  const time = parseTime(cursor.bytes, start + 1, after - 1);
  if (!Number.isNaN(time)) return time;
  // Not a time as it stands; with its escapes decoded it may still be one.
  cursor.pos = start;
  const text = Buffer.from(readString(cursor) ?? '');
  return parseTime(text, 0, text.length);
}
