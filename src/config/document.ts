import { isAlias, isMap as isYamlMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Alias, Document, ParsedNode, YAMLMap } from 'yaml';
import { type ConfigIssues, type Position, quote } from './issues.ts';

/** A map or a list as it was written: plain values, not validated yet. */
export type Container = Record<string, unknown>;

/** The keys and indices that lead to a value. */
export type Path = readonly (string | number)[];

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

export function isMap(value: unknown): value is Container {
  return isContainer(value) && !Array.isArray(value);
}

/** `clusters[0].name` */
function formatPath(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}

/** A document as plain values, with the positions of their keys and values. */
export class SourceDocument {
  input: Container = {};
  readonly issues: ConfigIssues;
  readonly #keys = new Map<string, Position>();
  readonly #values = new Map<string, Position>();
  readonly #copies: { readonly to: string; readonly from: string }[] = [];

  constructor(source: string, issues: ConfigIssues) {
    this.issues = issues;
    this.addValue({ source, path: '' });
  }

  addKey(position: Position): void {
    this.#keys.set(position.path, position);
  }

  addValue(position: Position): void {
    this.#values.set(position.path, position);
  }

  /**
   * Below a path there are copies of values written elsewhere, where they are reported. Example: after
   * `addCopy(['clusters', 1], ['clusters', 0])` a missing `clusters[1].poll` is in the line of `clusters[0].poll`.
   */
  addCopy(to: Path, from: Path): void {
    this.#copies.push({ to: formatPath(to), from: formatPath(from) });
  }

  positionOfKey(path: Path): Position {
    return this.#find(this.#keys, formatPath(path)) ?? this.positionOf(path);
  }

  /** Where a value is written, or the map or list in which it is missing. */
  positionOf(path: Path): Position {
    const text = formatPath(path);
    const found = this.#find(this.#values, text);
    return found ?? { ...this.positionOf(path.slice(0, -1)), path: text };
  }

