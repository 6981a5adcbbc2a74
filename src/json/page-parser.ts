import { JsonError } from './errors.ts';
import type { RecordReader } from './records.ts';
import { sharedScanner, ValueEnd } from './scanner.ts';

export interface DecodedPage<Envelope> {
  readonly envelope: Envelope;
  /** Whether the document has the member of the list, even if it is null. */
  readonly hasList: boolean;
  /** Elements passed to `onElement`. */
  readonly elements: number;
  /** Elements not passed on: over a limit, or not objects. */
  readonly skipped: number;
  /** Values of the wrong type in the elements passed on and in the envelope. */
  readonly wrongTypes: number;
  /** Whether an element was skipped because of a limit. */
  readonly limitHit: boolean;
}

const [QUOTE, COMMA, COLON, LETTER_N] = Buffer.from('",:n');
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('[]{}');
const BLANK = 0x20;

/** Large chunks are split, so that the window stays small. */
const PIECE_BYTES = 64 * 1024;

/**
 * An incomplete value is read again from its start; a large one only when twice as many bytes are
 * available, so that a byte is read a bounded number of times, however small the chunks are.
 */
const LARGE_BYTES = 16 * 1024;

/** Maximum length of a key of the document, or of a number outside of elements. */
const MAX_TOKEN_BYTES = 4096;

/** Items of arrays and entries of maps in an element: those selected of a node with 100 stores are some 20,000. */
const MAX_ITEMS = 1_000_000;

/** What comes next in the document. */
type Phase = 'start' | 'key' | 'member' | 'element' | 'after element' | 'after member' | 'end';

interface Options {
  readonly list: string;
  readonly element: RecordReader;
  readonly envelope: ReadonlyMap<string, RecordReader>;
  /** Called when the element has been read. */
  readonly onElement: () => void;
  readonly maxElementBytes: number;
  readonly maxDepth: number;
}

/** Parses a page, which is a document with one list, as its bytes arrive. */
export class PageParser {
  readonly #options: Options;
  readonly #scanner = sharedScanner();
  readonly #targets: readonly RecordReader[];
  readonly #envelope = new Map<string, unknown>();
  #phase: Phase = 'start';
  /** The envelope member that comes next; undefined if it is not wanted. */
  #member: RecordReader | undefined;
  #memberName = '';
  /** The bytes of an incomplete token or value, and their offset in the document. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #origin = 0;
  #bytesBeforeRetry = 0;
  /** An incomplete value that is over the limit is not kept. */
  #dropped: ValueEnd | undefined;
  #hasList = false;
  #elements = 0;
  #skipped = 0;
  #wrongTypes = 0;
  #limitHit = false;

  constructor(options: Options) {
    this.#options = options;
    this.#targets = [options.element, ...options.envelope.values()];
  }

