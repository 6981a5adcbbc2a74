import { countsAsLive, type ClusterNode } from './nodes.ts';
import type { Problem, Range, Replica } from './ranges.ts';
import { hasMajority, REPLICA_TYPE, votesAfter } from './replica-types.ts';
import type { WorldState } from './state.ts';
import { neededNonVoters, neededVoters } from './wanted-replicas.ts';

/**
 * The problems that this replica reports, by the range as it knows it. Problems of the range come from one replica only:
 * the leaseholder's when its node is live, else the first live one of the descriptor. They depend on the liveness of nodes
 * and not on who reaches whom.
 */
export function problemsOf(state: WorldState, range: Range, replica: Replica): Set<Problem> {
  const problems = new Set<Problem>(replica.flags);
  const viewer = state.nodes.get(replica.nodeId);
  if (viewer === undefined) return problems;
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
