import { JsonError, type JsonErrorKind } from './errors.ts';

/** Thrown, without a trace and always the same, when a value goes on behind the bytes at hand. */
export const CUT: Error = signal('the value goes on in the next chunk');

/** Thrown likewise when a value is nested deeper than the limit. */
export const TOO_DEEP: Error = signal('the value is nested too deeply');

/** How far the skipping of a value has come (skip.ts). */
export interface SkipState {
  /** Open brackets, those around the value included. */
  depth: number;
  /** The value has ended when `depth` is this again. */
  base: number;
  /** The deepest nesting met. */
  deepest: number;
  inString: boolean;
  /** The byte that must close each open bracket, by depth. */
  readonly closing: Uint8Array;
}

/** Behind the data there is room for a zero byte and for reading four bytes at once. */
const SLACK_BYTES = 8;

/** Enough for a short document; the window of a large one grows to an element and a chunk. */
const INITIAL_BYTES = 4096;

/**
 * The bytes not yet read, in one buffer, and the place in them. Each chunk is copied behind the
 * unread rest of the last one, so a value is always in one piece. A zero byte stands behind the
 * data: no JSON token goes on over it, so inner loops need not test for the end at every byte, only
 * when they meet something unusual.
 */
export class Cursor {
  /** The window; data up to `end`, then a zero byte. */
  bytes = Buffer.alloc(INITIAL_BYTES);
  /** The same bytes, to be read by four. */
  view = viewOf(this.bytes);
  /** The window's data and nothing else, for searches that would run into old bytes. */
  filled = this.bytes.subarray(0, 0);
  pos = 0;
  end = 0;
  /** The first byte that is still needed: `pos`, or the start of a value that is searched for its end. */
  keep = 0;
  /** Values of the wrong kind met so far. */
  wrong = 0;
  /** Items of arrays and entries of maps read so far. */
  items = 0;
  /** How many brackets are open within the current element or envelope member. */
  depth = 0;
  /** The last key read: its bytes between the quotes, and whether one of them is a backslash. */
  readonly key = { start: 0, end: 0, isEscaped: false };
  readonly maxDepth: number;
  readonly maxItems: number;
  readonly skip: SkipState;
  /** Where in the document the window begins. */
  #origin = 0;

  constructor(maxDepth: number, maxItems = Infinity) {
    this.maxDepth = maxDepth;
    this.maxItems = maxItems;
    const closing = new Uint8Array(maxDepth + 1);
    this.skip = { depth: 0, base: 0, deepest: 0, inString: false, closing };
  }

  /** Adds bytes behind those not yet read. */
  append(chunk: Uint8Array): void {
    if (this.end + chunk.length + SLACK_BYTES > this.bytes.length) this.#makeRoom(chunk.length);
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
    this.bytes[this.end] = 0;
    this.filled = this.bytes.subarray(0, this.end);
  }

  /** Where `position` is in the whole document. */
  offset(position: number): number {
    return this.#origin + position;
  }

  fail(kind: JsonErrorKind, problem: string, position = this.pos): never {
    throw new JsonError(kind, this.offset(position), problem);
  }

  /** Counts items that are kept: the smallest takes many times its bytes once it is a value. */
  countItems(count: number): void {
    this.items += count;
    if (this.items > this.maxItems) {
      this.fail(
        'limit',
        `the document holds more than ${this.maxItems} values in its lists and maps`,
      );
    }
  }

  /** A byte that cannot stand here: the end of the bytes at hand, or a mistake. */
  unexpected(position: number, problem: string): never {
    if (position >= this.end) throw CUT;
    this.fail('syntax', problem, position);
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

function signal(message: string): Error {
  const error = new Error(message);
  delete error.stack;
  return error;
}
