import { PROBLEMS } from './range.ts';

/** The lowest node, and on it the lowest store, that reports a problem of a range. */
export interface Reporter {
  readonly nodeId: number;
  readonly storeId: number;
  readonly tableId: string;
}

export interface ProblemRange extends Reporter {
  readonly rangeId: number;
  readonly firstSeenSeconds: number;
}

type Remembered = ReadonlyMap<number, ProblemRange>;

/** By index of PROBLEMS: the oldest problems by range id, more than are shown. */
export interface ProblemMemory {
  byProblem: readonly Remembered[];
}

export function createProblemMemory(): ProblemMemory {
  return { byProblem: PROBLEMS.map(() => new Map()) };
}

/**
 * First-seen times that are remembered per problem. Beyond, when a large part of a cluster is ill, a range's
 * time begins when there is room for it.
 */
export const MAX_REMEMBERED = 1_000;

/** Who reports what, for one node or one scan: the remembered ranges and the lowest of the new ids. */
export class ProblemReports {
  readonly #memory: ProblemMemory;
  readonly #byProblem = PROBLEMS.map(() => new Map<number, Reporter>());

  constructor(memory: ProblemMemory) {
    this.#memory = memory;
  }

  /** `problems` has a bit per problem. */
  add(rangeId: number, problems: number, reporter: Reporter): void {
    for (let rest = problems; rest !== 0; rest &= rest - 1) {
      this.#note(31 - Math.clz32(rest & -rest), rangeId, reporter);
    }
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
    const remembered = this.#memory.byProblem[problem];
    const isNew = (rangeId: number): boolean => remembered?.has(rangeId) !== true;
    const fresh = [...reporters.keys()].filter(isNew).toSorted((a, b) => a - b);
    for (const rangeId of fresh.slice(MAX_REMEMBERED)) reporters.delete(rangeId);
  }
}

function isLower(a: Reporter, b: Reporter): boolean {
  return a.nodeId < b.nodeId || (a.nodeId === b.nodeId && a.storeId < b.storeId);
}

/**
 * Takes a scan into the memory: what is reported keeps its first-seen time or gets `nowSeconds`, what is no longer
 * reported is forgotten, unless its reporter could not be asked. Returns the reported ranges by problem, oldest first.
 */
export function rememberProblems(
  memory: ProblemMemory,
  reports: ProblemReports,
  scan: { readonly nowSeconds: number; readonly isUnread: (nodeId: number) => boolean },
): readonly (readonly ProblemRange[])[] {
  const reported: ProblemRange[][] = [];
  memory.byProblem = memory.byProblem.map((remembered, problem) => {
    const now: ProblemRange[] = [];
    for (const [rangeId, reporter] of reports.of(problem)) {
      const firstSeenSeconds = remembered.get(rangeId)?.firstSeenSeconds ?? scan.nowSeconds;
      now.push({ rangeId, firstSeenSeconds, ...reporter });
    }
    now.sort(byAge);
    reported.push(now);
    const kept = [...remembered.values()].filter(
      ({ rangeId, nodeId }) => !reports.of(problem).has(rangeId) && scan.isUnread(nodeId),
    );
    const oldest = [...kept, ...now].toSorted(byAge).slice(0, MAX_REMEMBERED);
    return new Map(oldest.map((range) => [range.rangeId, range]));
  });
  return reported;
}

function byAge(a: ProblemRange, b: ProblemRange): number {
  return a.firstSeenSeconds - b.firstSeenSeconds || a.rangeId - b.rangeId;
}
