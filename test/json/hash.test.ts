import { describe, expect, test } from 'vitest';
import { decodeValue, array, hashed, last, object } from '../../src/json/index.ts';
import { hashOf } from './hash-of.ts';
import { hashOfBytes } from './murmur.ts';

test.each([
  ['', 1],
  ['hello', 0x248bfa47],
  ['hello, world', 0x149bbb7f],
  ['The quick brown fox jumps over the lazy dog', 0x2e4ff723],
])('MurmurHash3 of %j is the published one, but 1 instead of 0', (text, expected) => {
  expect(hashOfBytes(Buffer.from(text))).toBe(expected);
});

describe('the hash of a value', () => {
  test.each([
    '""',
    '"//8="',
    '"8gGJ/w=="',
    '"8gGJ/w==" ',
    `"${'8gGJ'.repeat(4)}"`,
    `"${'8gGJ'.repeat(1000)}"`,
    '"\\u002f\\"]}"',
    '"é😀"',
    '[]',
    '[ ]',
    '[255,255]',
    '[255, 255]',
    '[242,1,0,137]',
    `[${'255,'.repeat(700)}0]`,
    '["]",[1,[2]],{"a":"}"},null]',
  ])('%.40j is that of its bytes as they stand, wherever it is', (text) => {
    const hash = hashOfBytes(Buffer.from(text.trim()));
    expect(hashOf(text)).toBe(hash);
    const document = `{"a":${text},"b":[${text}, ${text}],"c":[1 , ${text}]}`;
    const shape = object({ a: hashed(), b: array(hashed()), c: last(hashed()) });
    const { value, wrongTypes } = decodeValue(Buffer.from(document), shape);
    expect(value).toEqual({ a: hash, b: [hash, hash], c: hash });
    expect(wrongTypes).toBe(0);
  });

  test('of every length is that of its bytes', () => {
    const texts = Array.from(
      { length: 70 },
      (_, length) => `"${'abcdefg'.repeat(10).slice(length)}"`,
    );
    const { value } = decodeValue(Buffer.from(`[${texts.join(',')}]`), array(hashed()));
    expect(value).toEqual(texts.map((text) => hashOfBytes(Buffer.from(text))));
  });

  test('needs no correct UTF-8', () => {
    const bytes = Buffer.from([0x22, 0xff, 0xc3, 0x22]);
    expect(decodeValue(bytes, hashed())).toEqual({ value: hashOfBytes(bytes), wrongTypes: 0 });
  });

  test.each(['"AJFgtoQwA="', '"ANDt8I3wA="'])('is 1 instead of 0: %s', (text) => {
    expect(hashOf(text)).toBe(1);
  });

  test.each(['null', '0', 'true', '{}'])('is 0 when there is none: %s', (text) => {
    expect(hashOf(text)).toBe(0);
  });
});

/** By 200,000 random hashes, 4.7 pairs are equal on average, and more than 15 about once in 30,000 times. */
const KEYS = 200_000;
const MAX_EQUAL = 15;

test.each([
  ['text', (key: Buffer) => `"${key.toString('base64')}"`],
  ['arrays', (key: Buffer) => `[${[...key].join(',')}]`],
])('keys of one table as %s have different hashes', (_what, write) => {
  const hashes = new Set<unknown>();
  for (let first = 0; first < KEYS; first += 50_000) {
    const texts = Array.from({ length: 50_000 }, (_, at) => {
      const row = first + at;
      return write(Buffer.from([0xf2, 0x89, 0xf8, row >> 16, (row >> 8) & 0xff, row & 0xff]));
    });
    const { value } = decodeValue(Buffer.from(`[${texts.join(',')}]`), array(hashed()));
    for (const hash of value ?? []) hashes.add(hash);
  }
  expect(KEYS - hashes.size).toBeLessThanOrEqual(MAX_EQUAL);
});
