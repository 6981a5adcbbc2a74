import { PbfReader } from 'pbf';
import { ItemLimitError, ProtobufError } from './protobuf-error.ts';

/** Items of lists and maps in an element, as in JSON: far above the replicas of a range and the peers of a node. */
const MAX_ITEMS = 200_000;
/** The largest tag or length. */
const MAX_SHORT = 0xffff_ffff;

// Wire types: how a field is written.
const VARINT = 0;
const LENGTH_DELIMITED = 2;
/** Bytes of those with a length of their own. */
const FIXED_BYTES: ReadonlyMap<number, number> = new Map([
  [1, 8],
  [5, 4],
]);

/**
 * Reads the fields of one message after the other, without objects of its own. Throws ProtobufError. Example: a message with a node
 * (field 1) and a type (field 4):
 *
 *     for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
 *       if (field === 1) nodeId = reader.int32();
 *       else if (field === 4) type = reader.int32();
 *       else reader.skip();
 *     }
 */
export class MessageReader {
  readonly #bytes: Uint8Array;
  readonly #reader: PbfReader;
  #field = 0;
  #wireType = VARINT;
  #items = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#reader = new PbfReader(bytes);
  }

  /** Where the next byte is read. */
  get position(): number {
    return this.#reader.pos;
  }

  /** Begins an element at its first field, or goes behind it. */
  moveTo(position: number): void {
    this.#reader.pos = position;
    this.#items = 0;
  }

  /** The number of the next field; 0 at the end of the message, which is a position. */
  next(end: number): number {
    const { pos } = this.#reader;
    if (pos === end) return 0;
    if (pos > end) throw new ProtobufError('a field is longer than its message');
    const tag = this.#short();
    this.#field = tag >>> 3;
    this.#wireType = tag & 7;
    if (this.#field === 0) throw new ProtobufError('a field has no number');
    return this.#field;
  }

  /** The field as an integer of 32 bits, the lowest of a longer one. */
  int32(): number {
    return this.int64() | 0;
  }

  /** The field as an integer of 64 bits; above 2^53 the nearest double. */
  int64(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  boolean(): boolean {
    return this.int64() !== 0;
  }

  /** The end of the field, which is a message: its fields come next. */
  message(): number {
    return this.#within(this.lengthEnd());
  }

  /** The same of a message in a list, or an entry of a map. */
  item(): number {
    this.#items += 1;
    if (this.#items <= MAX_ITEMS) return this.message();
    throw new ItemLimitError(`an element holds more than ${MAX_ITEMS} items`);
  }

  /** What `parse` makes of the bytes of the field: they become no string otherwise. */
  bytes<Value>(parse: (bytes: Uint8Array, start: number, end: number) => Value): Value {
    const end = this.#within(this.lengthEnd());
    const value = parse(this.#bytes, this.#reader.pos, end);
    this.#reader.pos = end;
    return value;
  }

  /** Leaves the field out. */
  skip(): void {
    this.#reader.pos = this.#within(this.fieldEnd());
  }

  /** The end of the field, which must have a length and may end after the last byte. */
  lengthEnd(): number {
    this.#expect(LENGTH_DELIMITED);
    const length = this.#short();
    return this.#reader.pos + length;
  }

  /** The end of the field, whatever it holds; it may come after the last byte. */
  fieldEnd(): number {
    if (this.#wireType === LENGTH_DELIMITED) return this.lengthEnd();
    if (this.#wireType === VARINT) {
      this.#varint();
      return this.#reader.pos;
    }
    const length = FIXED_BYTES.get(this.#wireType);
    // No server sends groups, which are older than the definitions.
    if (length === undefined) throw new ProtobufError('a field has no known wire type');
    return this.#reader.pos + length;
  }

  #within(end: number): number {
    if (end > this.#bytes.length) throw new ProtobufError('a field ends too early');
    return end;
  }

  #expect(wireType: number): void {
    if (this.#wireType === wireType) return;
    const problem = `field ${this.#field} has wire type ${this.#wireType}, not ${wireType}`;
    throw new ProtobufError(problem);
  }

  #varint(): number {
    let value: number | undefined;
    try {
      value = this.#reader.readVarint(true);
    } catch {
      // It has more than ten bytes, or the last one is not there.
    }
    if (value === undefined || this.#reader.pos > this.#bytes.length) {
      throw new ProtobufError('a number has no end');
    }
    return value;
  }

  /** A tag or a length, which have 32 bits. */
  #short(): number {
    const value = this.#varint();
    if (value >= 0 && value <= MAX_SHORT) return value;
    throw new ProtobufError('a tag or a length is too large');
  }
}
