import { capitalize, formatCounted, formatNodes, plural, sum } from '#base';
import type { ClusterScan } from '#collectors';
import type { Problem, RangesStatus } from './status.ts';

/** A follower may lag behind splits of a few of its ranges; of more of them its replicas are gone. */
const MAX_LAGGING = 0.02;

/**
 * Nodes that run without some of their replicas. Example: node 3 has started again without the disk of one of its two stores. It is live, no
 * range counts as under-replicated, and 18 of the 36 ranges that name it have a voter less. Where the nodes themselves count more replicas than
 * the scan read, it is the lists that lack them; where not all of them count, nobody knows.
 */
export function missingReplicas(
  scan: ClusterScan | undefined,
  check: RangesStatus['scanCheck'],
): readonly Problem[] {
  const lacking = [...(scan?.dependence?.nodes ?? [])].filter(([, { missing }]) => missing > 0);
  if (lacking.length === 0) return [];
  const nodeIds = lacking.map(([id]) => id);
  const replicas = sum(lacking.map(([, { missing }]) => missing));
  if (check === undefined || check.uncountedNodes > 0) return [];
  if (check.replicas.counted - check.replicas.read > replicas / 2) return [];
  const areMany = lacking.some(([, { missing, named }]) => missing > MAX_LAGGING * named);
  const lack = plural(nodeIds.length, 'lacks', 'lack');
  return [
    {
      key: 'missing replicas',
      about: 'nodes',
      nodeIds,
      level: areMany ? 'warning' : 'info',
      text: `${capitalize(formatNodes(nodeIds))} ${lack} ${formatCounted(replicas, 'replica')} that ranges have there: a store is missing, or lags behind splits.`,
      next: 'Start the node with all of its stores. From 5 minutes after a store is gone the cluster rebuilds its replicas on others; until then stop only nodes that are listed as safe to stop.',
    },
  ];
}
