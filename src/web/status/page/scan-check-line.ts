import { formatReplicas, type ScanCheckStatus } from '../../../findings/scan-status.ts';
import { formatCount } from '../../../format.ts';
import { html, type Html, icon } from './html.ts';

/** What was read against the nodes' own counts. */
export function scanCheckLine({ replicas, leases, disagrees }: ScanCheckStatus): Html {
  const counted =
    leases === undefined
      ? 'how many leases the nodes count is not known'
      : `${formatCount(leases.read)} leases read, the nodes count ${formatCount(leases.counted)} valid ones`;
  const text = `${formatReplicas(replicas)}; ${counted}.`;
  return disagrees
    ? html`<p class="old">${icon('warning')} ${text}</p>`
    : html`<p class="quiet">${text}</p>`;
}
