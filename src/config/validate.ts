import * as v from 'valibot';
import { type Container, isContainer, isMap, type Path, type SourceDocument } from './document.ts';
import type { Position } from './issues.ts';
import { type AnySchema, unwrap } from './values.ts';

/** Values of which any, also of a list, may be missing because it was not valid. */
type Draft<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[] ? Draft<T[K]> : T[K] | undefined;
};

/**
 * Validates a document, reports what is wrong with it at its position and gives the valid rest, with
 * defaults, for the rules that go beyond one key.
 */
export function validate<S extends v.GenericSchema>(
  schema: S,
  document: SourceDocument,
): Section<v.InferOutput<S>> {
  const { input, issues } = document;
  fillEmptyLists(schema, input);
  for (;;) {
    const result = v.safeParse(schema, input, { abortPipeEarly: true });
    const found = result.issues ?? [];
    // valibot reports only the first unknown key of a map, and the next one when that is gone.
    const unknown = found.filter((issue) => issue.expected === 'never');
    for (const issue of unknown.length > 0 ? unknown : found) {
      issues.report(positionOf(issue, document), issue.message);
      deleteIn(unknown.length > 0 ? input : result.output, pathOf(issue));
    }
    if (unknown.length === 0) return new Section(document, [], result.output, input);
  }
}

/** valibot takes an empty list for a map without keys, but reports one with a member. */
function fillEmptyLists({ entries = {}, item }: AnySchema, container: Container): void {
  for (const [key, value] of Object.entries(container)) {
    const member = item ?? (Object.hasOwn(entries, key) ? entries[key] : undefined);
    if (member === undefined || !isContainer(value)) continue;
    const schema = unwrap(member);
    const isEmptyList = Array.isArray(value) && value.length === 0;
    if (isEmptyList && schema.entries !== undefined) container[key] = [null];
    else fillEmptyLists(schema, value);
  }
}

function pathOf(issue: v.BaseIssue<unknown>): Path {
  return issue.path?.map(({ key }) => (typeof key === 'number' ? key : String(key))) ?? [];
}

function positionOf(issue: v.BaseIssue<unknown>, document: SourceDocument): Position {
  const path = pathOf(issue);
  const item = issue.path?.at(-1);
  if (item?.origin !== 'key') return document.positionOf(path);
  // A missing key, or any key of a list that should be a map.
  const isElsewhere = issue.expected !== 'never' || Array.isArray(item.input);
  return isElsewhere ? document.positionOf(path.slice(0, -1)) : document.positionOfKey(path);
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
  readonly #document: SourceDocument;
  readonly #path: Path;
  readonly #values: Container;
  readonly #input: Container;

  constructor(document: SourceDocument, path: Path, values: unknown, input: unknown) {
    this.#document = document;
    this.#path = path;
    this.#values = isContainer(values) ? values : {};
    this.#input = isContainer(input) ? input : {};
  }

  /** The values that are valid, with defaults. */
  get values(): Draft<T> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the schema did not accept was deleted
    return this.#values as Draft<T>;
  }

  /** All values, for what is used only when no problem was reported. */
  get allValues(): T {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each missing one was reported
    return this.#values as T;
  }

  /** Whether no key is written. */
  get isEmpty(): boolean {
    return Object.keys(this.#input).length === 0;
  }

  /** Whether a key is written, even if its value is not valid. */
  has(key: keyof T & string): boolean {
    return key in this.#input;
  }

  /** Where a value is written, or the map where it is not. */
  positionOf(key?: keyof T & string): Position {
    const isWritten = key !== undefined && this.has(key);
    return this.#document.positionOf(isWritten ? [...this.#path, key] : this.#path);
  }

  /** Reports a problem of a key, or of the whole map. */
  report(message: string, key?: keyof T & string): void {
    this.#document.issues.report(this.positionOf(key), message);
  }

  warn(message: string, key?: keyof T & string): void {
    this.#document.issues.warn(this.positionOf(key), message);
  }

  get issues() {
    return this.#document.issues;
  }

  /** The map, or the list, at a key. */
  member<K extends keyof T & string>(key: K): Section<NonNullable<T[K]>> {
    return this.#sectionAt(key);
  }

  /** The members of a list of maps. */
  items(): Section<ItemOf<T>>[] {
    const items: unknown = this.#input;
    if (!Array.isArray(items)) return [];
    return items.flatMap((item, index) => (isMap(item) ? [this.#sectionAt<ItemOf<T>>(index)] : []));
  }

  #sectionAt<S>(key: string | number): Section<S> {
    const path = [...this.#path, key];
    return new Section<S>(this.#document, path, this.#values[key], this.#input[key]);
  }
}

type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never;

/** A section of whatever keys, for rules that several of them share. */
export type AnySection = Pick<
  Section<Readonly<Record<string, unknown>>>,
  'has' | 'issues' | 'positionOf' | 'report' | 'values' | 'warn'
>;
