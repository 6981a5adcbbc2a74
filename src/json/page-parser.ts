import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  OPEN_BRACE,
  OPEN_BRACKET,
  checkStart,
  Cursor,
  enter,
  NEED_MORE,
  skipWhiteSpace,
  TOO_DEEP,
  toNextItem,
} from './cursor.ts';
import { keyText, readKey } from './keys.ts';
import { isNull, readOrFallback, type Reader } from './scalar-readers.ts';
import { beginSkip, resumeSkip, skipValue } from './skip.ts';

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

/** Large chunks are split, so that the window stays small. */
const PIECE_BYTES = 64 * 1024;

/**
 * An incomplete element is read again from its start. For large elements this is expensive, and the
 * elements of a list are similar: so after one of this size the next one is only tried when some
 * more bytes than the last one had are available.
 */
const LARGE_BYTES = 16 * 1024;
const MARGIN = 1.25;

/** Maximum length of a key of the document, or of a number outside of elements. */
const MAX_TOKEN_BYTES = 4096;

/** What the cursor is at. */
type Phase =
  | 'start'
  | 'key'
  | 'element'
  | 'envelope member'
  | 'other member'
  | 'after element'
  | 'after member'
  | 'end';

interface Options {
  readonly list: string;
  readonly element: Reader;
  readonly envelope: ReadonlyMap<string, Reader>;
  readonly onElement: (element: unknown) => void;
  readonly maxElementBytes: number;
  readonly maxDepth: number;
}

