/** The type of a replica in its range's descriptor, as the server numbers them. */
export const REPLICA_TYPE = {
  voter: 0,
  learner: 1,
  incoming: 2,
  outgoing: 3,
  demotingToLearner: 4,
  nonVoter: 5,
  demotingToNonVoter: 6,
} as const;

export type ReplicaType = (typeof REPLICA_TYPE)[keyof typeof REPLICA_TYPE];

interface Typed {
  readonly type: ReplicaType;
}

/** Whether the replica votes in the old configuration of a range; in the only one, unless two are joint. */
function votesBefore({ type }: Typed): boolean {
  const { voter, outgoing, demotingToLearner, demotingToNonVoter } = REPLICA_TYPE;
  return [voter, outgoing, demotingToLearner, demotingToNonVoter].some((each) => each === type);
}

/** Whether the replica votes in the new configuration of a range; in the only one, unless two are joint. */
export function votesAfter({ type }: Typed): boolean {
  return type === REPLICA_TYPE.voter || type === REPLICA_TYPE.incoming;
}

export function isVoter(replica: Typed): boolean {
  return votesBefore(replica) || votesAfter(replica);
}

/** Whether the configuration changes: two are joint, or a replica is only learning yet. */
export function isChanging(replicas: readonly Typed[]): boolean {
  const { voter, nonVoter } = REPLICA_TYPE;
  return replicas.some(({ type }) => type !== voter && type !== nonVoter);
}

/**
 * Whether the replicas that count are a majority of the voters: while two configurations are joint, of the old ones and
 * of the new ones. Example: voters 1, 2, 3 become 1, 4, 5; replicas 1, 2 and 3 are a majority of the old ones only.
 */
export function hasMajority<R extends Typed>(
  replicas: readonly R[],
  counts: (replica: R) => boolean,
): boolean {
  return [votesBefore, votesAfter].every((votes) => {
    const voters = replicas.filter(votes);
    return voters.filter(counts).length > voters.length / 2;
  });
}
