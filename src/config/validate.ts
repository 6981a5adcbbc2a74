import * as v from 'valibot';
import type { ConfigIssues, Place } from './issues.ts';
import { type Container, isContainer, isMap, type SourceDocument } from './document.ts';

/** Values of which any may be missing because it was not valid; a secret is one value. */
export type Draft<T> = T extends string | number | boolean | undefined | { toJSON(): string }
  ? T
  : T extends readonly (infer Item)[]
    ? readonly (Draft<Item> | undefined)[]
    : { readonly [K in keyof T]?: Draft<T[K]> | undefined };

/**
 * Validates a document, reports what is wrong with it at its place and gives the valid rest, with
 * defaults, for the rules that go beyond one key.
 */
export function validate<S extends v.GenericSchema>(
  schema: S,
  document: SourceDocument,
  issues: ConfigIssues,
): Section<v.InferOutput<S>> {
  const { input, places } = document;
  for (;;) {
    const result = v.safeParse(schema, input, { abortPipeEarly: true });
    const found = result.issues ?? [];
    // Of the unknown keys of a map, valibot reports the first alone: without it, it reports the next.
    const unknown = found.filter((issue) => issue.expected === 'never');
    for (const issue of unknown.length > 0 ? unknown : found) {
      issues.report(placeOf(issue, document), issue.message);
      deleteIn(unknown.length > 0 ? input : result.output, issue.path);
    }
    if (unknown.length > 0) continue;
    const parts = { values: result.output, input, place: places.of(input) };
    return new Section(parts, document, issues);
  }
}

function placeOf(issue: v.BaseIssue<unknown>, { input, places }: SourceDocument): Place {
  const item = issue.path?.at(-1);
  const container = item?.input;
  if (item === undefined || !isContainer(container)) return places.of(input);
  const key = String(item.key);
  if (item.origin !== 'key') return places.ofValue(container, key);
  // A missing key, or any key of a list that should be a map.
  const isElsewhere = issue.expected !== 'never' || Array.isArray(container);
  return isElsewhere ? places.of(container) : places.ofKey(container, key);
}

function deleteIn(root: unknown, path: v.BaseIssue<unknown>['path']): void {
  let container = root;
  for (const { key } of path?.slice(0, -1) ?? []) {
    container = isContainer(container) ? container[String(key)] : undefined;
  }
  const last = path?.at(-1);
  if (last !== undefined && isContainer(container)) delete container[String(last.key)];
}

/** One map of a validated document: its values, and where each was written. */
export class Section<T> {
  /** Where the map begins. */
  readonly place: Place;
  readonly issues: ConfigIssues;
  readonly #values: Container;
  readonly #input: Container;
  readonly #document: SourceDocument;

  constructor(
    parts: { readonly values: unknown; readonly input: unknown; readonly place: Place },
    document: SourceDocument,
    issues: ConfigIssues,
  ) {
    this.place = parts.place;
    this.issues = issues;
    this.#values = isContainer(parts.values) ? parts.values : {};
    this.#input = isContainer(parts.input) ? parts.input : {};
    this.#document = document;
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
  placeOf(key: keyof T & string): Place {
    return this.has(key) ? this.#document.places.ofValue(this.#input, key) : this.place;
  }

  report(key: keyof T & string, message: string): void {
    this.issues.report(this.placeOf(key), message);
  }

  warn(key: keyof T & string, message: string): void {
    this.issues.warn(this.placeOf(key), message);
  }

  /** The map, or the list, at a key. */
  member<K extends keyof T & string>(key: K): Section<NonNullable<T[K]>> {
    return this.#sectionAt(key, this.placeOf(key));
  }

  /** The members of a list of maps. */
  items(): Section<ItemOf<T>>[] {
    const keys = Object.keys(this.#input).filter((key) => isMap(this.#input[key]));
    return keys.map((key) => this.#sectionAt(key, this.#document.places.ofValue(this.#input, key)));
  }

  #sectionAt<S>(key: string, place: Place): Section<S> {
    const parts = { values: this.#values[key], input: this.#input[key], place };
    return new Section<S>(parts, this.#document, this.issues);
  }
}

type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never;

/** A section of whatever keys, for rules that several of them share. */
export type AnySection = Pick<
  Section<Readonly<Record<string, unknown>>>,
  'has' | 'issues' | 'place' | 'placeOf' | 'report' | 'values' | 'warn'
>;
