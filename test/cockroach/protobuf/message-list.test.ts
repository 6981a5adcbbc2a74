import { array, assert, integer, nat, oneof, property, tuple, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesField, integerField, messageField } from '../../../simulator/wire/protobuf.ts';
import {
  MessageList,
  type MessageReader,
  ProtobufError,
} from '../../../src/cockroach/protobuf/index.ts';

const LIST = 1;
const MAX_ELEMENT_BYTES = 1000;

/** The numbers of field 2 and the texts of field 3 of an element. */
function readElement(reader: MessageReader, end: number): string {
  const found: (string | number)[] = [];
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 2) found.push(reader.int64());
    else if (field === 3) {
      found.push(reader.bytes((bytes, from, to) => Buffer.from(bytes.slice(from, to)).toString()));
    } else reader.skip();
  }
  return found.join();
}

/** Reads a message in chunks of these lengths, the last one as often as is needed. */
function read(message: Uint8Array, lengths: readonly number[] = [message.length]) {
  const elements: string[] = [];
  const list = new MessageList({
    list: LIST,
    maxElementBytes: MAX_ELEMENT_BYTES,
    onMessage: (reader, end) => elements.push(readElement(reader, end)),
  });
  const left = [...lengths];
  for (let at = 0; at < message.length;) {
    const length = Math.max(1, (left.length > 1 ? left.shift() : left[0]) ?? 1);
    // A chunk is only valid during the call.
    const chunk = Uint8Array.from(message.subarray(at, at + length));
    list.write(chunk);
    chunk.fill(0xff);
    at += length;
  }
  const { elements: count, ...end } = list.end();
  expect(count).toBe(elements.length);
  return { elements, ...end };
}

function problemOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ProtobufError) return error.message.replace(' (protobuf)', '');
    throw error;
  }
  return 'none';
}

/** Fields of 32 and 64 bits. */
const FIXED = Buffer.from([(7 << 3) | 5, 1, 2, 3, 4, (8 << 3) | 1, 1, 2, 3, 4, 5, 6, 7, 8]);

const MESSAGE = Buffer.concat([
  integerField(9, 2n ** 60n),
  messageField(LIST, [integerField(2, 300), bytesField(3, 'ä'), FIXED]),
  bytesField(10, 'x'.repeat(500)),
  FIXED,
  messageField(LIST, []),
  messageField(LIST, [bytesField(200, 'left out'), integerField(2, -1)]),
  integerField(2, 7),
]);

describe('a message with a list', () => {
  const whole = { elements: ['300,ä', '', '-1'], skipped: 0, tooLarge: 0 };

  test('is read however it is cut', () => {
    expect(read(MESSAGE)).toEqual(whole);
    for (let at = 1; at < MESSAGE.length; at += 1) {
      expect(read(MESSAGE, [at, MESSAGE.length])).toEqual(whole);
      expect(read(MESSAGE, [at])).toEqual(whole);
    }
    expect(read(Buffer.alloc(0))).toEqual({ ...whole, elements: [] });
  });

  test('that ends in a field is truncated', () => {
    const ends = new Set<number>([0]);
    for (let at = 1; at < MESSAGE.length; at += 1) {
      if (problemOf(() => read(MESSAGE.subarray(0, at))) === 'none') ends.add(at);
    }
    // The field of 32 bits and that of 64 beside the list end inside of `FIXED`.
    expect(ends.size).toBe(8);
  });

  test('skips an element over the limit of bytes, wherever it is cut', () => {
    const long = messageField(LIST, [bytesField(3, 'x'.repeat(MAX_ELEMENT_BYTES))]);
    const message = Buffer.concat([MESSAGE, long, MESSAGE]);
    const twice = { elements: [...whole.elements, ...whole.elements], skipped: 1, tooLarge: 1 };
    for (const length of [1, 7, 400, message.length]) {
      expect(read(message, [length])).toEqual(twice);
    }
    expect(problemOf(() => read(Buffer.concat([MESSAGE, long.subarray(0, 900)])))).toBe(
      'the message is incomplete',
    );
  });

  test('skips an element with more items than JSON may have', () => {
    const items = Buffer.concat(Array.from({ length: 200_001 }, () => messageField(4, [])));
    let found = 0;
    const list = new MessageList({
      list: LIST,
      maxElementBytes: 1e6,
      onMessage(reader, end) {
        for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
          const itemEnd = reader.item();
          while (reader.next(itemEnd) !== 0) reader.skip();
        }
        found += 1;
      },
    });
    for (const bytes of [items.subarray(0, 400_000), items]) list.write(bytesField(LIST, bytes));
    expect(list.end()).toEqual({ elements: 1, skipped: 1, tooLarge: 1 });
    expect(found).toBe(1);
  });
});

test.each<readonly [name: string, message: Buffer, problem: string]>([
  ['a number where the list is', integerField(LIST, 1), 'field 1 has wire type 0, not 2'],
  [
    'a number where a text is',
    messageField(LIST, [integerField(3, 1)]),
    'field 3 has wire type 0, not 2',
  ],
  [
    'a text where a number is',
    messageField(LIST, [bytesField(2, '1')]),
    'field 2 has wire type 2, not 0',
  ],
  ['a field without a number', Buffer.from([0, 0]), 'a field has no number'],
  ['a group', Buffer.from([(5 << 3) | 3, (5 << 3) | 4]), 'a field has no known wire type'],
  [
    'a number without an end',
    Buffer.from([(5 << 3) | 0, ...Array(15).fill(0xff)]),
    'a number has no end',
  ],
  [
    'a tag of more than 32 bits',
    Buffer.from([...Array(8).fill(0x8a), 0, 0, 0, 0]),
    'a tag or a length is too large',
  ],
  ['JSON', Buffer.from('{"ranges":[],"next":0}'), 'a field has no known wire type'],
])('%s is an error that says so', (_name, message, problem) => {
  expect(problemOf(() => read(message))).toBe(problem);
  expect(problemOf(() => read(message, [1]))).toBe(problem);
});

test('a field that is longer than its element is an error, also where its bytes have not arrived', () => {
  const message = Buffer.concat([
    bytesField(LIST, Buffer.from([(3 << 3) | 2, 9])),
    bytesField(LIST, 'x'.repeat(9)),
  ]);
  expect(problemOf(() => read(message))).toBe('a field is longer than its message');
  expect(problemOf(() => read(message, [1]))).toBe('a field ends too early');
});

/** What it holds, or that it is refused. */
function outcome(message: Uint8Array, length: number) {
  try {
    return read(message, [length]);
  } catch (error) {
    if (error instanceof ProtobufError) return 'refused';
    throw error;
  }
}

test('any bytes are read or refused, whatever they are, and alike however they are cut', () => {
  const damaged = array(tuple(nat(MESSAGE.length - 1), nat(255)), { maxLength: 4 });
  const bytes = oneof(
    uint8Array({ maxLength: 60 }),
    damaged.map((changes) => {
      const message = Buffer.from(MESSAGE);
      for (const [at, byte] of changes) message[at] = byte;
      return message;
    }),
  );
  assert(
    property(bytes, integer({ min: 1, max: 40 }), (message, length) => {
      expect(outcome(message, length)).toEqual(outcome(message, 1000));
    }),
    { numRuns: 2000 },
  );
});
