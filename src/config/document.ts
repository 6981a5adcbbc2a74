import {
  type Document,
  isAlias,
  isMap as isYamlMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
} from 'yaml';
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

/** Where the key or the value at a path is written; when it is missing, the map or list around it. */
type Locate = (path: Path, part: 'key' | 'value') => Position;

function onCommandLine(path: Path): Position {
  return { source: 'command line', path: formatPath(path) };
}

/** The values of file, variables and flags as one document, which knows where each was written. */
export class SourceDocument {
  readonly input: Container;
  readonly issues: ConfigIssues;
  readonly #locate: Locate;
  /** The positions of values that flags and variables set, and of the maps and lists that were made for these. */
  readonly #set = new Map<string, Position>();

  constructor(issues: ConfigIssues, input: Container = {}, locate: Locate = onCommandLine) {
    this.input = input;
    this.issues = issues;
    this.#locate = locate;
  }

  positionOf(path: Path, part: 'key' | 'value' = 'value'): Position {
    for (let length = path.length; length > 0; length--) {
      const found = this.#set.get(formatPath(path.slice(0, length)));
      if (found !== undefined) return { ...found, path: formatPath(path) };
    }
    return this.#locate(path, part);
  }

  /** Sets a value, making the maps and lists around it. */
  set(path: Path, value: unknown, source: string): void {
    let container = this.input;
    for (const [index, step] of path.entries()) {
      const position = { source, path: formatPath(path.slice(0, index + 1)) };
      const next = path[index + 1];
      if (next === undefined) {
        container[step] = value;
        this.#set.set(position.path, position);
      } else if (container[step] === undefined || container[step] === null) {
        container[step] = typeof next === 'number' ? [] : {};
        this.#set.set(position.path, position);
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
  MULTIPLE_DOCS: 'more than one document: remove the line ---',
  TAG_RESOLVE_FAILED: 'an unknown tag: put a text that begins with ! in quotes',
  RESOURCE_EXHAUSTION: 'maps and lists are nested too deep: close the { and [ before',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes: use single quotes or double the backslash',
};

const NO_KEY = 'only a text can be a key: put one that begins with { or [ in quotes';
const NO_ANCHOR = 'this alias names no anchor that ends above it';
const NO_MERGE =
  '<< takes over the keys of maps with an anchor: write `<<: *name` or `<<: [*one, *two]`';
/** More are of no help. */
const MAX_SYNTAX_ERRORS = 20;

/**
 * Reads YAML 1.2, with the keys that `<<` takes over. Syntax errors, keys that are set twice and aliases without an anchor
 * are reported; the document is empty then.
 */
export function readDocument(text: string, file: string, issues: ConfigIssues): SourceDocument {
  const lineCounter = new LineCounter();
  const yaml = parseDocument(text, { lineCounter, prettyErrors: false, merge: true });
  const positionAt = (offset: number, path: Path = []): Position => {
    const { line, col: column } = lineCounter.linePos(offset);
    return { source: file, line, column, path: formatPath(path) };
  };
  for (const { code, pos, message } of [...yaml.errors, ...yaml.warnings].slice(
    0,
    MAX_SYNTAX_ERRORS,
  )) {
    const [key] = /^[^\s:]*/.exec(text.slice(pos[0])) ?? [''];
    const reason =
      code === 'DUPLICATE_KEY'
        ? `the key ${quote(key)} is set twice: remove one`
        : (EXPLANATIONS[code] ?? message.replace(/(?<=\S): .*$/s, ''));
    issues.report(positionAt(pos[0]), `not valid YAML: ${reason}`);
  }
  reportMisuse(yaml, (node, message) => issues.report(positionAt(offsetOf(node)), message));
  const value: unknown = issues.problems.length > 0 ? {} : yaml.toJS({ maxAliasCount: -1 });
  if (!isMap(value ?? {})) {
    issues.report(positionAt(0), 'expected keys and values such as `clusters:` at the top');
  }
  return new SourceDocument(issues, isMap(value) ? value : {}, (path, part) => {
    const found = findNodes(yaml, path);
    return positionAt(offsetOf(found[part] ?? found.value), path);
  });
}

function offsetOf(node: unknown): number {
  const range = isContainer(node) ? node['range'] : undefined;
  return Array.isArray(range) ? Number(range[0]) : 0;
}

type Tree = Document.Parsed;

/** Reports keys, aliases and `<<` that the library accepts, or refuses only when it makes values. */
function reportMisuse(yaml: Tree, report: (node: unknown, message: string) => void): void {
  visit(yaml, {
    Alias(_, alias, ancestors) {
      const anchor = alias.resolve(yaml);
      if (anchor === undefined || ancestors.includes(anchor)) report(alias, NO_ANCHOR);
    },
    Pair(_, { key, value }) {
      if (!isScalar(key)) report(key, NO_KEY);
      const sources = isMerge(key) ? listSources(value) : [];
      if (!sources.every((each) => isYamlMap(resolve(yaml, each)))) report(value, NO_MERGE);
    },
  });
}

function nameOf(key: unknown): string {
  return isScalar(key) ? (key.source ?? String(key.value)) : '';
}

function isMerge(key: unknown): boolean {
  return isScalar(key) && key.type === 'PLAIN' && key.source === '<<';
}

/** The maps, or aliases of maps, whose keys `<<` takes over. */
function listSources(value: unknown): readonly unknown[] {
  return isSeq(value) ? value.items : [value];
}

function resolve(yaml: Tree, node: unknown): unknown {
  return isAlias(node) ? node.resolve(yaml) : node;
}

/** A value in the tree, and its key where that is in a map. */
interface Member {
  readonly key?: unknown;
  readonly value: unknown;
}

/** The key and the value at a path. When there is none, the value is the map or list around it. */
function findNodes(yaml: Tree, path: Path): Member {
  let found: Member = { value: yaml.contents };
  for (const step of path) {
    const next = findMember(yaml, found.value, step);
    if (next === undefined) return { value: found.value };
    found = next;
  }
  return found;
}

/** The keys of a map win over those of `<<`, and of a list of maps the first. */
function findMember(yaml: Tree, node: unknown, step: string | number): Member | undefined {
  const container = resolve(yaml, node);
  if (isSeq(container)) {
    const value = container.items[Number(step)];
    return value === undefined ? undefined : { value };
  }
  if (!isYamlMap(container)) return undefined;
  const member = container.items.find(({ key }) => !isMerge(key) && nameOf(key) === String(step));
  if (member !== undefined) return member;
  for (const { key, value } of container.items) {
    for (const source of isMerge(key) ? listSources(value) : []) {
      const inherited: { readonly key?: unknown; readonly value: unknown } | undefined = findMember(
        yaml,
        source,
        step,
      );
      if (inherited !== undefined) return inherited;
    }
  }
  return undefined;
}

export { parseDocument as parseYaml, stringify as formatYaml, visit as visitYaml } from 'yaml';
