import { isUtf8 } from 'node:buffer';
import { BACKSLASH, findSpecial, QUOTE, type Cursor, NEED_MORE } from './cursor.ts';

/**
 * Reads the string at the cursor, whose first byte is a quote, as JSON.parse would; undefined when
 * its bytes are not UTF-8.
 */
export function readString(cursor: Cursor, cache?: StringCache): string | undefined {
  const { bytes, view } = cursor;
  const start = cursor.pos;
  let at = start + 1;
  let isAscii = true;
  let hasEscapes = false;
  for (;;) {
    at = findSpecial(view, at);
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) {
      hasEscapes = true;
      if (at + 1 >= cursor.end) throw NEED_MORE;
      at += 2;
    } else if (byte >= 128) {
      isAscii = false;
      at++;
    } else {
      cursor.unexpected(at, 'a control character in a string');
    }
  }
  cursor.pos = at + 1;
  if (!isAscii || hasEscapes) return decodeString(cursor, start, at + 1, hasEscapes);
  return cache?.get(bytes, start + 1, at) ?? bytes.toString('latin1', start + 1, at);
}

/** The text of a string from its first quote to after its last one; undefined when not UTF-8. */
export function decodeString(
  cursor: Cursor,
  start: number,
  after: number,
  hasEscapes: boolean,
): string | undefined {
  const { bytes } = cursor;
  if (!isUtf8(bytes.subarray(start, after))) return undefined;
  if (!hasEscapes) return bytes.toString('utf8', start + 1, after - 1);
  return String(parseSlice(cursor, start, after, 'a malformed escape in a string'));
}

/** What JSON.parse makes of some bytes of the cursor, which are UTF-8. */
export function parseSlice(cursor: Cursor, start: number, after: number, problem: string): unknown {
  try {
    const value: unknown = JSON.parse(cursor.bytes.toString('utf8', start, after));
    return value;
  } catch {
    // Without the cause: JSON.parse quotes the text in its message.
    return cursor.fail('syntax', problem, start);
  }
}

export const BUCKETS = 256;

/** A hash of short texts: length, first, middle and last byte differ in most names of one object. */
export function bucketOf(bytes: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const first = bytes[start] ?? 0;
  const middle = bytes[(start + end) >> 1] ?? 0;
  const last = bytes[end - 1] ?? 0;
  return (first * 5 + middle * 11 + last + (end - start) * 29) & (BUCKETS - 1);
}

/** Longer texts are seldom repeated. */
const MAX_CACHED_BYTES = 32;

/**
 * After this many misses the cache is given up where fewer than one text in eight was found in it
 * (addresses, keys).
 */
const TRIAL_MISSES = 200;
const MISSES_PER_HIT = 8;

/**
 * Caches short ASCII texts of one place in a document. Users, applications and states repeat from
 * element to element, and comparing a few bytes costs less than creating a string again.
 */
export class StringCache {
  readonly #texts: string[] = Array.from({ length: BUCKETS }, () => '');
  readonly #bytes = new Uint8Array(BUCKETS * MAX_CACHED_BYTES);
  #hits = 0;
  #misses = 0;

  /** The text of the bytes from `start` to `end`, all below 128. */
  get(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    const isUseless = this.#misses > TRIAL_MISSES && this.#hits * MISSES_PER_HIT < this.#misses;
    if (isUseless || length > MAX_CACHED_BYTES) return bytes.toString('latin1', start, end);
    const bucket = bucketOf(bytes, start, end);
    const cached = this.#texts[bucket] ?? '';
    const base = bucket * MAX_CACHED_BYTES;
    if (cached.length === length && this.#isCached(base, bytes, start, length)) {
      this.#hits++;
      return cached;
    }
    this.#misses++;
    const text = bytes.toString('latin1', start, end);
    this.#texts[bucket] = text;
    for (let i = 0; i < length; i++) this.#bytes[base + i] = bytes[start + i] ?? 0;
    return text;
  }

  #isCached(base: number, bytes: Buffer, start: number, length: number): boolean {
    const cached = this.#bytes;
    for (let i = 0; i < length; i++) {
      if (cached[base + i] !== bytes[start + i]) return false;
    }
    return true;
  }
}
