import type { ClusterApi, PollStats, RangeRoute } from '../../cockroach/cluster-api.ts';
import { listNodes } from '../../cockroach/node-list.ts';
import { messageOf } from '../../format.ts';
import type { FailureReason } from '../../vocabulary.ts';
import { type CollectContext, mostFrequent, type PollFailure } from '../collector.ts';
import { mix } from './range-table.ts';
import type { ScannedNode } from './tally.ts';

/** The nodes that this exporter is responsible for. */
export type Assignment = Awaited<ReturnType<typeof assignNodes>>;

/** The nodes of a shard. Rejects like the API. */
export async function assignNodes(
  api: ClusterApi,
  stats: PollStats,
  { index, count, onlyNode }: CollectContext<unknown, unknown>['shards'],
) {
  const { toScan, toSkip, localities } = await listNodes(api, stats);
  const isOwn = (nodeId: number): boolean =>
    onlyNode === undefined ? ownsNode(nodeId, index, count) : nodeId === onlyNode;
  const isWholeCluster = count === 1 && onlyNode === undefined;
  const own = new Set([...toScan, ...toSkip].filter(isOwn));
  return {
    toScan: toScan.filter(isOwn),
    toSkip: toSkip.filter(isOwn),
    localities,
    isWholeCluster,
    /** Whether no node of the cluster can be queried, by any shard. */
    noNodeReachable: toScan.length === 0,
    /** Whether this exporter scans a node other than the one that it is reading. */
    isAssigned: (nodeId: number): boolean => isWholeCluster || own.has(nodeId),
  };
}

/** The node beside the exporter, which is 0 before its first response. */
export function assignLocalNode(nodeId: number): Assignment {
  return {
    toScan: [nodeId],
    toSkip: [],
    localities: new Map(),
    isWholeCluster: false,
    noNodeReachable: false,
    isAssigned: () => false,
  };
}

/** Rendezvous hashing: all shards agree without talking, and one more shard takes over only its fair share of nodes. */
export function ownsNode(nodeId: number, index: number, count: number): boolean {
  const own = hash(nodeId, index);
  for (let other = 0; other < count; other += 1) {
    const theirs = hash(nodeId, other);
    if (theirs > own || (theirs === own && other < index)) return false;
  }
  return true;
}

/** 32 bits out of two integers (the finalizer of MurmurHash3, once for each). */
function hash(nodeId: number, shard: number): number {
  return mix(mix(nodeId) ^ Math.imul(shard + 1, 0x9e37_79b1));
}

/** What one scan leaves to the next. */
export function createScanState() {
  return {
    firstNodeId: 0,
    /** Scans begun. */
    scans: 0,
    /** Nodes that could not be read in the last scan. */
    failed: new Set<number>(),
    /** The servers of this cluster ignore `remote_node_id`. */
    gatewayOnly: false,
    /** Nodes whose stores came in another order on the next page: pages lose replicas of theirs. */
    unpaged: new Set<number>(),
  };
}

/** A node that was not read. */
interface FailedNode {
  readonly nodeId: number;
  /** False when the scan ran out of time before its turn. */
  readonly wasQueried: boolean;
  readonly reason: FailureReason;
  readonly message: string;
  /** What the request threw. */
  readonly cause?: unknown;
}

/** The nodes that were read and those that were not, by id. */
export type ScanResult = Awaited<ReturnType<typeof scanNodes>>;

export type ScanContext = CollectContext<
  {
    readonly route: RangeRoute | 'auto';
    readonly page_limit: number;
    readonly node_timeout: number;
    readonly concurrency: number;
  },
  ReturnType<typeof createScanState>
>;

/**
 * Reads the nodes, whose ids ascend, until all are done or the signal aborts; the failure of one does not end the scan.
 * Nodes that failed the last time come last: others must not wait for their silence. `turn` differs from that of the
 * node before and of the same node in the scan before.
 */
