import { isAlias, isMap as isYamlMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Document, Pair, ParsedNode, YAMLMap, YAMLSeq } from 'yaml';
import { type ConfigIssues, type Place, quote } from './issues.ts';

/** A map or a list as it was written: plain values, not validated yet. */
export type Container = Record<string, unknown>;

interface Member {
  readonly key: Place;
  readonly value: Place;
}

/** Where the maps and lists of a document, their keys and their values are written. */
export class Places {
  readonly #self = new WeakMap<object, Place>();
  readonly #members = new WeakMap<object, Map<string, Member>>();

  add(container: object, place: Place): void {
    this.#self.set(container, place);
    this.#members.set(container, new Map());
  }

  addMember(container: object, key: string, member: Member): void {
    this.#members.get(container)?.set(key, member);
  }

  /** Where a map or list begins. */
  of(container: object): Place {
    return this.#self.get(container) ?? { source: '', path: '' };
  }

  ofKey(container: object, key: string): Place {
    return this.#members.get(container)?.get(key)?.key ?? this.of(container);
  }

  /** Where a value is written, or the container in which it is missing. */
  ofValue(container: object, key: string): Place {
    const place = this.#members.get(container)?.get(key)?.value;
    if (place !== undefined) return place;
    const self = this.of(container);
    return { ...self, path: joinPath(self.path, key, Array.isArray(container)) };
  }

  /** A map of the keys of both, those of `over` winning, each with its own place. */
  merge(base: Container, over: Container): Container {
    const merged: Container = Object.assign(createMap(), base, over);
    this.add(merged, this.#self.get(over) ?? this.of(base));
    for (const container of [base, over]) {
      for (const [key, member] of this.#members.get(container) ?? []) {
        this.addMember(merged, key, member);
      }
    }
    return merged;
  }
}

/** A document as plain values, with the places of all of them. */
export interface SourceDocument {
  readonly input: Container;
  readonly places: Places;
}

/** Sets a value at a key such as `clusters[].name`, making the maps and lists around it. */
export function setValue(
  { input, places }: SourceDocument,
  key: string,
  { value, source }: { readonly value: unknown; readonly source: string },
): void {
  const steps = key.replaceAll('[]', '.0').split('.');
  let container = input;
  let path = '';
  for (const [index, step] of steps.entries()) {
    path = joinPath(path, step, Array.isArray(container));
    const place = { source, path };
    const isLast = index === steps.length - 1;
    const old = container[step];
    if (!isLast && old !== undefined && old !== null) {
      // Something that is no map stays, and is reported when it is validated.
      if (!isContainer(old)) return;
      container = old;
      continue;
    }
    const next = isLast ? value : createContainer(steps[index + 1] === '0');
    container[step] = next;
    places.addMember(container, step, { key: place, value: place });
    if (!isContainer(next)) return;
    places.add(next, place);
    container = next;
  }
}

/** Without a prototype, so that a key `__proto__` is a key like any other. */
export function createMap(): Container {
  return Object.create(null);
}

function createContainer(isList: boolean): unknown {
  return isList ? [] : createMap();
}

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

export function isMap(value: unknown): value is Container {
  return isContainer(value) && !Array.isArray(value);
}

/** The dotted key of a member: `clusters[0]` and `name` make `clusters[0].name`. */
function joinPath(path: string, key: string, isInList = false): string {
  if (isInList) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Where the library's own words would not help, or would quote what may be a password. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab cannot indent: use spaces',
  MULTIPLE_DOCS: 'more than one document: remove the line ---',
  TAG_RESOLVE_FAILED: 'an unknown tag: put a text that begins with ! in quotes',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes: use single quotes or double the backslash',
};

/**
 * Reads YAML 1.2 and keeps the place of every key and value. Syntax errors and keys that are set
 * twice are reported; the answer is then what could be read.
 */
export function readDocument(text: string, file: string, issues: ConfigIssues): SourceDocument {
  const lines = new LineCounter();
  // Keys are compared here rather than by the library, whose message names neither key nor place.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const placeAt = (offset: number, path: string): Place => {
    const { line, col } = lines.linePos(offset);
    return { source: file, line, column: col, path };
  };
  for (const error of [...document.errors, ...document.warnings]) {
    const reason = EXPLANATIONS[error.code] ?? error.message.replace(/(?<=\S): .*$/s, '');
    issues.report(placeAt(error.pos[0], ''), `not valid YAML: ${reason}`);
  }
  return new Reader(document, placeAt, issues).read();
}

