import { type FailureDomains, quorumOf } from './failure-domains.ts';
import type { ReplicaHistory } from './range-table.ts';

// A range is lost when no live node reports it, and the live nodes that held it were too few to have dropped it.

/** The judgement on a range that a complete scan did not find. */
interface UnreportedRange {
  /** The node with the lowest id of those that held it, if it is lost. */
  readonly lostOn: number | undefined;
  /** The nodes that may hold it still; the next scans look for it while there is one. */
  readonly holders: readonly number[];
}

/**
 * Judges a range that no live node reports by the nodes that held it before, and those of them that are down. Nodes drop a
 * range, as in a merge, only with a quorum of its replicas. Example: nodes 1, 2 and 3 held it. If 1 and 2 are down, node 3
 * alone cannot have dropped it, so the range is lost. If only node 1 is down, nodes 2 and 3 are a quorum, so the range was
 * dropped.
 */
export function judgeUnreported(
  former: readonly number[],
  down: readonly number[],
  domains: FailureDomains,
  { intended, wasUnderreplicated }: ReplicaHistory,
): UnreportedRange {
  const live = former.filter((nodeId) => domains.nodes.has(nodeId)).length;
  const replicas = live + down.length;
  if (down.length === 0 || live >= quorumOf(intended > 1 ? intended : replicas)) {
    return { lostOn: undefined, holders: [] };
  }
  // A scan that has just seen the split of a range knows one of its holders. The others may be live.
  const areOthersUnknown = replicas === 1 && intended === 0 && !wasUnderreplicated;
  return { lostOn: areOthersUnknown ? undefined : Math.min(...down), holders: down };
}
