import { type Log, toTimestamp, WallClockSteps } from '#base';
import { sql } from '#collectors';
import type { Observation, WatchProblem } from './observation.ts';
import {
  type FoundProblem,
  pollProblems,
  pollWarnings,
  readApis,
  readCollector,
  readUrls,
  urlProblems,
} from './poll-problems.ts';
import { logChanges } from './problem-log.ts';
import { queryProblems, readQueries } from './query-problems.ts';

/** The problems of watching one cluster, and since when they last. */
export class WatchHistory {
  readonly #log: Log;
  readonly #monotonicMs: () => number;
  readonly #wallClock = new WallClockSteps();
  #identity: symbol | undefined;
  /** After the last poll, with those that are only logged. */
  #problems: readonly WatchProblem[] = [];

  constructor(log: Log, monotonicMs: () => number) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  /** The problems now: those that the last poll did not find begin now. */
  read(cluster: Watched, nowMs: number): readonly WatchProblem[] {
    this.#followClock(nowMs);
    return this.#date(findWatchProblems(cluster, this.#problems), nowMs);
  }

  /** Remembers and logs what a poll has changed. Of a cluster that was replaced nothing is remembered. */
  record(cluster: Watched & Pick<Observation, 'identity'>, nowMs: number): void {
    this.#followClock(nowMs);
    const before = this.#problems;
    if (this.#identity !== cluster.identity) this.#problems = [];
    this.#identity = cluster.identity;
    const found = [...findWatchProblems(cluster, this.#problems), ...pollWarnings(cluster.pollers)];
    this.#problems = this.#date(found, nowMs);
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
      since: toTimestamp(Date.parse(problem.since) + stepMs) ?? problem.since,
    }));
  }
}

type Watched = Pick<Observation, 'name' | 'config' | 'pollers' | 'upstreams' | 'isUp' | 'result'>;

function findWatchProblems(
  cluster: Watched,
  previous: readonly WatchProblem[],
): readonly FoundProblem[] {
  const { name, config, pollers } = cluster;
  const collectors = pollers.map(readCollector);
  const view = { name, collectors, apis: readApis(cluster) };
  const isBlind = view.apis.some(({ api, isUp }) => api === 'cluster' && isUp === false);
  // Where no statement gets a response, that is the problem of the poll.
  const isSqlFailing = collectors.some(
    (each) => each.name === sql.name && each.state === 'failing',
  );
  return [
    ...pollProblems(view, previous),
    // URLs that all fail have a problem in the failed polls.
    ...(isBlind ? [] : urlProblems(readUrls(cluster), view, previous)),
    ...(isSqlFailing ? [] : queryProblems(readQueries(cluster.result(sql), config) ?? [], name)),
  ];
}