interface Located {
  readonly value: unknown;
  readonly place: Place;
}

class Reader {
  readonly #document: Document.Parsed;
  readonly #placeAt: (offset: number, path: string) => Place;
  readonly #issues: ConfigIssues;
  readonly #places = new Places();
  /** The nodes that an alias may name, read or (undefined) being read. */
  readonly #nodes = new Map<unknown, Located | undefined>();

  constructor(
    document: Document.Parsed,
    placeAt: (offset: number, path: string) => Place,
    issues: ConfigIssues,
  ) {
    this.#document = document;
    this.#placeAt = placeAt;
    this.#issues = issues;
  }

  read(): SourceDocument {
    const { contents } = this.#document;
    if (isYamlMap(contents)) {
      const input = this.#readMap(contents, this.#place(contents, ''));
      return { input, places: this.#places };
    }
    const { value, place } = this.#readNode(contents, '');
    if (value !== null) {
      this.#issues.report(place, 'expected keys and values such as `clusters:` at the top');
    }
    const input = createMap();
    this.#places.add(input, place);
    return { input, places: this.#places };
  }

  #place(node: ParsedNode | null, path: string): Place {
    return this.#placeAt(node?.range[0] ?? 0, path);
  }

  #readNode(node: ParsedNode | null, path: string): Located {
    if (isAlias(node)) return this.#readAlias(node, path);
    const place = this.#place(node, path);
    this.#nodes.set(node, undefined);
    const located = { value: this.#readValue(node, place), place };
    this.#nodes.set(node, located);
    return located;
  }

  #readValue(node: ParsedNode | null, place: Place): unknown {
    if (isYamlMap(node)) return this.#readMap(node, place);
    if (isSeq(node)) return this.#readList(node, place);
    return scalarValue(node);
  }

  /** An alias stands for the very value of its anchor; one inside its own anchor has none. */
  #readAlias(node: ParsedNode, path: string): Located {
    const target = isAlias(node) ? node.resolve(this.#document) : undefined;
    const located = this.#nodes.get(target);
    if (located !== undefined) return located;
    const place = this.#place(node, path);
    this.#issues.report(place, 'this alias names no anchor that ends above it');
    return { value: null, place };
  }

  #readList(list: YAMLSeq.Parsed, self: Place): unknown[] {
    const values: unknown[] = [];
    this.#places.add(values, self);
    for (const [index, item] of list.items.entries()) {
      const { value, place } = this.#readNode(item, joinPath(self.path, String(index), true));
      values.push(value);
      this.#places.addMember(values, String(index), { key: place, value: place });
    }
    return values;
  }

  #readMap(map: YAMLMap.Parsed, self: Place): Container {
    const values = createMap();
    this.#places.add(values, self);
    for (const pair of map.items) {
      const name = keyName(pair);
      const key = this.#place(pair.key, joinPath(self.path, name));
      if (name in values) {
        const { line } = this.#places.ofKey(values, name);
        const message = `the key ${quote(name)} is set twice, first in line ${line}: remove one`;
        this.#issues.report(key, message);
      }
      const { value, place } = this.#readNode(pair.value, key.path);
      values[name] = value;
      this.#places.addMember(values, name, { key, value: place });
    }
    return values;
  }
}

/** Text, number, boolean or nothing; what an unknown tag makes of a text stays that text. */
function scalarValue(node: ParsedNode | null): string | number | boolean | null {
  if (!isScalar(node)) return null;
  const { value, source } = node;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  return value === null ? null : (source ?? null);
}

function keyName(pair: Pair<ParsedNode, ParsedNode | null>): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}
