import { CLOSE_BRACE, COMMA } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { Names } from './names.ts';
import type { Reader } from './reader.ts';
import { proceed, readKey, skipBlanks } from './structure.ts';

/** Keys are compared by so many bytes at once. */
const WORD = 4;

/** An object remembers so many of the keys that nobody asked for. */
const MOST_STRANGERS = 64;

/** A key that may stand in an object. */
export interface Member {
  /** The length of the key as a compact writer sends it: with quotes and colon. */
  readonly length: number;
  /** Its bytes by four, as 32-bit words; the last word overlaps the one before. */
  readonly words: Int32Array;
  /** Its place among the fields that are asked for; beyond them for a stranger. */
  readonly index: number;
  /** Undefined for a stranger. */
  readonly reader: Reader | undefined;
  /** The member that stood behind this one last time. */
  next: Member | undefined;
}

/**
 * Tells which member comes next in an object. Servers write the members of an object in one order,
 * so after each member the one that followed it last time is tried first: its bytes are compared
 * where they must stand, which saves looking for the end of the key and looking it up.
 */
export class Members {
  /** Stands before the first member. */
  readonly start: Member = createMember(Buffer.from('?'), -1, undefined);
  readonly #names: Names;
  readonly #members: Member[];
  readonly #fields: number;
  /** Stands for every key that is not remembered. */
  readonly #anyone: Member = createMember(Buffer.from('?'), -1, undefined);

  constructor(readers: ReadonlyMap<string, Reader>) {
    this.#names = new Names([...readers.keys()]);
    this.#members = [...readers].map(([name, reader], index) =>
      createMember(Buffer.from(name), index, reader),
    );
    this.#fields = readers.size;
  }

  /** From behind a member's value to the value of the next one; undefined behind the last. */
  follow(cursor: Cursor, previous: Member): Member | undefined {
    const { bytes, pos } = cursor;
    const guess = previous.next;
    if (guess !== undefined && bytes[pos] === COMMA && isAt(guess, cursor.view, pos + 1)) {
      cursor.pos = pos + 1 + guess.length;
      skipBlanks(cursor);
      return guess;
    }
    return proceed(cursor, CLOSE_BRACE) ? this.next(cursor, previous) : undefined;
  }

  /** Reads the key at the cursor and puts it on the value; `previous` is the member before. */
  next(cursor: Cursor, previous: Member): Member {
    const guess = previous.next;
    if (guess !== undefined && isAt(guess, cursor.view, cursor.pos)) {
      cursor.pos += guess.length;
      skipBlanks(cursor);
      return guess;
    }
    readKey(cursor);
    const member = this.#members[this.#names.find(cursor)] ?? this.#learn(cursor);
    if (canBeGuessed(cursor) && member !== this.#anyone) previous.next = member;
    return member;
  }

  #learn(cursor: Cursor): Member {
    const { start, end, isEscaped } = cursor.key;
    const isFull = this.#members.length >= this.#fields + MOST_STRANGERS;
    if (isFull || isEscaped) return this.#anyone;
    const name = Buffer.from(cursor.bytes.subarray(start, end));
    const member = createMember(name, this.#members.length, undefined);
    this.#names.add(name);
    this.#members.push(member);
    return member;
  }
}

/** A name that needs escapes stands there in another spelling, and an empty one is too short. */
function canBeGuessed(cursor: Cursor): boolean {
  const { start, end, isEscaped } = cursor.key;
  return !isEscaped && end > start;
}

function createMember(key: Uint8Array, index: number, reader: Reader | undefined): Member {
  const token = Buffer.concat([Buffer.from('"'), key, Buffer.from('":')]);
  const { length } = token;
  const words: number[] = [];
  for (let at = 0; at + WORD < length; at += WORD) words.push(token.readInt32LE(at));
  if (length >= WORD) words.push(token.readInt32LE(length - WORD));
  return { length, words: Int32Array.from(words), index, reader, next: undefined };
}

/**
 * Whether the member's key stands at `pos`. No key contains a zero byte, so the comparison
 * ends at the latest with the word that contains the one behind the bytes at hand.
 */
function isAt({ length, words }: Member, view: DataView, pos: number): boolean {
  const last = words.length - 1;
  for (let word = 0; word < last; word++) {
    if (view.getInt32(pos + word * WORD, true) !== words[word]) return false;
  }
  return view.getInt32(pos + length - WORD, true) === words[last];
}
