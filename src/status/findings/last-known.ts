import { formatAgo, formatCount, formatList, formatNodes, moveTime } from '#base';
import type { LastSeen } from './evidence.ts';
import { formatLiveNodes, isDown } from './node-problems.ts';
import { isProblem } from './problem.ts';
import {
  adviseOutage,
  countByProblem,
  isSystemRange,
  nameRange,
  OUTAGES,
  START_NODES,
} from './range-problems.ts';
import { describeDoubt } from './range-status.ts';
import type {
  ClusterReading,
  ClusterView,
  LastKnownStatus,
  Problem,
  RangesStatus,
} from './status.ts';

/**
 * Replaces what was last seen by what a poll of this collector has just found, if it succeeded: nodes, counts of range
 * problems and the ranges that the collector lists, all bounded by their collectors, and the severity of the worst problems.
 */
export function remember(before: LastSeen, collector: string, reading: ClusterReading): LastSeen {
  const { apis, collectors, nodes, ranges } = reading;
  const polled = collectors.find(({ name }) => name === collector);
  if (polled?.lastSuccessAt === undefined) return before;
  const { state, isOld, lastSuccessAt: seenAt } = polled;
  const canTell = collector === 'ranges' && !isOld && ranges?.verification?.lost !== undefined;
  const losses = canTell ? readLosses(reading, seenAt) : before.losses;
  if (state !== 'ok') return { ...before, losses };
  const worst = isClusterDown(apis) ? before.worst : findWorst(reading, seenAt);
  const seen = { ...before, losses, worst };
  if (collector === 'nodes' && nodes !== undefined) return { ...seen, nodes: { seenAt, ...nodes } };
  if (collector !== 'ranges' || ranges === undefined) return seen;
  const { nodes: scanned, disputed, oldest } = ranges;
  const counts = Object.entries(countByProblem(ranges)).filter(([, count]) => count > 0);
  const problems = Object.fromEntries(counts);
  const doubt = describeDoubt(ranges);
  return { ...seen, ranges: { seenAt, nodes: scanned, problems, disputed, oldest, doubt } };
}

/** What was last seen, after the wall clock was set ahead by this, or back. The times of records are those of the servers. */
export function moveLastSeen({ nodes, ranges, worst, losses }: LastSeen, byMs: number): LastSeen {
  const move = (time: string): string => moveTime(time, byMs);
  const moveSeen = <Part extends { readonly seenAt: string }>(part: Part): Part => ({
    ...part,
    seenAt: move(part.seenAt),
  });
  const moveOldest = (oldest: RangesStatus['oldest']): RangesStatus['oldest'] =>
    oldest.map((range) => ({ ...range, firstSeenAt: move(range.firstSeenAt) }));
  const problems = losses?.problems.map((problem) => ({
    ...problem,
    since: problem.since && move(problem.since),
  }));
  return {
    nodes: nodes && moveSeen(nodes),
    ranges: ranges && { ...moveSeen(ranges), oldest: moveOldest(ranges.oldest) },
    worst: worst && { ...moveSeen(worst), since: move(worst.since) },
    losses: losses && { ...moveSeen(losses), problems: problems ?? [] },
  };
}

function findWorst({ findings, since }: ClusterReading, seenAt: string): LastKnownStatus['worst'] {
  const level = findings.find(isProblem)?.level;
  return level && { level, since, seenAt };
}

/** The lost ranges, and the nodes that were read. */
function readLosses({ findings, safeToStop }: ClusterReading, seenAt: string): LastSeen['losses'] {
  const problems = findings.filter(({ alert }) => alert === 'CrdbRangesLost');
  return { seenAt, problems, read: safeToStop.decisions.map(({ nodeId }) => nodeId) };
}

/**
 * Losses that nobody can confirm now. Example: node 4 is down, and 3 ranges were only there. Node 5 is not read either: any
 * range that was not reported may be on it, so that no scan can tell which are lost, and the 3 are still without a replica. When
 * node 4 comes up, by a list of nodes of a later time, it may have them: then they are no outage that is known.
 */
