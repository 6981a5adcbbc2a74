import type { Cursor } from './cursor.ts';
import { keyText } from './structure.ts';

/** A name that is looked for among the keys of a document, and its place in the list of names. */
export interface Name {
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly index: number;
}

const BUCKETS = 256;

/** Finds the keys of a document among a list of names, without making strings of them. */
export class Names {
  readonly #buckets: Name[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #byText = new Map<string, Name>();

  constructor(texts: readonly string[]) {
    for (const [index, text] of texts.entries()) {
      const name = { text, bytes: Buffer.from(text), index };
      this.#byText.set(text, name);
      this.#buckets[bucketOf(name.bytes, 0, name.bytes.length)]?.push(name);
    }
  }

  /** The name that the cursor's key is, if it is one. */
  find(cursor: Cursor): Name | undefined {
    const { bytes, key } = cursor;
    if (key.isEscaped) return this.findText(keyText(cursor));
    const bucket = this.#buckets[bucketOf(bytes, key.start, key.end)];
    return bucket?.find((name) => isAt(name.bytes, bytes, key.start, key.end));
  }

  /** The same for a key that had to be decoded. */
  findText(text: string | undefined): Name | undefined {
    return text === undefined ? undefined : this.#byText.get(text);
  }
}

/** Length, first and last bytes: enough to tell the names of one object apart most of the time. */
function bucketOf(bytes: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const ends = (bytes[start] ?? 0) * 5 + (bytes[end - 1] ?? 0);
  return (ends + (end - start) * 29 + (bytes[(start + end) >> 1] ?? 0) * 11) % BUCKETS;
}

/** Whether exactly `expected` stands from `start` to `end`. */
function isAt(expected: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== expected.length) return false;
  for (let i = 0; i < expected.length; i++) {
    if (bytes[start + i] !== expected[i]) return false;
  }
  return true;
}
