import type { ClusterApi, PollStats } from '../../cockroach/cluster-api.ts';
import type { RangeRoute } from '../../cockroach/listings.ts';
import { listNodes } from '../../cockroach/node.ts';
import type { NodeList } from '../../cockroach/node.ts';
import { messageOf } from '../../format.ts';
import type { FailureReason } from '../../vocabulary.ts';
import { type CollectorPoll, mostFrequent, type PollFailure } from '../collector.ts';
import type { NodeTotals } from './node-tally.ts';
import { mix } from './range-table.ts';

/** The nodes that this exporter is responsible for. */
export interface Assignment extends NodeList {
  /** Whether these are all nodes of the cluster, so that what is known of all ranges can be said. */
  readonly isWholeCluster: boolean;
  /** Whether no node of the cluster can be queried, by any shard. */
  readonly noNodeReachable: boolean;
  /** Whether this exporter scans a node other than the one that it is reading. */
  readonly isAssigned: (nodeId: number) => boolean;
}

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
    noNodeReachable: toScan.length === 0,
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
    noNodeReachable: false,
    isAssigned: () => false,
  };
}

/** Rendezvous hashing: all shards agree without talking, and one more shard takes over only its fair share of nodes. */
export function ownsNode(nodeId: number, index: number, count: number): boolean {
  const ours = hash(nodeId, index);
  for (let other = 0; other < count; other += 1) {
    const theirs = hash(nodeId, other);
    if (theirs > ours || (theirs === ours && other < index)) return false;
  }
  return true;
}

/** Makes 32 bits out of two integers. */
function hash(nodeId: number, shard: number): number {
  return mix(mix(nodeId) ^ Math.imul(shard + 1, 0x9e37_79b1));
}

/** State of reading the nodes that the next scan continues. */
export interface ReadingState {
  firstNodeId: number;
  /** Number of scans. */
  scans: number;
  /** Nodes that could not be read in the last scan. */
  failed: ReadonlySet<number>;
  /** The servers of this cluster ignore `remote_node_id`. */
  gatewayOnly: boolean;
  /** Nodes whose stores came in another order on the next page: pages lose replicas of theirs. */
  readonly unpaged: Set<number>;
}

export function createReadingState(): ReadingState {
  return { firstNodeId: 0, scans: 0, failed: new Set(), gatewayOnly: false, unpaged: new Set() };
}

/** The options and the state that reading nodes needs. */
export type NodesContext = CollectorPoll<
  {
    readonly route: RangeRoute | 'auto';
    readonly page_limit: number;
    readonly node_timeout: number;
    readonly concurrency: number;
  },
  ReadingState
>;

/** A node that was not read. */
export interface FailedNode {
  readonly nodeId: number;
  /** False when the scan ran out of time before it began with this node. */
  readonly wasQueried: boolean;
  readonly reason: FailureReason;
  readonly message: string;
  /** The error of the request. */
  readonly cause?: unknown;
}

/** The nodes that were read and those that were not, by id. */
export interface ReadNodes {
  readonly nodes: readonly NodeTotals[];
  readonly failed: readonly FailedNode[];
  /** Whether the deadline ended the scan. */
  readonly timedOut: boolean;
}

/**
 * Reads the nodes, whose ids ascend, until all are done or the signal aborts; the failure of one does not end the scan.
 * Nodes that failed the last time come last: others must not wait for their silence. `firstUrl` differs between
 * consecutive nodes and between consecutive scans of a node, so that a URL that is down does not always fail the same ones.
 */
