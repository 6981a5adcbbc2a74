import { CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET } from './characters.ts';
import type { Decoded, DecoderLimits } from './contract.ts';
import { Cursor, CUT, TOO_DEEP } from './cursor.ts';
import { isNull, readOrUnknown, type Reader } from './reader.ts';
import { beginSkip, resumeSkip, skipValue } from './skip.ts';
import { enter, checkStart, keyText, proceed, readKey, skipBlanks } from './structure.ts';

interface Options {
  readonly list: string;
  readonly element: Reader;
  readonly envelope: ReadonlyMap<string, Reader>;
  readonly onElement: (element: unknown) => void;
  readonly limits: DecoderLimits;
}

/** Large chunks are taken in pieces, so that the window stays small. */
const PIECE_BYTES = 64 * 1024;

/**
 * An element that is cut is read again from its start. For large ones that would be much, and the
 * elements of a list are alike: so the next one is only tried when there are as many bytes as the
 * last one had, and somewhat more.
 */
const LARGE_BYTES = 16 * 1024;
const MARGIN = 1.25;

/** A key of the document, or a number outside of elements, that is longer is not worth waiting for. */
const MAX_TOKEN_BYTES = 4096;

/**
 * Where in the document the cursor is. The three values (an element of the list, a member that the
 * envelope names, an unknown member) may be cut: then the value's end is searched first (`finding`)
 * and the value is read when it is complete; one that is over a limit, or of no interest, is
 * followed to its end without being held (`dropping`).
 */
type Phase =
  | 'start'
  | 'key'
  | 'element'
  | 'named'
  | 'unnamed'
  | 'after element'
  | 'after member'
  | 'over';

