import type { Place } from './raw.ts';

/** One thing wrong with the configuration: where, which key, what is there and how to mend it. */
export interface Problem {
  readonly place: Place;
  readonly message: string;
}

/** Collects what is found while a configuration is read, so that all of it is told at once. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  report(place: Place, message: string): void;
  warn(place: Place, message: string): void;
}

/** Empty findings. The same problem of the same place, met twice by shared settings, is kept once. */
export function createFindings(): Findings {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  return {
    problems,
    warnings,
    report: (place, message) => addOnce(problems, { place, message }),
    warn: (place, message) => addOnce(warnings, { place, message }),
  };
}

function addOnce(list: Problem[], found: Problem): void {
  const text = formatProblem(found);
  if (!list.some((other) => formatProblem(other) === text)) list.push(found);
}

/** The configuration cannot be used; `problems` holds every reason. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(formatProblems(problems));
    this.problems = problems;
  }
}

/** Flags that contradict each other: wrong usage of the command line, not a wrong file. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One problem a line, as `file:line:column: key: what is wrong and what to do`, in the order of the file. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems.toSorted(byPlace).map(formatProblem).join('\n');
}

function formatProblem({ place, message }: Problem): string {
  const where =
    place.line === undefined ? place.source : `${place.source}:${place.line}:${place.column}`;
  return [where, place.path, message].filter((part) => part !== '').join(': ');
}

function byPlace(a: Problem, b: Problem): number {
  const lines = (a.place.line ?? 0) - (b.place.line ?? 0);
  return lines === 0 ? (a.place.column ?? 0) - (b.place.column ?? 0) : lines;
}
