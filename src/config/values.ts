import { resolve } from 'node:path';
import * as v from 'valibot';
import { findNearest, formatList } from '#base';
import { isContainer, quote, show } from './issues.ts';

// Types of values as valibot schemas. Their input is the value in the file; a message is the value
// and what is wrong with it.

/** A key of the configuration, apart from its type and default. */
export interface KeyMeta {
  /** Name of the flag without its dashes; the keys of web, log, shard and config have those of their paths. */
  readonly flag?: string;
  /** A variable for what may have no flag: secrets. */
  readonly variable?: string;
  readonly help: string;
}

/** The schema of a key with its flag and help. */
export function key<S extends v.GenericSchema>(schema: S, { help, ...meta }: KeyMeta) {
  return v.pipe(schema, v.description(help), v.metadata({ ...meta }));
}

const NOTHING_SET = 'nothing is set: give the key a value or remove it';

/** `"yes" is neither true nor false`; `name` stands for a value that must not be shown. */
export function invalid(reason: string | ((input: unknown) => string), name?: string) {
  return ({ input }: { readonly input: unknown }): string => {
    if (input === null) return NOTHING_SET;
    const shown = name ?? show(input);
    if (isContainer(input)) return `${shown} is not a single value`;
    return `${shown} ${typeof reason === 'string' ? reason : reason(input)}`;
  };
}

/** Rejects a value for which `findFault` returns a message. */
export function rejectIf<T>(findFault: (value: T) => string | undefined) {
  return v.check<T, (issue: v.CheckIssue<T>) => string>(
    (value) => findFault(value) === undefined,
    ({ input }) => findFault(input) ?? '',
  );
}

/** A schema that may have the parts of any valibot schema. */
export interface AnySchema extends v.GenericSchema {
  readonly entries?: Readonly<Record<string, AnySchema>>;
  readonly wrapped?: AnySchema;
  readonly item?: AnySchema;
}

/** The schema without the wrapper that makes it optional. */
export function unwrap(schema: AnySchema): AnySchema {
  return schema.wrapped === undefined ? schema : unwrap(schema.wrapped);
}

/** A map with these keys and no others. Unknown keys are reported before (see `validate`). */
export function section<const E extends v.ObjectEntries>(entries: E) {
  const map = v.strictObject(entries, ({ input, path }) => {
    const [item] = path ?? [];
    if (item === undefined || Array.isArray(item.input)) {
      const value = item?.input ?? input;
      const isSwitch = typeof value === 'boolean' && 'enabled' in entries;
      const remedy = isSwitch
        ? `write { enabled: ${value} }`
        : `expected ${formatKeys(Object.keys(entries))}`;
      return `${show(value)} is not a map: ${remedy}`;
    }
    const entry = entries[String(item.key)];
    const { flag } = entry?.kind === 'schema' ? v.getMetadata(entry) : {};
    const hint = typeof flag === 'string' ? ` (or --${flag})` : '';
    return `the key ${quote(String(item.key))} is missing: set it${hint}`;
  });
  return v.pipe(map, v.readonly());
}

const MAX_LISTED_KEYS = 20;

/** The keys for a message. */
export function formatKeys(keys: readonly string[]): string {
  return keys.length > MAX_LISTED_KEYS ? formatList(keys) : keys.join(', ');
}

/** Several values of one type. A single value is not accepted: one way to write a list is enough. */
export function list<S extends v.GenericSchema>(
  item: S,
  expected = 'is not a list: write it as [value, value]',
) {
  const all = v.array(item, ({ input }) =>
    input === null ? NOTHING_SET : `${show(input)} ${expected}`,
  );
  return v.pipe(all, v.readonly());
}

/** At least one value of a type. */
export function filledList<S extends v.GenericSchema>(item: S) {
  return v.pipe(list(item), v.minLength(1, 'the list is empty: add at least one value'));
}

export const boolean = v.pipe(
  v.boolean(invalid('is neither true nor false')),
  v.metadata({ valueType: 'boolean' }),
);

