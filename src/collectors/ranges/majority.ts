/**
 * The replicas of a range as masks: bit i stands for its place i. `votersBefore` are the voters before a change of the
 * configuration that is going on; otherwise both masks of voters are the same.
 */
export interface RangeReplicas {
  readonly voters: number;
  readonly votersBefore: number;
  /** The places whose replicas serve: on live nodes, and not stuck. Non-voters and learners are among them. */
  readonly serving: number;
}

/**
 * Whether more than half of the voters serve when these places stop together, 0 for none; while the configuration changes, more than half of
 * the old voters and more than half of the new ones. Example: voters on nodes 1, 2 and 3, non-voters on 4 and 5, node 3 is
 * down: 2 of 3 voters serve, which is a majority. It ends when node 1 or 2 stops, and not when 4 and 5 do.
 */
export function keepsMajority(
  { voters, votersBefore, serving }: RangeReplicas,
  stopped: number,
): boolean {
  const left = serving & ~stopped;
  return isMajority(left, voters) && isMajority(left, votersBefore);
}

function isMajority(serving: number, voters: number): boolean {
  return 2 * countPlaces(voters & serving) > countPlaces(voters);
}

/** Number of the places in a mask. */
export function countPlaces(mask: number): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}
