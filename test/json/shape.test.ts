import { describe, expect, test } from 'vitest';
import {
  decodeValue,
  array,
  boolean,
  flags,
  hashed,
  integer,
  last,
  nameText,
  number,
  object,
  optional,
  parsed,
  raw,
  record,
  selected,
  string,
  time,
  type AnyShape,
} from '../../src/json/index.ts';
import { MAX_NAME_LENGTH } from '../../src/json/shape.ts';

function read(text: string | Uint8Array, shape: AnyShape): unknown {
  const { value, wrongTypes } = decodeValue(Buffer.from(text), object({ x: shape }));
  return { ...value, wrongTypes };
}

const inner = object({ a: integer(), list: array(string()) });
const zero = { a: 0, list: [] };
const unknown = { a: undefined, list: [] };
const metrics = selected({ keys: ['k', 'é'], prefixes: ['p.'] }, number());

describe('absent and null mean the same', () => {
  test.each([
    ['integer', integer(), 0],
    ['number', number(), 0],
    ['string', string(), ''],
    ['boolean', boolean(), false],
    ['time', time(), undefined],
    ['flags', flags(['a']), 0],
    ['hashed', hashed(), 0],
    ['object', inner, zero],
    ['optional', optional(inner), undefined],
    ['last', last(integer()), undefined],
    ['array', array(integer()), []],
    ['selected', metrics, new Map()],
    ['record', record(integer()), new Map()],
  ])('%s', (_kind, shape, expected) => {
    expect(read('{}', shape)).toEqual({ x: expected, wrongTypes: 0 });
    expect(read('{"x":null}', shape)).toEqual({ x: expected, wrongTypes: 0 });
  });
});

describe('a value of the wrong type is undefined and counted', () => {
  test.each([
    ['integer', integer(), ['"1"', 'true', '[1]', '{}', '1.5'], undefined],
    ['number', number(), ['"1"', 'true', '[1]', '{}'], undefined],
    ['string', string(), ['1', 'true', '["a"]', '{}'], undefined],
    ['boolean', boolean(), ['1', '"true"', '[true]', '{}'], undefined],
    ['time', time(), ['1', '"yesterday"', '"2026-01-01"', '[]'], undefined],
    ['flags', flags(['a']), ['1', '"a"', '["a"]', 'true'], undefined],
    ['hashed', hashed(), ['1', '-1.5', 'true', 'false', '{}', '{"a":[1]}'], undefined],
    ['object', inner, ['1', '"a"', '[]', 'true'], unknown],
    ['optional', optional(inner), ['1', '"a"', '[]', 'true'], undefined],
    ['last', last(integer()), ['1', '{}', '"a"', '[1,"a"]'], undefined],
    ['array', array(integer()), ['1', '{}', '"a"'], []],
    ['selected', metrics, ['1', '[]', '"a"'], new Map()],
    ['record', record(integer()), ['1', '[]', '"a"'], new Map()],
  ])('%s', (_kind, shape, texts, expected) => {
    for (const text of texts) {
      expect(read(`{"x":${text}}`, shape)).toEqual({ x: expected, wrongTypes: 1 });
    }
  });
});

describe('time', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-01-19T17:02:22Z', 1_768_842_142_000],
    ['2026-01-19T17:02:22.5Z', 1_768_842_142_500],
    ['2026-01-19T17:02:22.636614123Z', 1_768_842_142_636],
    ['2026-01-19T19:02:22+02:00', 1_768_842_142_000],
    ['2026-01-19T16:32:22-00:30', 1_768_842_142_000],
    ['2026-01-19T17:02:22.09Z', 1_768_842_142_090],
    ['2026-12-31T23:59:59+23:59', Date.UTC(2026, 11, 31, 0, 0, 59)],
    ['2026-01-31T00:00:00-23:59', Date.UTC(2026, 0, 31, 23, 59)],
    ['2000-02-29T00:00:00Z', 951_782_400_000],
    ['0099-03-01T00:00:00Z', Date.parse('0099-03-01T00:00:00Z')],
    ['0001-01-01T00:00:00Z', undefined],
  ])('%s', (text, expected) => {
    expect(read(`{"x":"${text}"}`, time())).toEqual({ x: expected, wrongTypes: 0 });
  });

  test.each([
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00.1234567890Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+0200',
    '2026-01-01T00:00:00+02:000',
    '2026-01-01T00:00:00+00:60',
    '2026-01-01T00:00:00.1:Z',
    '20:6-01-01T00:00:00Z',
    '202:-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z ',
    '2026-1-01T00:00:00Z',
    '+2026-01-01T00:00:00Z',
  ])('%s is not a time', (text) => {
    expect(read(`{"x":"${text}"}`, time())).toEqual({ x: undefined, wrongTypes: 1 });
  });
});

