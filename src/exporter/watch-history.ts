import { type Log, moveTime, toTimestamp, WallClockSteps } from '#base';
import { sql } from '#collectors';
import type { Observation, WatchProblem } from './observation.ts';
import {
  findUrlProblems,
  type FoundProblem,
  pollProblems,
  pollWarnings,
  readApis,
  readCollector,
} from './poll-problems.ts';
import { logChanges } from './problem-log.ts';
import { QUERY_KEY, queryProblems, readQueries } from './query-problems.ts';

/** The problems of watching one cluster, and since when they last. */
export class WatchHistory {
  readonly #log: Log;
  readonly #monotonicMs: () => number;
  readonly #wallClock = new WallClockSteps();
  #identity: symbol | undefined;
  /** After the last poll, with those that are only logged, and those that may be over or not. */
  #problems: readonly WatchProblem[] = [];

  constructor(log: Log, monotonicMs: () => number) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  /** The problems now: those that the last poll did not find begin now. */
  read(cluster: Observation, nowMs: number): readonly WatchProblem[] {
    this.#followClock(nowMs);
    return this.#date(findWatchProblems(cluster, this.#problems).found, nowMs);
  }

  /** Remembers and logs what a poll has changed. Of a cluster that was replaced nothing is remembered. */
  record(cluster: Observation, nowMs: number): void {
    this.#followClock(nowMs);
    const before = this.#problems;
    if (this.#identity !== cluster.identity) this.#problems = [];
    this.#identity = cluster.identity;
    const { found, unknown } = findWatchProblems(cluster, this.#problems);
    const warnings = pollWarnings(cluster.pollers);
    this.#problems = this.#date([...found, ...unknown, ...warnings], nowMs);
    logChanges(this.#log, before, this.#problems, nowMs);
  }

  #date(found: readonly FoundProblem[], nowMs: number): readonly WatchProblem[] {
    const since = new Map(this.#problems.map((problem) => [problem.key, problem.since]));
    const now = toTimestamp(nowMs) ?? '';
    return found.map((problem) => ({ ...problem, since: since.get(problem.key) ?? now }));
  }

  /** A step of the wall clock makes no problem older or younger. */
  #followClock(nowMs: number): void {
    const stepMs = this.#wallClock.read(nowMs, this.#monotonicMs());
    if (stepMs === 0) return;
    this.#problems = this.#problems.map((problem) => ({
      ...problem,
      since: moveTime(problem.since, stepMs),
    }));
  }
}

/**
 * The problems that are found now, and earlier ones that nobody can confirm or deny now. Example: one of two URLs fails at 12:00, both
 * from 12:05 to 12:10. Meanwhile the failed polls are the problem, and the problem of the URL neither ends nor begins again.
 */
function findWatchProblems(
  cluster: Observation,
  previous: readonly WatchProblem[],
): { readonly found: readonly FoundProblem[]; readonly unknown: readonly WatchProblem[] } {
  const { name, config, pollers } = cluster;
  const collectors = pollers.map(readCollector);
  const view = { name, collectors, apis: readApis(cluster) };
  // Where no statement gets a response, that is the problem of the poll.
  const isSqlFailing = collectors.some(
    (each) => each.name === sql.name && each.state === 'failing',
  );
  const urls = findUrlProblems(cluster);
  const queries = readQueries(cluster.result(sql), config) ?? [];
  // After a reload a changed query has not run again.
  const waiting = queries.flatMap((query) =>
    query.state === 'waiting' ? [`${QUERY_KEY}${query.name}`] : [],
  );
  return {
    found: [
      ...pollProblems(view, previous),
      ...urls.found,
      ...(isSqlFailing ? [] : queryProblems(queries, name)),
    ],
    unknown: previous.filter(
      ({ key }) =>
        urls.unknown.has(key) ||
        waiting.includes(key) ||
        (isSqlFailing && key.startsWith(QUERY_KEY)),
    ),
  };
}
