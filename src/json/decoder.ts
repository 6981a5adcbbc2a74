import { compile, compileFields } from './compile.ts';
import type { Decoder, DecoderOptions } from './contract.ts';
import { ListDocument } from './list-document.ts';
import { typed, type Infer, type ObjectShape } from './shape.ts';

export { decodeValue } from './decode-value.ts';
export type { Decoded, Decoder, DecoderLimits, DecoderOptions } from './contract.ts';

/**
 * Reads a document of the form `{"…": …, list: [element, …], "…": …}` while it arrives. Holds one
 * element and one chunk; bytes that the shapes do not name never become JavaScript values.
 * After an error `write` and `end` throw that error again.
 */
export function createDecoder<Element extends ObjectShape, Envelope extends ObjectShape>(
  options: DecoderOptions<Element, Envelope>,
): Decoder<Infer<Envelope>> {
  const document = new ListDocument({
    list: options.list,
    element: compile(options.element, false),
    envelope: compileFields(options.envelope.fields, true),
    onElement: (element) => options.onElement(typed(options.element, element)),
    limits: options.limits,
  });
  const attempt = createLatch();
  return {
    write: (chunk) => attempt(() => document.write(chunk)),
    end: () => {
      const { envelope, ...counts } = attempt(() => document.end());
      return { envelope: typed(options.envelope, envelope), ...counts };
    },
  };
}

/** Runs actions until one fails; then, and ever after, that failure is thrown. */
function createLatch(): <Result>(action: () => Result) => Result {
  let failure: { readonly error: unknown } | undefined;
  return (action) => {
    if (failure !== undefined) throw failure.error;
    try {
      return action();
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
}
