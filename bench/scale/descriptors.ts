import type { DescribedRange } from '../described-ranges.ts';
import { holderAt, nodeIdAt, positionOf, REPLICATION, storeIdAt } from './layout.ts';
import type { ListedCluster } from './range-pages.ts';

/** Those of these ranges that the node holds. */
export function describedRanges(
  { layout, dead }: ListedCluster,
  node: number,
  rangeIds: readonly number[],
): readonly DescribedRange[] {
  const first = node - (node % REPLICATION);
  return rangeIds.flatMap((rangeId) => {
    const position = positionOf(layout, node, rangeId);
    if (position === undefined) return [];
    const replicaOn = (each: number) => ({
      nodeId: nodeIdAt(each),
      storeId: storeIdAt(layout, each, position),
    });
    return {
      rangeId,
      replicas: Array.from({ length: REPLICATION }, (_, turn) => replicaOn(first + turn)),
      source: replicaOn(node),
      isLeaseholder: holderAt(node, position, dead) === node,
    };
  });
}
