import * as v from 'valibot';
import { findNearest } from '../nearest-word.ts';
import type { Path, SourceDocument } from './document.ts';
import { type Container, isContainer, isMap, type Position, quote } from './issues.ts';
import { type AnySchema, formatKeys, makeAbsolute, unwrap } from './values.ts';

/** Values of which any, also of a list, may be missing because it was not valid. */
type Draft<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[] ? Draft<T[K]> : T[K] | undefined;
};

/** A document after its validation. */
export interface Validated<T> {
  /** The valid values, for checks that go beyond one key. */
  readonly root: Section<T>;
  /** All values, with defaults; undefined when one is not valid. */
  readonly output: T | undefined;
}

/** Validates a document and reports what is wrong with it at its position. */
export function validate<S extends v.GenericSchema>(
  schema: S,
  document: SourceDocument,
): Validated<v.InferOutput<S>> {
  const { input, issues } = document;
  prepareInput(schema, input, document, []);
  const result = v.safeParse(schema, input, { abortPipeEarly: true });
  for (const { path: items = [], message } of result.issues ?? []) {
    const path = items.map(({ key }) => (typeof key === 'number' ? key : String(key)));
    // A key that is missing is reported at the map around it.
    const isMissing = items.at(-1)?.origin === 'key';
    issues.report(document.positionOf(isMissing ? path.slice(0, -1) : path), message);
    deleteIn(result.output, path);
  }
  const root = new Section<v.InferOutput<S>>(document, [], result.output, input);
  return { root, output: result.success ? result.output : undefined };
}

/** Former keys, with the version that removed them and what to do. */
const REMOVED_KEYS: ReadonlyMap<string, string> = new Map([
  [
    'max_series',
    'in 0.1.0: each collector has a limit of its own, 250000 by default; remove the key, or set collectors.nodes.max_series',
  ],
  [
    'session_headers',
    'in 0.1.0: the token is sent in X-Cockroach-API-Session and X-Service-API-Session; remove the key',
  ],
]);

function explainUnknownKey(name: string, known: readonly string[]): string {
  const removed = REMOVED_KEYS.get(name);
  if (removed !== undefined) return `the key ${quote(name)} was removed ${removed}`;
  const nearest = findNearest(name, known);
  const remedy = nearest ? `did you mean ${quote(nearest)}?` : `expected ${formatKeys(known)}`;
  return `unknown key ${quote(name)}; ${remedy}`;
}

/**
 * Makes paths absolute. Reports and removes keys that the schema does not have: valibot would stop at the first one of a map.
 */
function prepareInput(
  { entries, item }: AnySchema,
  container: Container,
  document: SourceDocument,
  path: Path,
): void {
  for (const [name, value] of Object.entries(container)) {
    const memberPath = [...path, Array.isArray(container) ? Number(name) : name];
    const member = entries && Object.hasOwn(entries, name) ? entries[name] : item;
    if (member !== undefined) {
      const inner = unwrap(member);
      // valibot takes an empty list for a map without keys, but reports one with a member.
      if (Array.isArray(value) && value.length === 0 && inner.entries) container[name] = [null];
      else if (isContainer(value)) prepareInput(inner, value, document, memberPath);
      else if (typeof value === 'string') {
        const { valueType } = v.getMetadata(inner);
        container[name] = makeAbsolute(valueType, value, document.folder);
      }
    } else if (entries !== undefined && !Array.isArray(container)) {
      const message = explainUnknownKey(name, Object.keys(entries));
      document.issues.report(document.positionOf(memberPath, 'key'), message);
      delete container[name];
    }
  }
}

function deleteIn(root: unknown, path: Path): void {
  const last = path.at(-1);
  const container = path
    .slice(0, -1)
    .reduce((inner, step) => (isContainer(inner) ? inner[step] : undefined), root);
  if (last !== undefined && isContainer(container)) delete container[last];
}

/** One map or list of a validated document: its values, and where each was written. */
export class Section<T> {
  /** The values that are valid, with defaults. */
  readonly values: Draft<T>;
  readonly #document: SourceDocument;
  readonly #path: Path;
  readonly #input: Container;

  constructor(document: SourceDocument, path: Path, values: unknown, input: unknown) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the schema did not accept was deleted
    this.values = (isContainer(values) ? values : {}) as Draft<T>;
    this.#document = document;
    this.#path = path;
    this.#input = isContainer(input) ? input : {};
  }

  /** Whether no key is written. */
  get isEmpty(): boolean {
    return !isMap(this.#input) || Object.keys(this.#input).length === 0;
  }

  /** Whether a key is written, even if its value is not valid. */
  has(key: keyof T & string): boolean {
    return key in this.#input;
  }

  /** Where a value is written, or the map where it is not. */
  positionOf(key?: keyof T & string): Position {
    return this.#document.positionOf(key === undefined ? this.#path : [...this.#path, key]);
  }

  /** Reports a problem of a key, or of the whole map. */
  report(message: string, key?: keyof T & string): void {
    this.#document.issues.report(this.positionOf(key), message);
  }

  warn(message: string, key?: keyof T & string): void {
    this.#document.issues.warn(this.positionOf(key), message);
  }

  /** The map, or the list, at a key. */
  member<K extends keyof T & string>(key: K): Section<NonNullable<T[K]>> {
    return new Section(this.#document, [...this.#path, key], this.values[key], this.#input[key]);
  }

  /** The members of a list of maps. */
  items(): Section<T extends readonly (infer Item)[] ? Item : never>[] {
    const values: Container = isContainer(this.values) ? { ...this.values } : {};
    return Object.entries(this.#input).flatMap(([index, item]) =>
      isMap(item)
        ? [new Section(this.#document, [...this.#path, Number(index)], values[index], item)]
        : [],
    );
  }
}

/** A section of whatever keys, for rules that several of them share. */
export type AnySection = Pick<
  Section<Readonly<Record<string, unknown>>>,
  'has' | 'positionOf' | 'report' | 'values' | 'warn'
>;
