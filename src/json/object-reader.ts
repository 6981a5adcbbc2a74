import { CLOSE_BRACE, OPEN_BRACE } from './characters.ts';
import type { Cursor } from './cursor.ts';
import { Names } from './names.ts';
import { readOrUnknown, readOther, type Reader } from './reader.ts';
import { skipValue } from './skip.ts';
import { enter, proceed, readKey } from './structure.ts';

interface Field {
  readonly name: string;
  readonly reader: Reader;
}

/**
 * Reads an object into a record. One record is filled again and again, unless `isKept`: then each
 * object gets its own.
 */
export class ObjectReader implements Reader {
  readonly #fields: readonly Field[];
  readonly #names: Names;
  readonly #isKept: boolean;
  #record: Record<string, unknown> = {};
  /** The object, by a running number, in which each field was last seen. */
  readonly #seenIn: number[];
  #object = 0;

  constructor(readers: ReadonlyMap<string, Reader>, isKept: boolean) {
    this.#fields = [...readers].map(([name, reader]) => ({ name, reader }));
    this.#names = new Names([...readers.keys()]);
    this.#isKept = isKept;
    this.#seenIn = this.#fields.map(() => 0);
    for (const { name } of this.#fields) this.#record[name] = undefined;
  }

  read(cursor: Cursor): unknown {
    if (cursor.bytes[cursor.pos] !== OPEN_BRACE) return readOther(cursor, this);
    const record = this.#begin();
    const object = ++this.#object;
    let missing = this.#fields.length;
    let more = enter(cursor, CLOSE_BRACE);
    while (more) {
      readKey(cursor);
      const index = this.#names.find(cursor)?.index ?? -1;
      const field = this.#fields[index];
      if (field === undefined) {
        skipValue(cursor);
      } else {
        record[field.name] = readOrUnknown(cursor, field.reader);
        if (this.#seenIn[index] !== object) missing--;
        this.#seenIn[index] = object;
      }
      more = proceed(cursor, CLOSE_BRACE);
    }
    if (missing > 0) this.#fillMissing(record, object);
    return record;
  }

  absent(): unknown {
    const record = this.#begin();
    for (const { name, reader } of this.#fields) record[name] = reader.absent();
    return record;
  }

  unknown(): unknown {
    const record = this.#begin();
    for (const { name, reader } of this.#fields) record[name] = reader.unknown();
    return record;
  }

  #begin(): Record<string, unknown> {
    if (this.#isKept) this.#record = { ...this.#record };
    return this.#record;
  }

  #fillMissing(record: Record<string, unknown>, object: number): void {
    for (const [index, { name, reader }] of this.#fields.entries()) {
      if (this.#seenIn[index] !== object) record[name] = reader.absent();
    }
  }
}