  write(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      this.#read(chunk.subarray(at, at + PIECE_BYTES));
    }
  }

  end(): DecodedPage<unknown> {
    this.#bytesBeforeRetry = 0;
    this.#read(new Uint8Array());
    if (this.#phase !== 'end') {
      const offset = this.#origin + this.#keptBytes;
      throw new JsonError('truncated', offset, 'the document is incomplete');
    }
    const envelope = Array.from(this.#options.envelope, ([name, member]) => [
      name,
      this.#envelope.has(name) ? this.#envelope.get(name) : member.readAbsent(),
    ]);
    return {
      envelope: Object.fromEntries(envelope),
      hasList: this.#hasList,
      elements: this.#elements,
      skipped: this.#skipped,
      wrongTypes: this.#wrongTypes,
      limitHit: this.#limitHit,
    };
  }

  #read(piece: Uint8Array): void {
    let bytes = piece;
    if (this.#dropped !== undefined) {
      const end = this.#dropped.find(bytes);
      this.#origin += end ?? bytes.length;
      if (end === undefined) return;
      this.#dropped = undefined;
      bytes = bytes.subarray(end);
    }
    if (this.#keptBytes + bytes.length < this.#bytesBeforeRetry) {
      this.#keep(bytes);
      return;
    }
    const scanner = this.#scanner;
    const limits = { maxDepth: this.#options.maxDepth, maxItems: MAX_ITEMS };
    const end = scanner.load([...this.#kept, bytes], this.#origin, this.#targets, limits);
    this.#kept = [];
    this.#keptBytes = 0;
    try {
      const rest = this.#advance(end);
      this.#origin = scanner.offsetOf(rest);
      this.#keepRest(rest, end);
    } finally {
      scanner.release();
    }
  }

  #keep(bytes: Uint8Array): void {
    this.#kept.push(Buffer.from(bytes));
    this.#keptBytes += bytes.length;
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
        return this.#readKey(at, end);
      case 'member':
        return this.#readMember(at);
      case 'element':
        return this.#readElement(at);
      case 'after element':
        if (byte === CLOSE_BRACKET) return this.#go('after member', at + 1);
        return byte === COMMA ? this.#go('element', at + 1) : this.#scanner.failSyntax(at);
      case 'after member':
        if (byte === CLOSE_BRACE) return this.#go('end', at + 1);
        return byte === COMMA ? this.#go('key', at + 1) : this.#scanner.failSyntax(at);
      default:
        return this.#scanner.fail('trailing', 'unexpected text after the document', at);
    }
  }

  #go(phase: Phase, at: number): number {
    this.#phase = phase;
    return at;
  }

  #readStart(at: number, end: number): number {
    const scanner = this.#scanner;
    scanner.checkEncoding(at);
    if (scanner.bytes[at] === OPEN_BRACE) return this.#enter(at, end, CLOSE_BRACE, 'key', 'end');
    scanner.read(at);
    return scanner.fail('type', 'the document is not an object', at);
  }

  /** Enters the document or its list, once the byte after the bracket is available. */
  #enter(at: number, end: number, close: typeof QUOTE, first: Phase, after: Phase): number {
    const item = this.#scanner.exports.skipBlanks(at + 1);
    if (item >= end) return 0;
    const isEmpty = this.#scanner.bytes[item] === close;
    return isEmpty ? this.#go(after, item + 1) : this.#go(first, item);
  }

  #readKey(at: number, end: number): number {
    const scanner = this.#scanner;
    if (scanner.bytes[at] !== QUOTE) scanner.failSyntax(at);
    const after = scanner.skipString(at + 1);
    if (after === 0) return 0;
    const colon = scanner.exports.skipBlanks(after);
    if (colon < end && scanner.bytes[colon] !== COLON) scanner.failSyntax(colon);
    const value = scanner.exports.skipBlanks(colon + 1);
    if (value >= end) return 0;
    const name = scanner.keyText(at + 1, after - 1);
    if (name === this.#options.list) return this.#readList(value, end);
    this.#memberName = name;
    this.#member = this.#options.envelope.get(name);
    return this.#go('member', value);
  }

  #readList(at: number, end: number): number {
    const scanner = this.#scanner;
    const byte = scanner.bytes[at];
    if (this.#hasList) scanner.fail('duplicate', 'the list occurs twice', at);
    if (byte === OPEN_BRACKET) {
      const next = this.#enter(at, end, CLOSE_BRACKET, 'element', 'after member');
      this.#hasList = next !== 0;
      return next;
    }
    if (byte !== LETTER_N) scanner.fail('type', 'the list is not an array', at);
    const after = scanner.read(at);
    this.#hasList = after !== 0;
    return this.#hasList ? this.#go('after member', after) : 0;
  }

  #readElement(at: number): number {
    const scanner = this.#scanner;
    const isObject = scanner.bytes[at] === OPEN_BRACE;
    const read = scanner.read(at, isObject ? this.#options.element : undefined);
    const after = read < 0 ? scanner.read(at) : read;
    if (after === 0) return 0;
    if (read < 0 || after - at > this.#options.maxElementBytes) {
      this.#skipped++;
      this.#limitHit = true;
    } else if (isObject) {
      this.#elements++;
      this.#wrongTypes += scanner.wrongTypes;
      this.#options.onElement();
    } else {
      this.#skipped++;
    }
    return this.#go('after element', after);
  }

  #readMember(at: number): number {
    const scanner = this.#scanner;
    const member = this.#member;
    const after = scanner.read(at, member);
    if (member !== undefined) {
      if (after < 0 && scanner.failure === 'too deep') {
        scanner.fail('depth', 'a member is nested too deeply', at);
      }
      if (after < 0 || after - at > this.#options.maxElementBytes) this.#failTooLarge(at);
      if (after > 0) {
        this.#wrongTypes += scanner.wrongTypes;
        this.#envelope.set(this.#memberName, member.read());
      }
    }
    return after === 0 ? 0 : this.#go('after member', after);
  }

  #failTooLarge(at: number): never {
    const { maxElementBytes } = this.#options;
    return this.#scanner.fail('limit', `a member is longer than ${maxElementBytes} bytes`, at);
  }

  /** Keeps the bytes of an incomplete token or value until there are more; drops those of a value over the limit. */
  #keepRest(start: number, end: number): void {
    const length = end - start;
    const bytes = this.#scanner.bytes.subarray(start, end);
    const [first] = bytes;
    const isText = first === QUOTE || first === OPEN_BRACE || first === OPEN_BRACKET;
    const isValue = isText && (this.#phase === 'element' || this.#phase === 'member');
    const { maxElementBytes } = this.#options;
    if (!isValue && length > MAX_TOKEN_BYTES) {
      this.#scanner.fail('limit', `a key or number has more than ${MAX_TOKEN_BYTES} bytes`, start);
    }
    const isLarge = isValue && length >= LARGE_BYTES;
    this.#bytesBeforeRetry = isLarge ? Math.min(2 * length, maxElementBytes + 1) : 0;
    if (!isValue || length <= maxElementBytes) {
      this.#keep(bytes);
      return;
    }
    if (this.#phase === 'element') {
      this.#skipped++;
      this.#limitHit = true;
      this.#phase = 'after element';
    } else {
      if (this.#member !== undefined) this.#failTooLarge(start);
      this.#phase = 'after member';
    }
    this.#bytesBeforeRetry = 0;
    this.#origin += length;
    this.#dropped = new ValueEnd();
    this.#dropped.find(bytes);
  }
}
