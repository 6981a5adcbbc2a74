import { resolve } from 'node:path';
import * as v from 'valibot';
import { quote, show } from './issues.ts';
import { findNearest } from './nearest.ts';
import { isContainer } from './document.ts';
import { findSecretFault, Secret } from './secret.ts';
import {
  BYTES,
  DURATION,
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration,
} from './units.ts';

// Types of values as valibot schemas. Their input is what stands in the file; a message is the value
// and what is wrong with it.

/** `"yes" is neither true nor false` */
export function refuse(reason: string) {
  return ({ input }: { readonly input: unknown }): string => `${show(input)} ${reason}`;
}

const NOTHING_SET = 'nothing is set: give the key a value or remove it';

/** The same for a value that may be missing, or no single value at all. */
export function refuseType(reason: string | ((input: unknown) => string), name = show) {
  return ({ input }: { readonly input: unknown }): string => {
    if (input === null) return NOTHING_SET;
    if (isContainer(input)) return `${name(input)} is not one value`;
    return `${name(input)} ${typeof reason === 'string' ? reason : reason(input)}`;
  };
}

/** A map with these keys and no others. */
export function section<const E extends v.ObjectEntries>(entries: E) {
  const keys = Object.keys(entries);
  return v.strictObject(entries, ({ expected, input, path }) => {
    const item = path?.[0];
    if (item === undefined) return `${show(input)} is not a map: expected ${keys.join(', ')}`;
    if (Array.isArray(item.input)) return `a list is not a map: expected ${keys.join(', ')}`;
    if (expected === 'never') return explainUnknownKey(String(item.key), keys);
    const entry = entries[String(item.key)];
    const { flag } = entry?.kind === 'schema' ? v.getMetadata(entry) : {};
    const hint = typeof flag === 'string' ? ` (or --${flag})` : '';
    return `the key ${quote(String(item.key))} is missing: set it${hint}`;
  });
}

function explainUnknownKey(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known);
  const remedy = nearest ? `did you mean ${quote(nearest)}?` : `expected ${known.join(', ')}`;
  return `unknown key ${quote(name)}; ${remedy}`;
}

/** Several values of one type. A single value is refused: `urls: x` beside `urls: [x]` helps nobody. */
export function list<S extends v.GenericSchema>(
  item: S,
  expected = 'is not a list: write it as [value, value]',
) {
  return v.array(item, (issue) => (issue.input === null ? NOTHING_SET : refuse(expected)(issue)));
}

/** At least one value of a type. */
export function filledList<S extends v.GenericSchema>(item: S) {
  return v.pipe(list(item), v.minLength(1, 'the list is empty: give it one value at least'));
}

export const boolean = v.pipe(
  v.boolean(refuseType('is neither true nor false')),
  v.metadata({ valueType: 'boolean' }),
);

export interface Range {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** The value must be greater than this. */
  readonly above?: number | undefined;
}

export function integer({ min = -Infinity, max = Infinity }: Range): v.GenericSchema<number> {
  const expected = 'is not a whole number';
  return v.pipe(
    v.number(refuseType((input) => expected + unquoteHint(input, Number.isSafeInteger))),
    v.integer(refuse(expected)),
    v.minValue(min, tooSmall(min)),
    v.maxValue(max, tooLarge(max)),
    v.metadata({ valueType: 'integer' }),
  );
}

export function number(range: Range): v.GenericSchema<number> {
  const { min = -Infinity, above = -Infinity, max = Infinity } = range;
  const expected = 'is not a number';
  return v.pipe(
    v.number(refuseType((input) => expected + unquoteHint(input, Number.isFinite))),
    v.finite(refuse(expected)),
    v.minValue(min, tooSmall(min)),
    v.gtValue(above, refuse(`is too small: it must be more than ${above}`)),
    v.maxValue(max, tooLarge(max)),
    v.metadata({ valueType: 'number' }),
  );
}

function unquoteHint(input: unknown, isRight: (value: number) => boolean): string {
  const isNumber = typeof input === 'string' && input.trim() !== '' && isRight(Number(input));
  return isNumber ? ': remove the quotes' : '';
}

function tooSmall(min: number, format: (value: number) => string = String) {
  return refuse(`is too small: at least ${format(min)}`);
}

function tooLarge(max: number, format: (value: number) => string = String) {
  return refuse(`is too large: at most ${format(max)}`);
}

