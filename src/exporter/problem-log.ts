import type { StartedProblem, WatchProblem } from '../findings/watch-problems.ts';
import { formatDuration } from '../format.ts';
import type { Log } from '../log.ts';

/**
 * Logs the start and the end of each problem of watching a cluster. Example: connections are refused from 12:00 to 12:25.
 * There is a line at 12:00 and one at 12:25 ("recovered after 25 min").
 */
export class ProblemLog {
  readonly #log: Log;
  readonly #wallMs: () => number;
  #problems: readonly StartedProblem[];

  /** `problems` are those of the cluster before a reload, which go on. */
  constructor(log: Log, wallMs: () => number, problems: readonly StartedProblem[] = []) {
    this.#log = log;
    this.#wallMs = wallMs;
    this.#problems = problems;
  }

  /** The problems of the last update. */
  get problems(): readonly StartedProblem[] {
    return this.#problems;
  }

  /** Logs what has changed since the last update. To be called after each poll of a collector, also a skipped one. */
  update(found: readonly WatchProblem[]): void {
    const before = new Map(this.#problems.map((problem) => [problem.key, problem]));
    this.#problems = found.map((problem) => {
      const sinceMs = before.get(problem.key)?.sinceMs;
      if (sinceMs !== undefined) return { ...problem, sinceMs };
      const { affects, reason, remedy: hint, message } = problem;
      this.#log.warn({ collector: affects[0], reason, hint }, message);
      return { ...problem, sinceMs: this.#wallMs() };
    });
    for (const { key } of this.#problems) before.delete(key);
    for (const problem of before.values()) this.#logEnd(problem);
  }

  /** Nothing is logged if one of its collectors fails with another problem now, and so has not recovered. */
  #logEnd({ affects, reason, message, sinceMs }: StartedProblem): void {
    const failing = this.#problems.filter((problem) => problem.reason !== undefined);
    const isFailing = failing.some((problem) => problem.affects.some((it) => affects.includes(it)));
    if (reason !== undefined && isFailing) return;
    const lasted = formatDuration((this.#wallMs() - sinceMs) / 1000);
    const collectors = affects.length === 0 ? undefined : affects.join(', ');
    this.#log.info({ affects: collectors, reason }, `recovered after ${lasted}: ${message}`);
  }
}
