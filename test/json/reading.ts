import { PageParser, type Infer, type ObjectShape, typed } from '../../src/json/index.ts';

interface Limits {
  readonly maxElementBytes: number;
  readonly maxDepth: number;
}

/** Limits that no document of these tests reaches unless it means to. */
export const generous: Limits = { maxElementBytes: 1_000_000, maxDepth: 64 };

export type Reading<Element> = ReturnType<PageParser<ObjectShape, ObjectShape>['end']> & {
  readonly list: readonly Element[];
};

/** Reads a whole document in the given pieces, with copies of the elements. */
export function readPieces<Element extends ObjectShape>(
  pieces: Iterable<Uint8Array>,
  options: { list: string; element: Element; envelope: ObjectShape } & Partial<Limits>,
): Reading<Infer<Element>> {
  const list: Infer<Element>[] = [];
  const decoder = new PageParser({
    ...generous,
    ...options,
    onElement: (element) => list.push(typed(options.element, copyOf(element))),
  });
  for (const piece of pieces) decoder.write(piece);
  return { ...decoder.end(), list };
}

function copyOf(value: unknown): unknown {
  const isPlain = Object.prototype.toString.call(value) === '[object Object]';
  if (!isPlain || typeof value !== 'object' || value === null) return structuredClone(value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)]));
}

/** The bytes of `text` in two pieces. */
export function cutAt(bytes: Uint8Array, position: number): Uint8Array[] {
  return [bytes.subarray(0, position), bytes.subarray(position)];
}

/** The bytes in pieces of one size. */
export function* inPieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
