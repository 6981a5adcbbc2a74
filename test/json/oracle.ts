import type { AnyShape, TextParser } from '../../src/json/index.ts';
import { hashOfBytes } from './murmur.ts';
import type { Sources } from './sources.ts';

/**
 * A second implementation of shapes, on the value that JSON.parse returns and without the decoder. `sourceOf` has the texts of
 * the values in it, for shapes with hashes.
 */
export function project(
  shape: AnyShape,
  value: unknown,
  sourceOf: Sources = () => '',
): { value: unknown; wrongTypes: number } {
  const tally = { wrongTypes: 0, sourceOf };
  const result = read(shape, value, tally);
  return { value: result === WRONG_TYPE ? unknown(shape) : result, wrongTypes: tally.wrongTypes };
}

const WRONG_TYPE = Symbol('wrong type');

interface Tally {
  wrongTypes: number;
  readonly sourceOf: Sources;
}

/** `source` is the text of the value. */
function read(shape: AnyShape, value: unknown, tally: Tally, source = ''): unknown {
  if (value === undefined || (value === null && shape.kind !== 'raw')) return absent(shape);
  const before = tally.wrongTypes;
  const result = readPresent(shape, value, tally, source);
  // A wrong value counts once, even when an optional or a last passes on the result of its inner shape.
  if (result === WRONG_TYPE) tally.wrongTypes = before + 1;
  return result;
}

function readPresent(shape: AnyShape, value: unknown, tally: Tally, source: string): unknown {
  switch (shape.kind) {
    case 'integer':
      return Number.isInteger(value) && Math.abs(Number(value)) <= 2 ** 64 ? value : WRONG_TYPE;
    case 'number':
      return Number.isFinite(value) ? value : WRONG_TYPE;
    case 'string':
      return typeof value === 'string'
        ? readText(value.slice(0, shape.maxLength), shape.parse)
        : WRONG_TYPE;
    case 'boolean':
      return typeof value === 'boolean' ? value : WRONG_TYPE;
    case 'time':
      return readTime(value);
    case 'raw':
      return value;
    case 'hashed':
      return typeof value === 'string' || Array.isArray(value)
        ? hashOfBytes(Buffer.from(source))
        : WRONG_TYPE;
    case 'flags':
      return isObject(value) ? readFlags(shape.names, value, tally) : WRONG_TYPE;
    case 'optional':
      return read(shape.inner, value, tally, source);
    case 'last':
      return Array.isArray(value) ? readLast(shape.inner, value, tally) : WRONG_TYPE;
    case 'array':
      return Array.isArray(value)
        ? value
            .map((item, index) => read(shape.inner, item, tally, tally.sourceOf(value, index)))
            .filter((item) => item !== WRONG_TYPE)
        : WRONG_TYPE;
    case 'selected': {
      const { keys, prefixes } = shape.filter;
      const isChosen = ([key]: [string, unknown]): boolean =>
        keys.includes(key) || prefixes.some((prefix) => key.startsWith(prefix));
      return isObject(value)
        ? readEntries(shape.inner, value, Object.entries(value).filter(isChosen), tally)
        : WRONG_TYPE;
    }
    default:
      return isObject(value)
        ? mapFields(shape, (inner, name) => {
            const member = Object.hasOwn(value, name) ? value[name] : undefined;
            const field = read(inner, member, tally, tally.sourceOf(value, name));
            return field === WRONG_TYPE ? unknown(inner) : field;
          })
        : WRONG_TYPE;
  }
}

function readText(text: string, parse: TextParser<unknown> | undefined): unknown {
  const bytes = Buffer.from(text);
  return parse === undefined ? text : parse(bytes, 0, bytes.length);
}

function absent(shape: AnyShape): unknown {
  switch (shape.kind) {
    case 'integer':
    case 'number':
    case 'flags':
    case 'hashed':
      return 0;
    case 'string':
      return readText('', shape.parse);
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'selected':
      return new Map();
    case 'object':
      return mapFields(shape, absent);
    default:
      return undefined;
  }
}

function unknown(shape: AnyShape): unknown {
  if (shape.kind === 'object') return mapFields(shape, unknown);
  if (shape.kind === 'array') return [];
  return shape.kind === 'selected' ? new Map() : undefined;
}

function mapFields(
  { fields }: AnyShape & { readonly kind: 'object' },
  valueOf: (shape: AnyShape, name: string) => unknown,
): unknown {
  const values = Object.entries(fields).map(([name, inner]) => [name, valueOf(inner, name)]);
  return Object.fromEntries(values);
}

function readLast(inner: AnyShape, values: unknown[], tally: Tally): unknown {
  const source = tally.sourceOf(values, values.length - 1);
  return values.length === 0 ? undefined : read(inner, values.at(-1), tally, source);
}

function readEntries(
  inner: AnyShape,
  map: object,
  entries: [string, unknown][],
  tally: Tally,
): Map<string, unknown> {
  const results = entries.map(([key, item]) => {
    const value = item === null ? WRONG_TYPE : read(inner, item, tally, tally.sourceOf(map, key));
    return [key, value === WRONG_TYPE && inner.kind === 'optional' ? undefined : value] as const;
  });
  return new Map(results.filter(([, item]) => item !== WRONG_TYPE));
}

function readFlags(names: readonly string[], value: object, tally: Tally): unknown {
  let mask = 0;
  let isWrong = false;
  for (const [key, flag] of Object.entries(value)) {
    const index = names.indexOf(key);
    if (flag === true) mask |= 1 << (index < 0 ? names.length : index);
    else if (flag !== false && flag !== null) {
      tally.wrongTypes++;
      isWrong ||= index >= 0;
    }
  }
  return isWrong ? WRONG_TYPE : mask;
}

function readTime(value: unknown): unknown {
  const pattern = /^(\d{4}-\d\d-\d\dT(?:\d\d:){2}\d\d)(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
  const [, dateTime = '', fraction = '', offset = ''] = pattern.exec(String(value)) ?? [];
  const local = Date.parse(`${dateTime}Z`);
  if (typeof value !== 'string' || Number.isNaN(local)) return WRONG_TYPE;
  const sign = offset.startsWith('-') ? -1 : 1;
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number);
  const shift = sign * (hours * 60 + minutes) * 60_000;
  const time = local + Math.floor(Number(`0${fraction}`) * 1000) - shift;
  return time === Date.parse('0001-01-01T00:00:00Z') ? undefined : time;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
