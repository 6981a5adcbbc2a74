import type { ClusterApi, Reading } from '../../cluster/api.ts';
import { listNodes, type NodeList } from './node-list.ts';
import { ownsNode, type Shard } from './shards.ts';

/** Whether this exporter scans the node that holds a lease, and so counts its changes there. */
export type IsOurs = (leaseNodeId: number, ownNodeId: number) => boolean;

/** The nodes that this exporter is to look after. */
export interface Share extends NodeList {
  /** Whether nobody else looks after any. */
  readonly isWhole: boolean;
  /** Whether no node of the cluster can be asked, by whomever. */
  readonly isHopeless: boolean;
  readonly isOurs: IsOurs;
}

const isOwnNode: IsOurs = (leaseNodeId, ownNodeId) => leaseNodeId === ownNodeId;
const isAnyNode: IsOurs = () => true;

/** The one node beside the exporter; its id is 0 before it has named itself. */
export function localShare(nodeId: number): Share {
  return { toAsk: [nodeId], toSkip: [], isWhole: false, isHopeless: false, isOurs: isOwnNode };
}

/** The shard's nodes. Rejects like the API. */
export async function listShare(api: ClusterApi, reading: Reading, shard: Shard): Promise<Share> {
  const listed = await listNodes(api, reading);
  const isHopeless = listed.toAsk.length === 0;
  if (shard.count === 1) return { ...listed, isWhole: true, isHopeless, isOurs: isAnyNode };
  const own = new Set(
    [...listed.toAsk, ...listed.toSkip].filter((nodeId) => ownsNode(nodeId, shard)),
  );
  const isOwn = (nodeId: number): boolean => own.has(nodeId);
  return {
    toAsk: listed.toAsk.filter(isOwn),
    toSkip: listed.toSkip.filter(isOwn),
    isWhole: false,
    isHopeless,
    isOurs: isOwn,
  };
}

/** Says which nodes belong to the share but were not read: what they reported last may still be so. */
export function isUnreadOf(
  { toAsk, toSkip }: Share,
  read: readonly { readonly nodeId: number }[],
): (nodeId: number) => boolean {
  const unread = new Set([...toAsk, ...toSkip]);
  for (const { nodeId } of read) unread.delete(nodeId);
  return (nodeId) => unread.has(nodeId);
}
