import { CLOSE_BRACE, OPEN_BRACE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { Members } from './members.ts';
import { readOther, WRONG, type Reader } from './reader.ts';
import { integerReader, numberReader } from './scalar-readers.ts';
import { skipValue } from './skip.ts';
import { enter } from './structure.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads an object into a record. One record shows what was read last, unless `isKept`: then each
 * object gets its own.
 */
export class ObjectReader implements Reader {
  readonly #names: readonly string[];
  readonly #readers: readonly Reader[];
  readonly #members: Members;
  readonly #isKept: boolean;
  /** What was read last, by the field's index: storing by a number costs less than by a name. */
  readonly #values: unknown[];
  /** The same by name. */
  readonly #latest: Fields;
  /** The object, by a running number, in which each field was last seen. */
  readonly #seenIn: number[];
  #object = 0;

  constructor(readers: ReadonlyMap<string, Reader>, isKept: boolean) {
    this.#names = [...readers.keys()];
    this.#readers = [...readers.values()];
    this.#members = new Members(readers);
    this.#isKept = isKept;
    this.#values = this.#names.map(() => undefined);
    this.#latest = showByName(this.#names, this.#values);
    this.#seenIn = this.#names.map(() => 0);
  }

  read(cursor: Cursor): unknown {
    if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readOther(cursor, this);
    const values = this.#values;
    const seenIn = this.#seenIn;
    const object = ++this.#object;
    let missing = values.length;
    const members = this.#members;
    let member = enter(cursor, CLOSE_BRACE) ? members.next(cursor, members.start) : undefined;
    for (; member !== undefined; member = members.follow(cursor, member)) {
      const { reader, index } = member;
      if (reader === undefined) {
        skipValue(cursor);
        continue;
      }
      const value = readMember(cursor, reader);
      values[index] = value === WRONG ? reader.unknown() : value;
      if (seenIn[index] !== object) missing--;
      seenIn[index] = object;
    }
    if (missing > 0) this.#fillMissing(object);
    return this.#result();
  }

  absent(): unknown {
    return this.#fill((reader) => reader.absent());
  }

  unknown(): unknown {
    return this.#fill((reader) => reader.unknown());
  }

  #fill(valueOf: (reader: Reader) => unknown): Fields {
    for (const [index, reader] of this.#readers.entries()) this.#values[index] = valueOf(reader);
    return this.#result();
  }

  #fillMissing(object: number): void {
    for (let index = 0; index < this.#names.length; index++) {
      if (this.#seenIn[index] !== object) this.#values[index] = this.#readers[index]?.absent();
    }
  }

  #result(): Fields {
    return this.#isKept ? { ...this.#latest } : this.#latest;
  }
}

/** Most members are numbers: where their readers are named, the engine compiles them into the loop. */
function readMember(cursor: Cursor, reader: Reader): unknown {
  if (reader === integerReader) return integerReader.read(cursor);
  if (reader === numberReader) return numberReader.read(cursor);
  return reader.read(cursor);
}

/** An object whose properties are the values at their moment. */
function showByName(names: readonly string[], values: readonly unknown[]): Fields {
  const shown = {};
  for (const [index, name] of names.entries()) {
    Object.defineProperty(shown, name, { enumerable: true, get: () => values[index] });
  }
  return shown;
}
