/** Where something is written: in the file (with line and column), in a flag or in a variable. */
export interface Place {
  /** The file as the user named it, `--flag` or the name of the variable. */
  readonly source: string;
  readonly line?: number;
  readonly column?: number;
  /** The dotted key, such as `clusters[0].cluster_api.urls[1]`; empty for the whole document. */
  readonly path: string;
  /** What relative paths written here are relative to. */
  readonly folder: string;
}

export interface RawScalar {
  readonly form: 'scalar';
  readonly place: Place;
  readonly value: string | number | boolean | null;
  /** True for flags and variables, whose text may stand for a number or a boolean. */
  readonly isUntyped: boolean;
}

interface RawList {
  readonly form: 'list';
  readonly place: Place;
  readonly items: readonly Raw[];
}

export interface RawMap {
  readonly form: 'map';
  readonly place: Place;
  readonly entries: ReadonlyMap<string, RawEntry>;
}

export interface RawEntry {
  readonly key: Place;
  readonly value: Raw;
}

/** What was written, before anybody asked what it means. */
export type Raw = RawScalar | RawList | RawMap;

const LONGEST_SHOWN = 80;

/** The value as an error message shows it. */
export function show(raw: Raw): string {
  if (raw.form !== 'scalar') return `a ${raw.form}`;
  if (raw.value === null) return 'nothing';
  return typeof raw.value === 'string' ? quote(raw.value) : String(raw.value);
}

export function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);
}

/** The dotted key of a member: `clusters[0]` and `name` make `clusters[0].name`. */
export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
