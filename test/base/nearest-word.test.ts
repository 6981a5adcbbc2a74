import { describe, expect, test } from 'vitest';
import { findNearest } from '../../src/base/nearest-word.ts';

describe('the word that was probably meant', () => {
  test.each([
    ['ranges', ['nodes', 'range', 'ranges'], 'ranges'],
    ['raneg', ['nodes', 'range'], 'range'],
    // Two edits of any word, but never all of its letters.
    ['abc', ['abcde'], 'abcde'],
    ['cde', ['abcde'], 'abcde'],
    ['abc', ['abcdef'], undefined],
    ['abcdefgh', ['abcde'], undefined],
    ['ab', ['cd'], undefined],
    ['ab', ['cb'], 'cb'],
    ['', ['a'], undefined],
    ['abc', [], undefined],
    // A third of the letters of a long one.
    ['abcdefghijk', ['abcdefg'], undefined],
    ['abcdefghijkl', ['abcdefgh'], 'abcdefgh'],
  ])('for %j among %j is %j', (word, words, nearest) => {
    expect(findNearest(word, words)).toBe(nearest);
  });
});
