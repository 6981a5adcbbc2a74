import { describe, expect, test } from 'vitest';
import {
  JsonError,
  PageParser,
  array,
  integer,
  object,
  optional,
  raw,
  string,
} from '../../src/json/index.ts';
import { documents, envelope } from './documents.ts';
import { project } from './oracle.ts';
import { cutAt, generous, inPieces, readPieces } from './reading.ts';
import { sourcesOf } from './sources.ts';

/** What the oracle expects of a document whose elements are all objects. */
function expected({ list, element, text }: (typeof documents)[number]) {
  const parsed: Record<string, unknown> = JSON.parse(text);
  const { [list]: elements, ...others } = parsed;
  const sources = sourcesOf(text, parsed);
  const members = Array.isArray(elements) ? elements : [];
  const projections = members.map((member) => project(element, member, sources));
  const around = project(envelope, others);
  return {
    envelope: around.value,
    elements: members.length,
    skipped: 0,
    wrongTypes: projections.reduce((sum, { wrongTypes }) => sum + wrongTypes, around.wrongTypes),
    tooLarge: 0,
    hasList: true,
    list: projections.map(({ value }) => value),
  };
}

describe.each(documents)('a document of $list', (document) => {
  const bytes = Buffer.from(document.text);
  const options = { ...document, envelope };

  test('reads as JSON.parse and a projection would', () => {
    expect(readPieces([bytes], options)).toEqual(expected(document));
  });

  test('reads the same wherever it is cut in two', () => {
    const whole = JSON.stringify(readPieces([bytes], options));
    for (let position = 0; position <= bytes.length; position++) {
      const reading = readPieces(cutAt(bytes, position), options);
      expect(JSON.stringify(reading), `cut at ${position}`).toBe(whole);
    }
  });

  test.each([1, 2, 3, 7, 64])('reads the same in pieces of %i bytes', (size) => {
    expect(readPieces(inPieces(bytes, size), options)).toEqual(expected(document));
  });

  test('is truncated wherever it ends too early', () => {
    for (let length = 0; length < bytes.length; length++) {
      const reading = () => readPieces([bytes.subarray(0, length)], options);
      expect(reading, `${length} bytes`).toThrow('is incomplete');
    }
  });
});

const simple = {
  list: 'items',
  element: object({ a: integer(), s: string() }),
  envelope: object({ next: optional(integer()) }),
};

function read(text: string | Uint8Array, limits = generous) {
  return readPieces([Buffer.from(text)], { ...simple, ...limits });
}

describe('the list', () => {
  test.each([
    ['{}', false],
    ['{"next":null,"x":{"items":[]}}', false],
    ['{"items":null}', true],
    ['{"items":[]}', true],
    [' { "items" : [ ] , "x" : 1 } ', true],
  ])('may be missing or empty: %s', (text, hasList) => {
    expect(read(text)).toMatchObject({ elements: 0, skipped: 0, list: [], envelope: {}, hasList });
  });

  test('may follow the envelope, whose members may occur twice: the last value counts', () => {
    const text = '{"next":1,"items":[{"a":1}],"next":2,"next":"x","next":3}';
    expect(read(text)).toMatchObject({ envelope: { next: 3 }, list: [{ a: 1 }] });
  });

  test('skips and counts elements that are not objects', () => {
    const reading = read('{"items":[1,"x",null,[{"a":1}],true,{"a":2}]}');
    expect(reading).toMatchObject({ elements: 1, skipped: 5, wrongTypes: 0, tooLarge: 0 });
    expect(reading.list).toEqual([{ a: 2, s: '' }]);
  });

  test('keeps the objects inside arrays separate', () => {
    const element = object({ inner: array(object({ a: object({ b: integer() }) })) });
    const text = '{"items":[{"inner":[{"a":{"b":1}},{},{"a":{"b":3}}]}]}';
    const { list } = readPieces([Buffer.from(text)], { ...simple, element });
    expect(list).toEqual([{ inner: [{ a: { b: 1 } }, { a: { b: 0 } }, { a: { b: 3 } }] }]);
  });

  test('finds keys written with escapes', () => {
    const reading = read('{"\\u0069tems":[{"\\u0061":1,"\\u0073":"x"}],"n\\u0065xt":5}');
    expect(reading).toMatchObject({ envelope: { next: 5 }, list: [{ a: 1, s: 'x' }] });
  });
});