export function lastKnownLosses(
  { problems, seenAt, read }: NonNullable<LastSeen['losses']>,
  {
    apis,
    collectors,
    nodes,
    ranges,
    lastKnown,
  }: Pick<ClusterView, 'apis' | 'collectors' | 'nodes' | 'ranges' | 'lastKnown'>,
  nowMs: number,
): readonly Problem[] {
  // An API that is down has one problem with all that was last seen.
  const isTold = (lastKnown?.ranges?.problems['no_live_replica'] ?? 0) > 0;
  if (isTold || ranges?.verification?.lost !== undefined) return [];
  const listedAt = collectors.find(({ name }) => name === 'nodes')?.lastSuccessAt ?? '';
  const isLater = Date.parse(listedAt) > Date.parse(seenAt);
  const returned = (isLater ? (nodes?.list ?? []) : [])
    .filter((node) => !read.includes(node.id) && !isDown(node))
    .map(({ id }) => id);
  const isOpen = returned.length > 0;
  const since = ` Since then ${formatNodes(returned)} came up and may have what was missing.`;
  return problems.map((problem) => ({
    ...problem,
    level: isClusterDown(apis) ? 'info' : isOpen ? 'warning' : problem.level,
    text: `Not known now, last known ${formatAgo(seenAt, nowMs)}: ${problem.text}${isOpen ? since : ''}`,
    next: adviseOutage(START_NODES, !isLater || nodes === undefined || nodes.list.some(isDown)),
  }));
}

/** Whether the cluster API is down, so that nobody knows what is so now. */
export function isClusterDown(apis: ClusterView['apis']): boolean {
  return apis.some(({ api, isUp }) => api === 'cluster' && isUp === false);
}

/** What is remembered while nobody knows what is so now: the cluster API is down, and the polls of that part fail. */
export function readLastKnown(
  remembered: LastSeen,
  { apis, collectors }: Pick<ClusterView, 'apis' | 'collectors'>,
): LastKnownStatus | undefined {
  if (!isClusterDown(apis)) return undefined;
  const isFailing = (wanted: string): boolean =>
    collectors.some(({ name, state }) => name === wanted && state === 'failing');
  const nodes = isFailing('nodes') ? remembered.nodes : undefined;
  const ranges = isFailing('ranges') ? remembered.ranges : undefined;
  const { worst } = remembered;
  if (nodes === undefined && ranges === undefined && worst === undefined) return undefined;
  return { nodes, ranges, worst };
}

/** Sentences after a blank: ` Last seen 4 min ago: 7 of 9 nodes live, nodes 2 and 3 down.` */
export function describeLastKnown({ nodes, ranges }: LastKnownStatus, nowMs: number): string {
  return `${nodes ? describeLastNodes(nodes, nowMs) : ''}${ranges ? describeLastRanges(ranges, nowMs) : ''}`;
}

function describeLastNodes(
  { seenAt, ...nodes }: NonNullable<LastKnownStatus['nodes']>,
  nowMs: number,
): string {
  const down = nodes.list.filter((node) => isDown(node) && !node.isRetired).map(({ id }) => id);
  const downNodes = down.length === 0 ? '' : `, ${formatNodes(down)} down`;
  return ` Last seen ${formatAgo(seenAt, nowMs)}: ${formatLiveNodes(nodes)} nodes live${downNodes}.`;
}

function describeLastRanges(
  { seenAt, problems, oldest, doubt }: NonNullable<LastKnownStatus['ranges']>,
  nowMs: number,
): string {
  const { unavailable = 0, no_live_replica: lost = 0 } = problems;
  const counts = [
    ...(unavailable > 0 ? [`${formatCount(unavailable)} had no quorum`] : []),
    ...(lost > 0 ? [`${formatCount(lost)} had no live replica`] : []),
  ];
  if (counts.length === 0) return '';
  const system = oldest.filter(
    (range) => OUTAGES.includes(range.problem) && !range.isDisputed && isSystemRange(range),
  );
  const names = [...new Set(system.map(nameRange))];
  const among = names.length === 0 ? '' : `, system ranges among them: ${formatList(names)}`;
  return ` Ranges, last read ${formatAgo(seenAt, nowMs)}: ${doubt === undefined ? '' : 'at least '}${formatList(counts)}${among}.`;
}
