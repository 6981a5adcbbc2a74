import { formatAgo, formatCount, formatList, formatNodes } from '../format.ts';
import { formatLiveNodes, isDown } from './node-problems.ts';
import { isSystemRange, nameRange, OUTAGES } from './range-problems.ts';
import type { ClusterView, LastKnownStatus } from './status.ts';

/**
 * Replaces what was last seen by what a poll of this collector has just found, if it succeeded: nodes, counts of range
 * problems and the ranges that the collector lists, all bounded by their collectors.
 */
export function remember(
  before: LastKnownStatus,
  collector: string,
  { collectors, nodes, ranges }: ClusterView,
): LastKnownStatus {
  const polled = collectors.find(({ name }) => name === collector);
  const seenAt = polled?.state === 'ok' ? polled.lastSuccessAt : undefined;
  if (seenAt === undefined) return before;
  if (collector === 'nodes' && nodes !== undefined)
    return { ...before, nodes: { seenAt, ...nodes } };
  if (collector !== 'ranges' || ranges === undefined) return before;
  const { nodes: scanned, problems, oldest } = ranges;
  return { ...before, ranges: { seenAt, nodes: scanned, problems, oldest } };
}

/** What is remembered while nobody knows what is so now: the cluster API is down, and the polls of that part fail. */
export function readLastKnown(
  remembered: LastKnownStatus,
  { apis, collectors }: Pick<ClusterView, 'apis' | 'collectors'>,
): LastKnownStatus | undefined {
  if (!apis.some(({ api, isUp }) => api === 'cluster' && isUp === false)) return undefined;
  const isFailing = (wanted: string): boolean =>
    collectors.some(({ name, state }) => name === wanted && state === 'failing');
  const nodes = isFailing('nodes') ? remembered.nodes : undefined;
  const ranges = isFailing('ranges') ? remembered.ranges : undefined;
  return nodes === undefined && ranges === undefined ? undefined : { nodes, ranges };
}

/** Sentences after a blank: ` Last seen 4 min ago: 7 of 9 nodes live, nodes 2 and 3 down.` */
export function describeLastKnown({ nodes, ranges }: LastKnownStatus, nowMs: number): string {
  return `${nodes ? describeNodes(nodes, nowMs) : ''}${ranges ? describeRanges(ranges, nowMs) : ''}`;
}

function describeNodes(
  { seenAt, ...nodes }: NonNullable<LastKnownStatus['nodes']>,
  nowMs: number,
): string {
  const down = nodes.list.filter((node) => isDown(node) && !node.isRetired).map(({ id }) => id);
  const downNodes = down.length === 0 ? '' : `, ${formatNodes(down)} down`;
  return ` Last seen ${formatAgo(seenAt, nowMs)}: ${formatLiveNodes(nodes)} nodes live${downNodes}.`;
}

function describeRanges(
  { seenAt, nodes, problems, oldest }: NonNullable<LastKnownStatus['ranges']>,
  nowMs: number,
): string {
  const { unavailable = 0, no_live_replica: lost = 0 } = problems;
  const counts = [
    ...(unavailable > 0 ? [`${formatCount(unavailable)} had no quorum`] : []),
    ...(lost > 0 ? [`${formatCount(lost)} had no live replica`] : []),
  ];
  if (counts.length === 0) return '';
  const system = oldest.filter((range) => OUTAGES.includes(range.problem) && isSystemRange(range));
  const names = [...new Set(system.map(nameRange))];
  const among = names.length === 0 ? '' : `, system ranges among them: ${formatList(names)}`;
  return ` Ranges, last read ${formatAgo(seenAt, nowMs)}: ${nodes.failed > 0 ? 'at least ' : ''}${formatList(counts)}${among}.`;
}
