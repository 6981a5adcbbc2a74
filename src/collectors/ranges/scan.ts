import { inSlices, PROBLEMS, type RangeProblem } from '#base';
import { addWarning, assertWithin, type ClusterApi, RequestError } from '#cockroach';
import type { Assignment } from './assignment.ts';
import { forgetRanges, judgeClusterScan, judgePartialScan } from './cluster-scan.ts';
import type { NodeReplicas } from './node-replicas.ts';
import { NO_LIVE_REPLICA } from './problem-ranges.ts';
import { MAX_NODE_ID, walk, type Work } from './range-map.ts';
import { LOAD_INDEX } from './replica.ts';
import { ticksOf } from './scan-clock.ts';
import type { ScannedNodes } from './scan-nodes.ts';
import type {
  ClusterScan,
  FailedNode,
  ProblemRange,
  ProblemSummary,
  ScannedNode,
  ScanSummary,
} from './scan-result.ts';
import type { ScanContext } from './scan-state.ts';
import { type DescriptorAges, Verification } from './verification.ts';
import { verifyClusterScan, verifyPartialScan } from './verify-scan.ts';

/** Descriptors may be as old as this number of rounds through all ranges takes. */
const MAX_ROUNDS = 2;

const TOO_MANY_INDEXES =
  'ranges begin in more than 65,534 indexes of tables: problems of ranges in the others count for the table `other`';

/** One scan of the nodes. What a node reports counts once it is committed; the end sums up all nodes that were. */
export class RangeScan {
  readonly #context: ScanContext;
  readonly #assignment: Assignment;
  readonly #ages: DescriptorAges;
  #stores = 0;
  /** The commit before; it pauses, and another one would change the same tables meanwhile. */
  #committed: Promise<void>;

  constructor(context: ScanContext, assignment: Assignment) {
    this.#context = context;
    this.#assignment = assignment;
    const { state, options } = context;
    const { known, members, clock } = state;
    const scanTick = clock.next(context.clock.monotonicMs());
    members.update(assignment, scanTick);
    const maxAge = ticksOf(this.#maxDescriptorAge());
    this.#ages = { scanTick, maxAge };
    state.verification = undefined;
    this.#committed = inSlices(known.beginScan());
    state.hot.begin(options.hot_ranges);
    state.problems.begin();
    state.tables.begin();
  }

  /** Seconds. A large cluster whose descriptors take long to read would never be verified otherwise. */
  #maxDescriptorAge(): number {
    const { state, options } = this.#context;
    const { perMinute } = state.reading;
    const roundMinutes = perMinute === undefined ? 0 : state.known.map.size / perMinute;
    return Math.max(options.descriptor_max_age, MAX_ROUNDS * roundMinutes * 60);
  }

