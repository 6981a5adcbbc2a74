import { type DecodedPage, PageParser } from './page-parser.ts';
import { readerOf } from './records.ts';
import { sharedScanner } from './scanner.ts';
import { type AnyShape, type Infer, type ObjectShape, typed } from './shape.ts';

export interface DecoderOptions<Element extends ObjectShape, Envelope extends ObjectShape> {
  /** The member of the document that holds the list. */
  readonly list: string;
  /** The fields of each element of the list. */
  readonly element: Element;
  /** The fields of the document beside the list. */
  readonly envelope: Envelope;
  /**
   * Called synchronously for each element. The element and the objects in it are views, which show the next element
   * afterwards: keep nothing but primitive values, arrays and maps, and use no other decoder meanwhile. What it throws is
   * thrown by `write` or, as large elements at the end of a document may wait for it, by `end`.
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
  const element = readerOf(options.element, false);
  const members = Object.entries(options.envelope.fields);
  const parser = new PageParser({
    ...options,
    element,
    envelope: new Map(members.map(([name, shape]) => [name, readerOf(shape, true)])),
    onElement: () => options.onElement(typed(options.element, element.read())),
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

/** Deeper than any response, and far above the columns, indexes and grants of any table. */
const LIMITS = { maxDepth: 128, maxItems: 100_000 };

/** A number at the end is only complete when something follows, and white space may. */
const LINE_END = Buffer.from('\n');

/**
 * Reads a small document that is complete and a single value (table details, a Cloud object).
 * Throws JsonError, with kind `limit` where lists and maps hold more than 100,000 values in all.
 */
export function decodeValue<S extends AnyShape>(
  bytes: Uint8Array,
  shape: S,
): { readonly value: Infer<S>; readonly wrongTypes: number } {
  const scanner = sharedScanner();
  const reader = readerOf(shape, true);
  const end = scanner.load([bytes, LINE_END], 0, [reader], LIMITS);
  try {
    const at = scanner.exports.skipBlanks(scanner.window);
    if (at < end) scanner.checkEncoding(at);
    const after = scanner.read(at, reader);
    if (after === 0) scanner.fail('truncated', 'the document is incomplete', end - 1);
    if (after < 0 && scanner.failure === 'too deep') {
      scanner.fail('depth', 'the document is nested too deeply', at);
    }
    if (after < 0) {
      const problem = `the document holds more than ${LIMITS.maxItems} values in its lists and maps`;
      scanner.fail('limit', problem, at);
    }
    const rest = scanner.exports.skipBlanks(after);
    if (rest < end) scanner.fail('trailing', 'unexpected text after the document', rest);
    return { value: typed(shape, reader.read()), wrongTypes: scanner.wrongTypes };
  } finally {
    scanner.release();
  }
}
