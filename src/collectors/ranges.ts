import type { ClusterApi } from '../cluster/api.ts';
import { clusterCollector, type OptionValues, type PollContext } from './collector.ts';
import { type DetailsMemory, settleDetails } from './ranges/details.ts';
import * as families from './ranges/families.ts';
import { chooseHot, createHotMemory, HotCandidates, type HotMemory } from './ranges/hot-ranges.ts';
import {
  ageUnseen,
  beginScan,
  createKnownRanges,
  foldStore,
  type KnownRanges,
  sumUp,
} from './ranges/known-ranges.ts';
import { OPTIONS } from './ranges/options.ts';
import {
  createProblemMemory,
  type ProblemMemory,
  ProblemReports,
  rememberProblems,
} from './ranges/problem-ranges.ts';
import { publishFindings, publishNode, publishOutcome, publishWhole } from './ranges/publish.ts';
import { AnswerError, readNode, type RouteMemory } from './ranges/read-node.ts';
import { type ScanMemory, scanNodes, type ScanResult } from './ranges/scan.ts';
import { isUnreadOf, listShare, localShare, type Share } from './ranges/share.ts';
import { inSlices } from './ranges/slices.ts';
import { type NodeTally, startTally } from './ranges/tally.ts';
import { judge } from './ranges/verdict.ts';

interface RangesMemory extends RouteMemory, ScanMemory, DetailsMemory {
  readonly known: KnownRanges;
  readonly hot: HotMemory;
  readonly problems: ProblemMemory;
  /** The node beside this exporter, once it has named itself; else 0. */
  localNodeId: number;
}

type Context = PollContext<OptionValues<typeof OPTIONS>, RangesMemory>;

/** GET /nodes/{node_id}/ranges/ of every node: replicas, leases, problems and load, and the ranges behind them. */
export const ranges = clusterCollector({
  name: 'ranges',
  help: 'Replicas, leases, problems and load of the ranges, node by node.',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  intervalSeconds: 60,
  timeoutSeconds: 300,
  maxDuty: 0.1,
  enabledByDefault: true,
  families: Object.values(families),
  options: OPTIONS,

  createMemory: (): RangesMemory => ({
    known: createKnownRanges(),
    hot: createHotMemory(),
    problems: createProblemMemory(),
    gatewayOnly: false,
    firstNodeId: 0,
    scans: 0,
    failed: new Set(),
    sendsDetails: false,
    localNodeId: 0,
  }),

  async collect(api, sheet, context) {
    const { options, memory, shards } = context;
    const share =
      options.route === 'local'
        ? localShare(memory.localNodeId)
        : await listShare(api, context, shards);
    const found = startFindings(context);
    const result = await scanShare(api, context, { share, found });
    tellFailures(context, result);
    const nowSeconds = context.nowMs() / 1000;
    const problems = rememberProblems(memory.problems, found.problems, {
      nowSeconds,
      isUnread: isUnreadOf(share, result.read),
    });
    const shard = shardOf(context);
    publishOutcome(sheet, shard, { ...result, skipped: share.toSkip.length });
    const failure = judge(share, result);
    if (failure !== undefined) return failure;
    const { known, hot } = memory;
    const summary = await inSlices(sumUp(known));
    const isComplete = result.failed.length === 0;
    await inSlices(ageUnseen(known, isComplete));
    settleDetails(memory, result.read);
    for (const figures of result.read) publishNode(sheet, figures);
    publishFindings(sheet, shard, {
      read: result.read,
      summary,
      leaseChanges: known.leaseChanges,
      hot: chooseHot(hot, found.hot, options.hot_ranges),
      problems,
      problemRanges: options.problem_ranges,
    });
    if (isComplete && share.isWhole) publishWhole(sheet, shard, summary);
    return undefined;
  },
});

/** A scan that publishes is a success; what it lacks is told here and in crdb_range_scan_nodes. */
function tellFailures({ notice }: Context, { failed, wasCut }: ScanResult): void {
  for (const { wasAsked, reason, message } of failed) {
    if (wasAsked && reason !== 'timeout') notice(message);
  }
  if (!wasCut) return;
  notice(
    'the scan did not fit its timeout, the next one goes on where it stopped: raise collectors.ranges.timeout or concurrency, or share the nodes among shards',
  );
}

/** What the complete nodes of a scan bring, beside their own figures and the known ranges. */
interface Findings {
  readonly hot: HotCandidates;
  readonly problems: ProblemReports;
}

function startFindings({ options, memory }: Context): Findings {
  return {
    hot: new HotCandidates(options.hot_ranges, memory.hot.members),
    problems: new ProblemReports(memory.problems),
  };
}

async function scanShare(
  api: ClusterApi,
  context: Context,
  { share, found }: { readonly share: Share; readonly found: Findings },
): Promise<ScanResult> {
  const { options, memory, urls, signal, reasonOf } = context;
  await inSlices(beginScan(memory.known));
  let folded = Promise.resolve();
  const result = await scanNodes({
    nodeIds: share.toAsk,
    concurrency: options.concurrency,
    signal,
    memory,
    async readNode(nodeId, turn) {
      const tally = await readNode(api, context, {
        nodeId,
        route: options.route,
        pageLimit: options.page_limit,
        firstUrl: turn % urls,
        routeMemory: memory,
        startTally: (id) => startTally(id, { ...startFindings(context), isOurs: share.isOurs }),
      });
      // Folding has pauses: two nodes at a time would be in each other's way.
      folded = folded.then(() => takeIn(context, found, tally));
      await folded;
      return tally.figures;
    },
    describeFailure: (error) => ({
      reason: error instanceof AnswerError ? 'decode' : reasonOf(error),
      message: error instanceof Error ? error.message : String(error),
    }),
    progress: context.scanProgress,
  });
  if (result.wasCut) context.limits.add('duration');
  return result;
}

/** A node is complete: only now does what it said count. */
async function takeIn(context: Context, found: Findings, tally: NodeTally): Promise<void> {
  const { memory, options } = context;
  for (const staged of tally.staged.values()) await inSlices(foldStore(memory.known, staged));
  found.hot.addAll(tally.hot);
  found.problems.addAll(tally.problems);
  if (options.route !== 'local') return;
  if (tally.figures.nodeId === 0) tally.figures.nodeId = memory.localNodeId;
  memory.localNodeId = tally.figures.nodeId;
  context.shardLearned(shardOf(context));
}

/** An exporter beside a node is named for it as soon as the node has named itself. */
function shardOf({ options, memory, shard }: Context): string {
  return options.route === 'local' && memory.localNodeId !== 0 ? `n${memory.localNodeId}` : shard;
}
