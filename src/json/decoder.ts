import {
  createArrayReader,
  createFlagsReader,
  createLastReader,
  createRecordReader,
  createSelectedReader,
} from './collection-readers.ts';
import { checkStart, Cursor, NEED_MORE, skipWhiteSpace, TOO_DEEP } from './cursor.ts';
import { ObjectReader } from './object-reader.ts';
import { type DecodedPage, PageParser } from './page-parser.ts';
import {
  booleanReader,
  createOptionalReader,
  createStringReader,
  integerReader,
  numberReader,
  rawReader,
  type Reader,
  readOrFallback,
  timeReader,
} from './scalar-readers.ts';
import { type AnyShape, type Fields, type Infer, type ObjectShape, typed } from './shape.ts';

export interface DecoderOptions<Element extends ObjectShape, Envelope extends ObjectShape> {
  /** The member of the document that holds the list. */
  readonly list: string;
  /** The fields of each element of the list. */
  readonly element: Element;
  /** The fields of the document beside the list. */
  readonly envelope: Envelope;
  /**
   * Called synchronously for each element. The record and the objects in it are reused for the next
   * element: keep nothing but primitive values. What it throws is thrown by `write` or, as large
   * elements at the end of a document may wait for it, by `end`.
   */
  readonly onElement: (element: Infer<Element>) => void;
  /** A longer element is skipped and counted; a longer envelope member is an error. */
  readonly maxElementBytes: number;
  /** Open brackets within an element or an envelope member, including its own; likewise. */
  readonly maxDepth: number;
}

export interface Decoder<Envelope> {
  /** Reads the next bytes of the document, split anywhere. Throws JsonError. */
  write(chunk: Uint8Array): void;
  /** Call when the document is complete. Throws JsonError. */
  end(): DecodedPage<Envelope>;
}

/**
 * Reads a document of the form `{"…": …, list: [element, …], "…": …}` while it arrives. Holds one
 * element and one chunk; bytes that the shapes do not name never become JavaScript values.
 * After an error `write` and `end` throw that error again.
 */
export function createDecoder<Element extends ObjectShape, Envelope extends ObjectShape>(
  options: DecoderOptions<Element, Envelope>,
): Decoder<Infer<Envelope>> {
  const parser = new PageParser({
    ...options,
    element: createReader(options.element, false),
    envelope: createFieldReaders(options.envelope.fields, true),
    onElement: (element) => options.onElement(typed(options.element, element)),
  });
  let failure: { readonly error: unknown } | undefined;
  function untilFailure<Result>(action: () => Result): Result {
    if (failure !== undefined) throw failure.error;
    try {
      return action();
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  return {
    write: (chunk) => untilFailure(() => parser.write(chunk)),
    end: () => {
      const { envelope, ...counts } = untilFailure(() => parser.end());
      return { envelope: typed(options.envelope, envelope), ...counts };
    },
  };
}

/** Deeper than any response; a deeper document is an error. */
const MAX_DEPTH = 128;

/** Far above the columns, indexes and grants of any table. */
const MAX_ITEMS = 100_000;

/**
 * Reads a small document that is complete and a single value (table details, a Cloud object).
 * Throws JsonError, with kind `limit` where lists and maps hold more than 100,000 values in all.
 */
export function decodeValue<S extends AnyShape>(
  bytes: Uint8Array,
  shape: S,
): { readonly value: Infer<S>; readonly wrongTypes: number } {
  const cursor = new Cursor(MAX_DEPTH, MAX_ITEMS);
  cursor.append(bytes);
  // A number at the end is only complete when something follows, and white space may.
  cursor.append(Buffer.from('\n'));
  try {
    skipWhiteSpace(cursor);
    checkStart(cursor);
    const value = readOrFallback(cursor, createReader(shape, true));
    skipWhiteSpace(cursor);
    if (cursor.pos < cursor.end) cursor.fail('trailing', 'unexpected text after the document');
    return { value: typed(shape, value), wrongTypes: cursor.wrongTypes };
  } catch (signal) {
    if (signal === NEED_MORE) cursor.fail('truncated', 'the document is incomplete', bytes.length);
    if (signal === TOO_DEEP) cursor.fail('depth', 'the document is nested too deeply');
    throw signal;
  }
}

const SCALAR_READERS = {
  integer: integerReader,
  number: numberReader,
  boolean: booleanReader,
  time: timeReader,
  raw: rawReader,
};

/**
 * Creates the reader of a shape. Readers keep state between values, so each decoder has its own, and
 * so has each place of a shape.
 *
 * @param isKept whether a value must not change when the next one is read: then a new object is
 *   created each time instead of filling one again
 */
function createReader(shape: AnyShape, isKept: boolean): Reader {
  switch (shape.kind) {
    case 'string':
      return createStringReader();
    case 'flags':
      return createFlagsReader(shape.names);
    case 'object':
      return new ObjectReader(createFieldReaders(shape.fields, isKept), isKept);
    case 'optional':
      return createOptionalReader(createReader(shape.inner, isKept));
    case 'last':
      return createLastReader(createReader(shape.inner, isKept));
    case 'array':
      return createArrayReader(createReader(shape.inner, true));
    case 'record':
      return createRecordReader(createReader(shape.inner, true));
    case 'selected':
      return createSelectedReader(shape.filter, createReader(shape.inner, true));
    default:
      return SCALAR_READERS[shape.kind];
  }
}

/** The readers of an object's fields, or of an envelope's members, by name. */
function createFieldReaders(fields: Fields, isKept: boolean): ReadonlyMap<string, Reader> {
  return new Map(
    Object.entries(fields).map(([name, shape]) => [name, createReader(shape, isKept)]),
  );
}
