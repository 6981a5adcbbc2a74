import type { Cursor } from './cursor.ts';
import { skipValue } from './skip.ts';

/** What a reader returns for a value of the wrong kind, which it has passed and counted. */
export const WRONG: unique symbol = Symbol('wrong kind');

const LETTER_N = 0x6e;

/** Reads the values of one place in a document. */
export interface Reader {
  /** Moves the cursor from the value's first byte behind it; gives what stands there or WRONG. */
  read(cursor: Cursor): unknown;
  /** What an absent or null value means. */
  absent(): unknown;
  /** What stands for a value of the wrong kind. */
  unknown(): unknown;
}

/** For a value at the cursor that is not of the kind hoped for: it is null, or wrong. */
export function readOther(cursor: Cursor, reader: Reader): unknown {
  const isAbsent = isNull(cursor);
  skipValue(cursor);
  return isAbsent ? reader.absent() : wrong(cursor);
}

/** Reads with a stand-in for a value of the wrong kind. */
export function readOrUnknown(cursor: Cursor, reader: Reader): unknown {
  const value = reader.read(cursor);
  return value === WRONG ? reader.unknown() : value;
}

/** Counts a value of the wrong kind that the cursor has passed. */
export function wrong(cursor: Cursor): typeof WRONG {
  cursor.wrong++;
  return WRONG;
}

/** Whether the value at the cursor can only be null. */
export function isNull(cursor: Cursor): boolean {
  return cursor.bytes[cursor.pos] === LETTER_N;
}

/** The same value, but undefined when it is absent or null. */
export function optionalReader(inner: Reader): Reader {
  return {
    read(cursor) {
      if (!isNull(cursor)) return inner.read(cursor);
      skipValue(cursor);
      return undefined;
    },
    absent: () => undefined,
    unknown: () => undefined,
  };
}
