import { capitalize } from '../format.ts';
import type { Check } from './check.ts';
import { findUnreachable } from './reachability.ts';

/** The check of the last result, however the polls since then ended: while they fail, the problem is marked as old. */
export const PARTITION: Check = {
  key: 'partition',
  about: 'nodes',
  alert: 'CrdbPartitionSuspected',
  find({ network: evidence, nodes }) {
    const found = findUnreachable(evidence && { ...evidence, state: 'ok' }, nodes);
    return found.answer === 'unreachable' ? `${capitalize(found.reason)}.` : undefined;
  },
  next: 'Check the network between these nodes: `crdb-exporter network` prints the errors. Stop no node until they reach each other: ranges whose replicas reach each other only through that node would lose their quorum.',
};
