import { PROBLEMS } from '../../vocabulary.ts';
import { Candidates, interleave, type Ranked, TopList } from '../top-list.ts';
import {
  forEachProblem,
  labelOfTable,
  NO_LEASE,
  type ReplicaColumns,
  tableOf,
  UNKNOWN_TABLE,
} from './replica.ts';
import type { HotRange, ListedRange, ProblemRange, ShownTables, TableLoad } from './result.ts';

/** The lists of hot ranges, from scan to scan: those with most queries and those with most CPU. */
export interface HotLists {
  readonly queries: TopList;
  readonly cpu: TopList;
}

interface HotEntry extends Ranked {
  readonly range: HotRange;
}

/** The ranges of one scan that may be listed as hot, at most `length` by each measure. */
export class HotCandidates {
  readonly #lists: HotLists;
  readonly #length: number;
  readonly #byQueries: Candidates<HotEntry>;
  readonly #byCpu: Candidates<HotEntry>;

  constructor(lists: HotLists, length: number) {
    this.#lists = lists;
    this.#length = length;
    this.#byQueries = new Candidates(lists.queries, length);
    this.#byCpu = new Candidates(lists.cpu, length);
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

  /** Updates the lists; returns the hottest by either measure first. */
  list(): readonly HotRange[] {
    const lists = [
      this.#lists.queries.update(this.#byQueries.entries(), this.#length),
      this.#lists.cpu.update(this.#byCpu.entries(), this.#length),
    ];
    // Two stores may claim the lease of a range for a moment: that with more queries is believed.
    const byId = new Map(lists.toReversed().flatMap((list) => list.map((each) => [each.id, each])));
    const ids = interleave(lists.map((list) => list.map(({ id }) => id)));
    return ids.flatMap((id) => byId.get(id)?.range ?? []);
  }
}

/** The replicas of a node from one index to before another. */
export interface ReplicaSlice {
  readonly nodeId: number;
  readonly replicas: ReplicaColumns;
  readonly from: number;
  readonly to: number;
}

function listedRange(nodeId: number, replicas: ReplicaColumns, index: number): ListedRange {
  return {
    rangeId: replicas.rangeIds[index] ?? 0,
    nodeId,
    storeId: replicas.storeIds[index] ?? 0,
    tableIndex: replicas.tableIndexes[index] ?? 0,
  };
}

/** First-seen times that are remembered per problem. Beyond, the time of a range begins when the list is not full. */
export const MAX_REMEMBERED = 1_000;

/** When problems were first seen, from scan to scan. */
export interface ProblemHistory {
  /** The oldest ranges by index of PROBLEMS, then by id: more than are listed. */
  remembered: readonly ReadonlyMap<number, ProblemRange>[];
}

export function createProblemHistory(): ProblemHistory {
  return { remembered: PROBLEMS.map(() => new Map()) };
}

/**
 * The ranges that a scan reports with each problem: the remembered ones and those with the lowest ids. Example: of 20,000
 * unavailable ranges at most 4,000 and the remembered ones are held.
 */
export class ProblemReports {
  readonly #history: ProblemHistory;
  /** The ranges by index of PROBLEMS, then by id. */
  readonly #byProblem = PROBLEMS.map(() => new Map<number, ListedRange>());

  constructor(history: ProblemHistory) {
    this.#history = history;
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
      const reports = this.#byProblem[problem];
      if (reports === undefined) return;
      const other = reports.get(range.rangeId);
      if (other === undefined || isLower(range, other)) reports.set(range.rangeId, range);
      if (reports.size > 4 * MAX_REMEMBERED) this.#cut(problem, reports);
    });
  }

  #cut(problem: number, reports: Map<number, ListedRange>): void {
    const remembered = this.#history.remembered[problem];
    const isNew = (rangeId: number): boolean => remembered?.has(rangeId) !== true;
    const newIds = [...reports.keys()].filter(isNew).toSorted((a, b) => a - b);
    for (const rangeId of newIds.slice(MAX_REMEMBERED)) reports.delete(rangeId);
  }

  /**
   * Updates the history: a range keeps its first-seen time or gets `nowSeconds`; what is no longer reported is forgotten,
   * unless its node is unread. Returns the reported ranges by index of PROBLEMS, oldest first.
   */
  list(nowSeconds: number, unreadNodes: ReadonlySet<number>): readonly (readonly ProblemRange[])[] {
    const before = this.#history.remembered;
    const reported = this.#byProblem.map((reports, problem) =>
      Array.from(reports.values(), (range) => {
        const known = before[problem]?.get(range.rangeId);
        return { ...range, firstSeenSeconds: known?.firstSeenSeconds ?? nowSeconds };
      }).toSorted(byAge),
    );
    this.#history.remembered = reported.map((ranges, problem) => {
      const unread = Array.from(before[problem]?.values() ?? []).filter(
        ({ rangeId, nodeId }) =>
          unreadNodes.has(nodeId) && this.#byProblem[problem]?.has(rangeId) !== true,
      );
      const oldest = [...unread, ...ranges].toSorted(byAge).slice(0, MAX_REMEMBERED);
      return new Map(oldest.map((range) => [range.rangeId, range]));
    });
    return reported;
  }
}

