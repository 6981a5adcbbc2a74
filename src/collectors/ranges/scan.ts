import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import { assertWithin, MAX_STORES } from '../../cockroach/listings.ts';
import { inSlices } from '../../time-slice.ts';
import { PROBLEMS, type RangeProblem } from '../../vocabulary.ts';
import type { CollectorPoll, PollFailure } from '../collector.ts';
import { FailureDomains } from './failure-domains.ts';
import { KnownRanges, type RangeSummary, type WholeView } from './known-ranges.ts';
import {
  HotCandidates,
  HotLists,
  type HotRange,
  ProblemHistory,
  type ProblemRange,
  ProblemReports,
} from './listed-ranges.ts';
import { type ListCandidates, NodeTally, type NodeTotals } from './node-tally.ts';
import { RangeLimitError } from './range-table.ts';
import { type Assignment, createReadingState, type ReadingState } from './read-nodes.ts';
import { QUERIES, WRITES } from './replica.ts';
import { type ShownTables, TableLoads, TopTables } from './top-tables.ts';
import { KnownVoters } from './voters.ts';

/** State of a scan that the next one continues. */
export interface RangesState extends ReadingState {
  known: KnownRanges;
  readonly voters: KnownVoters;
  readonly hot: HotLists;
  readonly problems: ProblemHistory;
  readonly tables: TopTables;
  hasCompleteScan: boolean;
  /** Stores of each node when it was last read. */
  readonly storesOf: Map<number, NodeTotals['stores']>;
  /** Id of the node beside this exporter, with `route: local`; 0 until its first response. */
  localNodeId: number;
  /** A node of this cluster has sent requests, reads, bytes or CPU, as newer servers do. */
  sendsDetails: boolean;
}

export function createState(): RangesState {
  return {
    ...createReadingState(),
    known: new KnownRanges(),
    voters: new KnownVoters(),
    hot: new HotLists(),
    problems: new ProblemHistory(),
    tables: new TopTables(),
    hasCompleteScan: false,
    storesOf: new Map(),
    localNodeId: 0,
    sendsDetails: false,
  };
}

/** A node that was read, as it is published. */
export interface ScannedNode extends NodeTotals {
  /** Whether its server sends more load than queries and writes. */
  readonly isDetailed: boolean;
}

/** The ranges that have a problem. */
export interface ProblemSummary {
  /** Number of distinct ranges. */
  readonly ranges: number;
  /** The ranges to list, oldest first. */
  readonly listed: readonly ProblemRange[];
}

/** The nodes that were scanned, taken together. */
export interface ScanSummary extends Omit<RangeSummary, 'byProblem'> {
  /** The ranges that depend on each node; only known when this exporter read every node of the cluster that is not known to be down. */
  readonly domains?: FailureDomains | undefined;
  /** It lacks `no_live_replica` when `domains` is absent, and while some nodes that are down have never been read. */
  readonly problems: ReadonlyMap<RangeProblem, ProblemSummary>;
  /** Lease changes since the start of the exporter. */
  readonly leaseChanges: number;
  /** The hottest by queries or by CPU first. */
  readonly hot: readonly HotRange[];
  readonly tables: ShownTables;
  /** All nodes send the CPU of their replicas; else the sums of tables lack some. */
  readonly hasTableCpu: boolean;
}

/** The options of a scan and what it shares with the other scans of its cluster. */
type ScanContext = CollectorPoll<
  {
    readonly route: string;
    readonly hot_ranges: number;
    readonly problem_ranges: number;
    readonly top_tables: number;
  },
  RangesState
>;

/** One scan of the nodes. What a node reports counts once it is committed; the end sums up all nodes that were. */
export class RangeScan {
  readonly #context: ScanContext;
  readonly #assignment: Assignment;
  readonly #lists: ListCandidates;
  #stores = 0;
  /** The commit before; it pauses, and another one would change the same tables meanwhile. */
  #committed: Promise<void> = Promise.resolve();
  /** Why no sums can be published. */
  failure: PollFailure | undefined;

  private constructor(context: ScanContext, assignment: Assignment) {
    this.#context = context;
    this.#assignment = assignment;
    this.#lists = this.#createLists();
  }

  static async begin(context: ScanContext, assignment: Assignment): Promise<RangeScan> {
    await inSlices(context.state.known.beginScan());
    return new RangeScan(context, assignment);
  }

