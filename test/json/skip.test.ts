import { describe, expect, test } from 'vitest';
import { integer, last, object, string } from '../../src/json/index.ts';
import { project } from './oracle.ts';
import { cutAt, readPieces } from './reading.ts';

/**
 * Long arrays of which only the last element is wanted, and unwanted objects, are skipped without
 * reading every byte. These are the documents that could mislead such a jump.
 */
const element = object({
  history: last(object({ a: integer(), s: string() })),
  after: integer(),
  end: string(),
});
const options = { list: 'items', element, envelope: object({}) };

const padding = `{"a":0,"p":"${'x'.repeat(60)}"}`;
const many = Array.from({ length: 8 }, () => padding).join(',');

/** A history long enough that the decoder expects the next one to be long too. */
const first = `{"history":[${many},{"a":1}],"after":1,"end":"e"}`;

function documentOf(tricky: string): string {
  return `{"items":[${first},${tricky},${first},${tricky}]}`;
}

/** The different results of reading a document in two pieces, cut at many places. */
function readCut(text: string): string[] {
  const bytes = Buffer.from(text);
  const results = new Set<string>();
  for (let position = 0; position <= bytes.length; position += 5) {
    results.add(JSON.stringify(readPieces(cutAt(bytes, position), options).list));
  }
  return [...results];
}

function readWithOracle(text: string): string {
  const { items }: { items: unknown[] } = JSON.parse(text);
  return JSON.stringify(items.map((item) => project(element, item).value));
}

describe('the last element is the right one', () => {
  test.each([
    ['plain', `[${many},{"a":2,"s":"t"}]`],
    ['a string that ends like the array', `[${many},{"a":2,"s":"],"},{"a":3}]`],
    ['a string that ends like the array, in the last element', `[${many},{"a":2,"s":"],"}]`],
    ['a string that contains the end of the array', `[${many},{"a":2,"s":"],\\"after\\":9,"}]`],
    ['a key that contains the end of the array', `[${many},{"a":2,"],":7,"b],":8}]`],
    ['a string that contains an object separator', `[${many},{"a":2,"s":"},{\\"a\\":9"}]`],
    ['a string that ends with half a separator', `[${many},{"s":"},{","a":2}]`],
    [
      'a string that ends with half a separator, and a key after it',
      `[${many},{"s":"},{","x":"},{","a":2}]`,
    ],
    ['an array inside', `[${many},{"x":[{"a":8},{"a":9}],"after":9},{"a":2}]`],
    ['an array inside the last element', `[${many},{"a":2,"x":[{"a":8},{"a":9}]}]`],
    ['an array inside, named like the next member', `[${many},{"x":[1],"after":7,"a":2}]`],
    ['an opening bracket in a string', `[${many},{"a":2,"s":"["}]`],
    ['white space between elements', `[${many},{"a":1}, {"a":2}]`],
    ['white space before the end', `[${many},{"a":2} ]`],
    ['white space inside elements', `[${many},{ "a":1},{ "a":2}]`],
    ['a last element that is not an object', `[${many},{"a":1},3]`],
    ['a last element that is null', `[${many},{"a":1},null]`],
    ['one element', `[{"a":2,"p":"${'x'.repeat(400)}"}]`],
    ['nested objects', `[${many},{"n":{"a":5},"a":2,"m":{"a":6}},{"n":{"a":5},"a":3,"m":{"a":6}}]`],
    ['keys that do not begin with a letter', `[${many},{"1":1,"a":2},{"":1,"a":3}]`],
    ['escaped quotes before a separator', `[${many},{"s":"\\\\\\""},{"a":2,"s":"\\\\"}]`],
    ['empty', '[]'],
    ['short', '[{"a":7}]'],
  ])('%s', (_title, history) => {
    const places = [
      `{"history":${history},"after":5,"end":"e"}`,
      `{"after":5,"end":"e","history":${history}}`,
      `{"after":5,"history":${history} , "end":"e"}`,
    ];
    for (const text of places.map(documentOf)) {
      expect(readCut(text)).toEqual([readWithOracle(text)]);
    }
  });
});

describe('an unwanted object is skipped to its end', () => {
  test.each([
    '{"a":1}',
    '{}',
    '{"s":"}"}',
    '{"s":"},"}',
    '{"s":"},\\"after\\":9"}',
    '{"},":1,"x":2}',
    '{"s":"},","t":"},"}',
    '{"n":{"after":9},"after":9}',
    '{"n":{"after":9},"m":{}}',
    '{"y":"yyyyyyyyy{yyyyyyyyyyyy"}',
    '{"yyy":"\u007f\u007fyyyyyyyyyyyyyyyy"}',
    '{"x":[{"after":9},{"after":9}],"after":9}',
    '{"s":"{"}',
    '{"s":"\\\\","t":"\\""}',
  ])('%s', (value) => {
    const places = [
      `{"x":${value},"after":5,"end":"e"}`,
      `{"after":5,"x":${value}}`,
      `{"x":${value} ,"x":${value},"end":"e","y":${value},"after":3}`,
    ];
    for (const text of places.map(documentOf)) {
      expect(readCut(text)).toEqual([readWithOracle(text)]);
    }
  });
});