describe('limits', () => {
  const long = `{"a":7,"s":"${'x'.repeat(200)}"}`;

  test.each([1, 10, 1000])('skip an element that is too long, in pieces of %i', (size) => {
    const bytes = Buffer.from(`{"items":[{"a":1},${long},{"a":2}],"next":9}`);
    const limits = { maxElementBytes: long.length - 1, maxDepth: 8 };
    const reading = readPieces(inPieces(bytes, size), { ...simple, ...limits });
    expect(reading).toMatchObject({ elements: 2, skipped: 1, wrongTypes: 0, tooLarge: 1 });
    expect(reading.list).toEqual([
      { a: 1, s: '' },
      { a: 2, s: '' },
    ]);
    expect(reading.envelope).toEqual({ next: 9 });
  });

  test('allow an element of exactly the maximum length', () => {
    const reading = read(`{"items":[${long}]}`, { maxElementBytes: long.length, maxDepth: 8 });
    expect(reading).toMatchObject({ elements: 1, skipped: 0, tooLarge: 0 });
  });

  test('do not hold an endless element in memory', () => {
    const limits = { maxElementBytes: 1000, maxDepth: 8 };
    const decoder = new PageParser({ ...simple, ...limits, onElement: () => undefined });
    decoder.write(Buffer.from('{"items":[{"s":"'));
    const chunk = Buffer.alloc(65_536, 'x');
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 1000; i++) decoder.write(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000);
    decoder.write(Buffer.from('"},{"a":1}]}'));
    expect(decoder.end()).toMatchObject({ elements: 1, skipped: 1, tooLarge: 1 });
  });

  test.each(['{"x":{"y":[{"z":1}]}}', `{"x":${'['.repeat(5000)}${']'.repeat(5000)}}`])(
    'skip an element that is too deep: %.22s',
    (deep) => {
      const bytes = Buffer.from(`{"items":[{"a":"?"},${deep},{"a":2}]}`);
      for (const size of [1, 100_000]) {
        const limits = { maxElementBytes: 100_000, maxDepth: 3 };
        const reading = readPieces(inPieces(bytes, size), { ...simple, ...limits });
        expect(reading).toMatchObject({ elements: 2, skipped: 1, wrongTypes: 1, tooLarge: 1 });
      }
    },
  );

  test('allow an element of exactly the maximum depth', () => {
    const reading = read('{"items":[{"x":{"y":[1]}}]}', { maxElementBytes: 100, maxDepth: 3 });
    expect(reading).toMatchObject({ elements: 1, skipped: 0, tooLarge: 0 });
  });

  test('do not apply to unwanted members', () => {
    const text = `{"x":${'[1,"a",'.repeat(900)}0${']'.repeat(900)},"items":[]}`;
    for (const size of [1, 100_000]) {
      const limits = { maxElementBytes: 10, maxDepth: 3 };
      const reading = readPieces(inPieces(Buffer.from(text), size), { ...simple, ...limits });
      expect(reading).toMatchObject({ skipped: 0, tooLarge: 0 });
    }
  });
});

