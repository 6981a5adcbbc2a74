import { bucketOf, BUCKETS } from './names.ts';

/** Longer texts are seldom repeated. */
const LONGEST = 32;

/**
 * After so many misses it shows whether texts repeat here; where fewer than one in so many was known
 * (addresses, keys), nothing is looked for any more.
 */
const TRIALS = 200;
const WORTHWHILE = 8;

/**
 * Remembers short ASCII texts of one place in a document. Users, applications and states repeat
 * from element to element, and comparing a few bytes costs less than making a string again.
 */
export class Texts {
  readonly #texts: string[] = Array.from({ length: BUCKETS }, () => '');
  readonly #bytes = new Uint8Array(BUCKETS * LONGEST);
  #hits = 0;
  #misses = 0;

  /** The text whose bytes, all below 128, stand from `start` to `end`. */
  get(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    const isHopeless = this.#misses > TRIALS && this.#hits * WORTHWHILE < this.#misses;
    if (isHopeless || length > LONGEST) return bytes.toString('latin1', start, end);
    const bucket = bucketOf(bytes, start, end);
    const known = this.#texts[bucket] ?? '';
    const base = bucket * LONGEST;
    if (known.length === length && this.#isKept(base, bytes, start, length)) {
      this.#hits++;
      return known;
    }
    this.#misses++;
    const text = bytes.toString('latin1', start, end);
    this.#texts[bucket] = text;
    for (let i = 0; i < length; i++) this.#bytes[base + i] = bytes[start + i] ?? 0;
    return text;
  }

  #isKept(base: number, bytes: Buffer, start: number, length: number): boolean {
    const kept = this.#bytes;
    for (let i = 0; i < length; i++) {
      if (kept[base + i] !== bytes[start + i]) return false;
    }
    return true;
  }
}
