import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '#base';
import { JsonError, JsonLimitError } from './json-error.ts';
import { parseUtcTime } from './time.ts';

/** The part of WebAssembly that is used; the types of Node.js do not declare it. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Exports };
  validate(code: Uint8Array): boolean;
};

/** The exports of the scanner. Addresses are numbers; 0 is no address. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly state: { readonly value: number };
  readonly allocate: (bytes: number) => number;
  readonly createTable: (keys: number) => number;
  readonly addKey: (table: number, start: number, length: number, value: number) => void;
  readonly addPrefix: (table: number, start: number, length: number) => void;
  readonly openWindow: (bytes: number, maxDepth: number, maxItems: number) => number;
  readonly skipBlanks: (at: number) => number;
  readonly readKey: (at: number) => number;
  readonly keyEnd: { readonly value: number };
  readonly readWhole: (at: number, plan: number, record: number) => number;
  readonly readMany: (
    at: number,
    plan: number,
    record: number,
    max: number,
    maxBytes: number,
  ) => number;
}

const SCANNER_FILE = path.join(ROOT, 'src/json/scanner.wasm');

/** Why a value could not be read, in the order of scanner/skip.ts. */
const FAILURES = ['incomplete', 'syntax', 'too deep', 'too many items'] as const;

/** Where `readMany` ended, in the order of scanner/skip.ts. */
const ENDINGS = ['after', 'incomplete', 'unusual'] as const;

/** RFC 3339 with up to 9 decimals, as Go writes it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
/** A time of 35 characters, each an escape: `\u0041`. */
const MAX_TIME_BYTES = 35 * 6;
/** Go's zero time, 0001-01-01T00:00:00Z, which stands for "none". */
const ZERO_TIME_MS = -62_135_596_800_000;

/** A trait that the scanner notes about a string: it contains a backslash. (The other trait is: not only ASCII.) */
export const ESCAPED = 1;

/** The most that a UTF-16 code unit takes in UTF-8. */
const MAX_UNIT_BYTES = 3;

const [QUOTE, BACKSLASH = 0x5c] = Buffer.from('"\\');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('[]{}');

/** Space for a key without its escapes (scanner/keys.ts). */
const MAX_PLAIN_BYTES = 4096;

/** The value of a document is read by the plan and into the record at these addresses. */
export interface Target {
  readonly plan: number;
  readonly record: number;
}

/**
 * The compiled scanner and its memory, which holds plans and records, then a window on the bytes of a document, then items of
 * arrays and maps. It keeps nothing of a document between two calls of `load`, so all documents share it. The memory stays as
 * large as the largest element needed; pages with usual elements need 1 MB.
 */
export class Scanner {
  readonly exports: Exports;
  /** The memory, in three ways; other objects when it has grown. */
  bytes = Buffer.alloc(0);
  words = new Int32Array();
  numbers = new Float64Array();
  /** The raw values in the record that was read last. */
  readonly raws: unknown[] = [];
  /** Where the window begins, and the offset of that byte in the document. */
  window = 0;
  #origin = 0;
  readonly #stateWord: number;
  #isInUse = false;

  constructor() {
    const { exports } = new WebAssembly.Instance(
      new WebAssembly.Module(readFileSync(SCANNER_FILE)),
      {
        // Named after the file of the scanner that declares them.
        'read-values': {
          isText: (start: number, end: number) => isUtf8(this.bytes.subarray(start, end)),
          toTime: (start: number, end: number) => this.#toTime(start, end),
          toNumber: (start: number, end: number) => Number(this.text(start, end, 0)),
          toRaw: (start: number, end: number) => this.#toRaw(start, end),
        },
        keys: {
          unescapeKey: (start: number, end: number, target: number) =>
            this.bytes.write(this.text(start, end, ESCAPED), target, MAX_PLAIN_BYTES),
          memoryGrew: () => this.#useMemory(),
        },
      },
    );
    this.exports = exports;
    this.#stateWord = exports.state.value / 4;
    this.#useMemory();
  }

  /** Memory for plans and records, which is never freed. */
  allocate(bytes: number): number {
    this.#assertUnused();
    return this.exports.allocate(bytes);
  }

  #assertUnused(): void {
    if (this.#isInUse) throw new Error('a decoder cannot be used by the consumer of another one');
  }

  /**
   * Makes these bytes of a document the window, until `release`; returns the address of their end. `maxItems`: of arrays
   * and maps in one value, taken together.
   */
  load(
    parts: readonly Uint8Array[],
    origin: number,
    { maxDepth, maxItems }: { readonly maxDepth: number; readonly maxItems: number },
  ): number {
    this.#assertUnused();
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.#origin = origin;
    this.window = this.exports.openWindow(length, maxDepth, maxItems);
    if (this.window === 0) throw new RangeError('out of memory');
    let end = this.window;
    for (const part of parts) {
      this.bytes.set(part, end);
      end += part.length;
    }
    this.#isInUse = true;
    return end;
  }

