import { sharedScanner, ValueEnd } from './compiled-scanner.ts';
import { decodeValue } from './decoder.ts';
import { JsonEndError, JsonError } from './json-error.ts';
import { batchOf, type RecordBatch } from './record-batch.ts';
import { readerOf, type RecordReader } from './record-reader.ts';
import { type Infer, type ObjectShape, typed } from './shape.ts';

const [QUOTE, COMMA, LETTER_N] = Buffer.from('",n');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('[]{}');
const BLANK = 0x20;

/** Large chunks are split, so that the window stays small. */
const PIECE_BYTES = 64 * 1024;
/**
 * An incomplete value is read again from its start; a large one only when twice as many bytes are available, so that a
 * byte is read a bounded number of times, however small the chunks are.
 */
const LARGE_BYTES = 16 * 1024;
/** Maximum length of a key of the document, or of a number outside of elements. */
const MAX_TOKEN_BYTES = 4096;
/** Items of arrays and entries of maps in an element: those selected of a node with 100 stores are some 20,000. */
const MAX_ITEMS = 200_000;

/** The part of the document that comes next. */
type Phase = 'start' | 'key' | 'member' | 'after member' | 'end' | ElementPhase;
type ElementPhase = 'element key' | 'element' | 'after element';

/** How a list and a map of elements are written. */
const LIST = { open: OPEN_BRACKET, close: CLOSE_BRACKET, first: 'element', kind: 'array' } as const;
const MAP = { open: OPEN_BRACE, close: CLOSE_BRACE, first: 'element key', kind: 'object' } as const;

interface Options<Element extends ObjectShape, Envelope extends ObjectShape> {
  /** The member that holds the list; the fields of its elements, and those of the document beside it. */
  readonly list: string;
  readonly element: Element;
  readonly envelope: Envelope;
  /** The list is a map, `{key: element, …}`. */
  readonly isMap?: boolean;
  /**
   * Called synchronously, in a map with the key. The element and its objects are views, which show the next element later: keep
   * only primitive values, arrays and maps, and use no other decoder meanwhile. What it throws, `write` or `end` throws.
   */
  readonly onElement?: ((element: Infer<Element>, key: string) => void) | undefined;
  /** In its place, for many elements of a list whose shape has no array, map or raw value: called with some of them at a time. */
  readonly onBatch?: ((batch: RecordBatch) => void) | undefined;
  /** A longer element is skipped and counted; a longer envelope member is an error. */
  readonly maxElementBytes: number;
  /** Open brackets within an element or an envelope member, including its own; likewise. */
  readonly maxDepth: number;
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Reads a document of the form `{"…": …, list: [element, …], "…": …}` while it arrives. Holds one element and one chunk;
 * bytes that the shapes do not name never become JavaScript values. After an error `write` and `end` throw that error again.
 */
export class PageParser<Element extends ObjectShape, Envelope extends ObjectShape> {
  readonly #options: Options<Element, Envelope>;
  readonly #form: typeof LIST | typeof MAP;
  readonly #scanner = sharedScanner();
  readonly #element: RecordReader;
  readonly #batch: RecordBatch | undefined;
  readonly #members: ReadonlyMap<string, RecordReader>;
  readonly #envelope = new Map<string, unknown>();
  #failure: { readonly error: unknown } | undefined;
  #phase: Phase = 'start';
  /** The name of the member, or the key of the element, that comes next. */
  #name = '';
  /** The bytes of an incomplete token or value, and their offset in the document. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #origin = 0;
  #bytesBeforeRetry = 0;
  /** The address of an element that the window does not have to its end. */
  #incompleteAt = 0;
  /** An incomplete value that is over the limit is not kept. */
  #dropped: ValueEnd | undefined;
  readonly #counts = {
    /** Whether the document has the member of the list, even if it is null. */
    hasList: false,
    /** Elements passed to `onElement`, and those that were not: over a limit, or not objects. */
    elements: 0,
    skipped: 0,
    /** How many of the skipped ones are over a limit. */
    tooLarge: 0,
    /** Values of the wrong type in the elements passed on and in the envelope. */
    wrongTypes: 0,
  };

  constructor(options: Options<Element, Envelope>) {
    this.#options = options;
    this.#form = options.isMap ? MAP : LIST;
    this.#element = readerOf(options.element, false);
    this.#batch = options.onBatch && batchOf(this.#element);
    const members = Object.entries(options.envelope.fields);
    this.#members = new Map(members.map(([name, shape]) => [name, readerOf(shape, true)]));
  }

