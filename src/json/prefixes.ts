import type { Cursor } from './cursor.ts';

/** Tells keys that may begin with one of some prefixes from the many that do not. */
export class Prefixes {
  readonly #prefixes: readonly Uint8Array[];
  /** 1 for the bytes that a prefix begins with. */
  readonly #first = new Uint8Array(256);
  readonly #isAny: boolean;

  constructor(prefixes: readonly string[]) {
    this.#prefixes = prefixes.map((prefix) => Buffer.from(prefix));
    for (const [first] of this.#prefixes) if (first !== undefined) this.#first[first] = 1;
    this.#isAny = prefixes.includes('');
  }

  /** Whether the last key read begins with a prefix; a key with escapes may. */
  mayStand(cursor: Cursor): boolean {
    const { start, isEscaped } = cursor.key;
    if (isEscaped || this.#isAny) return true;
    if (this.#first[cursor.bytes[start] ?? 0] !== 1) return false;
    for (const prefix of this.#prefixes) if (isAt(prefix, cursor.bytes, start)) return true;
    return false;
  }
}

/** A prefix contains no quote, so the comparison ends at the latest where the key does. */
function isAt(prefix: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < prefix.length; i++) {
    if (bytes[start + i] !== prefix[i]) return false;
  }
  return true;
}