  #find(positions: ReadonlyMap<string, Position>, path: string): Position | undefined {
    const written = positions.get(path);
    if (written !== undefined) return written;
    for (const { to, from } of this.#copies) {
      const below = path.slice(to.length);
      const found =
        path.startsWith(to) && /^(?:$|[.[])/.test(below)
          ? this.#find(positions, from + below)
          : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Sets a value, making the maps and lists around it. It is reported as that of `shownPath`. */
  set(path: Path, value: unknown, source: string, shownPath = path): void {
    let container = this.input;
    for (const [index, step] of path.entries()) {
      const here = path.slice(0, index + 1);
      const next = path[index + 1];
      if (next === undefined) {
        container[step] = value;
        this.#replacePositions(here, { source, path: formatPath(shownPath) });
      } else if (container[step] === undefined || container[step] === null) {
        container[step] = typeof next === 'number' ? [] : {};
        this.#replacePositions(here, { source, path: formatPath(here) });
      }
      const inner = container[step];
      // Something that is no map stays, and is reported when it is validated.
      if (!isContainer(inner)) return;
      container = inner;
    }
  }

  #replacePositions(path: Path, position: Position): void {
    const text = formatPath(path);
    for (const old of this.#values.keys()) if (old.startsWith(text)) this.#values.delete(old);
    this.#values.set(text, position);
  }
}

/** Nested more deeply than any configuration; the parser would follow it for seconds. */
const DEEP_NESTING = /(?:[[{]\s*){65}|(?:[-?:] ){65}/;
const TOO_DEEP =
  'maps and lists are nested more than 64 deep: close the { and [ before, or put a text with them in quotes';

/** Where the library's own words would not help, or would quote what may be a password. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab cannot indent: use spaces',
  MULTIPLE_DOCS: 'more than one document: remove the line ---',
  TAG_RESOLVE_FAILED: 'an unknown tag: put a text that begins with ! in quotes',
  RESOURCE_EXHAUSTION: TOO_DEEP,
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes: use single quotes or double the backslash',
};

const NO_KEY = 'only a text can be a key: put one that begins with { or [ in quotes';
/** More are of no help. */
const MAX_SYNTAX_ERRORS = 20;

/**
 * Reads YAML 1.2 and keeps the position of every key and value. Syntax errors and keys that are set
 * twice are reported; the document is not to be used then.
 */
export function readDocument(text: string, file: string, issues: ConfigIssues): SourceDocument {
  const lines = new LineCounter();
  const positionAt = (offset: number | undefined, path: Path): Position => {
    const { line, col: column } = lines.linePos(offset ?? 0);
    return { source: file, line, column, path: formatPath(path) };
  };
  const document = new SourceDocument(file, issues);
  const yaml = parse(text, lines, (offset, message) =>
    issues.report(positionAt(offset, []), message),
  );
  if (yaml === undefined) return document;
  const value = readValues(yaml, document, positionAt);
  if (isMap(value)) document.input = value;
  else if (value !== null) {
    issues.report(
      document.positionOf([]),
      'expected keys and values such as `clusters:` at the top',
    );
  }
  return document;
}

/** Reports what is no YAML; undefined when nothing of it can be used. */
function parse(
  text: string,
  lineCounter: LineCounter,
  report: (offset: number, message: string) => void,
): Document.Parsed | undefined {
  if (DEEP_NESTING.test(text)) {
    report(0, TOO_DEEP);
    return undefined;
  }
  // Keys are compared by `readMap` rather than by the library, whose message names neither key nor position.
  const yaml = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
  for (const error of [...yaml.errors, ...yaml.warnings].slice(0, MAX_SYNTAX_ERRORS)) {
    const reason = EXPLANATIONS[error.code] ?? error.message.replace(/(?<=\S): .*$/s, '');
    report(error.pos[0], `not valid YAML: ${reason}`);
  }
  return yaml;
}

const MERGE = '<<';
const NO_MERGE = `${MERGE} takes over the keys of maps with an anchor: write \`${MERGE}: *name\` or \`${MERGE}: [*one, *two]\``;

/** The values of a document, whose positions are added to `document`. */
function readValues(
  yaml: Document.Parsed,
  document: SourceDocument,
  positionAt: (offset: number | undefined, path: Path) => Position,
): unknown {
  /** Nodes that were read to their end, which an alias may name. */
  const anchors = new Map<unknown, { readonly value: unknown; readonly path: Path }>();

  function read(node: ParsedNode | null, path: Path): unknown {
    if (isAlias(node)) return readAlias(node, path);
    document.addValue(positionAt(node?.range[0], path));
    const value = readContent(node, path);
    anchors.set(node, { value, path });
    return value;
  }

  function readAlias(alias: Alias.Parsed, path: Path): unknown {
    const anchor = anchors.get(alias.resolve(yaml));
    if (anchor === undefined) {
      const position = positionAt(alias.range[0], path);
      document.issues.report(position, 'this alias names no anchor that ends above it');
      return null;
    }
    document.addCopy(path, anchor.path);
    return anchor.value;
  }

  function readContent(node: ParsedNode | null, path: Path): unknown {
    if (isYamlMap(node)) return readMap(node, path);
    if (isSeq(node)) return node.items.map((item, index) => read(item, [...path, index]));
    // Text, number, boolean or null; an unknown tag was reported.
    return isScalar(node) ? node.value : null;
  }

  function readMap(map: YAMLMap.Parsed, path: Path): Container {
    const lines = new Map<string, number | undefined>();
    const merged: Container[] = [];
    const entries = map.items.flatMap(({ key, value }) => {
      const name = isScalar(key) ? String(key.value) : '';
      const position = positionAt(key.range[0], [...path, name]);
      if (!isScalar(key)) document.issues.report(positionAt(key.range[0], path), NO_KEY);
      if (lines.has(name)) document.issues.report(position, explainTwice(name, lines.get(name)));
      lines.set(name, position.line);
      if (name === MERGE && isScalar(key) && key.type === 'PLAIN') {
        merged.push(...readMerged(value, path));
        return [];
      }
      document.addKey(position);
      return [[name, read(value, [...path, name])] as const];
    });
    // The keys of the map win over those of `<<`, and of a list the first. A key `__proto__` is a key like any other.
    const all = [...merged.toReversed().flatMap((from) => Object.entries(from)), ...entries];
    return Object.fromEntries(all);
  }

  /** The maps whose keys `<<` takes over into the map at a path. */
  function readMerged(node: ParsedNode | null, path: Path): readonly Container[] {
    const items = isSeq(node) ? node.items : [node];
    return items.flatMap((item) => {
      const value = isAlias(item) ? readAlias(item, path) : undefined;
      // An alias without an anchor was reported.
      if (value === null) return [];
      if (isMap(value)) return [value];
      document.issues.report(positionAt(item?.range?.[0], path), NO_MERGE);
      return [];
    });
  }

  return read(yaml.contents, []);
}

function explainTwice(name: string, firstLine: number | undefined): string {
  return `the key ${quote(name)} is set twice, first in line ${firstLine}: remove one`;
}

/** A value as the text of a YAML file; a YAML file that is changed and written again, with its comments. */
export { parseDocument as parseYaml, stringify as formatYaml, visit as visitYaml } from 'yaml';
