import type { StartedProblem, WatchProblem } from '../findings/watch-problems.ts';
import { formatDuration } from '../format.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../polling/schedule.ts';

const REMINDER_MS = 10 * 60_000;

interface LoggedProblem {
  readonly problem: StartedProblem;
  /** All collectors that it has affected since its start. */
  readonly affected: ReadonlySet<string>;
  /** Monotonic ms. */
  readonly startedAtMs: number;
  /** When its start or the last reminder was logged, monotonic ms. */
  readonly loggedAtMs: number;
  /** Number of polls that failed because of it, or warned of it. */
  readonly polls: number;
}

/**
 * Logs the start and the end of each problem of watching a cluster, and a reminder every ten minutes. Example: connections
 * are refused from 12:00 to 12:25. There are lines at 12:00, 12:10 and 12:20 ("still failing") and 12:25 ("recovered").
 */
export class ProblemLog {
  readonly #log: Log;
  readonly #clock: Clock;
  #known: ReadonlyMap<string, LoggedProblem>;

  /** `previous` is the log of the cluster before a reload: its problems go on. */
  constructor(log: Log, clock: Clock, previous?: ProblemLog) {
    this.#log = log;
    this.#clock = clock;
    this.#known = previous === undefined ? new Map() : previous.#known;
  }

  /** The problems of the last update. */
  get problems(): readonly StartedProblem[] {
    return [...this.#known.values()].map(({ problem }) => problem);
  }

  /** Logs what has changed since the last update. To be called after each poll of a collector, also a skipped one. */
  update(problems: readonly WatchProblem[], collector: string): void {
    const before = this.#known;
    const logged = problems.map((problem) => {
      const known = before.get(problem.key);
      return known === undefined ? this.#begin(problem) : this.#continue(known, problem, collector);
    });
    this.#known = new Map(logged.map((one) => [one.problem.key, one]));
    for (const [key, known] of before) if (!this.#known.has(key)) this.#end(known, problems);
  }

  #begin(problem: WatchProblem): LoggedProblem {
    const { affects, reason, remedy: hint, message } = problem;
    const nowMs = this.#clock.monotonicMs();
    this.#log.warn({ collector: affects[0], reason, hint }, message);
    return {
      problem: { ...problem, sinceMs: this.#clock.wallMs() },
      affected: new Set(affects),
      startedAtMs: nowMs,
      loggedAtMs: nowMs,
      polls: 1,
    };
  }

  /** Logs a reminder if the last line is ten minutes old. */
  #continue(known: LoggedProblem, found: WatchProblem, collector: string): LoggedProblem {
    const { affects, reason, remedy: hint, message } = found;
    const problem = { ...found, sinceMs: known.problem.sinceMs };
    const affected = known.affected.union(new Set(affects));
    const polls = known.polls + Number(affects.includes(collector));
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - known.loggedAtMs < REMINDER_MS) return { ...known, problem, affected, polls };
    const since = new Date(problem.sinceMs).toISOString();
    const text = reason === undefined ? `still: ${message}` : `still failing: ${message}`;
    this.#log.warn({ affects: listed(affects), reason, since, polls, hint }, text);
    return { ...known, problem, affected, polls, loggedAtMs: nowMs };
  }

  /** Logs the end, unless one of its collectors fails with another problem now, and so has not recovered. */
  #end({ problem, affected, startedAtMs }: LoggedProblem, now: readonly WatchProblem[]): void {
    const { reason, message } = problem;
    const failing = now.filter((one) => one.reason !== undefined).flatMap(({ affects }) => affects);
    if (reason !== undefined && failing.some((name) => affected.has(name))) return;
    const lasted = formatDuration((this.#clock.monotonicMs() - startedAtMs) / 1000);
    const fields = { affects: listed([...affected]), reason };
    this.#log.info(fields, `recovered after ${lasted}: ${message}`);
  }
}

/** The value of the log field; undefined, which is not written, without collectors. */
function listed(collectors: readonly string[]): string | undefined {
  return collectors.length === 0 ? undefined : collectors.join(', ');
}
