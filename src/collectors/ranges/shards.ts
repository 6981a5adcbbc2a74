import type { ClusterApi, PollStats } from '../../cockroach/cluster-api.ts';
import { listNodes } from '../../cockroach/node-list.ts';
import { mix } from './range-table.ts';

/** The nodes that this exporter is responsible for. */
export type Assignment = Awaited<ReturnType<typeof assignNodes>>;

/** The nodes of a shard. Rejects like the API. */
export async function assignNodes(
  api: ClusterApi,
  stats: PollStats,
  { index, count }: { readonly index: number; readonly count: number },
) {
  const { toScan, toSkip, localities } = await listNodes(api, stats);
  const isOwn = (nodeId: number): boolean => ownsNode(nodeId, index, count);
  const own = new Set([...toScan, ...toSkip].filter(isOwn));
  return {
    toScan: toScan.filter(isOwn),
    toSkip: toSkip.filter(isOwn),
    localities,
    isWholeCluster: count === 1,
    /** Whether no node of the cluster can be queried, by any shard. */
    noNodeReachable: toScan.length === 0,
    /** Whether this exporter scans a node other than the one that it is reading. */
    isAssigned: (nodeId: number): boolean => count === 1 || own.has(nodeId),
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
