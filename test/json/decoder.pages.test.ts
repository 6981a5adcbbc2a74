import { describe, expect, test } from 'vitest';
import { integer, object, optional, raw, string } from '../../src/json/index.ts';
import { inPieces, readPieces } from './reading.ts';

const options = {
  list: 'items',
  element: object({ a: integer(), s: string() }),
  envelope: object({ note: optional(raw()), info: object({ n: integer() }) }),
};
const SIZES = [1, 999, 20_000, 1_000_000];

/** The same document in pieces of these sizes. */
function readings(text: string, limits: { readonly maxElementBytes?: number } = {}) {
  return SIZES.map((size) =>
    readPieces(inPieces(Buffer.from(text), size), { ...options, ...limits }),
  );
}

/** A member of this many bytes beside an empty list. */
function textOf(length: number): string {
  return `{"note":"${'x'.repeat(length - 2)}","items":[]}`;
}

const PAGE = {
  envelope: { note: undefined, info: { n: 0 } },
  hasList: true,
  elements: 0,
  skipped: 0,
  wrongTypes: 0,
  tooLarge: 0,
  list: [],
};

describe('a page', () => {
  test.each([16_383, 16_384, 16_385, 40_000, 70_000, 140_000])(
    'with an element of %i bytes reads the same in pieces of any size',
    (length) => {
      const large = 'x'.repeat(length - '{"a":1,"s":""}'.length);
      const text = `{"items":[{"a":1,"s":"${large}"},{"a":2}],"info":{"n":7}}`;
      const list = [
        { a: 1, s: large },
        { a: 2, s: '' },
      ];
      const expected = {
        ...PAGE,
        envelope: { note: undefined, info: { n: 7 } },
        elements: 2,
        list,
      };
      for (const reading of readings(text)) expect(reading).toEqual(expected);
    },
  );

  test.each([16_384, 50_000])('has a member around its elements of %i bytes, not more', (most) => {
    for (const { envelope } of readings(textOf(most), { maxElementBytes: most })) {
      expect(envelope).toMatchObject({ note: 'x'.repeat(most - 2) });
    }
    const message = `a member is longer than ${most} bytes (at byte 8 of the document)`;
    expect(() => readings(textOf(most + 1), { maxElementBytes: most })).toThrow(message);
  });
});
