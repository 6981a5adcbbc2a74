import { describe, expect, test } from 'vitest';
import {
  decodeValue,
  type AnyShape,
  array,
  integer,
  JsonLimitError,
  number,
  object,
  raw,
  record,
  string,
} from '../../src/json/index.ts';

const inner = object({ a: integer(), list: array(string()) });

function read(
  text: string,
  shape: AnyShape,
): { readonly value: unknown; readonly wrongTypes: number } {
  return decodeValue(Buffer.from(text), shape);
}

/** `count` items, separated by commas. */
function many(count: number, item: (at: number) => string): string {
  return Array.from({ length: count }, (_each, at) => item(at)).join(',');
}

describe('a document that is decoded at once', () => {
  test.each([
    ['objects', array(inner), (count: number) => `[${many(count, () => '{}')}]`],
    ['entries', record(number()), (count: number) => `{${many(count, (at) => `"${at}":1`)}}`],
    ['raw values', raw(), (count: number) => `[${many(count, () => '1')}]`],
    [
      'items of lists in lists',
      array(array(integer())),
      (count: number) => `[${many(count / 100, () => `[${many(99, () => '1')}]`)}]`,
    ],
  ])('of more than 100,000 %s is an error', (_what, shape, write) => {
    expect(read(write(100_000), shape).wrongTypes).toBe(0);
    expect(() => read(write(100_200), shape)).toThrow(JsonLimitError);
  });

  test('may contain any number of unwanted members', () => {
    const text = `{"more":[${many(200_000, () => '{}')}],"x":1}`;
    expect(read(text, object({ x: integer() }))).toEqual({ value: { x: 1 }, wrongTypes: 0 });
  });
});

describe('a value that was read', () => {
  test('does not change when the next one is read', () => {
    const values = [1, 2].map((a) => read(`{"a":${a},"list":["${a}"]}`, inner).value);
    expect(values).toEqual([
      { a: 1, list: ['1'] },
      { a: 2, list: ['2'] },
    ]);
  });
});

/** Lists in lists. */
function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

describe('a broken document', () => {
  test.each([
    ['', 'the document is incomplete', 0],
    ['{"x":', 'the document is incomplete', 5],
    ['{} x', 'unexpected text after the document', 3],
    [`${'['.repeat(200)}${']'.repeat(200)}`, 'the document is nested too deeply', 0],
  ])('%.20j is an error: %s at %i', (text, problem, offset) => {
    const message = `${problem} (at byte ${offset} of the document)`;
    expect(() => read(text, integer())).toThrow(message);
  });

  test('may have 128 levels, but no more', () => {
    expect(read(nested(128), array(raw())).wrongTypes).toBe(0);
    expect(() => read(nested(129), array(raw()))).toThrow(JsonLimitError);
  });
});
