import { formatNumber, formatPercent } from '../format.ts';
import { atNodes, type Check, ratio } from './check.ts';

/** The checks of the sessions of a node, against its CPUs and its memory. */
export const SESSION_CHECKS: readonly Check[] = [
  {
    about: 'nodes',
    alert: 'CrdbStatementConcurrencyHigh',
    find: atNodes(
      'nodes',
      ({ id, cpus }, { sessions, thresholds }) => {
        const executing = sessions?.nodes.get(id)?.executing ?? 0;
        return executing > thresholds.statements ? ratio(executing, cpus) : undefined;
      },
      (share, { statements_per_cpu }) => share > statements_per_cpu,
      (share) => `up to ${formatNumber(share)} statements per CPU are executing`,
    ),
    next: 'Limit the connection pools: more concurrency only adds latency.',
  },
  {
    about: 'nodes',
    alert: 'CrdbSessionMemoryHigh',
    find: atNodes(
      'nodes',
      ({ id, memoryBytes }, { sessions }) =>
        ratio(sessions?.nodes.get(id)?.allocBytes, memoryBytes),
      (share, { session_memory }) => share > session_memory,
      (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
    ),
    next: '`crdb-exporter sessions --sort memory` lists the largest first.',
  },
];
