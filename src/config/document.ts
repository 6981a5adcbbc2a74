import { dirname, resolve } from 'node:path';
import {
  Composer,
  type CST,
  isAlias,
  isCollection,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  type YAMLMap,
} from 'yaml';
import { messageOf } from '#base';
import { readTextFile } from './files.ts';
import {
  type ConfigIssues,
  type Container,
  isContainer,
  isMap,
  type Position,
  quote,
} from './issues.ts';

/** The keys and indices that lead to a value. */
export type Path = readonly (string | number)[];

/** `clusters[0].name` */
function formatPath(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}

/** Where a member of a map or a list is written; for an item of a list both are the same. */
interface Member {
  readonly key: Position;
  readonly value: Position;
}

/** Reports what is wrong with one map of a document, or with one of its keys. */
export interface Reporter {
  report(message: string, key?: string): void;
  warn(message: string, key?: string): void;
}

/** The values of file, variables and flags as one document, which knows where each was written. */
export class SourceDocument {
  input: Container = {};
  /** The text of the file; empty without one. */
  text = '';
  readonly issues: ConfigIssues;
  /** Relative paths of the file are relative to this; those of flags and variables are absolute. */
  readonly folder: string;
  readonly #start: Position;
  /** The members of each map and list. A map that several aliases name is one object, and has one position. */
  readonly #members = new WeakMap<object, Map<string, Member>>();
  /** The maps that had an unknown key. */
  readonly #misspelt = new WeakSet<object>();

  constructor(
    issues: ConfigIssues,
    start: Position = { source: 'command line', path: '' },
    folder = '',
  ) {
    this.issues = issues;
    this.folder = folder;
    this.#start = start;
  }

  /** Where the members of a map or a list are written, by key or index. */
  members(container: object): Map<string, Member> {
    const members = this.#members.get(container) ?? new Map<string, Member>();
    this.#members.set(container, members);
    return members;
  }

  /** Takes over the members of another map that a map does not have. */
  merge(map: Container, source: Container): void {
    const members = this.members(map);
    for (const [name, member] of this.members(source)) {
      if (members.has(name)) continue;
      map[name] = source[name];
      members.set(name, member);
    }
  }

  /** Where the key or the value at a path is written; when it is missing, the map or list around it. */
  positionOf(path: Path, part: keyof Member = 'value'): Position {
    let position = this.#start;
    let container: unknown = this.input;
    for (const step of path) {
      if (!isContainer(container)) break;
      position = this.members(container).get(String(step))?.[part] ?? position;
      container = container[step];
    }
    return { ...position, path: formatPath(path) };
  }

  /** The value at a path as it is written, in a file, a variable or a flag; undefined without one. */
  valueAt(path: Path): unknown {
    let value: unknown = this.input;
    for (const step of path) value = isContainer(value) ? value[step] : undefined;
    return value;
  }

  /** The map at a path; undefined where one of its keys was unknown, since what it seems to lack may be that one. */
  mapAt(path: Path): Container | undefined {
    const value = this.valueAt(path);
    return isMap(value) && !this.#misspelt.has(value) ? value : undefined;
  }

  /** Removes a key that the schema does not have. */
  removeUnknown(map: Container, name: string): void {
    delete map[name];
    this.#misspelt.add(map);
  }

  /** Whether a key of a value, or of a map in it, was unknown. */
  isMisspelt(value: unknown): boolean {
    if (!isContainer(value)) return false;
    return this.#misspelt.has(value) || Object.values(value).some((each) => this.isMisspelt(each));
  }

  /** Reports to the map at a path. A key of it that is missing is reported at the map. */
  reporterOf(path: Path): Reporter {
    const positionOf = (key?: string) => this.positionOf(key === undefined ? path : [...path, key]);
    return {
      report: (message, key) => this.issues.report(positionOf(key), message),
      warn: (message, key) => this.issues.warn(positionOf(key), message),
    };
  }

  /** Sets a value, making the maps and lists around it. */
  set(path: Path, value: unknown, source: string): void {
    const position = { source, path: '' };
    let container = this.input;
    for (const [index, step] of path.entries()) {
      const next = path[index + 1];
      const empty = typeof next === 'number' ? [] : {};
      if (next === undefined || (container[step] ?? null) === null) {
        container[step] = next === undefined ? value : empty;
        this.members(container).set(String(step), { key: position, value: position });
      }
      const inner = container[step];
      // Something that is no map stays, and is reported when it is validated.
      if (!isContainer(inner)) return;
      container = inner;
    }
  }
}

/** Where the library's own words would not help, or would quote what may be a password. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab cannot indent: use spaces',
  TAG_RESOLVE_FAILED: 'an unknown tag: put a text that begins with ! in quotes',
  RESOURCE_EXHAUSTION: 'maps and lists are nested too deep: close the { and [ before',
  BAD_SCALAR_START: 'a text cannot begin with this character: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a second key in one line: put a text with `: ` in quotes, begin a map in a line of its own, and write a space after the - of a list',
  BLOCK_IN_FLOW:
    'a key without braces: put a text with `: ` in quotes, and a map within { } or [ ] in its own { }',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes: use single quotes or double the backslash',
};

const MULTIPLE_DOCUMENTS = 'not valid YAML: more than one document: remove the line ---';
const NO_KEY = 'only a text can be a key: put one that begins with { or [ in quotes';
const isSetTwice = (key: string) =>
  `not valid YAML: the key ${quote(key)} is set twice: remove one`;
const NO_ANCHOR = 'this alias names no anchor that ends above it';
const NO_MERGE =
  '<< takes over the keys of maps with an anchor: write `<<: *name` or `<<: [*one, *two]`';
/** More are of no help. */
const MAX_SYNTAX_ERRORS = 20;
/**
 * A list of 9 lists of 9 aliases each has 81 values, and 546 bytes of YAML can have billions. 8,000 clusters of 12 values are
 * allowed.
 */
