import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Document, Pair, ParsedNode, YAMLMap, YAMLSeq } from 'yaml';
import { type ConfigIssues, type Place, quote } from './issues.ts';
import { type Container, createMap, joinPath, Places, type SourceDocument } from './places.ts';

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
    if (isMap(contents)) {
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
    if (isMap(node)) return this.#readMap(node, place);
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
