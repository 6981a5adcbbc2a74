import { ZERO } from './characters.ts';

/** Four zeros; what the upper halves of digits are; what added to a digit keeps its upper half. */
const ZEROS = 0x30303030;
const UPPER_HALVES = 0xf0f0f0f0 | 0;
const ROOM = 0x06060606;

/** 0 to 9, or more when the byte is no digit. */
export function digitAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) - ZERO) >>> 0;
}

/** Whether the four bytes of a word, as a DataView gives it, are all digits. */
export function areDigits(word: number): boolean {
  return (word & UPPER_HALVES) === ZEROS && ((word + ROOM) & UPPER_HALVES) === ZEROS;
}

/** The number that four digits are; the first stands in the lowest byte. */
export function fourDigits(word: number): number {
  const digits = word - ZEROS;
  // Neighbours are joined to two numbers below 100, and these to one.
  const pairs = digits * 10 + (digits >>> 8);
  return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff);
}
