import path from 'node:path';
import { scalarKind, Refusal } from './kind.ts';
import type { Kind } from './kind.ts';
import { findNearest } from './nearest.ts';
import type { Raw, RawScalar } from './raw.ts';
import { Secret, findSecretFault } from './secret.ts';
import {
  BYTES,
  DURATION,
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration,
} from './units.ts';

export interface Range {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** The value must be greater than this. */
  readonly above?: number | undefined;
}

export function integer(range: Range): Kind<number> {
  return numeric('integer', 'a whole number', Number.isSafeInteger, range);
}

export function number(range: Range): Kind<number> {
  return numeric('number', 'a number', Number.isFinite, range);
}

function numeric(
  name: 'integer' | 'number',
  expected: string,
  isRight: (value: number) => boolean,
  range: Range,
): Kind<number> {
  return scalarKind({
    name,
    standIn: 0,
    schema: { type: name, ...rangeSchema(range) },
    accept(scalar) {
      const value = scalar.isUntyped ? numberOf(scalar.value) : scalar.value;
      if (typeof value !== 'number' || !isRight(value)) {
        const remedy = isRight(numberOf(value)) ? ': remove the quotes' : '';
        return new Refusal(`is not ${expected}${remedy}`);
      }
      return withinRange(value, range, String);
    },
  });
}

function numberOf(value: unknown): number {
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}

function rangeSchema({ min, max, above }: Range): Readonly<Record<string, number>> {
  return {
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
    ...(above !== undefined && { exclusiveMinimum: above }),
  };
}

function withinRange(
  value: number,
  range: Range,
  write: (value: number) => string,
): number | Refusal {
  const { min, max, above } = range;
  if (min !== undefined && value < min) return new Refusal(`is too small: at least ${write(min)}`);
  if (above !== undefined && value <= above) {
    return new Refusal(`is too small: it must be more than ${write(above)}`);
  }
  if (max !== undefined && value > max) return new Refusal(`is too large: at most ${write(max)}`);
  return value;
}

export const boolean: Kind<boolean> = scalarKind({
  name: 'boolean',
  standIn: false,
  schema: { type: 'boolean' },
  accept({ value, isUntyped }) {
    if (typeof value === 'boolean') return value;
    if (isUntyped && (value === 'true' || value === 'false')) return value === 'true';
    return new Refusal('is neither true nor false');
  },
});

/** Seconds; written as Prometheus writes durations. */
export function duration(range: Range): Kind<number> {
  return scalarKind({
    name: 'duration',
    standIn: 0,
    schema: { type: 'string', pattern: DURATION.source },
    write: formatDuration,
    accept({ value }) {
      const seconds = parseDuration(String(value));
      if (seconds === undefined) {
        return new Refusal('is not a duration: write it with units, as 30s, 1m30s or 500ms');
      }
      return withinRange(seconds, range, formatDuration);
    },
  });
}

/** Bytes, written with a binary unit. */
export function bytes(range: Range): Kind<number> {
  return scalarKind({
    name: 'bytes',
    standIn: 0,
    schema: { type: 'string', pattern: BYTES.source },
    write: formatBytes,
    accept({ value }) {
      const size = parseBytes(String(value));
      if (size === undefined) {
        return new Refusal('is not a size: write it with a binary unit, as 2GiB, 512MiB or 16KiB');
      }
      return withinRange(size, range, formatBytes);
    },
  });
}

export interface TextRules {
  readonly name?: string;
  readonly pattern?: RegExp | undefined;
  /** What the pattern asks for, in words. */
  readonly expects?: string | undefined;
}

/** A text that is not empty. */
export function text(rules: TextRules = {}): Kind<string> {
  const { name = 'text', pattern, expects = 'of the right form' } = rules;
  return scalarKind({
    name,
    standIn: '',
    schema: { type: 'string', ...(pattern ? { pattern: pattern.source } : { minLength: 1 }) },
    accept(scalar) {
      const value = acceptText(scalar);
      if (value instanceof Refusal || pattern === undefined || pattern.test(value)) return value;
      return new Refusal(`is not ${expects}`);
    },
  });
}

export function acceptText({ value }: RawScalar): string | Refusal {
  if (typeof value !== 'string') return new Refusal('is not a text: put it in quotes');
  return value === '' ? new Refusal('is empty: give the key a value or remove it') : value;
}

/** A file, made absolute: relative paths are relative to the folder of the file they stand in. */
export const filePath: Kind<string> = scalarKind({
  name: 'path',
  standIn: '',
  schema: { type: 'string', minLength: 1 },
  accept(scalar) {
    const value = acceptText(scalar);
    return value instanceof Refusal ? value : path.resolve(scalar.place.folder, value);
  },
});

/** An empty text says that there is no file, as templates and other exporters write it. */
export const filePathOrNothing: Kind<string> = {
  ...filePath,
  schema: { type: 'string' },
  parse: (raw, findings) =>
    raw.form === 'scalar' && raw.value === '' ? '' : filePath.parse(raw, findings),
};

/** A password or token itself. Its messages never show it. */
export const secretText: Kind<Secret> = scalarKind({
  name: 'secret',
  standIn: Secret.fromText('', 'nothing'),
  schema: { type: 'string', minLength: 1 },
  show: (raw: Raw) => (raw.form === 'scalar' && raw.value === null ? 'nothing' : 'the secret'),
  accept({ value, place }) {
    if (typeof value !== 'string') return new Refusal('is not a text: put it in quotes');
    const fault = findSecretFault(value);
    return fault === undefined ? Secret.fromText(value, place.source) : new Refusal(fault);
  },
});

export function choice<T extends string>(first: T, ...others: readonly T[]): Kind<T> {
  const words = [first, ...others];
  return scalarKind({
    name: words.join('|'),
    standIn: first,
    schema: { enum: words },
    accept({ value }) {
      const word = words.find((one) => one === value);
      if (word !== undefined) return word;
      const nearest = typeof value === 'string' ? findNearest(value, words) : undefined;
      const remedy = nearest === undefined ? '' : `; did you mean ${JSON.stringify(nearest)}?`;
      return new Refusal(`is none of ${words.join(', ')}${remedy}`);
    },
  });
}
