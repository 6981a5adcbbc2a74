import { compile } from './compile.ts';
import { Cursor, CUT, TOO_DEEP } from './cursor.ts';
import { readOrUnknown } from './reader.ts';
import { typed, type AnyShape, type Infer } from './shape.ts';
import { checkStart, skipBlanks } from './structure.ts';

/** Deeper than any answer; a document over it is not read. */
const MAX_DEPTH = 128;

/** Far above the columns, indexes and grants of any table. */
const MAX_ITEMS = 100_000;

/**
 * Reads a small document that is complete and a single value (table details, a Cloud object) with
 * a shape. Throws JsonError, with kind `limit` where lists and maps hold more than 100,000 values in all. `wrong` counts the values of the wrong kind.
 */
export function decodeValue<S extends AnyShape>(
  bytes: Uint8Array,
  shape: S,
): { readonly value: Infer<S>; readonly wrong: number } {
  const cursor = new Cursor(MAX_DEPTH, MAX_ITEMS);
  cursor.append(bytes);
  // Nothing can follow a number but white space, and a number ends where something follows.
  cursor.append(Buffer.from('\n'));
  try {
    skipBlanks(cursor);
    checkStart(cursor);
    const value = readOrUnknown(cursor, compile(shape, true));
    skipBlanks(cursor);
    if (cursor.pos < cursor.end) cursor.fail('trailing', 'something follows the document');
    return { value: typed(shape, value), wrong: cursor.wrong };
  } catch (signal) {
    if (signal === CUT) cursor.fail('truncated', 'the document is cut off', bytes.length);
    if (signal === TOO_DEEP) cursor.fail('depth', 'the document is nested too deeply');
    throw signal;
  }
}
