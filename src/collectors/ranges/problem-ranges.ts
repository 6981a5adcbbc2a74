import { LISTED_PROBLEMS } from '../../vocabulary.ts';
import { forEachProblem, type Place } from './range.ts';

/** The lowest node, and on it the lowest store, that reports a problem of a range. */
export interface Reporter {
  readonly nodeId: number;
  /** 0 where it is not known. */
  readonly storeId: number;
  readonly place: Place;
}

export interface ProblemRange extends Reporter {
  readonly rangeId: number;
  readonly firstSeenSeconds: number;
}

/** First-seen times that are remembered per problem. Beyond, the time of a range begins when the list is not full. */
export const MAX_REMEMBERED = 1_000;

/** The reporters of problems, for one node or one scan: of the remembered ranges and of the lowest of the new ids. */
export class ProblemReports {
  readonly #history: ProblemHistory;
  readonly #byProblem = LISTED_PROBLEMS.map(() => new Map<number, Reporter>());

  constructor(history: ProblemHistory) {
    this.#history = history;
  }

  /** `problems` has a bit per problem. */
  add(rangeId: number, problems: number, reporter: Reporter): void {
    forEachProblem(problems, (problem) => this.#note(problem, rangeId, reporter));
  }

  addAll(others: ProblemReports): void {
    others.#byProblem.forEach((reporters, problem) => {
      for (const [rangeId, reporter] of reporters) this.#note(problem, rangeId, reporter);
    });
  }

  /** Reporters by range id, of the problem with that index. */
  of(problem: number): ReadonlyMap<number, Reporter> {
    return this.#byProblem[problem] ?? new Map();
  }

  #note(problem: number, rangeId: number, reporter: Reporter): void {
    const reporters = this.#byProblem[problem];
    if (reporters === undefined) return;
    const other = reporters.get(rangeId);
    if (other === undefined || isLower(reporter, other)) reporters.set(rangeId, reporter);
    if (reporters.size > 4 * MAX_REMEMBERED) this.#cut(problem, reporters);
  }

  #cut(problem: number, reporters: Map<number, Reporter>): void {
    const remembered = this.#history.byProblem[problem];
    const isNew = (rangeId: number): boolean => remembered?.has(rangeId) !== true;
    const fresh = [...reporters.keys()].filter(isNew).toSorted((a, b) => a - b);
    for (const rangeId of fresh.slice(MAX_REMEMBERED)) reporters.delete(rangeId);
  }
}

/** By node, then by store. */
export function isLower(a: Reporter, b: Reporter): boolean {
  return a.nodeId < b.nodeId || (a.nodeId === b.nodeId && a.storeId < b.storeId);
}

/** When problems were first seen, from scan to scan. */
export class ProblemHistory {
  /** By index of LISTED_PROBLEMS: the oldest problems by range id, more than are listed. */
  byProblem: readonly ReadonlyMap<number, ProblemRange>[] = LISTED_PROBLEMS.map(() => new Map());

  /**
   * Takes over what a scan reported: a range keeps its first-seen time or gets `nowSeconds`; what is no longer reported
   * is forgotten, unless its node is unread. Returns the reported ranges by problem, oldest first.
   */
  update(
    reports: ProblemReports,
    nowSeconds: number,
    unreadNodes: ReadonlySet<number>,
  ): readonly (readonly ProblemRange[])[] {
    const reported: ProblemRange[][] = [];
    this.byProblem = this.byProblem.map((remembered, problem) => {
      const reporters = reports.of(problem);
      const current = Array.from(reporters, ([rangeId, reporter]) => {
        const firstSeenSeconds = remembered.get(rangeId)?.firstSeenSeconds ?? nowSeconds;
        return { rangeId, firstSeenSeconds, ...reporter };
      }).toSorted(byAge);
      reported.push(current);
      const kept = [...remembered.values()].filter(
        ({ rangeId, nodeId }) => !reporters.has(rangeId) && unreadNodes.has(nodeId),
      );
      const oldest = [...kept, ...current].toSorted(byAge).slice(0, MAX_REMEMBERED);
      return new Map(oldest.map((range) => [range.rangeId, range]));
    });
    return reported;
  }
}

function byAge(a: ProblemRange, b: ProblemRange): number {
  return a.firstSeenSeconds - b.firstSeenSeconds || a.rangeId - b.rangeId;
}
