import { leadersOf, validLeaseOf } from './leadership.ts';
import { countsAsLive, type ClusterNode } from './nodes.ts';
import type { Problem, Range, Replica } from './ranges.ts';
import { canReach } from './reachability.ts';
import { hasMajority, REPLICA_TYPE, votesAfter } from './replica-types.ts';
import type { WorldState } from './state.ts';
import { neededNonVoters, neededVoters } from './wanted-replicas.ts';

/**
 * The problems that this replica reports, by the range as it knows it. Problems of the range come from one replica only:
 * the leaseholder's when its node is live, else the first live one of the descriptor. They depend on the liveness of nodes
 * and not on who reaches whom; whether a replica knows a leader depends on that.
 */
export function problemsOf(state: WorldState, range: Range, replica: Replica): Set<Problem> {
  const problems = new Set<Problem>([...replica.flags, ...replica.passing]);
  const viewer = state.nodes.get(replica.nodeId);
  if (viewer === undefined) return problems;
  if (!replica.quiescent && !knowsLeader(state, range, replica)) problems.add('no_raft_leader');
  const isLive = ({ nodeId }: { readonly nodeId: number }): boolean =>
    seesAsLive(viewer, state.nodes.get(nodeId));
  if (reportingStore(range, isLive) !== replica.storeId) return problems;
  if (!hasMajority(range.replicas, isLive)) problems.add('unavailable');
  const live = range.replicas.filter(isLive);
  const spareVoters = live.filter(votesAfter).length - neededVoters(state, range);
  const nonVoters = live.filter(({ type }) => type === REPLICA_TYPE.nonVoter).length;
  const spareNonVoters = nonVoters - neededNonVoters(state, range);
  if (spareVoters < 0 || spareNonVoters < 0) problems.add('underreplicated');
  else if (spareVoters > 0 || spareNonVoters > 0) problems.add('overreplicated');
  for (const problem of range.forced) problems.add(problem);
  return problems;
}

/** A replica that has not caught up is taken for one that sleeps and looks for no leader. */
function knowsLeader(state: WorldState, range: Range, { nodeId, knows }: Replica): boolean {
  if (knows !== undefined) return true;
  const lease = validLeaseOf(state, range);
  if (lease !== undefined && canReach(state, lease.nodeId, nodeId)) return true;
  return leadersOf(state, range).some((leader) => canReach(state, leader.nodeId, nodeId));
}

/** A partitioned node sees only itself; the others see all nodes except it. */
function seesAsLive(viewer: ClusterNode, node: ClusterNode | undefined): boolean {
  if (node === undefined) return false;
  if (viewer.process === 'partitioned') return node === viewer;
  return countsAsLive(node);
}

function reportingStore(
  { leases, replicas }: Range,
  isLive: (place: { readonly nodeId: number }) => boolean,
): number | undefined {
  const holder = leases.at(-1);
  if (holder !== undefined && isLive(holder)) return holder.storeId;
  return replicas.find(isLive)?.storeId;
}
