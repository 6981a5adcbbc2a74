import { ranges } from '../../../collectors/ranges.ts';
import { formatBytes, formatCount } from '../../../format.ts';
import { type ClusterTarget, clusterApiOf, collectOnce } from '../../cluster-target.ts';
import { CommandError } from '../../command.ts';
import { withProgress } from '../../output/progress.ts';
import { note } from '../../output/standard-output.ts';
import { routeOf } from '../ranges/replica.ts';

/** Of a replica in a listing, most of it the history of leases. */
const TYPICAL_REPLICA_BYTES = 1_500;

/**
 * Scans the ranges of all nodes, after printing what that costs. Resolves to the number of ranges that would lose their
 * quorum, by id of the live node that they would lose. `replicas`: of each node that is read, as it last reported them.
 */
export async function countDependentRanges(
  target: ClusterTarget,
  output: string,
  replicas: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const total = replicas.reduce((sum, count) => sum + count, 0);
  const bytes = formatBytes(total * TYPICAL_REPLICA_BYTES);
  const size = total === 0 ? '' : `: about ${formatCount(total)} replicas, ${bytes}`;
  note(`reads all ranges of ${replicas.length} nodes${size}; Ctrl-C cancels`);
  const { summary, failed, failure } = await scan(target, output);
  if (summary?.whole === undefined) {
    const cause = failure?.message ?? failed.map(({ message }) => message).join('; ');
    throw new CommandError(
      `not every live node was read, so no node is known to be safe: ${cause}`,
    );
  }
  const { nodes, uncertain } = summary.whole.domains;
  for (const [nodeId, { quorum, allReplicas }] of nodes) {
    if (quorum === 0) continue;
    const last =
      allReplicas === 0 ? '' : `, ${formatRanges(allReplicas)} of them the last live replica`;
    note(`do not stop node ${nodeId}: ${formatRanges(quorum)} would lose the quorum${last}`);
  }
  if (uncertain > 0) {
    note(
      `not certain: ${formatRanges(uncertain)} with non-voters may be missing replicas that count`,
    );
  }
  if ([...nodes.values()].every(({ quorum }) => quorum > 0)) {
    note('no node can stop now without a range losing its quorum');
  }
  return new Map(Array.from(nodes, ([nodeId, { quorum }]) => [nodeId, quorum]));
}

function formatRanges(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'range' : 'ranges'}`;
}

/** One scan by the collector. It reads every node, whatever the route or the shards of the exporter. */
function scan(target: ClusterTarget, output: string) {
  const settings = target.config.collectors['ranges'];
  const route = routeOf(target);
  const options = {
    page_limit: Number(settings?.['page_limit']),
    concurrency: Number(settings?.['concurrency']),
    route: route === 'local' ? ('auto' as const) : route,
    hot_ranges: 0,
    problem_ranges: 0,
    top_tables: 0,
  };
  return withProgress('nodes', output, (_advance, scanProgress) =>
    collectOnce(ranges, clusterApiOf(target), target, { options, warn: note, scanProgress }),
  );
}
