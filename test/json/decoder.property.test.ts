import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { decodeValue, JsonError, type ObjectShape } from '../../src/json/index.ts';
import { documents, envelope as usualEnvelope } from './documents.ts';
import { documentText, objectShape, valueText } from './generated.ts';
import { project } from './oracle.ts';
import { cutAt, readPieces } from './reading.ts';
import { sourcesOf } from './sources.ts';

/** Thousands of documents are slow on a busy machine. */
vi.setConfig({ testTimeout: 600_000 });

/** Values and counts from the oracle. */
function expectedReading(text: string, element: ObjectShape, envelope: ObjectShape) {
  const document: { list: unknown[] } = JSON.parse(text);
  const sources = sourcesOf(text, document);
  const objects = document.list.filter(
    (item) => typeof item === 'object' && item !== null && !Array.isArray(item),
  );
  const elements = objects.map((item) => project(element, item, sources));
  const around = project(envelope, document, sources);
  const skipped = document.list.length - objects.length;
  return {
    list: elements.map(({ value }) => value),
    envelope: around.value,
    elements: elements.length,
    skipped,
    wrongTypes: elements.reduce((sum, { wrongTypes }) => sum + wrongTypes, around.wrongTypes),
    tooLarge: 0,
    hasList: true,
  };
}

/** The decoder also counts a value of the wrong type that a later one of the same key replaces. */
function hasDuplicates(text: string): boolean {
  return countMembers(text) !== countEntries(JSON.parse(text));
}

/** The decoder keeps that another flag was true, whatever a later one of the same key says; JSON.parse takes the last. */
function mayRepeatFlags(text: string): boolean {
  return text.includes('true') && hasDuplicates(text);
}

/** Members of all objects in a value, each key once. */
function countEntries(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : new Set(Object.keys(value)).size;
  return Object.values(value).reduce((sum: number, item) => sum + countEntries(item), own);
}

/** Colons outside of strings. */
function countMembers(text: string): number {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
}

/** Undefined when both are equal; comparing with `expect` alone would take most of the time. */
function differenceOf(actual: unknown, expected: unknown): unknown {
  return isDeepStrictEqual(actual, expected) ? undefined : { actual, expected };
}

function failureOf(action: () => unknown): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error;
  }
}

test('random shapes read random documents as JSON.parse and a projection would', () => {
  let compared = 0;
  const property = fc.property(
    documentText,
    objectShape,
    objectShape,
    fc.double({ min: 0, max: 1, noNaN: true }),
    (text, element, envelope, where) => {
      if (mayRepeatFlags(text)) return;
      const bytes = Buffer.from(text);
      const pieces = cutAt(bytes, Math.floor(where * bytes.length));
      const reading = readPieces(pieces, { list: 'list', element, envelope });
      const expected = expectedReading(text, element, envelope);
      const isExact = !hasDuplicates(text);
      if (isExact) compared++;
      const wanted = isExact ? expected : { ...expected, wrongTypes: reading.wrongTypes };
      expect(differenceOf(reading, wanted)).toBeUndefined();
    },
  );
  fc.assert(property, { numRuns: 3000 });
  expect(compared).toBeGreaterThan(600);
});

test('random shapes read random single values as JSON.parse and a projection would', () => {
  const property = fc.property(valueText, objectShape, (text, shape) => {
    if (mayRepeatFlags(text)) return;
    const { value } = decodeValue(Buffer.from(text), shape);
    const parsed: unknown = JSON.parse(text);
    const expected = project(shape, parsed, sourcesOf(text, parsed)).value;
    expect(differenceOf(value, expected)).toBeUndefined();
  });
  fc.assert(property, { numRuns: 1500 });
});

test('a document with changed bytes is read or throws JsonError, never anything else', () => {
  const change = fc.record({
    where: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    bytes: fc.oneof(
      fc.constantFrom(
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '',
        '\u0000',
        ' ',
        'n',
        '0',
        '"],"a',
      ),
      fc.string({ maxLength: 3 }),
    ),
    removed: fc.nat(20),
  });
  const property = fc.property(
    fc.constantFrom(...documents),
    fc.array(change, { minLength: 1, maxLength: 3 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    (document, changes, cut) => {
      let { text } = document;
      for (const { where, bytes, removed } of changes) {
        const at = Math.floor(where * text.length);
        text = text.slice(0, at) + bytes + text.slice(at + removed);
      }
      const bytes = Buffer.from(text);
      const pieces = cutAt(bytes, Math.floor(cut * bytes.length));
      const failure = failureOf(() => readPieces(pieces, { ...document, envelope: usualEnvelope }));
      expect(failure === undefined || failure instanceof JsonError).toBe(true);
    },
  );
  fc.assert(property, { numRuns: 1500 });
});

test('random bytes throw JsonError', () => {
  const property = fc.property(fc.uint8Array({ maxLength: 64 }), objectShape, (bytes, element) => {
    const start = Buffer.from('{"list":[{"a":');
    const options = { list: 'list', element, envelope: element };
    for (const pieces of [[bytes], [start, bytes]]) {
      expect(() => readPieces(pieces, options)).toThrow(JsonError);
    }
  });
  fc.assert(property, { numRuns: 1000 });
});