/** Compares by node, then by store. */
export function isLower(a: ListedRange, b: ListedRange): boolean {
  return a.nodeId < b.nodeId || (a.nodeId === b.nodeId && a.storeId < b.storeId);
}

function byAge(a: ProblemRange, b: ProblemRange): number {
  return a.firstSeenSeconds - b.firstSeenSeconds || a.rangeId - b.rangeId;
}

const NO_LOAD: TableLoad = { ranges: 0, queries: 0, writes: 0, cpuNanos: 0 };

/** Adds replicas to the loads by table id; 0 is for ranges outside of tables. */
export function addTableLoads(
  loads: Map<number, TableLoad>,
  { replicas, from, to }: ReplicaSlice,
): void {
  for (let index = from; index < to; index += 1) {
    const tableId = tableOf(replicas.tableIndexes[index] ?? 0);
    let load = loads.get(tableId);
    if (load === undefined) loads.set(tableId, (load = { ...NO_LOAD }));
    load.cpuNanos += replicas.cpuNanos[index] ?? 0;
    if (replicas.leases[index] === NO_LEASE) continue;
    load.ranges += 1;
    load.queries += replicas.queries[index] ?? 0;
    load.writes += replicas.writes[index] ?? 0;
  }
}

/** The lists of tables that are shown, from scan to scan. */
export class TopTables {
  readonly #byQueries = new TopList();
  readonly #byCpu = new TopList();
  readonly #byRanges = new TopList();
  readonly #byProblems = new TopList();

  /** Both maps are by table id; `problemsByTable` has distinct ranges by index of REPORTED_PROBLEMS. */
  update(
    loadByTable: ReadonlyMap<number, TableLoad>,
    problemsByTable: ReadonlyMap<number, readonly number[]>,
    length: number,
  ): ShownTables {
    const loaded = interleave([
      updateList(this.#byQueries, length, loadByTable, ({ queries }) => queries),
      updateList(this.#byCpu, length, loadByTable, ({ cpuNanos }) => cpuNanos),
      updateList(this.#byRanges, length, loadByTable, ({ ranges }) => ranges),
    ]);
    const loads = sumByLabel(loadByTable, loaded, (a, b) => ({
      ranges: a.ranges + b.ranges,
      queries: a.queries + b.queries,
      writes: a.writes + b.writes,
      cpuNanos: a.cpuNanos + b.cpuNanos,
    }));
    for (const label of ['other', 'none']) loads.set(label, loads.get(label) ?? NO_LOAD);
    const worst = updateList(this.#byProblems, length, problemsByTable, (counts) =>
      counts.reduce((total, count) => total + count, 0),
    );
    const problems = sumByLabel(problemsByTable, worst, (a, b) =>
      a.map((count, problem) => count + (b[problem] ?? 0)),
    );
    const ids = new Set([...loaded, ...worst]);
    return { ids: Array.from(ids, labelOfTable), loads, problems };
  }
}

/** The ids of the new list, of tables with most of what is measured. */
function updateList<T>(
  list: TopList,
  length: number,
  byTable: ReadonlyMap<number, T>,
  measure: (values: T) => number,
): readonly number[] {
  const candidates = new Candidates<Ranked>(list, length);
  for (const [id, values] of byTable) {
    const value = measure(values);
    if (id !== 0 && id !== UNKNOWN_TABLE && value > 0) candidates.add({ id, value });
  }
  return list.update(candidates.entries(), length).map(({ id }) => id);
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
    const sum = sums.get(label);
    sums.set(label, sum === undefined ? values : add(sum, values));
  }
  return sums;
}