/** Parses a page, which is a document with one list, as its bytes arrive. */
export class PageParser {
  readonly #options: Options;
  readonly #cursor: Cursor;
  readonly #envelope: Record<string, unknown> = {};
  #phase: Phase = 'start';
  #member = '';
  #hasList = false;
  #elements = 0;
  #skipped = 0;
  #limitHit = false;
  /**
   * The end of an incomplete value is searched first, and the value is read when it is complete
   * (`finding`); one that is over a limit, or not wanted, is not kept meanwhile (`dropping`).
   */
  #search: 'none' | 'finding' | 'dropping' = 'none';
  #bytesBeforeRetry = 0;
  /** The count of wrong types before the current element or member. */
  #wrongBefore = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#cursor = new Cursor(options.maxDepth);
    for (const [name, reader] of options.envelope) this.#envelope[name] = reader.absent();
  }

  write(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      this.#cursor.append(chunk.subarray(at, at + PIECE_BYTES));
      this.#advance();
    }
  }

  end(): DecodedPage<unknown> {
    this.#bytesBeforeRetry = 0;
    this.#advance();
    const { end, wrongTypes } = this.#cursor;
    if (this.#phase !== 'end') this.#cursor.fail('truncated', 'the document is incomplete', end);
    return {
      envelope: this.#envelope,
      hasList: this.#hasList,
      elements: this.#elements,
      skipped: this.#skipped,
      wrongTypes,
      limitHit: this.#limitHit,
    };
  }

  /** Parses as far as the available bytes allow. */
  #advance(): void {
    for (;;) {
      try {
        while (this.#search === 'none' ? this.#step() : this.#followValue());
        return;
      } catch (signal) {
        if (signal === TOO_DEEP) this.#dropTooDeep();
        else if (signal !== NEED_MORE) throw signal;
        else if (!this.#suspend()) return;
      }
    }
  }

  /** Reads the next token or value; returns false when it waits for more bytes. May throw NEED_MORE. */
  #step(): boolean {
    const cursor = this.#cursor;
    skipWhiteSpace(cursor);
    cursor.keep = cursor.pos;
    cursor.depth = 0;
    this.#wrongBefore = cursor.wrongTypes;
    switch (this.#phase) {
      case 'start':
        return this.#readStart();
      case 'key':
        return this.#readKey();
      case 'element':
        return this.#readElement();
      case 'envelope member':
        return this.#readEnvelopeMember();
      case 'other member':
        skipValue(cursor);
        return this.#go('after member');
      case 'after element':
        return this.#go(toNextItem(cursor, CLOSE_BRACKET) ? 'element' : 'after member');
      case 'after member':
        return this.#go(toNextItem(cursor, CLOSE_BRACE) ? 'key' : 'end');
      default:
        if (cursor.pos < cursor.end) cursor.fail('trailing', 'unexpected text after the document');
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
    if (!isObject) cursor.fail('type', 'the document is not an object');
    return this.#go(this.#enter(CLOSE_BRACE) ? 'key' : 'end');
  }

  #readKey(): true {
    const cursor = this.#cursor;
    readKey(cursor);
    const name = keyText(cursor) ?? '';
    if (name === this.#options.list) return this.#readListStart();
    this.#member = name;
    return this.#go(this.#options.envelope.has(name) ? 'envelope member' : 'other member');
  }

  #readListStart(): true {
    const cursor = this.#cursor;
    if (this.#hasList) cursor.fail('duplicate', 'the list occurs twice');
    if (cursor.pos >= cursor.end) throw NEED_MORE;
    const isArray = cursor.bytes[cursor.pos] === OPEN_BRACKET;
    if (!isArray && !isNull(cursor)) cursor.fail('type', 'the list is not an array');
    const hasItems = isArray ? this.#enter(CLOSE_BRACKET) : skipValue(cursor);
    this.#hasList = true;
    return this.#go(hasItems === true ? 'element' : 'after member');
  }

  /** Enters the document or its list, once the byte after the bracket is available. */
  #enter(close: number): boolean {
    const hasItems = enter(this.#cursor, close);
    if (hasItems && this.#cursor.pos >= this.#cursor.end) throw NEED_MORE;
    return hasItems;
  }

  #readElement(): boolean {
    const cursor = this.#cursor;
    if (cursor.end - cursor.pos < this.#bytesBeforeRetry) return false;
    if (cursor.bytes[cursor.pos] !== OPEN_BRACE) {
      skipValue(cursor);
      this.#skipped++;
      return this.#go('after element');
    }
    const element = this.#options.element.read(cursor);
    const size = cursor.pos - cursor.keep;
    this.#bytesBeforeRetry = size < LARGE_BYTES ? 0 : Math.ceil(size * MARGIN);
    if (size > this.#options.maxElementBytes) {
      this.#countOverLimit();
    } else {
      this.#elements++;
      this.#options.onElement(element);
    }
    return this.#go('after element');
  }

  #readEnvelopeMember(): true {
    const cursor = this.#cursor;
    const reader = this.#options.envelope.get(this.#member);
    if (reader === undefined) skipValue(cursor);
    else this.#envelope[this.#member] = readOrFallback(cursor, reader);
    this.#checkMemberSize();
    return this.#go('after member');
  }

  /** The available bytes end within a token or value; returns whether to continue with them. */
  #suspend(): boolean {
    const cursor = this.#cursor;
    cursor.pos = cursor.keep;
    cursor.depth = 0;
    cursor.wrongTypes = this.#wrongBefore;
    if (cursor.pos >= cursor.end) return false;
    const isWanted = this.#phase === 'element' || this.#phase === 'envelope member';
    if (!isWanted && this.#phase !== 'other member') {
      this.#checkTokenSize();
      return false;
    }
    beginSkip(cursor);
    this.#search = isWanted ? 'finding' : 'dropping';
    return true;
  }

  #dropTooDeep(): void {
    const cursor = this.#cursor;
    if (this.#phase === 'envelope member') {
      cursor.fail('depth', 'a member is nested too deeply', cursor.keep);
    }
    cursor.pos = cursor.keep;
    cursor.depth = 0;
    if (this.#phase === 'element') this.#countOverLimit();
    beginSkip(cursor);
    this.#search = 'dropping';
  }

  /** Moves towards the end of an incomplete or dropped value; returns false when it waits for more bytes. */
  #followValue(): boolean {
    const cursor = this.#cursor;
    const isComplete = resumeSkip(cursor);
    if (!isComplete) this.#checkTokenSize();
    if (this.#search === 'finding') {
      if (cursor.pos - cursor.keep > this.#options.maxElementBytes) {
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
    this.#cursor.wrongTypes = this.#wrongBefore;
    this.#skipped++;
    this.#limitHit = true;
  }

  #checkMemberSize(): void {
    const { maxElementBytes } = this.#options;
    const { keep, pos } = this.#cursor;
    if (this.#phase === 'envelope member' && pos - keep > maxElementBytes) {
      this.#cursor.fail('limit', `a member is longer than ${maxElementBytes} bytes`, keep);
    }
  }

  #checkTokenSize(): void {
    const { pos, end } = this.#cursor;
    if (end - pos > MAX_TOKEN_BYTES) {
      this.#cursor.fail('limit', `a key or number is longer than ${MAX_TOKEN_BYTES} bytes`);
    }
  }
}
