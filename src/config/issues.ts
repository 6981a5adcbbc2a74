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

/** Collects what is found while a configuration is read, so that all of it is reported at once. */
export class ConfigIssues {
  readonly problems: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];

  report(position: Position, message: string): void {
    addOnce(this.problems, { position, message });
  }

  warn(position: Position, message: string): void {
    addOnce(this.warnings, { position, message });
  }

  throwIfAny(): void {
    if (this.problems.length > 0) throw new ConfigError(this.problems);
  }
}

/** An issue of keys that clusters share by `<<` or an alias is found for each of them, and kept once. */
function addOnce(list: ConfigIssue[], found: ConfigIssue): void {
  if (!list.some((other) => identify(other) === identify(found))) list.push(found);
}

function identify({ position: { source, line, column, path }, message }: ConfigIssue): string {
  return [source, line ?? path, column, message].join(' ');
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
  return issues.toSorted(byPosition).map(formatIssue).join('\n');
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
  if (typeof value === 'string') return quote(value.replace(/\/\/.*@/s, '//<secret>@'));
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : 'a map';
}

export function quote(text: string): string {
  const isLong = text.length > MAX_SHOWN_LENGTH;
  return JSON.stringify(isLong ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text);
}