  #createLists(): ListCandidates {
    const { state, options } = this.#context;
    return {
      hot: new HotCandidates(state.hot, options.hot_ranges),
      problems: new ProblemReports(state.problems),
      tables: new TableLoads(),
    };
  }

  createTally(nodeId: number): NodeTally {
    const { state, options } = this.#context;
    return new NodeTally(nodeId, {
      lists: this.#createLists(),
      tableIndexes: state.known.tableIndexes,
      isAssigned: this.#assignment.isAssigned,
      isLocal: options.route === 'local',
      before: state.storesOf.get(nodeId),
    });
  }

  /** Takes over a node that was read to its end. Rejects when its stores or ranges do not fit. */
  async commit(tally: NodeTally): Promise<NodeTotals> {
    this.#stores += tally.stores.size;
    assertWithin(this.#context, 'ranges', 'stores', this.#stores, MAX_STORES);
    const { totals } = tally;
    this.#committed = this.#committed.then(() => this.#commit(tally, totals));
    await this.#committed;
    return totals;
  }

  async #commit({ stores, lists }: NodeTally, { nodeId, stores: sums }: NodeTotals): Promise<void> {
    const { state, options } = this.#context;
    if (options.route === 'local') state.localNodeId = nodeId;
    try {
      for (const { staged } of stores.values()) {
        await inSlices(state.known.commit(staged, nodeId));
      }
    } catch (error) {
      if (error instanceof RangeLimitError) {
        // The sums of the ranges that fit would be wrong.
        this.failure ??= { reason: 'limit', message: `ranges: ${error.message}` };
      }
      throw error;
    }
    state.storesOf.set(nodeId, sums);
    this.#lists.hot.addAll(lists.hot);
    this.#lists.problems.addAll(lists.problems);
    this.#lists.tables.addAll(lists.tables);
  }

  /** Ends a scan that publishes no sums: only the times of problems are remembered. */
  fail(nodes: readonly NodeTotals[]): void {
    const { state } = this.#context;
    this.#updateProblems(idsOf(nodes));
    // The table is emptied, so that the ranges can fit at the next scan.
    if (this.failure !== undefined) state.known = new KnownRanges(state.known.leaseChanges);
  }

  /** Whether a node sends details; one without load shows none and is taken for what others of its cluster are. */
  describe(nodes: readonly NodeTotals[]): readonly ScannedNode[] {
    const { state } = this.#context;
    state.sendsDetails ||= nodes.some(({ sentDetails }) => sentDetails);
    return nodes.map((node) => {
      const isIdle = [...node.stores.values()].every(
        ({ load }) => load[QUERIES] === 0 && load[WRITES] === 0,
      );
      return { ...node, isDetailed: node.sentDetails || (isIdle && state.sendsDetails) };
    });
  }

  /** Sums up the nodes; `isComplete` when all that were to be read were read. */
  async end(
    api: ClusterApi,
    nodes: readonly ScannedNode[],
    isComplete: boolean,
  ): Promise<ScanSummary> {
    const { state, options } = this.#context;
    const { isWholeCluster, toSkip } = this.#assignment;
    const { known, voters } = state;
    const readIds = idsOf(nodes);
    if (isComplete && isWholeCluster) {
      const offer = known.chooseSamples.bind(known);
      await voters.learn(api, this.#context, toSkip.length > 0, offer);
    }
    const whole = isComplete ? this.#viewWhole(readIds) : undefined;
    const summary = await inSlices(known.endScan(readIds, whole));
    const reported = this.#updateProblems(readIds);
    const problems = new Map<RangeProblem, ProblemSummary>();
    for (const [index, problem] of PROBLEMS.entries()) {
      const isKnown = isWholeCluster && whole?.knowsLost === true;
      if (problem === 'no_live_replica' && !isKnown) continue;
      const listed = (reported[index] ?? []).slice(0, options.problem_ranges);
      problems.set(problem, { ranges: summary.byProblem[index] ?? 0, listed });
    }
    const detailed = new Set(nodes.filter((node) => node.isDetailed).map(({ nodeId }) => nodeId));
    return {
      ranges: summary.ranges,
      byReplicas: summary.byReplicas,
      byLeaseKind: summary.byLeaseKind,
      problemsByTable: summary.problemsByTable,
      domains: isWholeCluster ? whole?.domains : undefined,
      problems,
      leaseChanges: known.leaseChanges,
      hot: state.hot.update(this.#lists.hot, options.hot_ranges, detailed),
      tables: state.tables.update(
        this.#lists.tables.byTable(known.tableIndexes),
        summary.problemsByTable,
        options.top_tables,
      ),
      hasTableCpu: nodes.every(({ isDetailed }) => isDetailed),
    };
  }

  /** Finds the ranges that depend on each node, after all live ones were read, and reports ranges that no live node holds. */
  #viewWhole(readIds: ReadonlySet<number>): WholeView & { readonly knowsLost: boolean } {
    const { state } = this.#context;
    const { storesOf, voters } = state;
    const members = { ...this.#assignment, toScan: [...readIds] };
    const domains = new FailureDomains(members, !state.hasCompleteScan, voters);
    state.hasCompleteScan = true;
    for (const nodeId of storesOf.keys()) {
      if (!domains.isMember(nodeId)) storesOf.delete(nodeId);
    }
    // The ranges of a node that went down before it was ever read are unknown.
    const knowsLost = this.#assignment.toSkip.every((nodeId) => storesOf.has(nodeId));
    const onLost: WholeView['onLost'] = (range) => {
      if (!knowsLost) return;
      const [storeId = 0, ...others] = storesOf.get(range.nodeId)?.keys() ?? [];
      const problems = 1 << PROBLEMS.indexOf('no_live_replica');
      this.#lists.problems.add(problems, { ...range, storeId: others.length === 0 ? storeId : 0 });
    };
    return { domains, onLost, knowsLost };
  }

  #updateProblems(readIds: ReadonlySet<number>): readonly (readonly ProblemRange[])[] {
    const { state, nowMs } = this.#context;
    const { toScan, toSkip } = this.#assignment;
    // The last report of an unread node may still be true.
    const unread = new Set([...toScan, ...toSkip]).difference(readIds);
    return state.problems.update(this.#lists.problems, nowMs() / 1000, unread);
  }
}

function idsOf(nodes: readonly NodeTotals[]): ReadonlySet<number> {
  return new Set(nodes.map(({ nodeId }) => nodeId));
}