export async function scanNodes(
  context: ScanContext,
  nodeIds: readonly number[],
  readNode: (nodeId: number, turn: number) => Promise<ScannedNode>,
) {
  const { state, signal, options, reasonOf, scanProgress } = context;
  const order = scanOrder(nodeIds, state);
  const scanned: ScannedNode[] = [];
  const failed: FailedNode[] = [];
  const interrupted: number[] = [];
  let begun = 0;

  async function readInTurn(): Promise<void> {
    for (;;) {
      const nodeId = order[begun];
      if (nodeId === undefined || signal.aborted) return;
      const turn = state.scans + begun;
      begun += 1;
      try {
        scanned.push(await readNode(nodeId, turn));
      } catch (error) {
        const message = messageOf(error);
        if (signal.aborted) interrupted.push(nodeId);
        else
          failed.push({ nodeId, wasQueried: true, reason: reasonOf(error), message, cause: error });
      }
      scanProgress(scanned.length + failed.length, order.length);
    }
  }

  scanProgress(0, order.length);
  await Promise.all(Array.from({ length: options.concurrency }, readInTurn));
  state.failed = new Set(failed.map(({ nodeId }) => nodeId));
  const late = order.slice(begun);
  const unfinished = new Set([...interrupted, ...late]);
  for (const nodeId of unfinished) {
    const message = `ranges of node ${nodeId}: the scan ran out of time`;
    failed.push({ nodeId, wasQueried: interrupted.includes(nodeId), reason: 'timeout', message });
  }
  state.scans += 1;
  state.firstNodeId = nextFirst(order, unfinished, options.concurrency);
  // By id, not by arrival: what exceeds a budget then always misses the same nodes.
  scanned.sort(byId);
  failed.sort(byId);
  /** Whether the deadline ended the scan. */
  const timedOut = unfinished.size > 0;
  return { scanned, failed, timedOut };
}

function byId(a: { readonly nodeId: number }, b: { readonly nodeId: number }): number {
  return a.nodeId - b.nodeId;
}

/** The nodes from `firstNodeId` on, then those before it; nodes that failed the last time come last. */
function scanOrder(
  nodeIds: readonly number[],
  { firstNodeId, failed }: ScanContext['state'],
): readonly number[] {
  const rank = (nodeId: number): number =>
    (failed.has(nodeId) ? 2 : 0) + (nodeId < firstNodeId ? 1 : 0);
  return nodeIds.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * Each scan begins one node further. After a timeout it is the first unfinished node, but for those that had the whole
 * scan to themselves: they would use up the next one, too.
 */
function nextFirst(
  order: readonly number[],
  unfinished: ReadonlySet<number>,
  concurrency: number,
): number {
  const next = order.find((nodeId, at) => at >= concurrency && unfinished.has(nodeId));
  return next ?? order[1] ?? 0;
}

/** Why too little was read to publish sums: half of the nodes would halve them. */
export function scanFailure(
  { noNodeReachable }: Assignment,
  { scanned, failed }: ScanResult,
): PollFailure | undefined {
  if (noNodeReachable) {
    // Zeros would look like a cluster without problems.
    return { reason: 'other', message: 'ranges: no node is live, draining or decommissioning' };
  }
  const planned = scanned.length + failed.length;
  if (scanned.length * 2 >= planned) return undefined;
  const example = mostFrequent(failed);
  const message = `ranges: ${failed.length} of ${planned} nodes were not read; ${example?.message}`;
  return { reason: example?.reason ?? 'other', message, cause: example?.cause };
}

/** A scan that publishes is a success; what it lacks is logged and counted in crdb_range_scan_nodes. */
export function logFailures(
  { warn, state, options }: Pick<ScanContext, 'warn' | 'state' | 'options'>,
  { failed, timedOut }: ScanResult,
): void {
  if (options.page_limit > 0 && state.unpaged.size > 0) {
    // In each scan from then on, so that it is logged once.
    warn(
      'the servers list the stores of a node in another order on each page, so such nodes are read in one response: set collectors.ranges.page_limit to 0',
    );
  }
  for (const { nodeId, wasQueried, reason, message } of failed) {
    if (!wasQueried || (timedOut && reason === 'timeout')) continue;
    // Without the duration of the pause, which changes from scan to scan.
    warn(reason === 'timeout' ? `ranges of node ${nodeId}: the node does not respond` : message);
  }
  if (!timedOut) return;
  warn(
    'the scan exceeded its timeout, the next one continues where it stopped: raise collectors.ranges.timeout or concurrency, or divide the nodes among shards',
  );
}