  release(): void {
    this.#isInUse = false;
  }

  /**
   * Reads the value at an address into the target's record; without one only its end is found, whatever its depth. Returns
   * where it ends, 0 when it is incomplete, -1 when it is over a limit.
   */
  read(at: number, target?: Target): number {
    if (this.raws.length > 0) this.raws.length = 0;
    return (
      this.exports.readWhole(at, target?.plan ?? 0, target?.record ?? 0) || this.#explainFailure()
    );
  }

  /** Like `read`, for a key of an object; returns where its value begins. */
  readKey(at: number): number {
    return this.exports.readKey(at) || this.#explainFailure();
  }

  #explainFailure(): number {
    if (this.failure === 'syntax') this.failSyntax(this.#state(1));
    return this.failure === 'incomplete' ? 0 : -1;
  }

  /** How many objects the last `readMany` of the scanner has read. */
  get count(): number {
    return this.#state(3);
  }

  /** Where it ended: after an object, at one that is incomplete, or at a value that `read` must look at. */
  get ending(): (typeof ENDINGS)[number] {
    return ENDINGS[this.#state(4)] ?? 'unusual';
  }

  get failure(): (typeof FAILURES)[number] {
    return FAILURES[this.#state(0)] ?? 'syntax';
  }

  /** Values of the wrong type in what was read last. */
  get wrongTypes(): number {
    return this.#state(2);
  }

  #state(index: number): number {
    return this.words[this.#stateWord + index] ?? 0;
  }

  /** The offset of an address in the document. */
  offsetOf(address: number): number {
    return this.#origin + address - this.window;
  }

  fail(problem: string, address: number): never {
    throw new JsonError(this.offsetOf(address), problem);
  }

  failLimit(problem: string, address: number): never {
    throw new JsonLimitError(this.offsetOf(address), problem);
  }

  failSyntax(address: number): never {
    return this.fail('the document is not valid JSON', address);
  }

  /** Fails early and with a clear message when a document is not JSON in UTF-8. */
  checkEncoding(at: number): void {
    const byte = this.bytes[at] ?? 0;
    if (byte >= 128 || byte === 0) this.fail('a byte order mark, or not UTF-8', at);
  }

  /** The text between the quotes of a string; its escapes are correct. */
  text(start: number, end: number, traits: number): string {
    if (traits === 0) return this.bytes.toString('latin1', start, end);
    const text = this.bytes.toString('utf8', start, end);
    return (traits & ESCAPED) === 0 ? text : String(JSON.parse(`"${text}"`));
  }

  /** The first code units of a text; without escapes no more than these are decoded. */
  startOfText(start: number, end: number, traits: number, maxLength: number): string {
    const enough = start + MAX_UNIT_BYTES * (maxLength + 1);
    const isEscaped = (traits & ESCAPED) !== 0;
    const text = this.text(start, isEscaped ? end : Math.min(end, enough), traits);
    if (text.length <= maxLength) return text;
    // A copy: a part of a text keeps the whole text in memory.
    return Buffer.from(text.slice(0, maxLength), 'utf16le').toString('utf16le');
  }

  /** The text of a key or a time, whose traits are not noted. */
  keyText(start: number, end: number): string {
    return this.text(start, end, this.bytes.subarray(start, end).includes('\\') ? ESCAPED : -2);
  }

  #useMemory(): void {
    const { buffer } = this.exports.memory;
    this.bytes = Buffer.from(buffer);
    this.words = new Int32Array(buffer);
    this.numbers = new Float64Array(buffer);
  }

  #toTime(start: number, end: number): number {
    const time = parseUtcTime(this.bytes, start, end) ?? this.#toOtherTime(start, end);
    return time === ZERO_TIME_MS ? Infinity : time;
  }

  /** A time with another offset, with escapes or of another form. */
  #toOtherTime(start: number, end: number): number {
    const text = end - start > MAX_TIME_BYTES ? '' : this.keyText(start, end);
    return TIME.test(text) ? Date.parse(text) : NaN;
  }

  #toRaw(start: number, end: number): number {
    try {
      return this.raws.push(JSON.parse(this.bytes.toString('utf8', start, end))) - 1;
    } catch {
      return -1;
    }
  }
}

let shared: Scanner | undefined;

/** The scanner of this process. */
export function sharedScanner(): Scanner {
  shared ??= new Scanner();
  return shared;
}

/** Whether this Node.js can run the scanner: it needs WebAssembly with SIMD. */
export function canScan(): boolean {
  return typeof WebAssembly === 'object' && WebAssembly.validate(readFileSync(SCANNER_FILE));
}

/** Finds the end of a string, array or object in bytes that arrive in pieces. */
export class ValueEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  /** Returns where the value ends in the next bytes, or undefined. */
  find(bytes: Uint8Array): number | undefined {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#inString && byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#inString = !this.#inString;
      else if (this.#inString) continue;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
      else continue;
      if (this.#depth === 0 && !this.#inString) return at + 1;
    }
    return undefined;
  }
}
