import type { Quirks } from '../quirks.ts';

type Scalar = number | string | boolean;

/** The encoding of values with the current quirks. */
export interface Encoding {
  /** A proto3 member: zero, false and "" are omitted. */
  scalar<T extends Scalar>(value: T): T | undefined;
  /** A Go slice that was not allocated: null when empty. */
  list<T>(items: readonly T[]): readonly T[] | null;
  /** Bytes, omitted when empty. */
  bytes(value: Buffer): string | readonly number[] | undefined;
  /** The canonical text, or 16 integers. */
  uuid(value: string): string | readonly number[];
}

export function createEncoding(quirks: Quirks): Encoding {
  const asIntegers = quirks.bytesAs === 'integers';
  return {
    scalar: (value) => (isZero(value) && !quirks.writeZeros ? undefined : value),
    list: (items) => (items.length === 0 && quirks.nullArrays ? null : items),
    bytes: (value) => {
      if (value.length === 0) return undefined;
      return asIntegers ? [...value] : value.toString('base64');
    },
    uuid: (value) => (asIntegers ? [...Buffer.from(value.replaceAll('-', ''), 'hex')] : value),
  };
}

function isZero(value: Scalar): boolean {
  return value === 0 || value === '' || value === false;
}

/** Go's JSON: compact, with escapes for characters that are special in HTML. */
export function encodeJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** RFC 3339 in UTC as Go writes it: without trailing zeros in the fraction. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0+Z$/, 'Z');
}

/** Go's zero time: none. */
export const NO_TIME = '0001-01-01T00:00:00Z';

/** Nanoseconds since the epoch; above 2^53, so the last digits are those of the nearest double. */
export function nanos(ms: number): number {
  return Math.round(ms) * 1e6;
}
