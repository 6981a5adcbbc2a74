import { PROBLEMS, sum } from '#base';
import { interleave, type Ranked, rankItems, TopList } from '../top-list.ts';
import {
  forEachProblem,
  labelOfTable,
  NO_LEASE,
  type ReplicaColumns,
  tableOf,
  UNKNOWN_TABLE,
} from './replica.ts';
import type { HotRange, ListedRange, ProblemRange, ShownTables, TableLoad } from './scan-result.ts';

/** The replicas of a node from one index to before another. */
export interface ReplicaSlice {
  readonly nodeId: number;
  readonly replicas: ReplicaColumns;
  readonly from: number;
  readonly to: number;
}

interface HotEntry extends Ranked {
  readonly range: HotRange;
}

/** The lists of hot ranges, from scan to scan: those with most queries and those with most CPU. */
export class HotRanges {
  readonly #byQueries = new TopList<HotEntry>();
  readonly #byCpu = new TopList<HotEntry>();

  /** Begins a scan, after which at most `length` ranges are listed by each measure. */
  begin(length: number): void {
    this.#byQueries.begin(length);
    this.#byCpu.begin(length);
  }

  /** Adds the ranges whose lease a replica holds. `sendsCpu`: the server of the node leaves out only a CPU of 0. */
  add({ nodeId, replicas, from, to }: ReplicaSlice, sendsCpu: boolean): void {
    for (let index = from; index < to; index += 1) {
      if (replicas.leases[index] === NO_LEASE) continue;
      const id = replicas.rangeIds[index] ?? 0;
      const queries = replicas.queries[index] ?? 0;
      const cpuNanos = replicas.cpuNanos[index] ?? 0;
      const isBusy = cpuNanos > 0 && this.#byCpu.wants(id, cpuNanos);
      // Most ranges end here, before an object is made.
      if (!isBusy && !this.#byQueries.wants(id, queries)) continue;
      const range = {
        ...listedRange(nodeId, replicas, index),
        queries,
        writes: replicas.writes[index] ?? 0,
        cpuSeconds: sendsCpu ? cpuNanos / 1e9 : undefined,
      };
      this.#byQueries.add({ id, value: queries, range });
      if (isBusy) this.#byCpu.add({ id, value: cpuNanos, range });
    }
  }

  /** Ends the scan. Returns the hottest ranges by either measure first. */
  end(): readonly HotRange[] {
    const lists = [this.#byQueries.end(), this.#byCpu.end()];
    // Two stores may claim the lease of a range for a moment: that with more queries is believed.
    const byId = new Map(lists.toReversed().flatMap((list) => list.map((each) => [each.id, each])));
    const ids = interleave(lists.map((list) => list.map(({ id }) => id)));
    return ids.flatMap((id) => byId.get(id)?.range ?? []);
  }
}

function listedRange(nodeId: number, replicas: ReplicaColumns, index: number): ListedRange {
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
/** First-seen times that are remembered per problem. Beyond, the time of a range begins when the list is not full. */
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

/** Compares by node, then by store. */
export function isLower(a: ListedRange, b: ListedRange): boolean {
  return a.nodeId < b.nodeId || (a.nodeId === b.nodeId && a.storeId < b.storeId);
}

function byAge(a: ProblemRange, b: ProblemRange): number {
  return a.firstSeenSeconds - b.firstSeenSeconds || a.rangeId - b.rangeId;
}

/** Tables with a load of their own in a scan: those of 1,500,000 tables would fill the memory. The rest counts together. */
const MAX_TABLE_LOADS = 65_000;
const NO_LOAD: TableLoad = { ranges: 0, queries: 0, writes: 0, cpuNanos: 0 };

/** The lists of tables that are shown, from scan to scan. */
export class TopTables {
  readonly #byLoad = (['queries', 'cpuNanos', 'ranges'] as const).map((measure) => ({
    measure,
    list: new TopList<Ranked>(),
  }));
  readonly #byProblems = new TopList<Ranked>();
  /** The loads of this scan by table id; 0 is for ranges outside of tables. */
  #loads = new Map<number, TableLoad>();

  begin(): void {
    this.#loads = new Map();
  }

  add({ replicas, from, to }: ReplicaSlice): void {
    for (let index = from; index < to; index += 1) {
      let tableId = tableOf(replicas.tableIndexes[index] ?? 0);
      if (this.#loads.size >= MAX_TABLE_LOADS && !this.#loads.has(tableId)) tableId = UNKNOWN_TABLE;
      let load = this.#loads.get(tableId);
      if (load === undefined) this.#loads.set(tableId, (load = { ...NO_LOAD }));
      load.cpuNanos += replicas.cpuNanos[index] ?? 0;
      if (replicas.leases[index] === NO_LEASE) continue;
      load.ranges += 1;
      load.queries += replicas.queries[index] ?? 0;
      load.writes += replicas.writes[index] ?? 0;
    }
  }

  /** Ends the scan. `problemsByTable` has distinct ranges by table id, then by index of REPORTED_PROBLEMS. */
  end(problemsByTable: ReadonlyMap<number, readonly number[]>, length: number): ShownTables {
    const loads = this.#loads;
    const loaded = interleave(
      this.#byLoad.map(({ list, measure }) =>
        rankItems(list, length, loads, (load, id) => (isTable(id) ? load[measure] : 0)),
      ),
    );
    const worst = rankItems(this.#byProblems, length, problemsByTable, (counts, id) =>
      isTable(id) ? sum(counts) : 0,
    );
    const shownLoads = sumByLabel(loads, loaded, (a, b) => ({
      ranges: a.ranges + b.ranges,
      queries: a.queries + b.queries,
      writes: a.writes + b.writes,
      cpuNanos: a.cpuNanos + b.cpuNanos,
    }));
    for (const label of ['other', 'none']) shownLoads.set(label, shownLoads.get(label) ?? NO_LOAD);
    const problems = sumByLabel(problemsByTable, worst, (a, b) =>
      a.map((count, problem) => count + (b[problem] ?? 0)),
    );
    const ids = new Set([...loaded, ...worst]);
    return { ids: Array.from(ids, labelOfTable), loads: shownLoads, problems };
  }
}

/** Whether this is the id of a table, and not what stands for all else. */
function isTable(id: number): boolean {
  return id !== 0 && id !== UNKNOWN_TABLE;
}

/** Adds up by label: the shown tables in their order, then the sums of the others. */
function sumByLabel<T>(
  byTable: ReadonlyMap<number, T>,
  shownIds: readonly number[],
  add: (a: T, b: T) => T,
): Map<string, T> {
  const sums = new Map<string, T>();
  const shown = new Set(shownIds);
  for (const id of shown.union(byTable)) {
    const values = byTable.get(id);
    if (values === undefined) continue;
    const sumLabel = id === 0 ? 'none' : 'other';
    const label = shown.has(id) ? labelOfTable(id) : sumLabel;
    const before = sums.get(label);
    sums.set(label, before === undefined ? values : add(before, values));
  }
  return sums;
}
