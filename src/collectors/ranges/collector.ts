import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import { assertWithin, MAX_STORES } from '../../cockroach/limits.ts';
import type { OptionValues } from '../../options.ts';
import { inSlices } from '../../time-slice.ts';
import { defineCollector, type CollectContext, type PollFailure } from '../collector.ts';
import { families, STORE_LOADS } from './families.ts';
import { HotCandidates, HotList, type HotRange } from './hot-ranges.ts';
import { KnownRanges } from './known-ranges.ts';
import { KnownVoters } from './known-voters.ts';
import { listFamilies } from './list-families.ts';
import { createNodeReader } from './node-reader.ts';
import {
  MAX_REMEMBERED,
  ProblemHistory,
  type ProblemRange,
  ProblemReports,
} from './problem-ranges.ts';
import { findRangeLimit, type RangeLimitError } from './range-table.ts';
import { labelsOfPlace, QUERIES, WRITES } from './range.ts';
import { type RangesResult, writeRangesSamples } from './samples.ts';
import {
  assignLocalNode,
  type Assignment,
  assignNodes,
  createScanState,
  logFailures,
  scanFailure,
  scanNodes,
  type ScanResult,
} from './scan.ts';
import { PlaceLoads, TableLists } from './table-load.ts';
import { NodeTally, type RangeLists, type ScannedNode } from './tally.ts';
import { learnVoters, viewWhole } from './whole-view.ts';

const OPTIONS = {
  page_limit: {
    kind: 'integer',
    default: 0,
    min: 0,
    help: 'Ranges per request; 0 reads each node in one response. For every request the database node lists all its ranges, its stores in another order each time, so a node with several stores is read in one response in any case.',
  },
  node_timeout: {
    kind: 'duration',
    default: 120,
    min: 0.1,
    help: 'Maximum time to the headers of the list of one node, which it sends after all of its work; in place of cluster_api.timeout, and within the timeout of the poll.',
  },
  concurrency: {
    kind: 'integer',
    default: 2,
    min: 1,
    help: 'Nodes that are read concurrently.',
  },
  route: {
    kind: 'enum',
    values: ['auto', 'gateway', 'proxy', 'local'],
    default: 'auto',
    help: 'How a node is queried: through the configured URLs in turn (gateway), at the node itself through one of them (proxy), by proxy where the servers support it (auto), or only the node of the one URL (local), for an exporter beside each node.',
  },
  hot_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Number of hottest ranges to list, by queries and again by CPU.',
  },
  problem_ranges: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: MAX_REMEMBERED,
    help: 'Number of ranges to list for each problem, the oldest first.',
  },
  top_tables: {
    kind: 'integer',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Number of tables to show by queries, by CPU, by ranges and by problems; the rest is summed up.',
  },
} as const;

function createState() {
  return {
    ...createScanState(),
    known: new KnownRanges(),
    voters: new KnownVoters(),
    hot: new HotList(),
    problems: new ProblemHistory(),
    tables: new TableLists(),
    hasCompleteScan: false,
    /** Stores of each node when it was last read. */
    storesOf: new Map<number, ScannedNode['stores']>(),
    /** Id of the node beside this exporter, with `route: local`; 0 until its first response. */
    localNodeId: 0,
    /** A node of this cluster has sent requests, reads, bytes or CPU, as newer servers do. */
    sendsDetails: false,
  };
}

type Context = CollectContext<OptionValues<typeof OPTIONS>, ReturnType<typeof createState>>;

/** GET /nodes/{node_id}/ranges/ of every node: replicas, leases, problems and load, and the ranges behind them. */
export const ranges = defineCollector({
  name: 'ranges',
  api: 'cluster',
  help: 'Replicas, leases, problems and load of the ranges, node by node.',
  request: 'GET /nodes/{node_id}/ranges/',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  intervalSeconds: 60,
  timeoutSeconds: 300,
  maxDuty: 0.1,
  enabledByDefault: true,
  families: [...Object.values(families), ...STORE_LOADS, ...Object.values(listFamilies)],
  options: OPTIONS,

  scope: 'node',
  inProbe: false,
  isLocal: ({ route }) => route === 'local',

  createState,

  async collect(api, context): Promise<RangesResult> {
    const { options, state, shard, shards } = context;
    const assignment =
      options.route === 'local'
        ? assignLocalNode(state.localNodeId)
        : await assignNodes(api, context, shards);
    const lists = createLists(context);
    const scan = await scanAssigned(api, context, assignment, lists);
    const { scanned, failed } = scan;
    const readNodes = new Set(scanned.map(({ nodeId }) => nodeId));
    logFailures(context, scan);
    const result = { shard, scanned, failed, skipped: assignment.toSkip.length };
    const failure = refuseRanges(state, scan) ?? scanFailure(assignment, scan);
    if (failure !== undefined) {
      updateProblems(context, lists, assignment, readNodes);
      return { ...result, failure };
    }
    const isComplete = failed.length === 0;
    if (isComplete && assignment.isWholeCluster) await learnVoters(api, context, assignment);
    const whole = isComplete ? viewWhole(state, lists, assignment, readNodes) : undefined;
    const summary = await inSlices(state.known.endScan(readNodes, whole));
    const problems = updateProblems(context, lists, assignment, readNodes);
    settleDetails(context, scanned);
    const hot = chooseHotRanges(context, lists.hot, scanned);
    const listed = problems.map((list) => list.slice(0, options.problem_ranges));
    const topTables = state.tables.update(
      lists.tables.byTable(state.known.places),
      summary.problemsByTable,
      options.top_tables,
    );
    return {
      ...result,
      tableIds: [
        ...[...hot, ...listed.flat()].map(({ place }) => labelsOfPlace(place).table_id),
        ...topTables.ids,
      ],
      summary: {
        ...summary,
        domains: assignment.isWholeCluster ? whole?.domains : undefined,
        lost: assignment.isWholeCluster && whole?.isKnown === true ? summary.lost : undefined,
        leaseChanges: state.known.leaseChanges,
        hot,
        problems: listed,
        tables: topTables,
        hasTableCpu: scanned.every(({ isDetailed }) => isDetailed),
      },
    };
  },

  samples: writeRangesSamples,
});

