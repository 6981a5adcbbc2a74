/**
 * Searches that look at four bytes at once. Each gives the first place from `at` on where one of
 * its bytes stands, or any place not before `end` when there is none up to there. Up to seven bytes
 * behind `end` must exist.
 *
 * In `(word - LOWEST) & ~word` the highest bit of a byte is set if that byte of the word is zero;
 * above the first zero byte there may be false alarms, below it there are none.
 */
const LOWEST = 0x01010101;
const HIGHEST = 0x80808080 | 0;

const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;
/** Both braces are 0x7f but for one of these two bits; so are `y` and DEL. */
const BRACE_BITS = 0x06060606;
const BRACES = 0x7f7f7f7f;
const OPEN_BRACES = 0x7b7b7b7b;

/** A quote or a backslash. */
export function findMark(view: DataView, at: number, end: number): number {
  for (let place = at; ; place += 4) {
    const word = view.getInt32(place, true);
    const fromQuote = word ^ QUOTES;
    const fromBackslash = word ^ BACKSLASHES;
    const found =
      (((fromQuote - LOWEST) & ~fromQuote) | ((fromBackslash - LOWEST) & ~fromBackslash)) & HIGHEST;
    if (found !== 0) return place + ((31 - Math.clz32(found & -found)) >> 3);
    if (place >= end) return place;
  }
}

/** A quote, a backslash, a control character (as is the zero behind the data) or a byte from 128. */
export function findUnusual(view: DataView, at: number): number {
  for (let place = at; ; place += 4) {
    const word = view.getInt32(place, true);
    const fromQuote = word ^ QUOTES;
    const fromBackslash = word ^ BACKSLASHES;
    const marks = ((fromQuote - LOWEST) & ~fromQuote) | ((fromBackslash - LOWEST) & ~fromBackslash);
    const found = (marks | ((word - SPACES) & ~word) | word) & HIGHEST;
    if (found !== 0) return place + ((31 - Math.clz32(found & -found)) >> 3);
  }
}

/** A brace of either kind, or `y` or DEL. */
export function findBrace(view: DataView, at: number, end: number): number {
  for (let place = at; ; place += 4) {
    const fromBrace = (view.getInt32(place, true) | BRACE_BITS) ^ BRACES;
    const found = (fromBrace - LOWEST) & ~fromBrace & HIGHEST;
    if (found !== 0) return place + ((31 - Math.clz32(found & -found)) >> 3);
    if (place >= end) return place;
  }
}

/** Whether one of a word's bytes opens an object. */
export function hasOpenBrace(word: number): boolean {
  const fromBrace = word ^ OPEN_BRACES;
  return ((fromBrace - LOWEST) & ~fromBrace & HIGHEST) !== 0;
}
