import { formatPercent } from '../format.ts';
import { atNodes, type Check, ratio } from './check.ts';

/** The checks of the sessions of a node, against its memory. */
export const SESSION_CHECKS: readonly Check[] = [
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
