import { PROBLEMS, type RangeProblem } from '../../vocabulary.ts';
import { Candidates, interleave, type Ranked, TopList } from '../top-list.ts';
import { forEachProblem, type TableIndex } from './replica.ts';

/** A range of a list, with the replica that reports it. */
export interface ListedRange {
  readonly rangeId: number;
  readonly nodeId: number;
  /** 0 where it is not known. */
  readonly storeId: number;
  readonly tableIndex: TableIndex;
}

/** A range by the load of its lease-holding replica. */
export interface HotRange extends ListedRange {
  readonly queries: number;
  readonly writes: number;
  /** Undefined when the server does not report it. */
  readonly cpuSeconds: number | undefined;
}

/** The lists of hot ranges, from scan to scan: those with most queries and those with most CPU. */
export class HotLists {
  readonly queries = new TopList();
  readonly cpu = new TopList();

  /**
   * The hottest by either measure first, at most `length` by each. A node of `detailed` sends CPU, but leaves zeros out.
   */
  update(
    { byQueries, byCpu }: HotCandidates,
    length: number,
    detailed: ReadonlySet<number> = new Set(),
  ): readonly HotRange[] {
    const lists = [
      this.queries.update(byQueries.entries(), length),
      this.cpu.update(byCpu.entries(), length),
    ];
    // Two stores may claim the lease of a range for a moment: that with more queries is believed.
    const byId = new Map(
      lists.toReversed().flatMap((list) => list.map((entry) => [entry.id, entry])),
    );
    const ids = interleave(lists.map((list) => list.map(({ id }) => id)));
    return ids.flatMap((id) => {
      const range = byId.get(id)?.range;
      if (range === undefined) return [];
      const cpuIfAbsent = detailed.has(range.nodeId) ? 0 : undefined;
      return { ...range, cpuSeconds: range.cpuSeconds ?? cpuIfAbsent };
    });
  }
}

interface HotEntry extends Ranked {
  readonly range: HotRange;
}

/** The ranges of a node, or of a scan, that may be listed as hot. CPU that a replica does not send is not ranked. */
export class HotCandidates {
  readonly byQueries: Candidates<HotEntry>;
  readonly byCpu: Candidates<HotEntry>;

  constructor({ queries, cpu }: HotLists, length: number) {
    this.byQueries = new Candidates(queries, length);
    this.byCpu = new Candidates(cpu, length);
  }

  /** Whether a range with this load may get on a list; most are rejected here, before an object is made. */
  wants(rangeId: number, queries: number, cpuSeconds: number | undefined): boolean {
    return (
      this.byQueries.wants(rangeId, queries) ||
      (cpuSeconds !== undefined && this.byCpu.wants(rangeId, cpuSeconds))
    );
  }

  add(range: HotRange): void {
    const { rangeId: id, queries, cpuSeconds } = range;
    this.byQueries.add({ id, value: queries, range });
    if (cpuSeconds !== undefined) this.byCpu.add({ id, value: cpuSeconds, range });
  }

  addAll({ byQueries, byCpu }: HotCandidates): void {
    for (const entry of byQueries.entries()) this.byQueries.add(entry);
    for (const entry of byCpu.entries()) this.byCpu.add(entry);
  }
}

/** A range with a problem, and the lowest node, and on it the lowest store, that reports it. */
export interface ProblemRange extends ListedRange {
  readonly firstSeenSeconds: number;
}

/** First-seen times that are remembered per problem. Beyond, the time of a range begins when the list is not full. */
export const MAX_REMEMBERED = 1_000;

/**
 * The ranges that a node, or a scan, reports with each problem: the remembered ones and those with the lowest ids. Example:
 * of 20,000 unavailable ranges at most 4,000 and the remembered ones are held.
 */
export class ProblemReports {
  readonly #history: ProblemHistory;
  /** The ranges by index of PROBLEMS, then by id. */
  readonly #byProblem = PROBLEMS.map(() => new Map<number, ListedRange>());

  constructor(history: ProblemHistory) {
    this.#history = history;
  }

  /** `problems` has a bit for each of PROBLEMS. */
  add(problems: number, range: ListedRange): void {
    forEachProblem(problems, (problem) => this.#add(problem, range));
  }

  addAll(others: ProblemReports): void {
    others.#byProblem.forEach((reports, problem) => {
      for (const range of reports.values()) this.#add(problem, range);
    });
  }

  /** The ranges with the problem, by id. */
  get(problem: RangeProblem): ReadonlyMap<number, ListedRange> {
    return this.#byProblem[PROBLEMS.indexOf(problem)] ?? new Map();
  }

  #add(problem: number, range: ListedRange): void {
    const reports = this.#byProblem[problem];
    if (reports === undefined) return;
    const other = reports.get(range.rangeId);
    if (other === undefined || isLower(range, other)) reports.set(range.rangeId, range);
    if (reports.size > 4 * MAX_REMEMBERED) this.#cut(problem, reports);
  }

  #cut(problem: number, reports: Map<number, ListedRange>): void {
    const remembered = this.#history.remembered[problem];
    const isNew = (rangeId: number): boolean => remembered?.has(rangeId) !== true;
    const newIds = [...reports.keys()].filter(isNew).toSorted((a, b) => a - b);
    for (const rangeId of newIds.slice(MAX_REMEMBERED)) reports.delete(rangeId);
  }
}

/** Compares by node, then by store. */
export function isLower(a: ListedRange, b: ListedRange): boolean {
  return a.nodeId < b.nodeId || (a.nodeId === b.nodeId && a.storeId < b.storeId);
}

/** When problems were first seen, from scan to scan. */
export class ProblemHistory {
  /** The oldest ranges by index of PROBLEMS, then by id: more than are listed. */
  remembered: readonly ReadonlyMap<number, ProblemRange>[] = PROBLEMS.map(() => new Map());

  /**
   * Takes over what a scan reported: a range keeps its first-seen time or gets `nowSeconds`; what is no longer reported
   * is forgotten, unless its node is unread. Returns the reported ranges by index of PROBLEMS, oldest first.
   */
  update(
    reports: ProblemReports,
    nowSeconds: number,
    unreadNodes: ReadonlySet<number>,
  ): readonly (readonly ProblemRange[])[] {
    const before = this.remembered;
    const reported = PROBLEMS.map((problem, at) =>
      Array.from(reports.get(problem).values(), (range) => {
        const firstSeenSeconds = before[at]?.get(range.rangeId)?.firstSeenSeconds ?? nowSeconds;
        return { ...range, firstSeenSeconds };
      }).toSorted(byAge),
    );
    this.remembered = reported.map((current, at) => {
      const ids = new Set(current.map(({ rangeId }) => rangeId));
      const unread = [...(before[at]?.values() ?? [])].filter(
        ({ rangeId, nodeId }) => !ids.has(rangeId) && unreadNodes.has(nodeId),
      );
      const oldest = [...unread, ...current].toSorted(byAge).slice(0, MAX_REMEMBERED);
      return new Map(oldest.map((range) => [range.rangeId, range]));
    });
    return reported;
  }
}

function byAge(a: ProblemRange, b: ProblemRange): number {
  return a.firstSeenSeconds - b.firstSeenSeconds || a.rangeId - b.rangeId;
}
