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

/** What a range whose replicas are verified can lose. */
export interface RangeVerdict {
  readonly state: 'safe' | 'dependent' | 'without_majority' | 'lost';
  /** The places without any one of which it would have no majority. */
  readonly needed: number;
  /** The only place that serves; 0 while several do, or none. */
  readonly last: number;
}

/**
 * Judges a range by its replicas. It has a majority when more than half of its voters serve; while its configuration
 * changes, more than half of the old voters and more than half of the new ones. Example: voters on nodes 1, 2 and 3,
 * non-voters on 4 and 5, node 3 is down: 2 of 3 voters serve, the quorum is 2, so nodes 1 and 2 are needed, 4 and 5 are not.
 */
export function judgeRange({ voters, votersBefore, serving }: RangeReplicas): RangeVerdict {
  if (serving === 0) return { state: 'lost', needed: 0, last: 0 };
  const last = (serving & (serving - 1)) === 0 ? serving : 0;
  const [spare, spareBefore] = [countSpare(voters, serving), countSpare(votersBefore, serving)];
  if (spare < 0 || spareBefore < 0) return { state: 'without_majority', needed: 0, last };
  const needed =
    (spare === 0 ? voters & serving : 0) | (spareBefore === 0 ? votersBefore & serving : 0);
  return { state: (needed | last) === 0 ? 'safe' : 'dependent', needed, last };
}

/** Whether a range that has a majority keeps it when these places stop together. */
export function keepsMajority(
  { voters, votersBefore, serving }: RangeReplicas,
  stopped: number,
): boolean {
  const left = serving & ~stopped;
  return countSpare(voters, left) >= 0 && countSpare(votersBefore, left) >= 0;
}

/** How many of the serving voters can go before there is no majority; below 0 there is none. */
function countSpare(voters: number, serving: number): number {
  return countPlaces(voters & serving) - Math.floor(countPlaces(voters) / 2) - 1;
}

/** Number of the places in a mask. */
export function countPlaces(mask: number): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}
