import { capitalize, formatCount, formatDuration, plural, sum } from '#base';
import type { Check } from './check.ts';
import type { Evidence } from './evidence.ts';
import { countSlowRequests, latencyOf } from './node-metrics.ts';
import { findUnreachable } from './reachability.ts';

/** The check of the last result, however the polls since then ended: while they fail, the problem is marked as old. It is critical where it holds up requests. */
export const PARTITION: Check = {
  key: 'partition',
  about: 'nodes',
  alert: 'CrdbPartitionSuspected',
  find: findPartition,
  next: 'Check that these nodes are up, then the network between them: `crdb-exporter network` prints the errors. Stop no node until they reach each other: ranges could lose their quorum.',
};

function findPartition(evidence: Evidence): ReturnType<Check['find']> {
  const { network, nodes } = evidence;
  const found = findUnreachable(network, nodes);
  if (found.answer !== 'unreachable') return undefined;
  const { nodeIds } = found;
  const text = `${capitalize(found.reason)}.`;
  const effect = describeEffect(evidence);
  return effect === undefined
    ? { text, nodeIds }
    : { text: `${text} ${effect}.`, nodeIds, level: 'critical' };
}

/** What users notice: requests are stuck, or the slowest statements are slow. */
function describeEffect({ fresh, thresholds }: Evidence): string | undefined {
  const stuck = sum(fresh.map(countSlowRequests));
  if (stuck > 0)
    return `${formatCount(stuck)} ${plural(stuck, 'request is', 'requests are')} stuck`;
  const slowest = Math.max(0, ...fresh.map((node) => latencyOf(node) ?? 0));
  return slowest > thresholds.latency
    ? `The slowest percent of SQL statements takes ${formatDuration(slowest)} or more`
    : undefined;
}
