import {
  assertOneCluster,
  type ClusterApi,
  listNodes,
  type NodeList,
  RequestError,
} from '#cockroach';
import { mix } from './range-map.ts';
import type { ScanContext } from './scan-state.ts';

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
const REVIVE = 'start the nodes that are down: `crdb-exporter nodes` lists them';

/** Lists the nodes of a shard, each scan at another URL first. Rejects like the API, and when the URLs lead to several clusters. */
export async function assignNodes(api: ClusterApi, context: ScanContext): Promise<Assignment> {
  const { urls, state } = context;
  const { index, count, onlyNode } = context.shards;
  await assertOneCluster(api, context, urls);
  const firstUrl = state.scans % urls;
  const list = await listNodes(api, context, { firstUrl });
  const { toScan, toSkip, localities, areLocalitiesCut, unreadable } = list;
  if (areLocalitiesCut) context.limits.add('items');
  const isInShard = (nodeId: number): boolean =>
    onlyNode === undefined ? ownsNode(nodeId, index, count) : nodeId === onlyNode;
  const isWholeCluster = count === 1 && onlyNode === undefined;
  const assigned = new Set([...toScan, ...toSkip].filter(isInShard));
  return {
    toScan: toScan.filter(isInShard),
    toSkip: toSkip.filter(isInShard),
    localities,
    unreadable,
    isWholeCluster,
    // Zeros would look like a cluster without problems.
    failure:
      toScan.length === 0 ? new RequestError('other', NO_NODE, { remedy: REVIVE }) : undefined,
    isAssigned: (nodeId) => isWholeCluster || assigned.has(nodeId),
  };
}

/**
 * Lists the nodes again, and resolves to those that are up and were not when the scan began. Where nobody answers each of the `unlisted` may
 * be up.
 */
export async function findReturned(
  api: ClusterApi,
  context: ScanContext,
  before: NodeList,
  unlisted: ReadonlySet<number>,
): Promise<ReadonlySet<number>> {
  const { state, urls } = context;
  try {
    const { toScan } = await listNodes(api, context, { firstUrl: state.scans % urls });
    return new Set(toScan).difference(new Set(before.toScan));
  } catch {
    return unlisted;
  }
}

/** Assigns the node beside the exporter, which is 0 before its first response. */
export function assignLocalNode(nodeId: number): Assignment {
  return {
    toScan: [nodeId],
    toSkip: [],
    localities: new Map(),
    unreadable: 0,
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
