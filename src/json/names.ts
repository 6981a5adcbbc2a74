import type { Cursor } from './cursor.ts';
import { keyText } from './structure.ts';

export const BUCKETS = 256;

/** Finds keys of a document among a list of names by their bytes, without making strings of them. */
export class Names {
  readonly #names: Uint8Array[] = [];
  /** For each bucket the last name in it, and for each name the one before it in its bucket. */
  readonly #last = new Int32Array(BUCKETS).fill(-1);
  readonly #before: number[] = [];

  constructor(texts: readonly string[]) {
    for (const text of texts) this.add(Buffer.from(text));
  }

  get size(): number {
    return this.#names.length;
  }

  /** Adds a name, which must not be there yet; its index is the number of names before it. */
  add(name: Uint8Array): void {
    const bucket = bucketOf(name, 0, name.length);
    this.#before.push(this.#last[bucket] ?? -1);
    this.#last[bucket] = this.#names.length;
    this.#names.push(name);
  }

  /** The index of the name that the last key read is; -1 when it is none. */
  find(cursor: Cursor): number {
    const { start, end, isEscaped } = cursor.key;
    if (!isEscaped) return this.#findBytes(cursor.bytes, start, end);
    const text = keyText(cursor);
    if (text === undefined) return -1;
    const bytes = Buffer.from(text);
    return this.#findBytes(bytes, 0, bytes.length);
  }

  #findBytes(bytes: Uint8Array, start: number, end: number): number {
    let index = this.#last[bucketOf(bytes, start, end)] ?? -1;
    while (index >= 0 && !isEqual(this.#names[index], bytes, start, end)) {
      index = this.#before[index] ?? -1;
    }
    return index;
  }
}

/** Length, first, middle and last byte tell the names of one object apart most of the time. */
export function bucketOf(bytes: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const first = bytes[start] ?? 0;
  const middle = bytes[(start + end) >> 1] ?? 0;
  const last = bytes[end - 1] ?? 0;
  return (first * 5 + middle * 11 + last + (end - start) * 29) & (BUCKETS - 1);
}

function isEqual(
  name: Uint8Array | undefined,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (name === undefined || name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) {
    if (bytes[start + i] !== name[i]) return false;
  }
  return true;
}
