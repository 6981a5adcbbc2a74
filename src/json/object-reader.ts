import { CLOSE_BRACE, OPEN_BRACE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { Members } from './members.ts';
import { readOther, WRONG, type Reader } from './reader.ts';
import { skipValue } from './skip.ts';
import { enter } from './structure.ts';

type Record = { [name: string]: unknown };

/**
 * Reads an object into a record. One record is filled again and again, unless `isKept`: then each
 * object gets its own.
 */
export class ObjectReader implements Reader {
  readonly #names: readonly string[];
  readonly #readers: readonly Reader[];
  readonly #members: Members;
  readonly #isKept: boolean;
  #record: Record = {};
  /** The object, by a running number, in which each field was last seen. */
  readonly #seenIn: number[];
  #object = 0;

  constructor(readers: ReadonlyMap<string, Reader>, isKept: boolean) {
    this.#names = [...readers.keys()];
    this.#readers = [...readers.values()];
    this.#members = new Members(readers);
    this.#isKept = isKept;
    this.#seenIn = this.#names.map(() => 0);
    for (const name of this.#names) this.#record[name] = undefined;
  }

  read(cursor: Cursor): unknown {
    if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readOther(cursor, this);
    const record = this.#begin();
    const names = this.#names;
    const seenIn = this.#seenIn;
    const object = ++this.#object;
    let missing = this.#names.length;
    const members = this.#members;
    let member = enter(cursor, CLOSE_BRACE) ? members.next(cursor, members.start) : undefined;
    for (; member !== undefined; member = members.follow(cursor, member)) {
      const { reader, index } = member;
      if (reader === undefined) {
        skipValue(cursor);
        continue;
      }
      const value = reader.read(cursor);
      record[names[index] ?? ''] = value === WRONG ? reader.unknown() : value;
      if (seenIn[index] !== object) missing--;
      seenIn[index] = object;
    }
    if (missing > 0) this.#fillMissing(record, object);
    return record;
  }

  absent(): unknown {
    return this.#fill((reader) => reader.absent());
  }

  unknown(): unknown {
    return this.#fill((reader) => reader.unknown());
  }

  #fill(valueOf: (reader: Reader) => unknown): Record {
    const record = this.#begin();
    for (const [index, reader] of this.#readers.entries()) {
      record[this.#names[index] ?? ''] = valueOf(reader);
    }
    return record;
  }

  #begin(): Record {
    if (this.#isKept) this.#record = { ...this.#record };
    return this.#record;
  }

  #fillMissing(record: Record, object: number): void {
    for (let index = 0; index < this.#names.length; index++) {
      if (this.#seenIn[index] === object) continue;
      record[this.#names[index] ?? ''] = this.#readers[index]?.absent();
    }
  }
}
