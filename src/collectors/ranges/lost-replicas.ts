import { PROBLEMS } from '../../vocabulary.ts';

// A complete scan shows of the replicas of one range: how many are live, how many it should have, how many more it
// can lose, and whether it has lost all of them. failure-domains.ts sums this up by node and by locality.

const UNAVAILABLE = 1 << PROBLEMS.indexOf('unavailable');
const UNDERREPLICATED = 1 << PROBLEMS.indexOf('underreplicated');

/** A range, as the complete scans before have shown it. */
export interface ReplicaHistory {
  /** Number of nodes that held the range in the last scan. */
  readonly lastHolders: number;
  /** Number of its replicas when two scans in a row last found the same number and none was missing; 0 before that. */
  readonly intended: number;
  /** Whether a replica reported the range as under-replicated in the last scan. */
  readonly wasUnderreplicated: boolean;
}

/** How many replicas of a range are live, and how many it should have. */
export interface ReplicaCount {
  readonly live: number;
  readonly intended: number;
  /** Whether the range is under-replicated, or was in the last scan and has not got more replicas since. */
  readonly isMissingSome: boolean;
}

export function isUnavailable(problems: number): boolean {
  return (problems & UNAVAILABLE) !== 0;
}

export function isUnderreplicated(problems: number): boolean {
  return (problems & UNDERREPLICATED) !== 0;
}

/**
 * Counts the replicas of a range of which a scan found `found`. Example: the range had 3 replicas in two scans, and this
 * scan finds 2. One has moved while the scan ran, so that 3 are live. If the range is reported as under-replicated, one is
 * missing, so that 2 of 3 are live.
 */
export function countReplicas(
  found: number,
  problems: number,
  { lastHolders, intended, wasUnderreplicated }: ReplicaHistory,
): ReplicaCount {
  // One replica reports this for all. While that replica moves, none does.
  const isMissingSome = isUnderreplicated(problems) || (wasUnderreplicated && found <= lastHolders);
  if (isMissingSome) {
    return { live: found, intended: intendedReplicas(found, intended), isMissingSome };
  }
  if (isUnavailable(problems)) {
    return { live: found, intended: Math.max(found, intended), isMissingSome };
  }
  const live = found + (found === lastHolders ? 0 : movedReplicas(found, intended));
  return { live, intended: live, isMissingSome };
}

/**
 * Replicas that moved while the scan ran, so that it did not find them. Example: a range that should have 5 replicas was
 * found with 3, so 2 have moved. While it is not known how many it should have, an even number shows that one has moved.
 */
function movedReplicas(found: number, intended: number): number {
  return found < intended ? intended - found : 1 - (found % 2);
}

/**
 * How many replicas an under-replicated range should have: as many as before. While that is not known, it is 3 for a range
 * that was found with 1 or 2, and 5 for one that was found with 3 or 4.
 */
function intendedReplicas(found: number, before: number): number {
  const isKnown = before > 1 || (before === 1 && found === 1);
  return Math.max(isKnown ? before : found + 1 + (found % 2), found);
}

/** The number of replicas that make a majority: 2 of 3, 3 of 4. */
function quorumOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1;
}

/**
 * How many more replicas a range can lose, whichever they are; below 0 it has no quorum. It is not known which replicas
 * are voters, so the missing ones count as voters. Example: a range has 3 voters and 2 non-voters, and one replica is
 * missing. In the worst case 2 voters are live. The quorum is 2, so the range can lose 0 more.
 */
export function countSpare(live: number, missing: number, voters: number): number {
  const quorum = quorumOf(voters);
  const spare = voters - missing - quorum;
  // The server would report a range without a quorum as unavailable: the worst case is not true here.
  if (spare < 0 && live >= quorum) return 0;
  return spare;
}

/** The nodes that held a range and do not report it now. */
export interface FormerHolders {
  /** Nodes that are live, and so have no replica any more. */
  readonly live: number;
  /** Nodes that are not live, and may still have their replica. */
  readonly down: number;
}

/**
 * Decides whether a range that no live node reports is lost, or was dropped on purpose, as by a merge. Nodes drop a range
 * only with a quorum of its replicas. Example: nodes 1, 2 and 3 held it. If 1 and 2 are down, node 3 alone cannot have
 * dropped it, so the range is lost. If only node 1 is down, nodes 2 and 3 are a quorum, so the range was dropped.
 */
export function judgeUnreported(
  { live, down }: FormerHolders,
  { intended, wasUnderreplicated }: ReplicaHistory,
): 'lost' | 'dropped' | 'unknown' {
  if (down === 0) return 'dropped';
  const holders = live + down;
  // A scan that has just seen the split of a range knows one of its holders. The others may be live.
  if (holders === 1 && intended === 0 && !wasUnderreplicated) return 'unknown';
  return live < quorumOf(intended > 1 ? intended : holders) ? 'lost' : 'dropped';
}
