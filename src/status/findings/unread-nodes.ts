import { formatNodes, plural } from '#base';
import type { FailedNode, RangesResult } from '#collectors';
import { isDown } from './node-problems.ts';
import type { NodesStatus } from './node-status.ts';
import type { Problem } from './status.ts';

/**
 * The problem that nodes were not read. A scan that read fewer than half of them has no summary: no counts are shown then. Of
 * nodes that are down by `list` there is nothing to ask: the next scan leaves them out.
 */
export function unreadNodes(
  { scanned, failed, summary }: RangesResult,
  list: NodesStatus['list'] = [],
): readonly Problem[] {
  if (failed.length === 0) return [];
  const nodeIds = failed.map(({ nodeId }) => nodeId);
  const down = new Set(list.filter(isDown).map(({ id }) => id));
  const effect = summary === undefined ? 'no counts are shown' : 'the counts are lower bounds';
  return [
    {
      key: 'unread nodes',
      about: 'exporter',
      nodeIds,
      alert: 'CrdbRangeScanIncomplete',
      text: `The ranges of ${failed.length} of ${failed.length + scanned.length} nodes were not read (${formatNodes(nodeIds)}): ${effect}.`,
      next: adviseOn(failed.filter(({ nodeId }) => !down.has(nodeId))),
    },
  ];
}

function adviseOn(nodes: readonly FailedNode[]): string {
  const [first] = nodes;
  if (first === undefined) return 'Expected while a node is down: the next scan leaves it out.';
  const silent = nodes.filter(isSilent).map(({ nodeId }) => nodeId);
  const command = `\`crdb-exporter ranges ${first.nodeId}\` reads one`;
  return silent.length > 0
    ? `Check whether ${formatNodes(silent)} ${plural(silent.length, 'hangs', 'hang')}; ${command}.`
    : `${command}, and says what fails.`;
}

/** Whether the node did not respond, to the exporter or to the node that asked it. */
function isSilent({ wasQueried, failure }: FailedNode): boolean {
  return wasQueried && failure.isSilence;
}
