import { changeRange, settleRange } from './descriptors.ts';
import { validLeaseOf } from './leadership.ts';
import { makeReplica, type Placement, type Range, type Replica } from './ranges.ts';
import { canReach } from './reachability.ts';
import { isChanging, isVoter, REPLICA_TYPE, type ReplicaType } from './replica-types.ts';
import { nodeOf, type WorldState } from './state.ts';

/**
 * Takes one step from the replicas that a range has to those that it is to have, as a server does: learners are added one
 * by one, then two configurations are joint, then the new one is alone, then those that were demoted go. Returns false
 * where there is no step to take, or the range has no majority to take it.
 */
export function stepReplicas(state: WorldState, range: Range): boolean {
  const lease = validLeaseOf(state, range);
  if (lease === undefined) return false;
  const { goal } = range;
  const isReachable = (nodeId: number): boolean => canReach(state, lease.nodeId, nodeId);
  // A target that is gone is given up, and its learner removed.
  const isOpen = goal !== undefined && missingOf(range, goal).every(isReachable);
  if (!isOpen) range.goal = undefined;
  const replicas = nextReplicas(state, range);
  if (replicas === undefined) {
    range.goal = undefined;
    return false;
  }
  changeRange(state, range, { replicas });
  settleRange(state, range);
  return true;
}

function nextReplicas(state: WorldState, range: Range): Replica[] | undefined {
  const { replicas, goal } = range;
  if (replicas.some(({ type }) => type in AFTER_JOINT)) return leaveJoint(replicas);
  if (goal === undefined) return withoutLearners(replicas);
  const [added] = missingOf(range, goal);
  if (added !== undefined) return [...replicas, arrive(state, range, added, goal)];
  return changeVoters(range, goal) ?? removeOthers(replicas, goal);
}

function missingOf({ replicas }: Range, { voters, nonVoters }: Placement): number[] {
  return [...voters, ...nonVoters].filter((id) => replicas.every(({ nodeId }) => nodeId !== id));
}

/** Each range uses another store of the node. */
function arrive(state: WorldState, range: Range, nodeId: number, { voters }: Placement): Replica {
  const node = nodeOf(state, nodeId);
  const store = node.stores[range.id % node.stores.length];
  if (store === undefined) throw new RangeError(`node ${nodeId} has no store`);
  const type = voters.includes(nodeId) ? REPLICA_TYPE.learner : REPLICA_TYPE.nonVoter;
  return makeReplica(node, store.id, range.nextReplicaId++, type);
}

/** What a replica becomes when the new configuration is alone; undefined when it goes at once. */
const AFTER_JOINT: Readonly<Partial<Record<ReplicaType, ReplicaType | undefined>>> = {
  [REPLICA_TYPE.incoming]: REPLICA_TYPE.voter,
  [REPLICA_TYPE.outgoing]: undefined,
  [REPLICA_TYPE.demotingToLearner]: REPLICA_TYPE.learner,
  [REPLICA_TYPE.demotingToNonVoter]: REPLICA_TYPE.nonVoter,
};

function leaveJoint(replicas: readonly Replica[]): Replica[] {
  return replicas.flatMap((replica) => {
    if (!(replica.type in AFTER_JOINT)) return [replica];
    const type = AFTER_JOINT[replica.type];
    return type === undefined ? [] : [{ ...replica, type }];
  });
}

function withoutLearners(replicas: readonly Replica[]): Replica[] | undefined {
  const left = replicas.filter(({ type }) => type !== REPLICA_TYPE.learner);
  return left.length === replicas.length ? undefined : left;
}

/** The configuration with the voters of the goal, joint with the old one unless it only gains a voter. */
function changeVoters({ id, replicas }: Range, goal: Placement): Replica[] | undefined {
  const changed = replicas.filter(
    (replica) => isVoter(replica) !== goal.voters.includes(replica.nodeId),
  );
  const [first] = changed;
  if (first === undefined) return undefined;
  const isSimple = changed.length === 1 && !isVoter(first);
  const gained = isSimple ? REPLICA_TYPE.voter : REPLICA_TYPE.incoming;
  // Both ways are in use: older servers remove the replica at once, newer ones make it a learner first.
  const { outgoing, demotingToLearner, demotingToNonVoter } = REPLICA_TYPE;
  const gone = id % 2 === 0 ? demotingToLearner : outgoing;
  return replicas.map((replica) => {
    if (!changed.includes(replica)) return replica;
    if (!isVoter(replica)) return { ...replica, type: gained };
    const stays = goal.nonVoters.includes(replica.nodeId);
    return { ...replica, type: stays ? demotingToNonVoter : gone };
  });
}

function removeOthers(replicas: readonly Replica[], goal: Placement): Replica[] | undefined {
  const wanted = [...goal.voters, ...goal.nonVoters];
  const left = replicas.filter(({ nodeId }) => wanted.includes(nodeId));
  return left.length === replicas.length ? undefined : left;
}

/** Whether the range has replicas that are on their way. */
export function isMoving({ goal, replicas }: Range): boolean {
  return goal !== undefined || isChanging(replicas);
}