describe('broken documents', () => {
  test.each([
    ['', 'is incomplete'],
    ['  \n', 'is incomplete'],
    ['\uFEFF{}', 'not UTF-8'],
    ['\u0000{', 'not UTF-8'],
    ['<html></html>', 'not valid JSON'],
    ['An internal server error has occurred.', 'not valid JSON'],
    ['[]', 'is not an'],
    ['null', 'is not an'],
    ['"items"', 'is not an'],
    ['{"items":{}}', 'is not an'],
    ['{"items":1}', 'is not an'],
    ['{"items":"x"}', 'is not an'],
    ['{"items":[],"items":[]}', 'occurs twice'],
    ['{"items":null,"items":[]}', 'occurs twice'],
    ['{} {}', 'unexpected text'],
    ['{}null', 'unexpected text'],
    ['{"items":[]}]', 'unexpected text'],
    ['{"items":[{"a":1}}', 'not valid JSON'],
    ['{"items":[{"a":1]}', 'not valid JSON'],
    ['{"items":[{"a":1},]}', 'not valid JSON'],
    ['{"items":[,{"a":1}]}', 'not valid JSON'],
    ['{"items":[{"a":1} {"a":2}]}', 'not valid JSON'],
    ['{"items":[{"a":1,}]}', 'not valid JSON'],
    ['{"items":[{"a"}]}', 'not valid JSON'],
    ['{"items":[{"a":}]}', 'not valid JSON'],
    ['{"items":[{a:1}]}', 'not valid JSON'],
    ["{'items':[]}", 'not valid JSON'],
    ['{"items":[{"a":nul}]}', 'not valid JSON'],
    ['{"items":[{"a":nulll}]}', 'not valid JSON'],
    ['{"items":[{"x":tru}]}', 'not valid JSON'],
    ['{"items":[{"x":NaN}]}', 'not valid JSON'],
    ['{"items":[{"x":[}]}]}', 'not valid JSON'],
    ['{"items":[{"x":{]}}]}', 'not valid JSON'],
    ['{"items":[{"x":[1;2]}]}', 'not valid JSON'],
    ['{"items":[{"a":01}]}', 'not valid JSON'],
    ['{"items":[{"a":-}]}', 'not valid JSON'],
    ['{"items":[{"a":1.}]}', 'not valid JSON'],
    ['{"items":[{"a":.5}]}', 'not valid JSON'],
    ['{"items":[{"a":+1}]}', 'not valid JSON'],
    ['{"items":[{"a":1e}]}', 'not valid JSON'],
    ['{"items":[{"a":0x1F}]}', 'not valid JSON'],
    ['{"items":[{"a":--1}]}', 'not valid JSON'],
    ['{"items":[{"s":"a\nb"}]}', 'not valid JSON'],
    ['{"items":[{"s":"a\u0000b"}]}', 'not valid JSON'],
    ['{"items":[{"s":"\\x"}]}', 'not valid JSON'],
    ['{"items":[{"s":"\\u12G4"}]}', 'not valid JSON'],
    ['{"items":[{"s":"\\u12"}]}', 'not valid JSON'],
    ['{"next":tru}', 'not valid JSON'],
    ['{"x":truf,"items":[]}', 'not valid JSON'],
    ['{"items" []}', 'not valid JSON'],
    ['{"items":[]', 'is incomplete'],
    ['{"items":[{"a":1', 'is incomplete'],
    ['{"items":[{"s":"abc\\', 'is incomplete'],
    [`{"items":[{"a":${'1'.repeat(5000)}`, 'is incomplete'],
    [`{"items":[${'1'.repeat(5000)}`, 'a key or number has more than'],
    [`{"${'k'.repeat(5000)}`, 'a key or number has more than'],
  ])('%j is an error, in one piece and in many: %s', (text, problem) => {
    const bytes = Buffer.from(text);
    for (const size of [1, 3, 100_000]) {
      const reading = () => readPieces(inPieces(bytes, size), simple);
      expect(reading, `pieces of ${size}`).toThrow(problem);
    }
  });

  test('an envelope member that is too long or too deep is an error', () => {
    const options = { ...simple, envelope: object({ note: raw() }) };
    const limits = { maxElementBytes: 20, maxDepth: 2 };
    const deep = Buffer.from('{"note":[[[]]]}');
    const long = Buffer.from(`{"note":"${'x'.repeat(20)}"}`);
    for (const size of [1, 100]) {
      const reading = (bytes: Uint8Array) => () =>
        readPieces(inPieces(bytes, size), { ...options, ...limits });
      expect(reading(deep)).toThrow('is nested too deeply');
      expect(reading(long)).toThrow('is longer than 20 bytes');
    }
  });

  test('the message contains the offset and no text of the document', () => {
    const text = '{"items":[{"s":"secret\\q"}]}';
    let caught: unknown;
    try {
      read(text);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(JsonError);
    expect(caught).toMatchObject({ name: 'JsonError' });
    expect(caught).not.toHaveProperty('cause');
    expect(String(caught)).toMatch(/byte 15/);
    expect(String(caught)).not.toMatch(/secret/);
  });

  test('the offset counts from the start of the document, not of the chunk', () => {
    const text = `{"items":[${'{"a":1,"s":"x"},'.repeat(20_000)}?`;
    const reading = () => readPieces(inPieces(Buffer.from(text), 1000), simple);
    expect(reading).toThrow(`at byte ${text.length - 1} of`);
  });

  test('what onElement throws is thrown unchanged, also by later calls', () => {
    const failure = new Error('no more');
    const onElement = (): never => {
      throw failure;
    };
    const decoder = new PageParser({ ...simple, ...generous, onElement });
    expect(() => decoder.write(Buffer.from('{"items":[{"a":1},'))).toThrow(failure);
    expect(() => decoder.end()).toThrow(failure);
  });
});
