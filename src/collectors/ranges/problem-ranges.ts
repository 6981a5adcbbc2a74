import { PROBLEMS } from '#base';
import { forEachProblem, type ReplicaColumns } from './replica.ts';
import type { ListedRange, ProblemRange } from './scan-result.ts';

/** The replicas of a node from one index to before another. */
export interface ReplicaSlice {
  readonly nodeId: number;
  readonly replicas: ReplicaColumns;
  readonly from: number;
  readonly to: number;
}

/** The range of a replica, as lists name it. */
export function listedRange(nodeId: number, replicas: ReplicaColumns, index: number): ListedRange {
  return {
    rangeId: replicas.rangeIds[index] ?? 0,
    nodeId,
    storeId: replicas.storeIds[index] ?? 0,
    tableIndex: replicas.tableIndexes[index] ?? 0,
    lastTableId: replicas.lastTableIds[index] || undefined,
  };
}

/** The index of the problem that lost ranges have, which no node reports. */
export const NO_LIVE_REPLICA = PROBLEMS.indexOf('no_live_replica');
/** First-seen times that are remembered per problem. A further range gets its time when one of these is forgotten. */
export const MAX_REMEMBERED = 1_000;

/**
 * The ranges with each problem, from scan to scan, and when it was first seen. Of a scan those are held that are remembered
 * and those with the lowest ids: of 20,000 unavailable ranges at most 4,000 and the remembered ones.
 */
export class ProblemRanges {
  /** The oldest ranges by index of PROBLEMS, then by id: more than are listed. */
  #remembered: readonly ReadonlyMap<number, ProblemRange>[] = PROBLEMS.map(() => new Map());
  /** The ranges of this scan by index of PROBLEMS, then by id. */
  #reported: readonly Map<number, ListedRange>[] = [];

  begin(): void {
    this.#reported = PROBLEMS.map(() => new Map());
  }

  add({ nodeId, replicas, from, to }: ReplicaSlice): void {
    for (let index = from; index < to; index += 1) {
      const problems = replicas.problems[index] ?? 0;
      if (problems !== 0) this.addRange(problems, listedRange(nodeId, replicas, index));
    }
  }

  /** `problems` has a bit for each of PROBLEMS. */
  addRange(problems: number, range: ListedRange): void {
    forEachProblem(problems, (problem) => {
      const reported = this.#reported[problem];
      if (reported === undefined) return;
      const other = reported.get(range.rangeId);
      if (other === undefined || isLower(range, other)) reported.set(range.rangeId, range);
      if (reported.size > 4 * MAX_REMEMBERED) this.#cut(problem, reported);
    });
  }

  /** Takes these ranges out of this scan, and those that nobody has any more, as after a merge. */
  leaveOut(ignored: ReadonlySet<number>, hasReplica: (rangeId: number) => boolean): void {
    for (const [problem, reported] of this.#reported.entries()) {
      for (const id of reported.keys()) {
        const isGone = problem !== NO_LIVE_REPLICA && !hasReplica(id);
        if (isGone || ignored.has(id)) reported.delete(id);
      }
    }
  }

  #cut(problem: number, reported: Map<number, ListedRange>): void {
    const remembered = this.#remembered[problem];
    const isNew = (rangeId: number): boolean => remembered?.has(rangeId) !== true;
    const newIds = [...reported.keys()].filter(isNew).toSorted((a, b) => a - b);
    for (const rangeId of newIds.slice(MAX_REMEMBERED)) reported.delete(rangeId);
  }

  /** The clock was set: ranges are listed for as long as before. */
  moveTimes(bySeconds: number): void {
    this.#remembered = this.#remembered.map(
      (ranges) =>
        new Map(
          Array.from(ranges, ([rangeId, range]) => [
            rangeId,
            { ...range, firstSeenSeconds: range.firstSeenSeconds + bySeconds },
          ]),
        ),
    );
  }

  /**
   * Ends the scan: a range keeps its first-seen time or gets `nowSeconds`; what is no longer reported is forgotten, unless
   * its node is unread. A lost range that any node has reported is lost no longer. Returns the reported ranges by index of PROBLEMS, oldest
   * first.
   */
  end(
    nowSeconds: number,
    unreadNodes: ReadonlySet<number>,
    hasReplica: (rangeId: number) => boolean,
  ): readonly (readonly ProblemRange[])[] {
    const before = this.#remembered;
    const listed = this.#reported.map((reported, problem) =>
      Array.from(reported.values(), (range) => {
        const known = before[problem]?.get(range.rangeId);
        return { ...range, firstSeenSeconds: known?.firstSeenSeconds ?? nowSeconds };
      }).toSorted(byAge),
    );
    this.#remembered = listed.map((ranges, problem) => {
      const unread = Array.from(before[problem]?.values() ?? []).filter(
        ({ rangeId, nodeId }) =>
          unreadNodes.has(nodeId) &&
          this.#reported[problem]?.has(rangeId) !== true &&
          !(problem === NO_LIVE_REPLICA && hasReplica(rangeId)),
      );
      const oldest = [...unread, ...ranges].toSorted(byAge).slice(0, MAX_REMEMBERED);
      return new Map(oldest.map((range) => [range.rangeId, range]));
    });
    return listed;
  }
}

/** Whether the replica of `a` is on a lower node, or on a lower store of the same node. */
export function isLower(a: ListedRange, b: ListedRange): boolean {
  return a.nodeId < b.nodeId || (a.nodeId === b.nodeId && a.storeId < b.storeId);
}

function byAge(a: ProblemRange, b: ProblemRange): number {
  return a.firstSeenSeconds - b.firstSeenSeconds || a.rangeId - b.rangeId;
}