export async function readNodes(
  context: NodesContext,
  nodeIds: readonly number[],
  readNode: (nodeId: number, firstUrl: number) => Promise<NodeTotals>,
): Promise<ReadNodes> {
  const { state, signal, options, urls, reasonOf, scanProgress } = context;
  const order = scanOrder(nodeIds, state);
  const nodes: NodeTotals[] = [];
  const failed: FailedNode[] = [];
  const interrupted: number[] = [];
  let begun = 0;

  async function readOneByOne(): Promise<void> {
    for (;;) {
      const nodeId = order[begun];
      if (nodeId === undefined || signal.aborted) return;
      const firstUrl = (state.scans + begun) % urls;
      begun += 1;
      try {
        nodes.push(await readNode(nodeId, firstUrl));
      } catch (error) {
        const failure = { reason: reasonOf(error), message: messageOf(error), cause: error };
        if (signal.aborted) interrupted.push(nodeId);
        else failed.push({ nodeId, wasQueried: true, ...failure });
      }
      scanProgress(nodes.length + failed.length, order.length);
    }
  }

  scanProgress(0, order.length);
  await Promise.all(Array.from({ length: options.concurrency }, readOneByOne));
  state.failed = new Set(failed.map(({ nodeId }) => nodeId));
  const unfinished = new Set([...interrupted, ...order.slice(begun)]);
  for (const nodeId of unfinished) {
    const message = `ranges of node ${nodeId}: the scan ran out of time`;
    failed.push({ nodeId, wasQueried: interrupted.includes(nodeId), reason: 'timeout', message });
  }
  state.scans += 1;
  state.firstNodeId = nextFirst(order, unfinished, options.concurrency);
  return {
    // They are sorted by id, not by arrival: what exceeds a budget then always misses the same nodes.
    nodes: nodes.toSorted(byId),
    failed: failed.toSorted(byId),
    timedOut: unfinished.size > 0,
  };
}

function byId(a: { readonly nodeId: number }, b: { readonly nodeId: number }): number {
  return a.nodeId - b.nodeId;
}

/** The nodes from `firstNodeId` on, then those before it; nodes that failed the last time come last. */
function scanOrder(
  nodeIds: readonly number[],
  { firstNodeId, failed }: ReadingState,
): readonly number[] {
  const rank = (nodeId: number): number =>
    (failed.has(nodeId) ? 2 : 0) + (nodeId < firstNodeId ? 1 : 0);
  return nodeIds.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * Each scan begins one node further. After a timeout it begins with the first unfinished node, except those that had the
 * whole scan to themselves: they would use up the next one, too. Example: of the nodes 1 to 9, read two at a time, 1 is
 * silent until the end and 8 and 9 were not begun: the next scan begins with 8.
 */
function nextFirst(
  order: readonly number[],
  unfinished: ReadonlySet<number>,
  concurrency: number,
): number {
  const next = order.find((nodeId, index) => index >= concurrency && unfinished.has(nodeId));
  return next ?? order[1] ?? 0;
}

/** Why too little was read to publish sums: half of the nodes would halve them. */
export function scanFailure(
  { noNodeReachable }: Assignment,
  { nodes, failed }: ReadNodes,
): PollFailure | undefined {
  if (noNodeReachable) {
    // Zeros would look like a cluster without problems.
    return { reason: 'other', message: 'ranges: no node is live, draining or decommissioning' };
  }
  const planned = nodes.length + failed.length;
  if (nodes.length * 2 >= planned) return undefined;
  const example = mostFrequent(failed);
  const message = `ranges: ${failed.length} of ${planned} nodes were not read; ${example?.message}`;
  return { reason: example?.reason ?? 'other', message, cause: example?.cause };
}

/** A scan that publishes is a success; what it lacks is logged and counted in crdb_range_scan_nodes. */
export function logFailures(
  { warn, state, options }: Pick<NodesContext, 'warn' | 'state' | 'options'>,
  { failed, timedOut }: ReadNodes,
): void {
  if (options.page_limit > 0 && state.unpaged.size > 0) {
    // The warning is given in each scan from then on, so that it is logged once.
    warn(
      'the servers list the stores of a node in another order on each page, so such nodes are read in one response: set collectors.ranges.page_limit to 0',
    );
  }
  for (const { nodeId, wasQueried, reason, message } of failed) {
    if (!wasQueried || (timedOut && reason === 'timeout')) continue;
    // The message would name the duration of the pause, which changes from scan to scan.
    warn(reason === 'timeout' ? `ranges of node ${nodeId}: the node does not respond` : message);
  }
  if (!timedOut) return;
  warn(
    'the scan exceeded its timeout, the next one continues where it stopped: raise collectors.ranges.timeout or concurrency, or divide the nodes among shards',
  );
}
