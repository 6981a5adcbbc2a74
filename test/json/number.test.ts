import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeValue, array, integer, number } from '../../src/json/index.ts';

function read(texts: readonly string[]): readonly number[] {
  return decodeValue(Buffer.from(`[${texts.join(',')}]`), array(number())).value;
}

/** Zeros of different sign are different here, as they are for JSON.parse. */
function findInexact(texts: readonly string[]): string[] {
  const numbers = read(texts);
  return texts.filter((text, index) => !Object.is(numbers[index], Number(text)));
}

const digits = (length: number): fc.Arbitrary<string> =>
  fc.array(fc.nat(9), { minLength: 1, maxLength: length }).map((list) => list.join(''));

const decimal = fc
  .tuple(fc.constantFrom('', '-'), fc.nat(1e6).map(String), digits(24))
  .map(([sign, whole, fraction]) => `${sign}${whole}.${fraction}`);

/** Halfway between two doubles, and one digit beside it: where rounding is hardest. */
const halfway = fc
  .tuple(fc.maxSafeNat(), fc.constantFrom('.5', '.49999', '.50001', '.4', '.6'))
  .map(([whole, fraction]) => `${whole}${fraction}`);

const shortest = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map((value) => JSON.stringify(value));

test('a number in any spelling is the double that JSON.parse returns', () => {
  const spelling = fc.oneof(decimal, halfway, shortest, fc.bigInt().map(String));
  const property = fc.property(fc.array(spelling, { minLength: 50, maxLength: 100 }), (texts) => {
    expect(findInexact(texts)).toEqual([]);
  });
  fc.assert(property, { numRuns: 500 });
});

test.each([
  ['0', 0],
  ['-0', -0],
  ['3.0', 3],
  ['1e3', 1000],
  ['9007199254740993', 9007199254740992],
  ['18446744073709551615', 18446744073709552000],
  ['-1', -1],
  ['1.5', undefined],
  ['1e400', undefined],
  ['1e-1', undefined],
])('the integer %s is read as %s', (text, expected) => {
  const { value, wrongTypes } = decodeValue(Buffer.from(text), integer());
  expect(value).toBe(expected);
  expect(wrongTypes).toBe(expected === undefined ? 1 : 0);
});

test('a number too large for a double is of the wrong type', () => {
  expect(decodeValue(Buffer.from('1e400'), number())).toEqual({ value: undefined, wrongTypes: 1 });
});
