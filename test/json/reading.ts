import { createDecoder, type DecoderOptions } from '../../src/json/decoder.ts';
import type { DecodedPage } from '../../src/json/page-parser.ts';
import type { Infer, ObjectShape } from '../../src/json/shape.ts';

type Limits = Pick<DecoderOptions<ObjectShape, ObjectShape>, 'maxElementBytes' | 'maxDepth'>;

/** Limits that no document of these tests reaches unless it means to. */
export const generous: Limits = { maxElementBytes: 1_000_000, maxDepth: 64 };

export interface Reading<Element> extends DecodedPage<unknown> {
  readonly list: readonly Element[];
}

/** Reads a whole document in the given pieces, with copies of the elements. */
export function readPieces<Element extends ObjectShape>(
  pieces: Iterable<Uint8Array>,
  options: { list: string; element: Element; envelope: ObjectShape } & Partial<Limits>,
): Reading<Infer<Element>> {
  const list: Infer<Element>[] = [];
  const decoder = createDecoder({
    ...generous,
    ...options,
    onElement: (element) => list.push(structuredClone(element)),
  });
  for (const piece of pieces) decoder.write(piece);
  return { ...decoder.end(), list };
}

/** The bytes of `text` in two pieces. */
export function cutAt(bytes: Uint8Array, position: number): Uint8Array[] {
  return [bytes.subarray(0, position), bytes.subarray(position)];
}

/** The bytes in pieces of one size. */
export function* inPieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
