import { countsAsLive, type ClusterNode } from './nodes.ts';
import type { Problem, Range, Replica } from './ranges.ts';

/**
 * The problems that this replica reports. Problems of the range come from one replica only: the
 * leaseholder's when its node is live, else the first live one of the descriptor.
 */
export function problemsOf(
  range: Range,
  replica: Replica,
  nodes: ReadonlyMap<number, ClusterNode>,
): Set<Problem> {
  const problems = new Set<Problem>(replica.flags);
  const reporter = nodes.get(replica.nodeId);
  if (reporter === undefined) return problems;
  const live = range.replicas.filter((each) => seesAsLive(reporter, nodes.get(each.nodeId)));
  if (reportingReplica(range, live) !== replica) return problems;
  if (!hasQuorum(range, live)) problems.add('unavailable');
  if (live.length < range.wantedReplicas) problems.add('underreplicated');
  if (live.length > range.wantedReplicas) problems.add('overreplicated');
  for (const problem of range.forced) problems.add(problem);
  return problems;
}

/** A partitioned node sees only itself; the others see all nodes except it. */
function seesAsLive(viewer: ClusterNode, node: ClusterNode | undefined): boolean {
  if (node === undefined) return false;
  if (viewer.process === 'partitioned') return node === viewer;
  return countsAsLive(node);
}

function reportingReplica(range: Range, live: readonly Replica[]): Replica | undefined {
  const holder = range.leases.at(-1)?.storeId;
  return live.find((each) => each.storeId === holder) ?? live[0];
}

/** Whether the voters among these replicas are a quorum of the range. */
export function hasQuorum({ replicas }: Range, live: readonly Replica[]): boolean {
  return countVoters(live) >= quorumOf(countVoters(replicas));
}

function countVoters(replicas: readonly Replica[]): number {
  return replicas.filter(({ isVoter }) => isVoter).length;
}

/** The number of voters for a quorum. */
export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}