/** A document with one list, read step by step as its bytes arrive. */
export class ListDocument {
  readonly #options: Options;
  readonly #cursor: Cursor;
  readonly #envelope = new Map<string, unknown>();
  #phase: Phase = 'start';
  #member = '';
  #hasList = false;
  #received = 0;
  #elements = 0;
  #skipped = 0;
  #limitHit = false;
  /** What is being done about a value that was cut or is over a limit. */
  #search: 'none' | 'finding' | 'dropping' = 'none';
  /** How many bytes to have before the next element is tried. */
  #patience = 0;
  /** The count of wrong values before the current element or member. */
  #wrongBefore = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#cursor = new Cursor(options.limits.depth);
  }

  write(chunk: Uint8Array): void {
    this.#received += chunk.length;
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      this.#cursor.append(chunk.subarray(at, at + PIECE_BYTES));
      this.#advance();
    }
    const { documentBytes = Infinity } = this.#options.limits;
    if (this.#received > documentBytes) {
      this.#cursor.fail('limit', `the document is longer than ${documentBytes} bytes`);
    }
  }

  end(): Decoded<unknown> {
    this.#patience = 0;
    this.#advance();
    const { end, wrong } = this.#cursor;
    if (this.#phase !== 'over') this.#cursor.fail('truncated', 'the document is cut off', end);
    const envelope: Record<string, unknown> = {};
    for (const [name, reader] of this.#options.envelope) {
      envelope[name] = this.#envelope.has(name) ? this.#envelope.get(name) : reader.absent();
    }
    return {
      envelope,
      hasList: this.#hasList,
      elements: this.#elements,
      skipped: this.#skipped,
      wrong,
      limitHit: this.#limitHit,
    };
  }

  /** Goes as far as the bytes at hand go. */
  #advance(): void {
    for (;;) {
      try {
        while (this.#search === 'none' ? this.#step() : this.#followValue());
        return;
      } catch (signal) {
        if (signal === TOO_DEEP) this.#leaveTooDeep();
        else if (signal !== CUT) throw signal;
        else if (!this.#pause()) return;
      }
    }
  }

  /** Reads the next token or value; false when more bytes are to be awaited. May throw CUT. */
  #step(): boolean {
    const cursor = this.#cursor;
    skipBlanks(cursor);
    cursor.keep = cursor.pos;
    cursor.depth = 0;
    this.#wrongBefore = cursor.wrong;
    switch (this.#phase) {
      case 'start':
        return this.#readStart();
      case 'key':
        return this.#readKey();
      case 'element':
        return this.#readElement();
      case 'named':
        return this.#readNamed();
      case 'unnamed':
        skipValue(cursor);
        return this.#go('after member');
      case 'after element':
        return this.#go(proceed(cursor, CLOSE_BRACKET) ? 'element' : 'after member');
      case 'after member':
        return this.#go(proceed(cursor, CLOSE_BRACE) ? 'key' : 'over');
      default:
        if (cursor.pos < cursor.end) cursor.fail('trailing', 'something follows the document');
        return false;
    }
  }

  #go(phase: Phase): true {
    this.#phase = phase;
    return true;
  }

  #readStart(): true {
    const cursor = this.#cursor;
    checkStart(cursor);
    const isObject = cursor.bytes[cursor.pos] === OPEN_BRACE;
    if (!isObject) cursor.fail('kind', 'the document is not an object');
    return this.#go(this.#enter(CLOSE_BRACE) ? 'key' : 'over');
  }

  #readKey(): true {
    const cursor = this.#cursor;
    readKey(cursor);
    const name = keyText(cursor) ?? '';
    if (name === this.#options.list) return this.#readListStart();
    this.#member = name;
    return this.#go(this.#options.envelope.has(name) ? 'named' : 'unnamed');
  }

  #readListStart(): true {
    const cursor = this.#cursor;
    if (this.#hasList) cursor.fail('duplicate', 'the list comes twice');
    if (isNull(cursor)) {
      skipValue(cursor);
      this.#hasList = true;
      return this.#go('after member');
    }
    if (cursor.pos >= cursor.end) throw CUT;
    if (cursor.bytes[cursor.pos] !== OPEN_BRACKET) cursor.fail('kind', 'the list is not an array');
    const next = this.#enter(CLOSE_BRACKET) ? 'element' : 'after member';
    this.#hasList = true;
    return this.#go(next);
  }

  /** Enters the document or its list, once it is known whether anything is in it. */
  #enter(close: number): boolean {
    const hasItems = enter(this.#cursor, close);
    if (hasItems && this.#cursor.pos >= this.#cursor.end) throw CUT;
    return hasItems;
  }

  #readElement(): boolean {
    const cursor = this.#cursor;
    if (cursor.end - cursor.pos < this.#patience) return false;
    if (cursor.bytes[cursor.pos] !== OPEN_BRACE) {
      skipValue(cursor);
      this.#skipped++;
      return this.#go('after element');
    }
    const element = this.#options.element.read(cursor);
    const size = cursor.pos - cursor.keep;
    this.#patience = size < LARGE_BYTES ? 0 : Math.ceil(size * MARGIN);
    if (size > this.#options.limits.elementBytes) {
      this.#countOverLimit();
    } else {
      this.#elements++;
      this.#options.onElement(element);
    }
    return this.#go('after element');
  }

  #readNamed(): true {
    const cursor = this.#cursor;
    const reader = this.#options.envelope.get(this.#member);
    if (reader === undefined) skipValue(cursor);
    else this.#envelope.set(this.#member, readOrUnknown(cursor, reader));
    this.#checkMemberSize();
    return this.#go('after member');
  }

  /** The bytes at hand end within a token or value; says whether there is more to do with them. */
  #pause(): boolean {
    const cursor = this.#cursor;
    cursor.pos = cursor.keep;
    cursor.depth = 0;
    cursor.wrong = this.#wrongBefore;
    if (cursor.pos >= cursor.end) return false;
    if (this.#phase === 'element' || this.#phase === 'named' || this.#phase === 'unnamed') {
      beginSkip(cursor);
      this.#search = this.#phase === 'unnamed' ? 'dropping' : 'finding';
      return true;
    }
    this.#checkTokenSize();
    return false;
  }

  #leaveTooDeep(): void {
    const cursor = this.#cursor;
    if (this.#phase === 'named') cursor.fail('depth', 'a member is nested too deeply', cursor.keep);
    cursor.pos = cursor.keep;
    cursor.depth = 0;
    if (this.#phase === 'element') this.#countOverLimit();
    beginSkip(cursor);
    this.#search = 'dropping';
  }

  /** Follows a value that was cut, or is to be dropped, towards its end; false when it is cut again. */
  #followValue(): boolean {
    const cursor = this.#cursor;
    const isComplete = resumeSkip(cursor);
    if (!isComplete) this.#checkTokenSize();
    if (this.#search === 'finding') {
      if (cursor.pos - cursor.keep > this.#options.limits.elementBytes) {
        this.#checkMemberSize();
        this.#countOverLimit();
        this.#search = 'dropping';
      } else if (isComplete) {
        cursor.pos = cursor.keep;
        this.#search = 'none';
        return true;
      }
    }
    if (this.#search === 'dropping') cursor.keep = cursor.pos;
    if (!isComplete) return false;
    this.#search = 'none';
    return this.#go(this.#phase === 'element' ? 'after element' : 'after member');
  }

  #countOverLimit(): void {
    this.#cursor.wrong = this.#wrongBefore;
    this.#skipped++;
    this.#limitHit = true;
  }

  #checkMemberSize(): void {
    const { elementBytes } = this.#options.limits;
    const { keep, pos } = this.#cursor;
    if (this.#phase === 'named' && pos - keep > elementBytes) {
      this.#cursor.fail('limit', `a member is longer than ${elementBytes} bytes`, keep);
    }
  }

  #checkTokenSize(): void {
    const { pos, end } = this.#cursor;
    if (end - pos > MAX_TOKEN_BYTES) this.#cursor.fail('limit', 'a key or number without end');
  }
}
