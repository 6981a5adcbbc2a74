/** A seeded stream of numbers; the same seed always gives the same world. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  next(): number;
  /** An integer from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** A mulberry32 stream: small, fast, and random enough to distribute replicas and sessions. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }
  return {
    next,
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (items) => pickAt(items, next()),
    chance: (probability) => next() < probability,
  };
}

/** The item at a fraction (0 ≤ fraction < 1) of the list; an empty list is a programming error. */
export function pickAt<T>(items: readonly T[], fraction: number): T {
  const item = items[Math.floor(fraction * items.length)];
  if (item === undefined) throw new RangeError('cannot pick from an empty list');
  return item;
}

/** FNV-1a over the parts, mixed at the end: a number that depends only on its arguments. */
export function hashOf(...parts: readonly (number | string)[]): number {
  let hash = 0x811c9dc5;
  for (const part of parts) {
    const text = String(part);
    for (let index = 0; index < text.length; index++) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
    hash = Math.imul(hash ^ 0xff, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number from 0 up to 1 that depends only on its arguments. */
export function fractionOf(...parts: readonly (number | string)[]): number {
  return hashOf(...parts) / 0x1_0000_0000;
}

/** `length` bytes that depend only on the parts. */
export function bytesOf(length: number, ...parts: readonly (number | string)[]): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = hashOf(index, ...parts) & 0xff;
  return bytes;
}
