import { describe, expect, test } from 'vitest';
import { JsonError, PageParser, integer, object, optional, string } from '../../src/json/index.ts';
import { generous, inPieces } from './reading.ts';

/** Reads a document whose elements are the values of a map. */
function readMap(text: string, size = Infinity, maxElementBytes = generous.maxElementBytes) {
  const entries: (readonly [key: string, a: number | undefined])[] = [];
  const parser = new PageParser({
    ...generous,
    list: 'items',
    isMap: true,
    element: object({ a: integer(), s: string() }),
    envelope: object({ next: optional(integer()) }),
    maxElementBytes,
    onElement: ({ a }, key) => entries.push([key, a]),
  });
  const bytes = Buffer.from(text);
  for (const piece of inPieces(bytes, Math.min(size, bytes.length))) parser.write(piece);
  return { ...parser.end(), entries };
}

describe('a map in place of the list', () => {
  const document = String.raw` {"next":1, "items" : { "1":{"a":1} ,"t\u0077o":{"a":2,"s":"}"}, "3":7, "":{"a":4}, "5":null },"x":{"1":2}}`;

  test.each([1, 2, 3, 7, 1000])('reads keys and elements in pieces of %i bytes', (size) => {
    const reading = readMap(document, size);
    expect(reading).toMatchObject({ elements: 3, skipped: 2, hasList: true });
    expect(reading.envelope).toEqual({ next: 1 });
    expect(reading.entries).toEqual([
      ['1', 1],
      ['two', 2],
      ['', 4],
    ]);
  });

  test('is truncated wherever it ends too early', () => {
    for (let length = 1; length < document.length; length++) {
      const reading = () => readMap(document.slice(0, length));
      expect(reading, `${length} bytes`).toThrow('is incomplete');
    }
  });

  test('may be empty or null, but no array, and each value has a key', () => {
    expect(readMap('{"items":{}}')).toMatchObject({ elements: 0, hasList: true });
    expect(readMap('{"items":null}')).toMatchObject({ elements: 0, hasList: true });
    expect(() => readMap('{"items":[{"a":1}]}')).toThrow('the list is not an object');
    for (const broken of ['{"items":{{"a":1}}}', '{"items":{"a":{}]}', '{"items":{"a":{},}}']) {
      expect(() => readMap(broken), broken).toThrow(JsonError);
    }
  });

  test('goes on at the next key after an element that is too long', () => {
    const long = `{"items":{"1":{"s":"${'x'.repeat(200)}"},"2":{"a":2}}}`;
    for (const size of [1, 10, 1000]) {
      const reading = readMap(long, size, 100);
      expect(reading).toMatchObject({ skipped: 1, tooLarge: 1, entries: [['2', 2]] });
    }
  });
});