describe('flags', () => {
  const shape = flags(['a', 'b']);

  test.each([
    ['{}', 0, 0],
    ['{"a":true}', 1, 0],
    ['{"b":true,"a":true}', 3, 0],
    ['{"a":false,"b":null}', 0, 0],
    ['{"other":true}', 4, 0],
    ['{"other":true,"more":true,"b":true}', 6, 0],
    ['{"a":true,"a":false}', 0, 0],
    ['{"other":"x","b":true}', 2, 1],
    ['{"a":1,"other":"x","b":true}', undefined, 1],
    ['{"a":"true"}', undefined, 1],
    ['{"b":true,"a":[true]}', undefined, 1],
    ['{"a":1,"a":true}', 1, 1],
  ])('%s', (text, mask, wrongTypes) => {
    expect(read(`{"x":${text}}`, shape)).toEqual({ x: mask, wrongTypes });
  });

  test('reject more names than fit into a mask', () => {
    expect(() => flags(Array.from({ length: 31 }, String))).toThrow(/31 names/);
  });
});

describe('maps', () => {
  test('contain the selected keys only', () => {
    const text = '{"x":{"k":1,"other":2,"p.q":3,"p":4,"\\u0070.r":5,"\\u00e9":6,"kk":7}}';
    const entries = { k: 1, 'p.q': 3, 'p.r': 5, é: 6 };
    expect(read(text, metrics)).toEqual({ x: new Map(Object.entries(entries)), wrongTypes: 0 });
  });

  test('leave out values of the wrong type, also of a key that occurs twice', () => {
    const text = '{"x":{"k":1,"p.a":"x","p.b":2,"k":"y"}}';
    expect(read(text, metrics)).toEqual({ x: new Map([['p.b', 2]]), wrongTypes: 2 });
  });

  test('keep an optional value of the wrong type as undefined', () => {
    const shape = record(optional(object({ a: integer() })));
    expect(read('{"x":{"1":{"a":1},"2":7,"3":null,"4":{"a":""}}}', shape)).toEqual({
      x: new Map([
        ['1', { a: 1 }],
        ['2', undefined],
        ['3', undefined],
        ['4', { a: undefined }],
      ]),
      wrongTypes: 2,
    });
  });

  test('may contain maps', () => {
    const text = '{"x":{"1":{"k":1},"2":null,"3":[]}}';
    const expected = new Map([['1', new Map([['k', 1]])]]);
    expect(read(text, record(metrics))).toEqual({ x: expected, wrongTypes: 1 });
  });

  test('with the empty prefix contain every key', () => {
    const shape = selected({ keys: [], prefixes: [''] }, number());
    expect(read('{"x":{"":1,"b":2}}', shape)).toEqual({
      x: new Map([
        ['', 1],
        ['b', 2],
      ]),
      wrongTypes: 0,
    });
  });
});

describe('arrays', () => {
  test('leave out elements of the wrong type', () => {
    const text = '{"x":[1,"a",null,2,{}]}';
    expect(read(text, array(integer()))).toEqual({ x: [1, 0, 2], wrongTypes: 2 });
  });

  test('contain undefined where their shape does', () => {
    const text = '{"x":[null,1]}';
    expect(read(text, array(optional(integer())))).toEqual({ x: [undefined, 1], wrongTypes: 0 });
  });

  test('count no wrong types before the last element', () => {
    expect(read('{"x":["a","b",3]}', last(integer()))).toEqual({ x: 3, wrongTypes: 0 });
  });
});