/** A boolean as YAML 1.1 writes it, which other tools read: `on` and `no` are texts in YAML 1.2. */
export const oldBoolean = v.pipe(
  v.custom<boolean | string>(
    (value) => typeof value === 'boolean' || (typeof value === 'string' && OLD_WORDS.test(value)),
    invalid('is neither true nor false'),
  ),
  v.transform((value) => (typeof value === 'boolean' ? value : /^(?:y|on)/i.test(value))),
);
const OLD_WORDS = /^(?:y|yes|on|n|no|off)$/i;

export const autoOrBoolean = v.pipe(
  v.union([v.literal('auto'), v.boolean()], invalid('is not one of auto, true, false')),
  v.metadata({ valueType: 'auto|true|false' }),
);

export function integer(min = -Infinity, max = Infinity): v.GenericSchema<number> {
  const expected = 'is not a whole number';
  return v.pipe(
    v.number(invalid((input) => expected + unquoteHint(input, Number.isSafeInteger))),
    v.integer(invalid(expected)),
    v.minValue(min, tooSmall(min)),
    v.maxValue(max, invalid(`is too large: at most ${max}`)),
    v.metadata({ valueType: 'integer' }),
  );
}

function tooSmall(min: number | string) {
  return invalid(`is too small: at least ${min}`);
}

/** More than nothing, and at most all. */
export const share = v.pipe(
  v.number(invalid((input) => `is not a number${unquoteHint(input, Number.isFinite)}`)),
  v.gtValue(0, invalid('is too small: it must be more than 0')),
  v.maxValue(1, invalid('is too large: at most 1')),
  v.metadata({ valueType: 'number' }),
);

/** `: remove the quotes`, where a text holds a number of the right kind. */
export function unquoteHint(input: unknown, isRight: (value: number) => boolean): string {
  const isNumber = typeof input === 'string' && input.trim() !== '' && isRight(Number(input));
  return isNumber ? ': remove the quotes' : '';
}

/** The shortest timeout of a poll or a request. */
export const MIN_TIMEOUT_SECONDS = 0.1;

/** Numbers with units. */
interface Quantity {
  readonly valueType: string;
  readonly pattern: RegExp;
  readonly expected: string;
  /** The largest unit first, in parts of the value: 1000 ms are 1 second. */
  readonly units: readonly (readonly [unit: string, size: number])[];
  readonly parts: number;
}

