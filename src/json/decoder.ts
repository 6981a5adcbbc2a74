import { sharedScanner } from './compiled-scanner.ts';
import { readerOf } from './record-reader.ts';
import { type AnyShape, type Infer, typed } from './shape.ts';

/** Deeper than any response, and far above the columns, indexes and grants of any table. */
const LIMITS = { maxDepth: 128, maxItems: 100_000 };

/** A number at the end is only complete when something follows, and white space may. */
const LINE_END = Buffer.from('\n');

/** Reads a complete document of one value. Throws JsonError, and JsonLimitError above 100,000 values in lists and maps. */
export function decodeValue<S extends AnyShape>(
  bytes: Uint8Array,
  shape: S,
): { readonly value: Infer<S>; readonly wrongTypes: number } {
  const scanner = sharedScanner();
  const reader = readerOf(shape, true);
  const end = scanner.load([bytes, LINE_END], 0, LIMITS);
  try {
    const at = scanner.exports.skipBlanks(scanner.window);
    if (at < end) scanner.checkEncoding(at);
    const after = scanner.read(at, reader);
    if (after === 0) scanner.fail('the document is incomplete', end - 1);
    if (after < 0 && scanner.failure === 'too deep') {
      scanner.failLimit('the document is nested too deeply', at);
    }
    if (after < 0) {
      const problem = `the document holds more than ${LIMITS.maxItems} values in its lists and maps`;
      scanner.failLimit(problem, at);
    }
    const rest = scanner.exports.skipBlanks(after);
    if (rest < end) scanner.fail('unexpected text after the document', rest);
    return { value: typed(shape, reader.read()), wrongTypes: scanner.wrongTypes };
  } finally {
    scanner.release();
  }
}
