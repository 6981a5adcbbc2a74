import { type ClusterApi, type PollStats, RequestError } from '../../cockroach/cluster-api.ts';
import { assertWithin, MAX_STORES } from '../../cockroach/listings.ts';
import { listNodes, type NodeList } from '../../cockroach/node.ts';
import { inSlices } from '../../time-slice.ts';
import { PROBLEMS, type RangeProblem } from '../../vocabulary.ts';
import type { CollectorPoll } from '../collector.ts';
import { FailureDomains } from './failure-domains.ts';
import { KnownRanges } from './known-ranges.ts';
import { HotRanges, ProblemRanges, TopTables } from './lists.ts';
import type { NodeReplicas } from './node-replicas.ts';
import { mix, walk, type Work } from './range-table.ts';
import type { ReadingState } from './read-nodes.ts';
import { QUERIES, WRITES } from './replica.ts';
import type {
  FailedNode,
  ListedRange,
  ProblemRange,
  ProblemSummary,
  ScannedNode,
  ScanSummary,
} from './result.ts';
import { KnownVoters } from './voters.ts';

/** The nodes that this exporter is responsible for. */
export interface Assignment extends NodeList {
  /** Whether these are all nodes of the cluster, so that what is known of all ranges can be said. */
  readonly isWholeCluster: boolean;
  /** Why no node can be queried, by any shard. */
  readonly failure: RequestError | undefined;
  /** Whether this exporter scans a node other than the one that it is reading. */
  readonly isAssigned: (nodeId: number) => boolean;
}

const NO_NODE = 'ranges: no node is live, draining or decommissioning';

/** Lists the nodes of a shard. Rejects like the API. */
export async function assignNodes(
  api: ClusterApi,
  stats: PollStats,
  { index, count, onlyNode }: CollectorPoll<unknown, unknown>['shards'],
): Promise<Assignment> {
  const { toScan, toSkip, localities } = await listNodes(api, stats);
  const isOfShard = (nodeId: number): boolean =>
    onlyNode === undefined ? ownsNode(nodeId, index, count) : nodeId === onlyNode;
  const isWholeCluster = count === 1 && onlyNode === undefined;
  const assigned = new Set([...toScan, ...toSkip].filter(isOfShard));
  return {
    toScan: toScan.filter(isOfShard),
    toSkip: toSkip.filter(isOfShard),
    localities,
    isWholeCluster,
    // Zeros would look like a cluster without problems.
    failure: toScan.length === 0 ? new RequestError('other', NO_NODE) : undefined,
    isAssigned: (nodeId) => isWholeCluster || assigned.has(nodeId),
  };
}

/** Assigns the node beside the exporter, which is 0 before its first response. */
export function assignLocalNode(nodeId: number): Assignment {
  return {
    toScan: [nodeId],
    toSkip: [],
    localities: new Map(),
    isWholeCluster: false,
    failure: undefined,
    isAssigned: () => false,
  };
}

/** Rendezvous hashing: all shards agree without talking, and one more shard takes over only its fair share of nodes. */
export function ownsNode(nodeId: number, index: number, count: number): boolean {
  const hashes = Array.from({ length: count }, (_, shard) =>
    mix(mix(nodeId) ^ Math.imul(shard + 1, 0x9e37_79b1)),
  );
  return hashes.indexOf(Math.max(...hashes)) === index;
}

/** State of a scan that the next one continues. */
export class RangesState implements ReadingState {
  firstNodeId = 0;
  scans = 0;
  gatewayOnly = false;
  readonly unpaged = new Set<number>();
  readonly known = new KnownRanges();
  readonly voters = new KnownVoters();
  readonly hot = new HotRanges();
  readonly problems = new ProblemRanges();
  readonly tables = new TopTables();
  hasCompleteScan = false;
  /** The only store of each node that was ever read; 0 of a node with several. */
  readonly onlyStores = new Map<number, number>();
  /** Id of the node beside this exporter, with `route: local`; 0 until its first response. */
  localNodeId = 0;
  /** A node of this cluster has sent requests, reads, bytes or CPU, as newer servers do. */
  sendsDetails = false;
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
  #stores = 0;
  /** The commit before; it pauses, and another one would change the same tables meanwhile. */
  #committed: Promise<void> = Promise.resolve();

  constructor(context: ScanContext, assignment: Assignment) {
    this.#context = context;
    this.#assignment = assignment;
    const { state, options } = context;
    state.known.beginScan();
    state.hot.begin(options.hot_ranges);
    state.problems.begin();
    state.tables.begin();
  }