/** Seconds, written as Prometheus does: https://prometheus.io/docs/prometheus/latest/configuration/configuration/ */
const DURATION: Quantity = {
  valueType: 'duration',
  // Each unit at most once; `0` is the only number without one.
  pattern: /^(?:0|(?=\d)(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?)$/,
  expected: 'is not a duration: write it with units, as 30s, 1m30s or 500ms',
  units: [
    ['y', 365 * 86_400_000],
    ['w', 7 * 86_400_000],
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
    ['ms', 1],
  ],
  parts: 1000,
};

const SIZE: Quantity = {
  valueType: 'bytes',
  pattern: /^(?:0|\d+(?:TiB|GiB|MiB|KiB|B))$/,
  expected: 'is not a size: write it with a binary unit, as 2GiB, 512MiB or 16KiB',
  units: [
    ['TiB', 1024 ** 4],
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
    ['B', 1],
  ],
  parts: 1,
};

/** The value of a text that has the right form: `1m30s` is 90. */
function read({ units, parts }: Quantity, written: string): number {
  const sizes = new Map(units);
  const counts = Array.from(written.matchAll(/(\d+)([A-Za-z]+)/g));
  const sum = (all: number, [, count, unit = '']: RegExpExecArray): number =>
    all + Number(count) * (sizes.get(unit) ?? 0);
  return counts.reduce(sum, 0) / parts;
}

/** A value in the largest unit that gives a whole number: 5400 seconds are `90m`. */
function write({ units, parts }: Quantity, value: number): string {
  const all = Math.round(value * parts);
  const fits = ([, size]: readonly [string, number]): boolean =>
    all === 0 ? size === parts : all >= size && all % size === 0;
  const [unit, size] = units.find(fits) ?? ['', 1];
  return `${all / size}${unit}`;
}

/** A number needs a unit, but for 0, which is the same in every unit. */
type Written = string | 0;

function quantity(form: Quantity, min: number, max = Infinity): v.GenericSchema<Written, number> {
  const { valueType, pattern, expected } = form;
  const valueOf = (written: Written): number => (written === 0 ? 0 : read(form, written));
  const smallest = write(form, min);
  const isNot = invalid((input) => {
    if (min === 0) return `${expected}; only 0 needs none`;
    return input === 0 ? `is too small: at least ${smallest}` : expected;
  });
  const withUnit = v.pipe(v.string(isNot), v.regex(pattern, isNot));
  const written = min === 0 ? v.union([withUnit, v.literal(0)], isNot) : withUnit;
  return v.pipe(
    written,
    v.check((value: Written) => valueOf(value) >= min, tooSmall(smallest)),
    v.check((value) => valueOf(value) <= max, invalid(`is too large: at most ${write(form, max)}`)),
    // Of the limits editors and Helm know this much.
    v.metadata(min > 0 ? { not: { pattern: '^[^1-9]*$' } } : {}),
    v.transform(valueOf),
    v.metadata({ valueType, format: (value: number) => write(form, value) }),
  );
}

/** Timers of Node.js wait at most 24 days, and fire at once beyond. Between the first two polls twice the interval may pass. */
export const MAX_DURATION_SECONDS = 10 * 86_400;

export function duration(min: number): v.GenericSchema<Written, number> {
  return quantity(DURATION, min, MAX_DURATION_SECONDS);
}

export function bytes(min: number): v.GenericSchema<Written, number> {
  return quantity(SIZE, min);
}

/** Seconds, or undefined when the text is no duration. */
export function parseDuration(written: string): number | undefined {
  return DURATION.pattern.test(written) ? read(DURATION, written) : undefined;
}

/** A number of seconds as the configuration has it: `90s`, `5m`, `250ms`. */
export function writeDuration(seconds: number): string {
  return write(DURATION, seconds);
}

export const NOT_TEXT = 'is not text: put it in quotes';

/** A text that may be empty. */
export const anyText = v.string(invalid(NOT_TEXT));

/** A text that is not empty. */
export function text(name = 'text'): v.GenericSchema<string> {
  return v.pipe(
    anyText,
    v.nonEmpty(invalid('is empty: give the key a value or remove it')),
    v.metadata({ valueType: name }),
  );
}

/** A text of a certain form; `expects` names it. */
export function textLike(pattern: RegExp, expects: string, name?: string): v.GenericSchema<string> {
  return v.pipe(text(name), v.regex(pattern, invalid(`is not ${expects}`)));
}

/** A file, whose path `makeAbsolute` has made absolute. */
export const filePath = text('path');

/** An empty text means no file, as templates and other exporters write it. */
export const optionalFilePath = v.pipe(
  anyText,
  v.transform((file) => (file === '' ? undefined : file)),
  v.metadata({ valueType: 'path' }),
);

/** A path relative to the folder, or the one of a socket in an address, made absolute; texts of other types stay as they are. */
export function makeAbsolute(valueType: unknown, written: string, folder: string): string {
  if (valueType === 'path') return written === '' ? '' : resolve(folder, written);
  if (valueType !== 'address') return written;
  return written.replace(/^unix:(.+)$/s, (_, socket: string) => `unix:${resolve(folder, socket)}`);
}

/** One of several words. */
export function choice<const T extends readonly string[]>(words: T) {
  const expected = `is not one of ${words.join(', ')}`;
  const explain = (input: unknown): string => {
    const nearest = typeof input === 'string' ? findNearest(input, words) : undefined;
    return nearest === undefined ? expected : `${expected}; did you mean ${quote(nearest)}?`;
  };
  return v.pipe(v.picklist(words, invalid(explain)), v.metadata({ valueType: words.join('|') }));
}

/** A URL in a message. Everything before an @ may be a password, and a query may hold a token. */
export function showUrl(url: string): string {
  return quote(url.replace(/^.*@/s, '<secret>@').replace(/\?.*/s, '?<secret>'));
}

/** Whether a URL leads to this host itself. */
export function isLoopback(url: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
