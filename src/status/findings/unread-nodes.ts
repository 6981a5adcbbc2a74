import { formatNodes, plural } from '#base';
import type { FailedNode, RangesResult } from '#collectors';
import type { Problem } from './status.ts';

/** The problem that nodes were not read. A scan that read fewer than half of them has no summary: no counts are shown then. */
export function unreadNodes({ scanned, failed, summary }: RangesResult): readonly Problem[] {
  const [first] = failed;
  if (first === undefined) return [];
  const nodeIds = failed.map(({ nodeId }) => nodeId);
  const silent = failed.filter(isSilent).map(({ nodeId }) => nodeId);
  const effect = summary === undefined ? 'no counts are shown' : 'the counts are lower bounds';
  const command = `\`crdb-exporter ranges ${first.nodeId}\` reads one`;
  return [
    {
      key: 'unread nodes',
      about: 'exporter',
      nodeIds,
      alert: 'CrdbRangeScanIncomplete',
      text: `The ranges of ${failed.length} of ${failed.length + scanned.length} nodes were not read (${formatNodes(nodeIds)}): ${effect}.`,
      next:
        silent.length > 0
          ? `Check whether ${formatNodes(silent)} ${plural(silent.length, 'hangs', 'hang')}; ${command}.`
          : `${command}, and says what fails.`,
    },
  ];
}

/** Whether the node did not respond, to the exporter or to the node that asked it. */
function isSilent({ wasQueried, failure }: FailedNode): boolean {
  return wasQueried && failure.isSilence;
}
