import * as fc from 'fast-check';
import * as shapes from '../../src/json/index.ts';
import type { AnyShape, ObjectShape } from '../../src/json/index.ts';

/** Random shapes and random documents over the same few names, so that they often match. */

const NAMES = ['a', 'b', 'lease_history', 'problems', 'é"\\', ''];
const name = fc.constantFrom(...NAMES);

const scalarShape: fc.Arbitrary<AnyShape> = fc.constantFrom(
  shapes.integer(),
  shapes.number(),
  shapes.string(),
  ...[0, 1, 2, 5].map((maxLength) => ({ kind: 'string', maxLength }) as const),
  shapes.parsed((bytes, start, end) => Buffer.from(bytes.subarray(start, end)).toString('hex')),
  shapes.parsed((_bytes, start, end) => end - start),
  shapes.boolean(),
  shapes.time(),
  shapes.raw(),
  shapes.hashed(),
  shapes.flags(['a', 'problems']),
);

const { shape } = fc.letrec<{ shape: AnyShape; object: ObjectShape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    scalarShape,
    tie('object'),
    tie('shape').map((inner) => shapes.optional(inner)),
    tie('shape').map((inner) => shapes.last(inner)),
    tie('shape').map((inner) => shapes.array(inner)),
    tie('shape').map((inner) => shapes.record(inner)),
    tie('shape').map((inner) => shapes.selected({ keys: ['a', 'é"\\'], prefixes: ['le'] }, inner)),
  ),
  object: objectOf(tie('shape')),
}));

function objectOf(field: fc.Arbitrary<AnyShape>): fc.Arbitrary<ObjectShape> {
  return fc.dictionary(name, field, { maxKeys: 5, noNullPrototype: true }).map(shapes.object);
}

export const objectShape: fc.Arbitrary<ObjectShape> = objectOf(shape);

const blank = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom(' ', '\n', '\r\n\t', '  ') },
);

/** A character, or a piece of text that looks like structure, inside a string. */
const stringPiece = fc.oneof(
  fc.constantFrom(
    '],\\"a',
    '},{\\"',
    '],',
    '},',
    '},{',
    ']',
    '[',
    '{',
    '}',
    ',',
    ':',
    '\\"',
    '\\\\',
    '\\/',
    '\\n',
  ),
  fc.constantFrom('\\ud83d\\ude00', '\\ud83d', '\\u0041', '\\u0000', 'é', '😀', '\u007f', ' '),
  fc.constantFrom('padding '.repeat(12), '\\\\'.repeat(40), 'null', '0'),
  fc
    .integer({ min: 0x20, max: 0x7e })
    .map((code) => JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
);
const stringText = fc.array(stringPiece, { maxLength: 4 }).map((pieces) => `"${pieces.join('')}"`);

/**
 * No key that is arbitrary contains a backslash: the JSON.parse of Node 24 may take `"\u0061"` for
 * such a key if it has seen one before, and then it is no oracle.
 */
const keyText = fc.oneof(
  { weight: 8, arbitrary: name.map((text) => JSON.stringify(text)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"\\u0061"', '"\\u00e9\\"\\\\"', '"lease\\u005fhistory"'),
  },
  { weight: 1, arbitrary: stringText.filter((text) => !JSON.parse(text).includes('\\')) },
);

const numberText = fc.oneof(
  fc.integer().map(String),
  fc.integer({ min: -2, max: 300 }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc
    .tuple(fc.integer(), fc.nat(), fc.nat(25))
    .map(([a, b, zeros]) => `${a}.${'0'.repeat(zeros)}${b}`),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom(
    '-0',
    '0.0',
    '3.0',
    '1e3',
    '1E-7',
    '2.5e+3',
    '1e400',
    '-1e400',
    '9.22e18',
    '1e-400',
  ),
);

const timeText = fc.constantFrom(
  '"2026-01-19T17:02:22Z"',
  '"2026-01-19T17:02:22.123456789+05:30"',
  '"2024-02-29T23:59:59.5-00:01"',
  '"2026-02-29T00:00:00Z"',
  '"0001-01-01T00:00:00Z"',
  '"2026-01-19T17:02:22.Z"',
  '"2026-01-19T17:02:22.1234567890Z"',
  '"2026\\u002d01-19T17:02:22Z"',
);

const scalarText = fc.oneof(
  numberText,
  stringText,
  timeText,
  fc.constantFrom('true', 'false', 'null', '[242,1,0]', '[1, 256]', '"8gGJ/w=="', '{}', '[]'),
);

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    scalarText,
    objectText(tie('value'), 6),
    arrayText(tie('value'), 4),
    fc.tuple(tie('value'), fc.nat(60)).map(([item, count]) => manyAlike(item, count)),
  ),
}));

/** In one object of ten a key may occur twice. */
function objectText(member: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> {
  const entry = fc.tuple(keyText, blank, blank, blank, member, blank);
  return fc.tuple(fc.array(entry, { maxLength }), fc.nat(9)).map(([entries, chance]) => {
    const byKey = new Map(entries.map((parts) => [JSON.parse(parts[0]), parts]));
    const kept = chance === 0 ? entries : [...byKey.values()];
    const texts = kept.map(([key, a, b, c, text, d]) => `${a}${key}${b}:${c}${text}${d}`);
    return `{${texts.join(',')}}`;
  });
}

function arrayText(item: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> {
  const spaced = fc.tuple(blank, item, blank).map((texts) => texts.join(''));
  return fc.array(spaced, { maxLength }).map((items) => `[${items.join(',')}]`);
}

/**
 * An array of equal items, like a history: long enough for the fast paths of the decoder, but so
 * short that arrays in arrays do not grow without bound.
 */
function manyAlike(item: string, count: number): string {
  const copies = Math.min(count, Math.floor(700 / (item.length + 1)));
  return `[${`${item},`.repeat(copies)}${item}]`;
}

/** The text of one JSON value of any type; keys of an object may occur twice. */
export const valueText: fc.Arbitrary<string> = value;

/** A document whose member `list` contains objects and, seldom, other values. */
export const documentText: fc.Arbitrary<string> = fc
  .tuple(
    fc.array(
      fc.oneof({ weight: 9, arbitrary: objectText(value, 6) }, { weight: 1, arbitrary: value }),
      { maxLength: 4 },
    ),
    fc.array(fc.tuple(keyText, value), { maxLength: 2 }),
    fc.array(fc.tuple(keyText, value), { maxLength: 2 }),
    blank,
  )
  .map(([elements, before, after, space]) => {
    const list = `"list":[${elements.join(`${space},`)}${space}]`;
    return `{${[...members(before), list, ...members(after)].join(',')}}${space}`;
  });

function members(entries: readonly [string, string][]): string[] {
  return entries.map(([key, text]) => `${key}:${text}`);
}
