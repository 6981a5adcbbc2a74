/** Where something is written: in the file (with line and column), in a flag or in a variable. */
export interface Position {
  /** The file as the user named it, `--flag` or the name of the variable. */
  readonly source: string;
  readonly line?: number;
  readonly column?: number;
  /** The dotted key, such as `clusters[0].cluster_api.urls[1]`; empty for the whole document. */
  readonly path: string;
}

/** One thing wrong with the configuration: where, which key, what is there and how to fix it. */
export interface ConfigIssue {
  readonly position: Position;
  readonly message: string;
}

/** More are of no help, and a file of 1 MiB may have a million. */
const MAX_LISTED = 100;

/**
 * Collects what is found while a configuration is read, so that it is reported at once: of problems and of warnings the first
 * 100, plus one to say that there are more.
 */
export class ConfigIssues {
  readonly problems: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];
  readonly #seen = new Set<string>();

  /** Whether nothing is gained by a search for more problems. */
  get isFull(): boolean {
    return this.problems.length > MAX_LISTED;
  }

  report(position: Position, message: string): void {
    this.#addOnce(this.problems, { position, message });
  }

  warn(position: Position, message: string): void {
    this.#addOnce(this.warnings, { position, message });
  }

  throwIfAny(): void {
    if (this.problems.length > 0) throw new ConfigError(this.problems);
  }

  /** An issue of keys that clusters share by `<<` or an alias is found for each of them, and kept once. */
  #addOnce(list: ConfigIssue[], found: ConfigIssue): void {
    const { source, line, column, path } = found.position;
    const identity = [source, line ?? path, column, found.message].join(' ');
    if (list.length > MAX_LISTED || this.#seen.has(identity)) return;
    this.#seen.add(identity);
    list.push(found);
  }
}

/** The configuration cannot be used; `problems` holds every reason. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigIssue[];

  constructor(problems: readonly ConfigIssue[]) {
    super(formatIssues(problems));
    this.problems = problems;
  }
}

/** Flags that contradict each other: wrong usage of the command line, not a wrong file. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One issue a line, as `file:line:column: key: what is wrong and what to do`, in the order of the file. */
export function formatIssues(issues: readonly ConfigIssue[]): string {
  const lines = issues.toSorted(byPosition).slice(0, MAX_LISTED).map(formatIssue);
  if (issues.length > MAX_LISTED) lines.push(`and more: these are ${MAX_LISTED} of those found`);
  return lines.join('\n');
}

function formatIssue({ position: { source, line, column, path }, message }: ConfigIssue): string {
  const where = line === undefined ? source : `${source}:${line}:${column}`;
  return [where, path, message].filter((part) => part !== '').join(': ');
}

function byPosition({ position: a }: ConfigIssue, { position: b }: ConfigIssue): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** A map or a list as it was written: plain values, not validated yet. */
export type Container = Record<string, unknown>;

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

export function isMap(value: unknown): value is Container {
  return isContainer(value) && !Array.isArray(value);
}

const MAX_SHOWN_LENGTH = 80;

/** A value as an error message shows it; without the user and password of a URL. */
export function show(value: unknown): string {
  if (typeof value === 'string') return quote(hideUser(value));
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : 'a map';
}

/** Hides what stands between the first // and the last @. */
function hideUser(text: string): string {
  const [start, end] = [text.indexOf('//'), text.lastIndexOf('@')];
  return start < 0 || end < start ? text : `${text.slice(0, start)}//<secret>${text.slice(end)}`;
}

export function quote(text: string): string {
  const isLong = text.length > MAX_SHOWN_LENGTH;
  return JSON.stringify(isLong ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text);
}