describe('strings', () => {
  test.each([
    ['"é😀"', 'é😀'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud83d"', '\ud83d'],
    ['"\\u0000\\"\\\\\\/\\b\\f\\n\\r\\t"', '\u0000"\\/\b\f\n\r\t'],
    ['"\u007f\u2028"', '\u007f\u2028'],
    [`"${'long '.repeat(40)}"`, 'long '.repeat(40)],
  ])('%s', (text, expected) => {
    expect(read(`{"x":${text}}`, string())).toEqual({ x: expected, wrongTypes: 0 });
  });

  test.each([
    ['ASCII', 'a'],
    ['characters of two bytes', 'é'],
    ['characters of three bytes', '\u2028'],
    ['pairs', '😀'],
    ['escapes', '\n'],
    ['escaped backslashes', '\\'],
    ['quotes and backslashes', '"\\'],
    ['long escapes', '\u0000'],
    ['escapes of all lengths', '\u0000\n\\é😀x'],
    ['escaped lone surrogates', '\udc00'],
  ])('of %s are names, whose rest is left out', (_of, piece) => {
    for (const before of ['', 'a', 'ab', '\n', 'é', '\u0000', 'abcde']) {
      const text = before + piece.repeat(3_000);
      const wanted = { x: text.slice(0, MAX_NAME_LENGTH), wrongTypes: 0 };
      expect(read(JSON.stringify({ x: text }), nameText())).toEqual(wanted);
    }
  });

  test('that are not UTF-8 are undefined and counted', () => {
    for (const bad of [
      [0xff],
      [0xc3],
      [0xed, 0xa0, 0x80],
      [0xc0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
    ]) {
      const text = Buffer.concat([Buffer.from('{"x":"a'), Buffer.from(bad), Buffer.from('"}')]);
      expect(read(text, string())).toEqual({ x: undefined, wrongTypes: 1 });
      expect(read(text, raw())).toEqual({ x: undefined, wrongTypes: 1 });
    }
  });

  test('are what their own parser makes of them, however many there are', () => {
    const shapes = [1, 2, 3].map((which) => parsed(() => which));
    const values = [...shapes, ...shapes].map((shape) => read('{"x":""}', shape));
    expect(values).toMatchObject([1, 2, 3, 1, 2, 3].map((x) => ({ x })));
  });

  test('that repeat are equal, similar ones are not confused', () => {
    const names = ['service-1', 'service-2', 'sXrvicX-1', 'service-1', 'serviec-1', 'service-2'];
    const { value } = decodeValue(Buffer.from(JSON.stringify(names)), array(string()));
    expect(value).toEqual(names);
  });
});

describe('raw', () => {
  test.each(['null', '1.5', '"a\\u0041"', '{"a":[1,{"b":null}],"a":2}', '[]'])('%s', (text) => {
    expect(read(`{"x":${text}}`, raw())).toEqual({ x: JSON.parse(text), wrongTypes: 0 });
  });

  test('is undefined when absent', () => {
    expect(read('{}', raw())).toEqual({ x: undefined, wrongTypes: 0 });
  });
});

describe('objects', () => {
  test('take the whole last value of a member that occurs twice', () => {
    const text = '{"x":{"a":1,"list":["p"]},"x":{"list":["q"]}}';
    expect(read(text, inner)).toEqual({ x: { a: 0, list: ['q'] }, wrongTypes: 0 });
  });

  test('are not misled by a name that contains a quote', () => {
    const name = 'a":1,"b';
    const text = `[{${JSON.stringify(name)}:5},{"a":1,"b":2}]`;
    const { value } = decodeValue(Buffer.from(text), array(object({ [name]: integer() })));
    expect(value).toEqual([{ [name]: 5 }, { [name]: 0 }]);
  });

  test('find members in any order, among unwanted ones', () => {
    const shape = object({ a: integer(), b: integer(), '': integer() });
    const keys = ['a', 'b', '', 'c', 'ab', 'longer than the others'];
    const orders = keys.map((_, index) => [...keys.slice(index), ...keys.slice(0, index)]);
    const text = JSON.stringify(
      orders.map((order) => Object.fromEntries(order.map((key) => [key, keys.indexOf(key)]))),
    );
    const { value } = decodeValue(Buffer.from(text), array(shape));
    expect(value).toEqual(orders.map(() => ({ a: 0, b: 1, '': 2 })));
  });

  test('may have more different keys than are remembered', () => {
    const elements = Array.from({ length: 500 }, (_, index) => ({ [`k${index}`]: 1, a: index }));
    const bytesOfAll = Buffer.from(JSON.stringify(elements));
    const { value } = decodeValue(bytesOfAll, array(object({ a: integer() })));
    expect(value).toEqual(elements.map(({ a }) => ({ a })));
  });
});
