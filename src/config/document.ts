import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Document, Pair, ParsedNode, YAMLMap } from 'yaml';
import type { Findings } from './findings.ts';
import { joinPath, quote } from './raw.ts';
import type { Place, Raw, RawEntry, RawMap, RawScalar } from './raw.ts';

interface Reading {
  readonly document: Document.Parsed;
  readonly findings: Findings;
  /** The nodes that an alias may name, done or (undefined) under way. */
  readonly done: Map<unknown, Raw | undefined>;
  place(node: { range?: readonly number[] | null | undefined } | null, path: string): Place;
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
export function readDocument(
  text: string,
  file: { readonly name: string; readonly folder: string },
  findings: Findings,
): RawMap {
  const lines = new LineCounter();
  // Keys are compared here rather than by the library, whose message names neither key nor place.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const place: Reading['place'] = (node, path) => {
    const { line, col } = lines.linePos(node?.range?.[0] ?? 0);
    return { source: file.name, line, column: col, path, folder: file.folder };
  };
  for (const error of [...document.errors, ...document.warnings]) {
    const reason = EXPLANATIONS[error.code] ?? error.message.replace(/(?<=\S): .*$/s, '');
    findings.report(place({ range: error.pos }, ''), `not valid YAML: ${reason}`);
  }
  return readRoot({ document, findings, done: new Map(), place });
}

function readRoot(reading: Reading): RawMap {
  const root = readNode(reading.document.contents, '', reading);
  if (root.form === 'map') return root;
  if (root.form === 'list' || root.value !== null) {
    reading.findings.report(root.place, 'expected keys and values such as `clusters:` at the top');
  }
  return { form: 'map', place: root.place, entries: new Map() };
}

function readNode(node: ParsedNode | null, path: string, reading: Reading): Raw {
  if (isAlias(node)) return readAlias(node, path, reading);
  reading.done.set(node, undefined);
  const raw = readPlain(node, path, reading);
  reading.done.set(node, raw);
  return raw;
}

function readPlain(node: ParsedNode | null, path: string, reading: Reading): Raw {
  const place = reading.place(node, path);
  if (isMap(node)) return { form: 'map', place, entries: readEntries(node, path, reading) };
  if (isSeq(node)) {
    const items = node.items.map((item, index) => readNode(item, `${path}[${index}]`, reading));
    return { form: 'list', place, items };
  }
  return { form: 'scalar', place, value: scalarValue(node), isUntyped: false };
}

/** Text, number, boolean or nothing; what an unknown tag makes of a text stays that text. */
function scalarValue(node: ParsedNode | null): RawScalar['value'] {
  if (!isScalar(node)) return null;
  const { value, source } = node;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  return value === null ? null : (source ?? null);
}

/** An alias stands for the very value of its anchor; one inside its own anchor has none. */
function readAlias(node: ParsedNode, path: string, reading: Reading): Raw {
  const target = isAlias(node) ? node.resolve(reading.document) : undefined;
  const raw = reading.done.get(target);
  if (raw !== undefined) return raw;
  const place = reading.place(node, path);
  reading.findings.report(place, 'this alias names no anchor that ends above it');
  return { form: 'scalar', place, value: null, isUntyped: false };
}

function readEntries(
  map: YAMLMap.Parsed,
  path: string,
  reading: Reading,
): ReadonlyMap<string, RawEntry> {
  const entries = new Map<string, RawEntry>();
  for (const pair of map.items) {
    const name = keyName(pair);
    const key = reading.place(pair.key, joinPath(path, name));
    const first = entries.get(name);
    if (first !== undefined) {
      reading.findings.report(
        key,
        `the key ${quote(name)} is set twice, first in line ${first.key.line}: remove one`,
      );
    }
    entries.set(name, { key, value: readNode(pair.value, key.path, reading) });
  }
  return entries;
}

function keyName(pair: Pair<ParsedNode, ParsedNode | null>): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}
