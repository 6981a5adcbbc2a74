import { capitalize, formatNodes } from '#base';
import { addWarning, diagnose, type RangeDescriptor } from '#cockroach';
import { collectorPoll, DescriptorReader, ranges } from '#collectors';
import type { ClusterTarget } from './cluster-target.ts';
import { note } from './output/standard-output.ts';
import type { PrintedReplica } from './printed-replica.ts';

/** Types of replicas by their number in the API. */
const TYPES = [
  'voter',
  'learner',
  'incoming voter',
  'outgoing voter',
  'voter that becomes a learner',
  'non-voter',
  'voter that becomes a non-voter',
] as const;

/** The replicas of a range by its descriptor, as JSON. */
export interface DescriptorReport {
  /** The node that sent it. */
  readonly from_node_id: number;
  /** False: that replica does not hold the lease, and may not know the last change. */
  readonly is_from_leaseholder: boolean;
  readonly replicas: readonly { readonly node_id: number; readonly type: string }[];
}

/**
 * Reads the descriptors of ranges, each from the replica that holds the lease, else from the lowest node that reported it.
 * Prints why some are missing. Rejects only when the command is cancelled.
 */
export async function readDescriptors(
  { api, config, stats }: ClusterTarget,
  replicas: readonly Pick<PrintedReplica, 'range_id' | 'node_id' | 'is_leaseholder'>[],
): Promise<ReadonlyMap<number, DescriptorReport>> {
  const holders = new Map<number, number>();
  for (const { range_id: id = 0, node_id: node = 0, is_leaseholder: holdsLease } of replicas) {
    if (holdsLease || !holders.has(id)) holders.set(id, node);
  }
  const found = new Map<number, DescriptorReport>();
  const byNode = Map.groupBy(holders.keys(), (id) => holders.get(id) ?? 0);
  const failures = new Set<string>();
  const context = collectorPoll(stats, {
    options: { concurrency: 1 },
    state: ranges.createState(),
    urls: config.cluster_api?.urls.length ?? 1,
    descriptors: 'all',
  });
  const reader = new DescriptorReader(api, context);
  const batches = Array.from(byNode, ([nodeId, rangeIds]) => ({ nodeId, rangeIds }));
  await reader.read(batches, {
    isOver: false,
    receive({ nodeId }, descriptors) {
      for (const [rangeId, descriptor] of descriptors) {
        found.set(rangeId, toReport(nodeId, descriptor));
      }
    },
    fail(_batch, failure) {
      const { cause, remedy } = diagnose(failure, ranges, config, { hasWorked: true });
      failures.add(`who votes is not known: ${cause}; ${remedy}`);
    },
  });
  stats.signal.throwIfAborted();
  for (const text of failures) note(text);
  for (const warnings of context.state.reading.warnings.values()) {
    for (const warning of warnings.values()) addWarning(stats, warning);
  }
  return found;
}

function toReport(nodeId: number, descriptor: RangeDescriptor): DescriptorReport {
  return {
    from_node_id: nodeId,
    is_from_leaseholder: descriptor.isFromLeaseholder,
    replicas: descriptor.replicas
      .map(({ nodeId: node_id, type = -1 }) => ({ node_id, type: TYPES[type] ?? `type ${type}` }))
      .toSorted((a, b) => a.node_id - b.node_id),
  };
}

/** `Voter on nodes 1, 2 and 3, non-voter on node 4; not live: node 3.` */
export function describeReplicas(
  { replicas, from_node_id: from, is_from_leaseholder: isSure }: DescriptorReport,
  live: ReadonlySet<number>,
): string {
  const byType = Map.groupBy(replicas, ({ type }) => type);
  const texts = Array.from(
    byType,
    ([type, list]) => `${type} on ${formatNodes(list.map(({ node_id: id }) => id))}`,
  );
  const down = replicas.map(({ node_id: id }) => id).filter((id) => !live.has(id));
  const missing = down.length === 0 ? '' : `; not live: ${formatNodes(down)}`;
  const source = isSure ? '' : ` (as node ${from} knows it, which does not hold the lease)`;
  return `${capitalize(texts.join(', '))}${missing}${source}.`;
}
