import {
  CLOSE_BRACE,
  COMMA,
  OPEN_BRACE,
  type Cursor,
  enter,
  skipWhiteSpace,
  toNextItem,
} from './cursor.ts';
import { KeyTable, readKey } from './keys.ts';
import {
  integerReader,
  numberReader,
  type Reader,
  readNullOrWrong,
  WRONG_TYPE,
} from './scalar-readers.ts';
import { skipValue } from './skip.ts';

/**
 * Reads an object into a record. One record shows what was read last, unless `isKept`: then each
 * object gets its own.
 */
export class ObjectReader implements Reader {
  readonly #readers: readonly Reader[];
  readonly #keys: KeyPredictor;
  readonly #isKept: boolean;
  /** What was read last, by the field's index: storing by a number costs less than by a name. */
  readonly #values: unknown[];
  /** The same by name. */
  readonly #latest: object;
  /** The number of the object in which each field was last seen. */
  readonly #seenIn: number[];
  #object = 0;

  constructor(readers: ReadonlyMap<string, Reader>, isKept: boolean) {
    const names = [...readers.keys()];
    this.#readers = [...readers.values()];
    this.#keys = new KeyPredictor(readers);
    this.#isKept = isKept;
    this.#values = names.map(() => undefined);
    this.#latest = showByName(names, this.#values);
    this.#seenIn = names.map(() => 0);
  }

  read(cursor: Cursor): unknown {
    if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readNullOrWrong(cursor, this);
    const values = this.#values;
    const seenIn = this.#seenIn;
    const object = ++this.#object;
    let missing = values.length;
    const keys = this.#keys;
    let key = enter(cursor, CLOSE_BRACE) ? keys.read(cursor, keys.start) : undefined;
    for (; key !== undefined; key = keys.readNext(cursor, key)) {
      const { reader, index } = key;
      if (reader === undefined) {
        skipValue(cursor);
        continue;
      }
      const value = readMember(cursor, reader);
      values[index] = value === WRONG_TYPE ? reader.fallback?.() : value;
      if (seenIn[index] !== object) missing--;
      seenIn[index] = object;
    }
    if (missing > 0) this.#fillMissing(object);
    return this.#result();
  }

  absent(): unknown {
    return this.#fill((reader) => reader.absent());
  }

  fallback(): unknown {
    return this.#fill((reader) => reader.fallback?.());
  }

  #fill(valueOf: (reader: Reader) => unknown): object {
    for (const [index, reader] of this.#readers.entries()) this.#values[index] = valueOf(reader);
    return this.#result();
  }

  #fillMissing(object: number): void {
    for (let index = 0; index < this.#readers.length; index++) {
      if (this.#seenIn[index] !== object) this.#values[index] = this.#readers[index]?.absent();
    }
  }

  #result(): object {
    return this.#isKept ? { ...this.#latest } : this.#latest;
  }
}

/** Most members are numbers: where their readers are named, the engine compiles them into the loop. */
function readMember(cursor: Cursor, reader: Reader): unknown {
  if (reader === integerReader) return integerReader.read(cursor);
  if (reader === numberReader) return numberReader.read(cursor);
  return reader.read(cursor);
}

/** An object whose properties read the current values. */
function showByName(names: readonly string[], values: readonly unknown[]): object {
  const shown = {};
  for (const [index, name] of names.entries()) {
    Object.defineProperty(shown, name, { enumerable: true, get: () => values[index] });
  }
  return shown;
}

/** Keys are compared in words of four bytes. */
const WORD = 4;

/** The maximum number of keys without a field that are remembered for an object. */
const MAX_UNKNOWN_KEYS = 64;

interface KnownKey {
  /** The length of the key in compact JSON: with quotes and colon. */
  readonly length: number;
  /** These bytes as 32-bit words; the last word overlaps the one before. */
  readonly words: Int32Array;
  /** The index of its field; larger for a key without a field. */
  readonly index: number;
  /** Undefined for a key without a field. */
  readonly reader: Reader | undefined;
  /** The key that followed this one last time. */
  next: KnownKey | undefined;
}

/**
 * Reads the keys of an object. Servers write the members of an object in one order, so after each
 * key the one that followed it last time is tried first: its bytes are compared at the expected
 * position, which saves finding the end of the key and looking it up.
 */
class KeyPredictor {
  /** Precedes the first key. */
  readonly start: KnownKey = createKey(Buffer.from('?'), -1, undefined);
  readonly #table: KeyTable;
  readonly #keys: KnownKey[];
  readonly #maxKeys: number;
  /** Represents every key that is not remembered. */
  readonly #unknownKey: KnownKey = createKey(Buffer.from('?'), -1, undefined);

  constructor(readers: ReadonlyMap<string, Reader>) {
    this.#table = new KeyTable([...readers.keys()]);
    this.#keys = [...readers].map(([name, reader], index) =>
      createKey(Buffer.from(name), index, reader),
    );
    this.#maxKeys = readers.size + MAX_UNKNOWN_KEYS;
  }

  /** Moves from the end of a member's value to the next value; returns undefined after the last. */
  readNext(cursor: Cursor, previous: KnownKey): KnownKey | undefined {
    const { bytes, pos } = cursor;
    const guess = previous.next;
    if (guess !== undefined && bytes[pos] === COMMA && isAt(guess, cursor.view, pos + 1)) {
      cursor.pos = pos + 1 + guess.length;
      skipWhiteSpace(cursor);
      return guess;
    }
    return toNextItem(cursor, CLOSE_BRACE) ? this.read(cursor, previous) : undefined;
  }

  /** Reads the key at the cursor and moves the cursor to the value. */
  read(cursor: Cursor, previous: KnownKey): KnownKey {
    const guess = previous.next;
    if (guess !== undefined && isAt(guess, cursor.view, cursor.pos)) {
      cursor.pos += guess.length;
      skipWhiteSpace(cursor);
      return guess;
    }
    readKey(cursor);
    const key = this.#keys[this.#table.find(cursor)] ?? this.#remember(cursor);
    // A key with escapes has other bytes than its name, and an empty one is shorter than a word.
    const { start, end, isEscaped } = cursor.key;
    if (!isEscaped && end > start && key !== this.#unknownKey) previous.next = key;
    return key;
  }

  #remember(cursor: Cursor): KnownKey {
    const { start, end, isEscaped } = cursor.key;
    if (isEscaped || this.#keys.length >= this.#maxKeys) return this.#unknownKey;
    const name = Buffer.from(cursor.bytes.subarray(start, end));
    const key = createKey(name, this.#keys.length, undefined);
    this.#table.add(name);
    this.#keys.push(key);
    return key;
  }
}

function createKey(name: Uint8Array, index: number, reader: Reader | undefined): KnownKey {
  const token = Buffer.concat([Buffer.from('"'), name, Buffer.from('":')]);
  const { length } = token;
  const words: number[] = [];
  for (let at = 0; at + WORD < length; at += WORD) words.push(token.readInt32LE(at));
  if (length >= WORD) words.push(token.readInt32LE(length - WORD));
  return { length, words: Int32Array.from(words), index, reader, next: undefined };
}

/**
 * Whether the key is at `pos`. No key contains a zero byte, so the comparison ends at the latest
 * with the word that contains the zero after the data.
 */
function isAt({ length, words }: KnownKey, view: DataView, pos: number): boolean {
  const last = words.length - 1;
  for (let word = 0; word < last; word++) {
    if (view.getInt32(pos + word * WORD, true) !== words[word]) return false;
  }
  return view.getInt32(pos + length - WORD, true) === words[last];
}