const MAX_VALUES = 100_000;
const TOO_MANY_VALUES = `more than ${MAX_VALUES} values, where each alias counts as all that it stands for: write fewer`;

/**
 * Reads a file of YAML 1.2, with the keys that `<<` takes over. A file that cannot be read, syntax errors, keys that are set
 * twice and aliases without an anchor are reported. `what` names the file in a message, and `key` a key of it.
 */
export async function readDocument(
  file: string,
  what: string,
  issues: ConfigIssues,
  key = 'clusters:',
): Promise<SourceDocument> {
  const text = await readTextFile(file, what).catch((error: unknown) => {
    issues.report({ source: file, path: '' }, messageOf(error));
    return '';
  });
  const lineCounter = new LineCounter();
  const tokens = limitErrors(new Parser(lineCounter.addNewLine).parse(text));
  // The library compares each key with all others of its map.
  const options = { merge: true, uniqueKeys: false };
  const [yaml, second] = new Composer(options).compose(tokens, true, text.length);
  const positionAt = (offset = 0): Position => {
    const { line, col: column } = lineCounter.linePos(offset);
    return { source: file, line, column, path: '' };
  };
  const positionOf = (node: unknown) => positionAt(isNode(node) ? node.range?.[0] : 0);
  const { errors = [], warnings = [], contents = null } = yaml ?? {};
  const problems = [...errors, ...warnings].slice(0, MAX_SYNTAX_ERRORS);
  for (const { code, pos, message } of problems) {
    const reason = EXPLANATIONS[code] ?? message.replace(/(?<=\S): .*$/s, '');
    issues.report(positionAt(pos[0]), `not valid YAML: ${reason}`);
  }
  if (second !== undefined) issues.report(positionAt(second.range[0]), MULTIPLE_DOCUMENTS);
  const document = new SourceDocument(issues, positionOf(contents), dirname(resolve(file)));
  document.text = text;
  const value = readTree(contents, document, positionOf) ?? {};
  if (isMap(value)) document.input = value;
  else if (issues.problems.length === 0) {
    issues.report(positionAt(), `expected keys and values such as \`${key}\` at the top`);
  }
  return document;
}

/** Leaves out errors that nobody would read: half a megabyte of `}` has as many of them, and each costs time. */
function* limitErrors(tokens: Iterable<CST.Token>): Iterable<CST.Token> {
  let errors = 0;
  for (const token of tokens) {
    if (token.type === 'error') errors += 1;
    if (token.type !== 'error' || errors <= MAX_SYNTAX_ERRORS) yield token;
  }
}

/** The plain values of a tree of YAML; the document gets the positions of its members, and what is wrong with aliases and keys. */
function readTree(
  root: unknown,
  document: SourceDocument,
  positionOf: (node: unknown) => Position,
): unknown {
  const { issues } = document;
  const anchors = new Map<string, { readonly value: unknown; readonly size: number }>();
  /** How many values were read, those of an alias each time. */
  let size = 0;

  function read(node: unknown): unknown {
    if (isAlias(node)) {
      const anchor = anchors.get(node.source);
      if (anchor === undefined) issues.report(positionOf(node), NO_ANCHOR);
      return canAdd(node, anchor?.size ?? 1) ? anchor?.value : null;
    }
    const before = size;
    if (!canAdd(node, 1) || (!isScalar(node) && !isCollection(node))) return null;
    const value = isScalar(node) ? node.value : isSeq(node) ? readList(node.items) : readMap(node);
    if (node.anchor !== undefined) anchors.set(node.anchor, { value, size: size - before });
    return value;
  }

  function canAdd(node: unknown, more: number): boolean {
    if (size <= MAX_VALUES && size + more > MAX_VALUES) {
      issues.report(positionOf(node), TOO_MANY_VALUES);
    }
    size += more;
    return size <= MAX_VALUES;
  }

  function readList(items: readonly unknown[]): unknown[] {
    const list = items.map(read);
    for (const [index, item] of items.entries()) {
      const position = positionOf(item);
      document.members(list).set(String(index), { key: position, value: position });
    }
    return list;
  }

  /** The keys of a map win over those that `<<` takes over, and of several maps the first. */
  function readMap({ items }: YAMLMap): Container {
    // `__proto__` is a key like others in an object without a prototype.
    const map: Container = { __proto__: null };
    const members = document.members(map);
    const merged: Container[] = [];
    for (const { key, value } of items) {
      if (!isScalar(key)) {
        issues.report(positionOf(key), NO_KEY);
      } else if (key.source === '<<' && key.type === 'PLAIN') {
        const sources = [read(value)].flat();
        if (!sources.every(isMap)) issues.report(positionOf(value), NO_MERGE);
        merged.push(...sources.filter(isMap));
      } else {
        const name = key.source ?? String(key.value);
        if (members.has(name)) issues.report(positionOf(key), isSetTwice(name));
        map[name] = read(value);
        members.set(name, { key: positionOf(key), value: positionOf(value) });
      }
    }
    for (const source of merged) document.merge(map, source);
    return map;
  }

  return read(root);
}
