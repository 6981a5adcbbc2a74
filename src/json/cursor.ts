import { JsonError, type JsonErrorKind } from './errors.ts';

/** The bytes that have a meaning in JSON. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
const SPACE = 0x20;

/** Classes of the bytes outside of strings, as needed to find the end of a value. */
export const PLAIN = 0;
export const STRING = 1;
export const OPEN = 2;
export const CLOSE = 3;
const INVALID = 4;
export const OUTSIDE_STRING = classTable(INVALID, [
  [PLAIN, '0123456789+-.eEtrufalsn,: \t\n\r'],
  [STRING, '"'],
  [OPEN, '{['],
  [CLOSE, '}]'],
]);

/** 1 for the bytes of numbers, of white space, and for the letters that a key usually begins with. */
export const NUMERIC = classTable(0, [[1, '0123456789+-.eE']]);
const WHITE_SPACE = classTable(0, [[1, ' \t\n\r']]);
export const KEY_START = classTable(0, [
  [1, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_'],
]);

function classTable(
  otherwise: number,
  classes: readonly (readonly [number, string])[],
): Uint8Array {
  const classOf = new Uint8Array(256).fill(otherwise);
  for (const [value, characters] of classes) {
    for (const byte of Buffer.from(characters)) classOf[byte] = value;
  }
  return classOf;
}

/**
 * The searches below examine four bytes at once. Each returns the first position from `at` on of
 * one of its bytes, or any position not before `end` when there is none. Up to seven bytes after
 * `end` must exist.
 *
 * In `(word - LOWEST) & ~word` the highest bit of a byte is set if that byte of the word is zero;
 * above the first zero byte there may be false positives, below it there are none.
 */
const LOWEST = 0x01010101;
const HIGHEST = 0x80808080 | 0;

const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;
/** Both braces are 0x7f except for one of these two bits; so are `y` and DEL. */
const BRACE_BITS = 0x06060606;
const BRACES = 0x7f7f7f7f;
const OPEN_BRACES = 0x7b7b7b7b;

export function findQuoteOrBackslash(view: DataView, at: number, end: number): number {
  for (let position = at; ; position += 4) {
    const word = view.getInt32(position, true);
    const fromQuote = word ^ QUOTES;
    const fromBackslash = word ^ BACKSLASHES;
    const found =
      (((fromQuote - LOWEST) & ~fromQuote) | ((fromBackslash - LOWEST) & ~fromBackslash)) & HIGHEST;
    if (found !== 0) return position + ((31 - Math.clz32(found & -found)) >> 3);
    if (position >= end) return position;
  }
}

/** A quote, a backslash, a control character (like the zero after the data) or a byte from 128 on. */
export function findSpecial(view: DataView, at: number): number {
  for (let position = at; ; position += 4) {
    const word = view.getInt32(position, true);
    const fromQuote = word ^ QUOTES;
    const fromBackslash = word ^ BACKSLASHES;
    const marks = ((fromQuote - LOWEST) & ~fromQuote) | ((fromBackslash - LOWEST) & ~fromBackslash);
    const found = (marks | ((word - SPACES) & ~word) | word) & HIGHEST;
    if (found !== 0) return position + ((31 - Math.clz32(found & -found)) >> 3);
  }
}

/** A brace of either kind, or `y` or DEL. */
export function findBrace(view: DataView, at: number, end: number): number {
  for (let position = at; ; position += 4) {
    const fromBrace = (view.getInt32(position, true) | BRACE_BITS) ^ BRACES;
    const found = (fromBrace - LOWEST) & ~fromBrace & HIGHEST;
    if (found !== 0) return position + ((31 - Math.clz32(found & -found)) >> 3);
    if (position >= end) return position;
  }
}

/** Whether one of the four bytes of a word is `{`. */
export function hasOpenBrace(word: number): boolean {
  const fromBrace = word ^ OPEN_BRACES;
  return ((fromBrace - LOWEST) & ~fromBrace & HIGHEST) !== 0;
}

/** Thrown, always the same and without a stack, when a value continues after the available bytes. */
export const NEED_MORE: Error = createSignal('the value continues in the next chunk');

/** Thrown likewise when a value is nested deeper than the limit. */
export const TOO_DEEP: Error = createSignal('the value is nested too deeply');

/** Progress of skipping a value (skip.ts). */
export interface SkipState {
  /** Open brackets, including those around the value. */
  depth: number;
  /** The value has ended when `depth` is this again. */
  base: number;
  /** The deepest nesting so far. */
  deepest: number;
  inString: boolean;
  /** The byte that must close each open bracket, by depth. */
  readonly closing: Uint8Array;
}

/** Space after the data for a zero byte and for reading four bytes at once. */
const SLACK_BYTES = 8;

/** Enough for a short document; the window of a large one grows to an element and a chunk. */
const INITIAL_BYTES = 4096;

/**
 * A window on the bytes not yet read, and a position in it. Each chunk is copied behind the unread
 * rest of the last one, so a value is always contiguous. A zero byte follows the data: it ends
 * every JSON token, so inner loops need not compare with `end` at each byte.
 */
export class Cursor {
  /** The window: data up to `end`, then a zero byte. */
  bytes = Buffer.alloc(INITIAL_BYTES);
  /** The same bytes, to read four at once. */
  view = viewOf(this.bytes);
  /** Only the data of the window, for `indexOf`, which would otherwise find old bytes after it. */
  data = this.bytes.subarray(0, 0);
  pos = 0;
  end = 0;
  /** The first byte that is still needed: `pos`, or the start of a value whose end is not found yet. */
  keep = 0;
  /** Values of the wrong type so far. */
  wrongTypes = 0;
  /** Items of arrays and entries of maps read so far. */
  items = 0;
  /** Open brackets within the current element or envelope member. */
  depth = 0;
  /** The last key read: its bytes between the quotes, and whether one of them is a backslash. */
  readonly key = { start: 0, end: 0, isEscaped: false };
  readonly maxDepth: number;
  readonly maxItems: number;
  readonly skip: SkipState;
  /** The offset of the window in the document. */
  #origin = 0;

  constructor(maxDepth: number, maxItems = Infinity) {
    this.maxDepth = maxDepth;
    this.maxItems = maxItems;
    const closing = new Uint8Array(maxDepth + 1);
    this.skip = { depth: 0, base: 0, deepest: 0, inString: false, closing };
  }

  append(chunk: Uint8Array): void {
    if (this.end + chunk.length + SLACK_BYTES > this.bytes.length) this.#makeRoom(chunk.length);
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
    this.bytes[this.end] = 0;
    this.data = this.bytes.subarray(0, this.end);
  }

  fail(kind: JsonErrorKind, problem: string, position = this.pos): never {
    throw new JsonError(kind, this.#origin + position, problem);
  }

  /** For a byte that is not allowed at `position`: the end of the available bytes, or an error. */
  unexpected(position: number, problem: string): never {
    if (position >= this.end) throw NEED_MORE;
    this.fail('syntax', problem, position);
  }

  /** Limits the items that are kept: the smallest takes many times its bytes as a value. */
  countItems(count: number): void {
    this.items += count;
    if (this.items > this.maxItems) {
      this.fail(
        'limit',
        `the document holds more than ${this.maxItems} values in its lists and maps`,
      );
    }
  }

  /**
   * Moves the bytes still needed to the front, into a larger buffer when they fill more than half
   * of this one; so a byte is moved a bounded number of times, however small the chunks are.
   */
  #makeRoom(bytes: number): void {
    const kept = this.end - this.keep;
    const needed = 2 * kept + bytes + SLACK_BYTES;
    const target = needed > this.bytes.length ? Buffer.alloc(needed) : this.bytes;
    this.bytes.copy(target, 0, this.keep, this.end);
    if (target !== this.bytes) this.view = viewOf(target);
    this.bytes = target;
    this.#origin += this.keep;
    this.pos -= this.keep;
    this.end = kept;
    this.keep = 0;
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function createSignal(message: string): Error {
  const error = new Error(message);
  delete error.stack;
  return error;
}

export function skipWhiteSpace(cursor: Cursor): void {
  const { bytes } = cursor;
  // Servers send compact JSON.
  if ((bytes[cursor.pos] ?? 0) > SPACE) return;
  let at = cursor.pos;
  while (WHITE_SPACE[bytes[at] ?? 0] === 1) at++;
  cursor.pos = at;
}

/** Fails early and with a clear message when a document is not JSON in UTF-8. */
export function checkStart(cursor: Cursor): void {
  if (cursor.pos >= cursor.end) throw NEED_MORE;
  const byte = cursor.bytes[cursor.pos] ?? 0;
  if (byte >= 128 || byte === 0) cursor.fail('encoding', 'a byte order mark, or not UTF-8');
  if (OUTSIDE_STRING[byte] === INVALID) cursor.fail('syntax', 'the document is not JSON');
}

/**
 * Moves over an opening bracket to the first item; returns false when there is none, with the
 * cursor after the closing bracket `close`.
 */
export function enter(cursor: Cursor, close: number): boolean {
  if (++cursor.depth > cursor.maxDepth) throw TOO_DEEP;
  cursor.pos++;
  skipWhiteSpace(cursor);
  if (cursor.bytes[cursor.pos] !== close) return true;
  return leave(cursor);
}

/** Moves from the end of one item to the next; returns false after the last, like `enter`. */
export function toNextItem(cursor: Cursor, close: number): boolean {
  skipWhiteSpace(cursor);
  const byte = cursor.bytes[cursor.pos];
  if (byte === close) return leave(cursor);
  if (byte !== COMMA) cursor.unexpected(cursor.pos, 'expected a comma or a closing bracket');
  cursor.pos++;
  skipWhiteSpace(cursor);
  return true;
}

function leave(cursor: Cursor): false {
  cursor.depth--;
  cursor.pos++;
  return false;
}
