import type { Plan } from '../../src/json/shape.ts';

/**
 * What a shape means, said a second time: over the value that JSON.parse gives, and without a line
 * of the decoder.
 */
export function project(plan: Plan, value: unknown): { value: unknown; wrong: number } {
  const tally = { wrong: 0 };
  const result = read(plan, value, tally);
  return { value: result === WRONG ? unknown(plan) : result, wrong: tally.wrong };
}

const WRONG = Symbol('wrong kind');

interface Tally {
  wrong: number;
}

function read(plan: Plan, value: unknown, tally: Tally): unknown {
  if (value === undefined || (value === null && plan.kind !== 'raw')) return absent(plan);
  const before = tally.wrong;
  const result = readPresent(plan, value, tally);
  // A wrong value counts once, also when an optional or a last repeats what its inner shape said.
  if (result === WRONG) tally.wrong = before + 1;
  return result;
}

function readPresent(plan: Plan, value: unknown, tally: Tally): unknown {
  switch (plan.kind) {
    case 'integer':
      return Number.isInteger(value) ? value : WRONG;
    case 'number':
      return Number.isFinite(value) ? value : WRONG;
    case 'string':
    case 'boolean':
      return typeof value === plan.kind ? value : WRONG;
    case 'time':
      return readTime(value);
    case 'bytes':
      return readBytes(value);
    case 'raw':
      return value;
    case 'flags':
      return isObject(value) ? readFlags(plan.names, value, tally) : WRONG;
    case 'optional':
      return read(plan.inner, value, tally);
    case 'last':
      return Array.isArray(value) ? readLast(plan.inner, value, tally) : WRONG;
    case 'array':
      return Array.isArray(value)
        ? value.map((item) => read(plan.inner, item, tally)).filter((item) => item !== WRONG)
        : WRONG;
    case 'record':
      return isObject(value) ? readEntries(plan.inner, Object.entries(value), tally) : WRONG;
    case 'selected': {
      const { keys, prefixes } = plan.choice;
      const isChosen = ([key]: [string, unknown]): boolean =>
        keys.includes(key) || prefixes.some((prefix) => key.startsWith(prefix));
      return isObject(value)
        ? readEntries(plan.inner, Object.entries(value).filter(isChosen), tally)
        : WRONG;
    }
    default:
      return isObject(value)
        ? mapFields(plan.fields, (inner, name) => {
            const field = read(inner, Object.hasOwn(value, name) ? value[name] : undefined, tally);
            return field === WRONG ? unknown(inner) : field;
          })
        : WRONG;
  }
}

function absent(plan: Plan): unknown {
  switch (plan.kind) {
    case 'integer':
    case 'number':
    case 'flags':
      return 0;
    case 'string':
    case 'bytes':
      return '';
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'record':
    case 'selected':
      return new Map();
    case 'object':
      return mapFields(plan.fields, absent);
    default:
      return undefined;
  }
}

function unknown(plan: Plan): unknown {
  if (plan.kind === 'object') return mapFields(plan.fields, unknown);
  if (plan.kind === 'array') return [];
  return plan.kind === 'record' || plan.kind === 'selected' ? new Map() : undefined;
}

function mapFields(
  fields: Readonly<Record<string, Plan>>,
  valueOf: (plan: Plan, name: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, inner]) => [name, valueOf(inner, name)]),
  );
}

function readLast(inner: Plan, values: unknown[], tally: Tally): unknown {
  return values.length === 0 ? undefined : read(inner, values.at(-1), tally);
}

function readEntries(
  inner: Plan,
  entries: [string, unknown][],
  tally: Tally,
): Map<string, unknown> {
  const present = entries.filter(([, item]) => item !== null);
  const results = present.map(([key, item]) => [key, read(inner, item, tally)] as const);
  return new Map(results.filter(([, item]) => item !== WRONG));
}

function readFlags(names: readonly string[], value: object, tally: Tally): number {
  let mask = 0;
  for (const [key, flag] of Object.entries(value)) {
    const index = names.indexOf(key);
    if (flag === true) mask |= 1 << (index < 0 ? names.length : index);
    else if (flag !== false && flag !== null) tally.wrong++;
  }
  return mask;
}

function readTime(value: unknown): unknown {
  const pattern =
    /^(\d{4}-\d\d-\d\dT([01]\d|2[0-3])(?::[0-5]\d){2})(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
  const parts = typeof value === 'string' ? pattern.exec(value) : null;
  if (parts === null) return WRONG;
  const [, dateTime = '', , fraction = '', offset = ''] = parts;
  const local = Date.parse(`${dateTime}Z`);
  const exists = !Number.isNaN(local) && new Date(local).toISOString().startsWith(dateTime);
  if (!exists) return WRONG;
  const sign = offset.startsWith('-') ? -1 : 1;
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number);
  const shift = sign * (hours * 60 + minutes) * 60_000;
  const time = local + Number(`0${fraction}e3`) - shift;
  return time === Date.parse('0001-01-01T00:00:00Z') ? undefined : time;
}

function readBytes(value: unknown): unknown {
  if (typeof value === 'string') {
    const decoded = Buffer.from(value, 'base64');
    const isWhole = /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0;
    const expected = (value.replace(/=+$/, '').length * 3) >> 2;
    return isWhole && decoded.length === expected && value !== '='
      ? decoded.toString('hex')
      : WRONG;
  }
  return Array.isArray(value) && value.every(isByte) ? Buffer.from(value).toString('hex') : WRONG;
}

function isByte(item: unknown): boolean {
  return typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