interface Quantity {
  readonly name: string;
  readonly expected: string;
  readonly pattern: RegExp;
  readonly parse: (text: string) => number | undefined;
  readonly format: (value: number) => string;
}

/** A number that is written with a unit. */
function quantity(
  { name, expected, pattern, parse, format }: Quantity,
  range: Range,
): v.GenericSchema<string, number> {
  const { min = -Infinity, max = Infinity } = range;
  const valueOf = (written: string): number => parse(written) ?? Number.NaN;
  return v.pipe(
    v.string(refuseType(expected)),
    v.regex(pattern, refuse(expected)),
    v.check((written) => valueOf(written) >= min, tooSmall(min, format)),
    v.check((written) => valueOf(written) <= max, tooLarge(max, format)),
    v.transform(valueOf),
    v.metadata({ valueType: name, format }),
  );
}

/** Seconds; written as Prometheus writes durations. */
export function duration(range: Range) {
  const expected = 'is not a duration: write it with units, as 30s, 1m30s or 500ms';
  const kind = { pattern: DURATION, parse: parseDuration, format: formatDuration };
  return quantity({ name: 'duration', expected, ...kind }, range);
}

/** Bytes, written with a binary unit. */
export function bytes(range: Range) {
  const expected = 'is not a size: write it with a binary unit, as 2GiB, 512MiB or 16KiB';
  const kind = { pattern: BYTES, parse: parseBytes, format: formatBytes };
  return quantity({ name: 'bytes', expected, ...kind }, range);
}

export const NOT_TEXT = 'is not a text: put it in quotes';

/** A text that is not empty. */
export function text(name = 'text'): v.GenericSchema<string> {
  return v.pipe(
    v.string(refuseType(NOT_TEXT)),
    v.nonEmpty(refuse('is empty: give the key a value or remove it')),
    v.metadata({ valueType: name }),
  );
}

export interface TextRules {
  readonly name?: string;
  readonly pattern: RegExp;
  /** What the pattern asks for, in words. */
  readonly expects?: string | undefined;
}

/** A text of a certain form. */
export function textLike({ name, pattern, expects }: TextRules): v.GenericSchema<string> {
  return v.pipe(text(name), v.regex(pattern, refuse(`is not ${expects ?? 'of the right form'}`)));
}

/** A text that may be empty. */
export const anyText = v.string(refuseType(NOT_TEXT));

/** A file, made absolute: relative paths are relative to the folder of the file they stand in. */
export function filePath(folder: string) {
  return v.pipe(
    text('path'),
    v.transform((file) => resolve(folder, file)),
  );
}

/** An empty text says that there is no file, as templates and other exporters write it. */
export function optionalFilePath(folder: string) {
  return v.pipe(
    anyText,
    v.transform((file) => (file === '' ? undefined : resolve(folder, file))),
    v.metadata({ valueType: 'path' }),
  );
}

const showSecret = (): string => 'the secret';

/** A password or token itself. Its messages never show it. */
export const secretText = v.pipe(
  v.string(refuseType(NOT_TEXT, showSecret)),
  v.nonEmpty('the secret is empty'),
  v.check(
    (secret) => findSecretFault(secret) === undefined,
    ({ input }) => `the secret ${findSecretFault(input)}`,
  ),
  v.transform((secret) => Secret.fromText(secret, 'the configuration')),
  v.metadata({ valueType: 'secret', format: String }),
);

/** One of several words. */
export function choice<const T extends readonly string[]>(words: T) {
  const expected = `is none of ${words.join(', ')}`;
  const explain = (input: unknown): string => {
    const nearest = typeof input === 'string' ? findNearest(input, words) : undefined;
    return nearest === undefined ? expected : `${expected}; did you mean ${quote(nearest)}?`;
  };
  return v.pipe(v.picklist(words, refuseType(explain)), v.metadata({ valueType: words.join('|') }));
}

/** What the text of a flag or variable stands for, by the type of the value; else the text itself. */
export function parseFlagText(valueType: string | undefined, value: string): unknown {
  if (valueType === 'boolean' && /^(?:true|false)$/.test(value)) return value === 'true';
  const isNumeric = valueType === 'integer' || valueType === 'number';
  if (isNumeric && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  if (valueType === 'path' && value !== '') return resolve(value);
  return valueType === 'address' ? value.replace(/^unix:(?=.)(.*)$/, resolveSocket) : value;
}

function resolveSocket(_match: string, socket: string): string {
  return `unix:${resolve(socket)}`;
}