  /** Takes over a node that was read to its end. Rejects when its stores or ranges do not fit; none of it counts then. */
  async commit(node: NodeReplicas): Promise<ScannedNode> {
    this.#stores += node.stores;
    assertWithin(this.#context, 'ranges', 'stores', this.#stores, 'stores');
    const { state, options } = this.#context;
    const { totals } = node;
    if (options.route === 'local') state.localNodeId = totals.nodeId;
    const committed = this.#committed.then(() => inSlices(this.#commit(node, totals)));
    this.#committed = committed.catch(() => undefined);
    await committed;
    node.replicas.free();
    return totals;
  }

  *#commit({ replicas }: NodeReplicas, { nodeId, stores, isDetailed }: ScannedNode): Work {
    const { state } = this.#context;
    yield* state.known.commit(nodeId, replicas);
    if (nodeId <= MAX_NODE_ID)
      state.members.updateStores(nodeId, new Set(stores.keys()), this.#ages.scanTick);
    yield* walk(replicas.length, (from, to) => {
      const slice = { nodeId, replicas, from, to };
      state.hot.add(slice, isDetailed);
      state.problems.add(slice);
      state.tables.add(slice);
    });
  }

  /** Whether a node sends details. A node without load shows none, and counts as a sender when others of its cluster send some. */
  describe(nodes: readonly ScannedNode[]): readonly ScannedNode[] {
    const { state } = this.#context;
    state.sendsDetails ||= nodes.some(({ isDetailed }) => isDetailed);
    return nodes.map((node) => {
      const isIdle = [...node.stores.values()].every(
        ({ load }) => load[LOAD_INDEX.queries] === 0 && load[LOAD_INDEX.writes] === 0,
      );
      return { ...node, isDetailed: node.isDetailed || (isIdle && state.sendsDetails) };
    });
  }

  /** Ends a scan that publishes nothing. What its nodes showed is remembered all the same. */
  async abandon({ nodes, failed }: ScannedNodes): Promise<void> {
    await this.#committed;
    await forgetRanges(this.#context.state, this.#mayBeUnread(nodes, false));
    this.#listProblems(failed);
  }

  /** Sums up the nodes that were read. */
  async end(
    api: ClusterApi,
    nodes: readonly ScannedNode[],
    failed: readonly FailedNode[],
  ): Promise<ScanSummary> {
    await this.#committed;
    const { state, options } = this.#context;
    const { known } = state;
    const verification = new Verification(api, this.#context, this.#ages);
    const ranges = { known, verification };
    const isComplete = failed.length === 0 && this.#assignment.unreadable === 0;
    const isWhole = isComplete && this.#assignment.isWholeCluster;
    let cluster: ClusterScan | undefined;
    // First the servers are asked for what the lists leave open; what they answer is judged then.
    if (isWhole) {
      const verified = await verifyClusterScan(api, this.#context, ranges);
      const list = { ...this.#assignment, nodes };
      cluster = await judgeClusterScan(api, this.#context, list, verified);
    } else {
      const { isWholeCluster } = this.#assignment;
      const verified = await verifyPartialScan(api, this.#context, ranges, isWholeCluster);
      await judgePartialScan(this.#context, this.#assignment, verified);
      await forgetRanges(state, this.#mayBeUnread(nodes, isComplete));
    }
    if (known.tableIndexes.isFull) {
      this.#context.limits.add('items');
      const error = new RequestError('limit', TOO_MANY_INDEXES, { limit: 'items' });
      addWarning(this.#context, { about: 'tables of ranges', endpoint: 'node_ranges', error });
    }
    for (const { nodeId } of nodes) {
      const warnings = state.reading.warnings.get(nodeId)?.values() ?? [];
      for (const warning of warnings) addWarning(this.#context, warning);
    }
    const { ignored } = state.leftOvers;
    state.problems.leaveOut(ignored, this.#hasReplica);
    const { byProblem, ...counts } = await inSlices(known.count(ignored));
    if (cluster?.lost !== undefined) byProblem[NO_LIVE_REPLICA] = cluster.lost;
    const reported = this.#listProblems(failed);
    const problems = new Map<RangeProblem, ProblemSummary>();
    const isUnread = nodes.some(({ withoutProblems }) => withoutProblems > 0);
    for (const [index, problem] of PROBLEMS.entries()) {
      if (problem === 'no_live_replica' && cluster?.lost === undefined) continue;
      const count = byProblem[index] ?? 0;
      if (count === 0 && isUnread) continue;
      const listed = (reported[index] ?? []).slice(0, options.problem_ranges);
      problems.set(problem, { ranges: count, listed });
    }
    known.map.endScan();
    return {
      ...counts,
      cluster,
      problems,
      leaseChanges: known.leaseChanges,
      hot: state.hot.end(),
      tables: state.tables.end(counts.problemsByTable, options.top_tables),
      hasTableCpu: nodes.every(({ isDetailed }) => isDetailed),
    };
  }

  /** Whether a range that no node reported may still be where its descriptor says: none of these nodes was read. */
  #mayBeUnread(nodes: readonly ScannedNode[], isComplete: boolean): (slot: number) => boolean {
    if (isComplete) return () => false;
    const read = new Set(nodes.map(({ nodeId }) => nodeId));
    const { map } = this.#context.state.known;
    return (slot) => {
      const places = map.placesOf(slot);
      for (let place = 0; place < places; place += 1) {
        if (read.has(map.nodeAt(slot, place))) return false;
      }
      return true;
    };
  }

  /** The ranges with each problem, oldest first. */
  #listProblems(failed: readonly FailedNode[]): readonly (readonly ProblemRange[])[] {
    const { state, clock } = this.#context;
    // The last report of a node that was not read may still be true.
    const unread = [...failed.map(({ nodeId }) => nodeId), ...this.#assignment.toSkip];
    const stepMs = state.wallClock.read(clock.wallMs(), clock.monotonicMs());
    if (stepMs !== 0) state.problems.moveTimes(stepMs / 1000);
    return state.problems.end(clock.wallMs() / 1000, new Set(unread), this.#hasReplica);
  }

  /** Whether a node reports the range in this scan, and still has it where it was asked again. */
  readonly #hasReplica = (rangeId: number): boolean => {
    const { map } = this.#context.state.known;
    return (map.columns.found[map.slotOf(rangeId) ?? -1] ?? 0) !== 0;
  };
}
