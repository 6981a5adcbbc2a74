import { validLeaseOf } from './leadership.ts';
import type { ClusterNode } from './nodes.ts';
import type { Placement, Range, Replica } from './ranges.ts';
import { canReach } from './reachability.ts';
import { REPLICA_TYPE } from './replica-types.ts';
import { nodeOf, type WorldState } from './state.ts';
import { neededNonVoters, neededVoters } from './wanted-replicas.ts';

/**
 * What the server would do next for a range whose configuration does not change: one replica more, less or elsewhere.
 * Dead replicas are replaced before those of leaving nodes, and removed where there are too many. Undefined when nothing is
 * wrong or no node is left to take a replica.
 */
export function nextPlacement(state: WorldState, range: Range): Placement | undefined {
  const lease = validLeaseOf(state, range);
  if (lease === undefined) return undefined;
  const [target] = freeNodes(state, range, lease.nodeId);
  const voters = nodesOf(range, REPLICA_TYPE.voter);
  const nonVoters = nodesOf(range, REPLICA_TYPE.nonVoter);
  const spareVoters = voters.length - neededVoters(state, range);
  const spareNonVoters = nonVoters.length - neededNonVoters(state, range);
  const isDead = (id: number): boolean => isGone(nodeOf(state, id));
  const isLeaving = (id: number): boolean => nodeOf(state, id).membership !== 'active';
  const first = (ids: readonly number[]): number | undefined =>
    ids.find(isDead) ?? ids.find(isLeaving);
  const last = (ids: readonly number[]): number | undefined =>
    ids.findLast((id) => id !== lease.nodeId);

  if (spareVoters < 0) {
    const promoted =
      spareNonVoters > 0 ? nonVoters.find((id) => !isDead(id) && !isLeaving(id)) : undefined;
    return withMore({ voters, nonVoters: without(nonVoters, promoted) }, promoted ?? target, true);
  }
  if (spareVoters > 0) {
    const removed = first(voters);
    const demoted = removed === undefined && spareNonVoters < 0 ? last(voters) : undefined;
    const left = without(voters, removed ?? demoted ?? last(voters));
    const more = demoted === undefined ? nonVoters : [...nonVoters, demoted];
    return { voters: left, nonVoters: more };
  }
  const replacedVoter = first(voters);
  if (replacedVoter !== undefined && target !== undefined)
    return { voters: [...without(voters, replacedVoter), target], nonVoters };
  if (spareNonVoters < 0) return withMore({ voters, nonVoters }, target, false);
  const replaced = first(nonVoters);
  if (spareNonVoters > 0)
    return { voters, nonVoters: without(nonVoters, replaced ?? nonVoters.at(-1)) };
  if (replaced === undefined || target === undefined) return undefined;
  return { voters, nonVoters: [...without(nonVoters, replaced), target] };
}

function nodesOf({ replicas }: Range, type: Replica['type']): number[] {
  return replicas.filter((replica) => replica.type === type).map(({ nodeId }) => nodeId);
}

function without(ids: readonly number[], id: number | undefined): number[] {
  return ids.filter((each) => each !== id);
}

function withMore(
  { voters, nonVoters }: Placement,
  id: number | undefined,
  isVoter: boolean,
): Placement | undefined {
  if (id === undefined) return undefined;
  return isVoter
    ? { voters: [...voters, id], nonVoters }
    : { voters, nonVoters: [...nonVoters, id] };
}

/** Dead for the server, which replaces its replicas: five minutes after its last heartbeat. */
function isGone({ liveness }: ClusterNode): boolean {
  return liveness === 'dead' || liveness === 'decommissioned';
}

/** The nodes that may take a replica; each range begins with another one. */
function freeNodes(state: WorldState, { id, replicas }: Range, leaseholder: number): number[] {
  const free = [...state.nodes.values()].filter(
    (node) =>
      node.liveness === 'live' &&
      node.membership === 'active' &&
      !node.isBehind &&
      canReach(state, leaseholder, node.id) &&
      replicas.every(({ nodeId }) => nodeId !== node.id),
  );
  const ids = free.map((node) => node.id);
  const at = id % Math.max(1, ids.length);
  return [...ids.slice(at), ...ids.slice(0, at)];
}