  /** Reads the next bytes of the document, split anywhere; several chunks at a time cost less. Throws JsonError. */
  write(...chunks: readonly Uint8Array[]): void {
    this.#untilFailure(() => {
      let pieces: Uint8Array[] = [];
      let bytes = 0;
      for (const chunk of chunks) {
        for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
          const piece = chunk.subarray(at, at + PIECE_BYTES);
          if (bytes > 0 && bytes + piece.length > PIECE_BYTES) {
            this.#read(pieces, bytes);
            pieces = [];
            bytes = 0;
          }
          pieces.push(piece);
          bytes += piece.length;
        }
      }
      if (bytes > 0) this.#read(pieces, bytes);
    });
  }

  /** Call when the document is complete. Throws JsonError. */
  end() {
    this.#untilFailure(() => {
      this.#bytesBeforeRetry = 0;
      this.#read([], 0);
      if (this.#phase === 'end') return;
      const at = this.#origin + this.#heldBytes;
      throw new (at === 0 ? JsonError : JsonEndError)(at, 'the document is incomplete');
    });
    const shape = this.#options.envelope;
    // Absent members get their defaults.
    const { value: absent } = decodeValue(Buffer.from('{}'), shape);
    const envelope = typed(shape, { ...absent, ...Object.fromEntries(this.#envelope) });
    return { envelope, ...this.#counts };
  }

  #untilFailure(action: () => void): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      action();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  #read(pieces: readonly Uint8Array[], bytes: number): void {
    if (this.#dropped !== undefined) return this.#readBehindDropped(pieces);
    if (this.#heldBytes + bytes < this.#bytesBeforeRetry) return this.#hold(pieces);
    const scanner = this.#scanner;
    const limits = { maxDepth: this.#options.maxDepth, maxItems: MAX_ITEMS };
    const end = scanner.load([...this.#held, ...pieces], this.#origin, limits);
    this.#held = [];
    this.#heldBytes = 0;
    this.#incompleteAt = 0;
    try {
      const rest = this.#advance(end);
      this.#origin = scanner.offsetOf(rest);
      this.#holdIncomplete(rest, end);
    } finally {
      scanner.release();
    }
  }

  /** Skips what is left of a value that is dropped. */
  #readBehindDropped(pieces: readonly Uint8Array[]): void {
    for (const [index, piece] of pieces.entries()) {
      const end = this.#dropped?.find(piece);
      this.#origin += end ?? piece.length;
      if (end === undefined) continue;
      this.#dropped = undefined;
      const rest = [piece.subarray(end), ...pieces.slice(index + 1)];
      return this.#read(rest, lengthOf(rest));
    }
  }

  #hold(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) this.#held.push(Buffer.from(piece));
    this.#heldBytes += lengthOf(pieces);
  }

  /** Reads as far as the bytes before `end` allow; returns where an incomplete token or value begins. */
  #advance(end: number): number {
    const scanner = this.#scanner;
    let at = scanner.window;
    for (;;) {
      // Servers send compact JSON: there is mostly nothing to skip.
      if ((scanner.bytes[at] ?? 0) <= BLANK) at = scanner.exports.skipBlanks(at);
      const next = at < end ? this.#step(at, end) : 0;
      if (next === 0) return at;
      at = next;
    }
  }

  /** Reads the token or value at an address; returns where it ends, or 0 when it is incomplete. */
  #step(at: number, end: number): number {
    const byte = this.#scanner.bytes[at];
    switch (this.#phase) {
      case 'start':
        return this.#readStart(at, end);
      case 'key':
      case 'element key':
        return this.#readKey(at, end);
      case 'member':
        return this.#readMember(at);
      case 'element':
        return this.#batch === undefined ? this.#readElement(at) : this.#readBatch(at, this.#batch);
      case 'after element':
        if (byte === this.#form.close) return this.#go('after member', at + 1);
        return byte === COMMA ? this.#go(this.#form.first, at + 1) : this.#scanner.failSyntax(at);
      case 'after member':
        if (byte === CLOSE_BRACE) return this.#go('end', at + 1);
        return byte === COMMA ? this.#go('key', at + 1) : this.#scanner.failSyntax(at);
      default:
        return this.#scanner.fail('unexpected text after the document', at);
    }
  }

  /** The phase begins at an address, unless that is 0. */
  #go(phase: Phase, at: number): number {
    if (at !== 0) this.#phase = phase;
    return at;
  }

  #readStart(at: number, end: number): number {
    const scanner = this.#scanner;
    scanner.checkEncoding(at);
    if (scanner.bytes[at] === OPEN_BRACE) return this.#enter(at, end, CLOSE_BRACE, 'key', 'end');
    scanner.read(at);
    return scanner.fail('the document is not an object', at);
  }

  /** Enters the document or its list, once the byte after the bracket is available. */
  #enter(at: number, end: number, close: typeof QUOTE, first: Phase, after: Phase): number {
    const item = this.#scanner.exports.skipBlanks(at + 1);
    if (item >= end) return 0;
    return this.#scanner.bytes[item] === close ? this.#go(after, item + 1) : this.#go(first, item);
  }

  #readKey(at: number, end: number): number {
    const value = this.#scanner.readKey(at);
    if (value === 0 || value >= end) return 0;
    const name = this.#scanner.keyText(at + 1, this.#scanner.exports.keyEnd.value);
    const isMember = this.#phase === 'key';
    if (isMember && name === this.#options.list) return this.#readList(value, end);
    this.#name = name;
    return this.#go(isMember ? 'member' : 'element', value);
  }

  #readList(at: number, end: number): number {
    const scanner = this.#scanner;
    if (this.#counts.hasList) scanner.fail('the list occurs twice', at);
    const byte = scanner.bytes[at];
    const { open, close, first, kind } = this.#form;
    const isList = byte === open;
    if (!isList && byte !== LETTER_N) scanner.fail(`the list is not an ${kind}`, at);
    const next = isList
      ? this.#enter(at, end, close, first, 'after member')
      : this.#go('after member', scanner.read(at));
    this.#counts.hasList = next !== 0;
    return next;
  }

  /** Reads as many elements as it can at once; what is unusual about one is found where it is read alone. */
  #readBatch(at: number, batch: RecordBatch): number {
    if (at === this.#incompleteAt) return 0;
    const scanner = this.#scanner;
    const end = batch.read(at, this.#options.maxElementBytes);
    const { count, ending } = scanner;
    if (ending === 'incomplete') this.#incompleteAt = end;
    if (count === 0) return ending === 'incomplete' ? 0 : this.#readElement(at);
    this.#counts.elements += count;
    this.#counts.wrongTypes += scanner.wrongTypes;
    this.#options.onBatch?.(batch);
    return this.#go(ending === 'after' ? 'after element' : 'element', end);
  }

  #readElement(at: number): number {
    const scanner = this.#scanner;
    const isObject = scanner.bytes[at] === OPEN_BRACE;
    const read = scanner.read(at, isObject ? this.#element : undefined);
    const after = read < 0 ? scanner.read(at) : read;
    if (after === 0) return 0;
    const isOverLimit = read < 0 || after - at > this.#options.maxElementBytes;
    if (isObject && !isOverLimit) {
      this.#counts.elements++;
      this.#counts.wrongTypes += scanner.wrongTypes;
      this.#handOn();
    } else {
      this.#counts.skipped++;
      this.#counts.tooLarge += Number(isOverLimit);
    }
    return this.#go('after element', after);
  }

  #handOn(): void {
    const { onElement, onBatch, element } = this.#options;
    onElement?.(typed(element, this.#element.read()), this.#name);
    this.#batch?.showLast();
    if (this.#batch !== undefined) onBatch?.(this.#batch);
  }

  #readMember(at: number): number {
    const scanner = this.#scanner;
    const member = this.#members.get(this.#name);
    const after = scanner.read(at, member);
    const isTooDeep = after < 0 && scanner.failure === 'too deep';
    if (isTooDeep) scanner.failLimit('a member is nested too deeply', at);
    if (after !== 0 && member !== undefined) {
      if (after < 0 || after - at > this.#options.maxElementBytes) this.#failTooLarge(at);
      this.#counts.wrongTypes += scanner.wrongTypes;
      this.#envelope.set(this.#name, member.read());
    }
    return this.#go('after member', after);
  }

  #failTooLarge(at: number): never {
    const problem = `a member is longer than ${this.#options.maxElementBytes} bytes`;
    return this.#scanner.failLimit(problem, at);
  }

  /** Keeps the bytes of an incomplete token or value until there are more; drops those of a value over the limit. */
  #holdIncomplete(start: number, end: number): void {
    const length = end - start;
    const bytes = this.#scanner.bytes.subarray(start, end);
    const hasEnd = [QUOTE, OPEN_BRACE, OPEN_BRACKET].includes(bytes[0]);
    const isValue = hasEnd && (this.#phase === 'element' || this.#phase === 'member');
    const { maxElementBytes } = this.#options;
    if (!isValue && length > MAX_TOKEN_BYTES) {
      this.#scanner.failLimit(`a key or number has more than ${MAX_TOKEN_BYTES} bytes`, start);
    }
    const isLarge = isValue && length >= LARGE_BYTES;
    this.#bytesBeforeRetry = isLarge ? Math.min(2 * length, maxElementBytes + 1) : 0;
    if (!isValue || length <= maxElementBytes) return this.#hold([bytes]);
    if (this.#phase === 'element') {
      this.#counts.skipped++;
      this.#counts.tooLarge++;
      this.#phase = 'after element';
    } else {
      if (this.#members.has(this.#name)) this.#failTooLarge(start);
      this.#phase = 'after member';
    }
    this.#bytesBeforeRetry = 0;
    this.#origin += length;
    this.#dropped = new ValueEnd();
    this.#dropped.find(bytes);
  }
}