  /** Takes over a node that was read to its end. Rejects when its stores or ranges do not fit; none of it counts then. */
  async commit(node: NodeReplicas): Promise<ScannedNode> {
    this.#stores += node.stores;
    assertWithin(this.#context, 'ranges', 'stores', this.#stores, MAX_STORES);
    const { state, options } = this.#context;
    const { totals } = node;
    if (options.route === 'local') state.localNodeId = totals.nodeId;
    const committed = this.#committed.then(() => inSlices(this.#commit(node, totals)));
    this.#committed = committed.catch(() => undefined);
    await committed;
    return totals;
  }

  *#commit({ replicas }: NodeReplicas, { nodeId, stores, isDetailed }: ScannedNode): Work {
    const { state } = this.#context;
    yield* state.known.commit(nodeId, replicas);
    const [storeId = 0, ...others] = stores.keys();
    state.onlyStores.set(nodeId, others.length === 0 ? storeId : 0);
    yield* walk(replicas.length, (from, to) => {
      const slice = { nodeId, replicas, from, to };
      state.hot.add(slice, isDetailed);
      state.problems.add(slice);
      state.tables.add(slice);
    });
  }

  /** Whether a node sends details; one without load shows none and is taken for what others of its cluster are. */
  describe(nodes: readonly ScannedNode[]): readonly ScannedNode[] {
    const { state } = this.#context;
    state.sendsDetails ||= nodes.some(({ isDetailed }) => isDetailed);
    return nodes.map((node) => {
      const isIdle = [...node.stores.values()].every(
        ({ load }) => load[QUERIES] === 0 && load[WRITES] === 0,
      );
      return { ...node, isDetailed: node.isDetailed || (isIdle && state.sendsDetails) };
    });
  }

  /** Sums up the nodes that were read. */
  async end(
    api: ClusterApi,
    nodes: readonly ScannedNode[],
    failed: readonly FailedNode[],
  ): Promise<ScanSummary> {
    const { state, options } = this.#context;
    const isComplete = failed.length === 0;
    const { isWholeCluster, toSkip } = this.#assignment;
    const { known, onlyStores } = state;
    if (isComplete && isWholeCluster) {
      await state.voters.learn(api, this.#context, known, toSkip.length > 0);
    }
    const domains = isComplete ? this.#memberDomains(nodes) : undefined;
    // The ranges of a node that went down before it was ever read are unknown.
    const knowsLost = isComplete && toSkip.every((nodeId) => onlyStores.has(nodeId));
    const addLost = (range: Omit<ListedRange, 'storeId'>): void => {
      if (!knowsLost) return;
      const storeId = onlyStores.get(range.nodeId) ?? 0;
      state.problems.addRange(1 << PROBLEMS.indexOf('no_live_replica'), { ...range, storeId });
    };
    const { byProblem, ...counts } = await inSlices(known.endScan(domains, addLost));
    const reported = this.listProblems(failed);
    const problems = new Map<RangeProblem, ProblemSummary>();
    for (const [index, problem] of PROBLEMS.entries()) {
      if (problem === 'no_live_replica' && !(isWholeCluster && knowsLost)) continue;
      const listed = (reported[index] ?? []).slice(0, options.problem_ranges);
      problems.set(problem, { ranges: byProblem[index] ?? 0, listed });
    }
    return {
      ...counts,
      domains: isWholeCluster ? domains : undefined,
      problems,
      leaseChanges: known.leaseChanges,
      hot: state.hot.end(),
      tables: state.tables.end(counts.problemsByTable, options.top_tables),
      hasTableCpu: nodes.every(({ isDetailed }) => isDetailed),
    };
  }

  /** Prepares to count what depends on each member, after a scan that read all live ones. */
  #memberDomains(nodes: readonly ScannedNode[]): FailureDomains {
    const { state } = this.#context;
    const members = { ...this.#assignment, toScan: nodes.map(({ nodeId }) => nodeId) };
    const isFirst = !state.hasCompleteScan;
    state.hasCompleteScan = true;
    return new FailureDomains(members, isFirst, state.voters.votersOf);
  }

  /** The ranges with each problem, oldest first; a scan that publishes nothing else remembers them, too. */
  listProblems(failed: readonly FailedNode[]): readonly (readonly ProblemRange[])[] {
    const { state, nowMs } = this.#context;
    // The last report of a node that was not read may still be true.
    const unread = [...failed.map(({ nodeId }) => nodeId), ...this.#assignment.toSkip];
    return state.problems.end(nowMs() / 1000, new Set(unread));
  }
}
