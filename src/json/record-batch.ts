import { type Scanner, sharedScanner } from './compiled-scanner.ts';
import {
  type KeyLayout,
  layOut,
  NOTHING,
  parseText,
  type RecordReader,
  SLOT_BYTES,
} from './record-reader.ts';
import type { ObjectShape, TextParser } from './shape.ts';

/** Elements of 2 kB in a chunk of 64 kB are about as many. */
const MAX_RECORDS = 32;

/**
 * Elements that were read together, as records of 8-byte slots that follow each other: only valid during the call that gets it. A
 * slot holds a number, also for booleans (0 and 1), flags and hashes, and NaN for undefined; of an object or `last` 1 if it is there.
 * Reading slots in one loop takes a third of the time of views, whose getters all shapes share.
 */
export class RecordBatch {
  /** Number of records. */
  count = 0;
  /** The slot where the first record begins, and the slots of each. */
  first = 0;
  readonly slots: number;
  /** The memory of the slots. */
  numbers = new Float64Array();
  readonly #scanner: Scanner;
  readonly #reader: RecordReader;
  readonly #records: number;

  constructor(reader: RecordReader) {
    this.#scanner = sharedScanner();
    this.#reader = reader;
    this.slots = reader.slots;
    this.#records = this.#scanner.allocate(MAX_RECORDS * this.slots * SLOT_BYTES);
  }

  /** Reads the elements of a list from an address on; returns where that ended (`Scanner.ending`). */
  read(at: number, maxBytes: number): number {
    const { exports } = this.#scanner;
    const end = exports.readMany(at, this.#reader.plan, this.#records, MAX_RECORDS, maxBytes);
    this.#show(this.#records, this.#scanner.count);
    return end;
  }

  /** Shows the record that the reader has read by itself. */
  showLast(): void {
    this.#show(this.#reader.record, 1);
  }

  #show(address: number, count: number): void {
    this.numbers = this.#scanner.numbers;
    this.first = address / SLOT_BYTES;
    this.count = count;
  }

  /** Reads the text in a slot; undefined where there is none. */
  parse<Value>(slot: number, parse: TextParser<Value>): Value | undefined {
    const { words } = this.#scanner;
    const traits = words[2 * slot + 1] ?? 0;
    return traits === NOTHING
      ? undefined
      : parseText(this.#scanner, words[2 * slot] ?? 0, traits, parse);
  }
}

const batches = new Map<RecordReader, RecordBatch>();

/** The batch of a reader, one for all documents: it is only valid during a call, and the memory of its records is never freed. */
export function batchOf(reader: RecordReader): RecordBatch {
  let batch = batches.get(reader);
  if (batch === undefined) {
    batch = new RecordBatch(reader);
    batches.set(reader, batch);
  }
  return batch;
}

/** The slot of a field in the record of a shape, counted from its first: `slotOf(shape, 'lease_history', 'epoch')`. */
export function slotOf(shape: ObjectShape, ...path: readonly string[]): number {
  let layout: KeyLayout = layOut(shape);
  for (const name of path) {
    const [inner] = layout.children;
    if (layout.shape.kind === 'last' && inner !== undefined) [, layout] = inner;
    const child = layout.children.find(([childName]) => childName === name);
    if (child === undefined) throw new TypeError(`the shape has no ${path.join('.')}`);
    [, layout] = child;
  }
  return layout.slot;
}

/** Slots of a record of the shape. */
export function slotsOf(shape: ObjectShape): number {
  return layOut(shape).slots;
}
