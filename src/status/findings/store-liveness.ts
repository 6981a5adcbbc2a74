import { capitalize, formatCount, plural } from '#base';
import { DEAD, livenessOf, REACHABLE } from '#cockroach';
import type { NodeStatus } from '#collectors';
import { describePlaces } from './check.ts';
import type { Evidence } from './evidence.ts';
import type { Problem } from './status.ts';

/** A node that stopped or started so recently explains that others withdrew their support of it. */
const RECENT_SECONDS = 900;

/** The alerts of what waits while leases are lost. */
const EFFECTS: ReadonlySet<Problem['alert']> = new Set([
  'CrdbLatencyHigh',
  'CrdbRequestsStuck',
  'CrdbRangesWithoutLease',
]);

/**
 * Stores that withdrew their support of others although no node has stopped: a store that is supported by too few loses its
 * leader leases. Only information, as leases come back by themselves: a cause of what has waited meanwhile.
 */
export function supportProblems(evidence: Evidence): readonly Problem[] {
  const { withdrawnSupport, unsentHeartbeats, nodes } = evidence;
  const withdrawn = placesOf(evidence, withdrawnSupport);
  if (withdrawn.length === 0 || nodes.some((node) => isExplanation(node, nodes))) return [];
  const { text, nodeIds } = describePlaces(withdrawn);
  const most = Math.max(...withdrawn.map(({ count }) => count));
  const unsent = placesOf(evidence, unsentHeartbeats);
  const silent =
    unsent.length === 0
      ? ''
      : ` ${capitalize(describePlaces(unsent).text)} could not send ${formatCount(Math.max(...unsent.map(({ count }) => count)))} heartbeats or fewer.`;
  return [
    {
      key: 'withdrawn support',
      about: 'nodes',
      level: 'info',
      nodeIds,
      text: `${capitalize(text)} withdrew support from other stores up to ${formatCount(most)} ${plural(most, 'time', 'times')} in 10 minutes, and no node has stopped: leader leases were lost.${silent}`,
      next: 'Heartbeats between stores come late or not at all: look for a slow or hanging disk, for a CPU that is busy, and for connections that fail (crdb-exporter network).',
    },
  ];
}

/** The problems, of which those that withdrawn support explains lead to it. */
export function leadToSupport(
  problems: readonly Problem[],
  support: readonly Problem[],
): readonly Problem[] {
  if (support.length === 0) return problems;
  return problems.map((problem) =>
    EFFECTS.has(problem.alert)
      ? { ...problem, next: `First see which stores withdrew their support. ${problem.next}` }
      : problem,
  );
}

/** Stores of nodes with fresh records that have such a count. */
function placesOf({ fresh }: Evidence, counts: ReadonlyMap<string, number>) {
  return fresh.flatMap(({ id: nodeId, stores }) =>
    Array.from(stores.keys()).flatMap((storeId) => {
      const count = counts.get(storeId) ?? 0;
      return count > 0 ? [{ nodeId, storeId, count }] : [];
    }),
  );
}

/** Whether the node is down or leaves, unless it died long ago, or has just started. */
function isExplanation(node: NodeStatus, all: readonly NodeStatus[]): boolean {
  const newest = all.reduce((last, { updatedSeconds }) => Math.max(last, updatedSeconds), 0);
  const status = livenessOf(node);
  const isRecent = (seconds: number): boolean => newest - seconds < RECENT_SECONDS;
  if (DEAD.has(status) || status === 'unknown') return isRecent(node.updatedSeconds);
  return !REACHABLE.has(status) || status === 'draining' || isRecent(node.startedSeconds);
}