export type { ListedRange, RangesResult } from './samples.ts';

/** `of`: those of the whole scan, when these are of one node. */
function createLists({ options, state }: Context, of?: RangeLists): RangeLists {
  return {
    hot: new HotCandidates(options.hot_ranges, state.hot, of?.hot),
    problems: new ProblemReports(state.problems),
    tables: new PlaceLoads(),
  };
}

/** A scan, and whether its ranges did not fit. */
interface Scan extends ScanResult {
  readonly tooMany: RangeLimitError | undefined;
}

async function scanAssigned(
  api: ClusterApi,
  context: Context,
  { toScan, isAssigned }: Assignment,
  lists: RangeLists,
): Promise<Scan> {
  const { known, storesOf } = context.state;
  const createTally = (nodeId: number): NodeTally =>
    new NodeTally(
      nodeId,
      isAssigned,
      createLists(context, lists),
      known.places,
      storesOf.get(nodeId),
    );
  const readNode = createNodeReader(api, context, createTally);
  await inSlices(known.beginScan());
  let committed = Promise.resolve();
  let tooMany: RangeLimitError | undefined;
  let stores = 0;
  const result = await scanNodes(context, toScan, async (nodeId, turn) => {
    try {
      const tally = await readNode(nodeId, turn);
      stores += tally.stores.size;
      assertWithin(context, 'ranges', 'stores', stores, MAX_STORES);
      // A commit has pauses, in which another one would change the same tables.
      committed = committed.then(() => commit(context, lists, tally));
      await committed;
      return tally.node;
    } catch (error) {
      tooMany ??= findRangeLimit(error);
      throw error;
    }
  });
  if (result.timedOut) context.limits.add('duration');
  return { ...result, tooMany };
}

/** Sums of a part of the ranges would be wrong. What the table holds is dropped, so that it can fit at the next scan. */
function refuseRanges(state: Context['state'], { tooMany }: Scan): PollFailure | undefined {
  if (tooMany === undefined) return undefined;
  const { leaseChanges } = state.known;
  state.known = new KnownRanges();
  state.known.leaseChanges = leaseChanges;
  return { reason: 'limit', message: `ranges: ${tooMany.message}` };
}

/** Takes over a node that was read to its end. */
async function commit(
  { state, options }: Context,
  lists: RangeLists,
  { node, stores, lists: own }: NodeTally,
): Promise<void> {
  if (options.route === 'local') {
    if (node.nodeId === 0) node.nodeId = state.localNodeId;
    state.localNodeId = node.nodeId;
  }
  for (const { staged } of stores.values()) {
    await inSlices(state.known.commit(staged, node.nodeId));
  }
  state.storesOf.set(node.nodeId, node.stores);
  lists.hot.addAll(own.hot);
  lists.problems.addAll(own.problems);
  lists.tables.addAll(own.tables);
}

function updateProblems(
  { state, nowMs }: Context,
  { problems }: RangeLists,
  { toScan, toSkip }: Assignment,
  readNodes: ReadonlySet<number>,
): readonly (readonly ProblemRange[])[] {
  // What an unread node reported last may still be so.
  const unread = new Set([...toScan, ...toSkip]).difference(readNodes);
  return state.problems.update(problems, nowMs() / 1000, unread);
}

/** Servers leave zeros out, so a node without load shows no details: it is taken for what others of its cluster are. */
function settleDetails({ state }: Context, scanned: readonly ScannedNode[]): void {
  state.sendsDetails ||= scanned.some(({ isDetailed }) => isDetailed);
  if (!state.sendsDetails) return;
  for (const node of scanned) {
    node.isDetailed ||= [...node.stores.values()].every(
      ({ load }) => load[QUERIES] === 0 && load[WRITES] === 0,
    );
  }
}

/** CPU is 0 where a server that sends it leaves it out. */
function chooseHotRanges(
  { state, options }: Context,
  candidates: HotCandidates,
  scanned: readonly ScannedNode[],
): readonly HotRange[] {
  const detailed = new Set(scanned.filter((node) => node.isDetailed).map(({ nodeId }) => nodeId));
  return state.hot.update(candidates, options.hot_ranges).map((range) => ({
    ...range,
    cpuSeconds: range.cpuSeconds ?? (detailed.has(range.nodeId) ? 0 : undefined),
  }));
}
