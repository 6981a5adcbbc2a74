import { describe, expect, test } from 'vitest';
import { sharedScanner } from '../../src/json/compiled-scanner.ts';
import {
  boolean,
  flags,
  hashed,
  integer,
  last,
  number,
  object,
  optional,
  PageParser,
  parsed,
  type RecordBatch,
  slotOf,
} from '../../src/json/index.ts';
import { generous, inPieces, readPieces } from './reading.ts';

const length = (_bytes: Uint8Array, start: number, end: number): number => end - start;

const element = object({
  desc: object({ id: integer(), key: hashed() }),
  text: parsed(length),
  lease: last(object({ epoch: integer(), replica: object({ store: integer() }) })),
  problems: optional(flags(['a', 'b'])),
  stats: object({ x: optional(number()), y: optional(number()) }),
  rate: number(),
  quiet: boolean(),
});

const PATHS = [
  ['desc', 'id'],
  ['desc', 'key'],
  ['lease', 'epoch'],
  ['lease', 'replica', 'store'],
  ['problems'],
  ['stats', 'x'],
  ['stats', 'y'],
  ['rate'],
  ['quiet'],
] as const;
const TEXT = slotOf(element, 'text');
const LEASE = slotOf(element, 'lease');

/** The fields of each record; those of a lease that is not there are not read. */
function readBatch(batch: RecordBatch): unknown[] {
  return Array.from({ length: batch.count }, (_, index) => {
    const first = batch.first + index * batch.slots;
    const hasLease = batch.numbers[first + LEASE] === 1;
    const values = PATHS.map((path) =>
      path[0] === 'lease' && !hasLease ? NaN : batch.numbers[first + slotOf(element, ...path)],
    );
    return [...values, batch.parse(first + TEXT, length)];
  });
}

function readBatches(pieces: Iterable<Uint8Array>, limits = generous) {
  const list: unknown[] = [];
  const decoder = new PageParser({
    list: 'list',
    element,
    envelope: object({}),
    ...limits,
    onBatch: (batch) => list.push(...readBatch(batch)),
  });
  for (const piece of pieces) decoder.write(piece);
  return { ...decoder.end(), list };
}

/** What `readBatch` makes of elements that are read one by one. */
function readSingly(bytes: Uint8Array, limits = generous) {
  const options = { list: 'list', element, envelope: object({}), ...limits };
  const { list, ...counts } = readPieces([bytes], options);
  return {
    ...counts,
    list: list.map((read) => [...PATHS.map((path) => numberAt(read, path)), read.text]),
  };
}

function numberAt(value: unknown, path: readonly string[]): unknown {
  const found = path.reduce<unknown>((inner, name) => {
    return typeof inner === 'object' && inner !== null
      ? Object.entries(inner).find(([key]) => key === name)?.[1]
      : undefined;
  }, value);
  return found === undefined ? NaN : Number(found);
}

const USUAL =
  '{"desc":{"id":7,"key":"abc"},"text":"/Table/1","lease":[{"epoch":1},{"epoch":4,"replica":{"store":3}}],"problems":{"b":true},"stats":{"x":1.5,"y":2},"rate":1e3,"quiet":true}';
const OTHERS = [
  '{}',
  '{"desc":null,"text":"\\u0041b","lease":[],"stats":{"x":"1"}}',
  '{"desc":{"id":"x","key":[1,2]},"text":5,"lease":[null],"problems":{"a":1}}',
  `{"text":"${'long '.repeat(40)}"}`,
  '{"deep":[[[[[[[[[[1]]]]]]]]]],"rate":2}',
  ' {"rate" : 3 , "text":"é"} ',
  'null',
  '"no object"',
  '[1]',
];
const elements = Array.from({ length: 200 }, (_, index) =>
  index % 3 === 0 ? (OTHERS[(index / 3) % OTHERS.length] ?? '') : USUAL,
);
const document = Buffer.from(`{"list":[${elements.join(',')}],"more":1}`);

describe('elements that are read many at a time', () => {
  test.each([1, 7, 100, 1000, 5000, 100_000])('are the same in pieces of %d bytes', (size) => {
    expect(readBatches(inPieces(document, size))).toEqual(readSingly(document));
  });

  test('keep the limits of those that are read one by one', () => {
    const limits = { maxElementBytes: 190, maxDepth: 8 };
    const read = readBatches(inPieces(document, 300), limits);
    expect(read).toEqual(readSingly(document, limits));
    expect(read.tooLarge).toBe(15);
  });

  test('fail where the document is not valid', () => {
    const text = `{"list":[${USUAL},${USUAL},{"rate":tru}]}`;
    expect(() => readBatches([Buffer.from(text)])).toThrow(/at byte 36\d of/);
    expect(() => readBatches([Buffer.from(`{"list":[${USUAL},${USUAL}`)])).toThrow(/incomplete/);
  });

  test('take no more memory with each document', () => {
    readBatches([document]);
    const { memory } = sharedScanner().exports;
    const before = memory.buffer.byteLength;
    for (let read = 0; read < 200; read += 1) readBatches([document]);
    expect(memory.buffer.byteLength).toBe(before);
  });
});
