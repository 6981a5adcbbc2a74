import {
  capitalize,
  formatCount,
  formatDuration,
  formatNodes,
  formatPercent,
  plural,
  type Severity,
} from '#base';
import type { NodesStatus, NodeStatus, VersionsStatus } from '../findings/node-status.ts';
import { bySeverity } from '../findings/problem.ts';
import type { Finding, ReachabilityStatus } from '../findings/status.ts';
import { describeHeldUpgrade } from '../findings/versions.ts';
import { type Column, html, type Html, icon, type Part, relativeTime, table } from './html.ts';

/** Up to this many nodes have one row each; of more, those that are not healthy and a few others. */
const MAX_NODE_ROWS = 30;
const MIN_NODE_ROWS = 10;
/** Localities that are counted where not every node has a row. */
const MAX_LOCALITY_ROWS = 20;

/** The levels of nodes, the worst first. */
const LEVELS = ['critical', 'warning', 'info', 'live'] as const;

/**
 * The nodes, the worst first, those that findings name with a mark; `lastSeenAt` while the polls fail, when nobody knows what is
 * so now.
 */
export function nodeTable(
  { list, versions }: NodesStatus,
  findings: readonly Finding[],
  nowMs: number,
  lastSeenAt?: string,
): Html {
  const marks = lastSeenAt === undefined ? markNodes(findings) : new Map<number, Severity>();
  const rankOf = (node: NodeStatus): number => {
    const mark = marks.get(node.id);
    return Math.min(LEVELS.indexOf(nodeLevel(node, mark)), LEVELS.indexOf(mark ?? 'live'));
  };
  const sorted = list.toSorted((a, b) => rankOf(a) - rankOf(b) || a.id - b.id);
  const unhealthy = list.filter((node) => rankOf(node) < LEVELS.indexOf('live')).length;
  const rows =
    list.length <= MAX_NODE_ROWS
      ? MAX_NODE_ROWS
      : Math.min(MAX_NODE_ROWS, Math.max(MIN_NODE_ROWS, unhealthy));
  const columns =
    lastSeenAt === undefined ? currentColumns(list, marks, nowMs) : pastColumns(lastSeenAt, nowMs);
  return html`${table('Nodes', sorted.slice(0, rows), columns, ({ id }) => marks.get(id))}${
    sorted.length > rows && otherNodes(sorted.slice(rows), list, lastSeenAt !== undefined)
  }${lastSeenAt === undefined && versions && describeUpgrade(versions, nowMs)}`;
}

/** The severity of the worst finding that names a node, by its id; information leaves no mark. */
function markNodes(findings: readonly Finding[]): ReadonlyMap<number, Severity> {
  const marked = findings.filter(({ level }) => level !== 'info').toSorted(bySeverity);
  return new Map(
    marked
      .toReversed()
      .flatMap(({ level, nodeIds = [] }) => nodeIds.map((id) => [id, level] as const)),
  );
}

const NODE: Column<NodeStatus> = ['Node', ({ id }) => `n${id}`];
const LOCALITY: Column<NodeStatus> = [
  'Locality',
  ({ locality }) => locality.replaceAll(',', ', ') || 'none',
  'place',
];
const VERSION: Column<NodeStatus> = ['Version', ({ build }) => build || '-'];

function currentColumns(
  list: readonly NodeStatus[],
  marks: ReadonlyMap<number, Severity>,
  nowMs: number,
): readonly (Column<NodeStatus> | false)[] {
  return [
    NODE,
    ['Status', (node) => statusOf(node, marks.get(node.id), nowMs), 'words'],
    list.some(({ locality }) => locality !== '') && LOCALITY,
    VERSION,
    ['Uptime', ({ startedAt }) => (startedAt ? relativeTime(startedAt, nowMs) : '-'), 'number'],
    figure('CPU', 'cpu', ({ cpuRatio }) => cpuRatio, formatPercent),
    figure('Memory', 'memory', ({ memoryRatio }) => memoryRatio, formatPercent),
    figure('Max disk', 'disk', ({ diskUsedRatio }) => diskUsedRatio, formatPercent),
    [
      'Replicas',
      ({ replicas }) => (replicas === undefined ? '-' : formatCount(replicas)),
      'number',
    ],
    ['Leases', ({ leases }) => (leases === undefined ? '-' : formatCount(leases)), 'number'],
    figure('SQL p99', 'latency', (node) => node.sqlLatencyP99Seconds, formatDuration),
    list.some(({ peers }) => peers !== undefined) && [
      'Peers',
      ({ peers, overLimit }) =>
        peers === undefined
          ? '-'
          : html`${overLimit?.includes('peers') && icon('warning')} ${formatCount(peers.reached)} of
            ${formatCount(peers.all)}`,
      'number',
    ],
  ];
}

/** A figure with a sign where it is over the limit of an alert. */
function figure(
  title: string,
  limit: NonNullable<NodeStatus['overLimit']>[number],
  read: (node: NodeStatus) => number | undefined,
  format: (value: number) => string,
): Column<NodeStatus> {
  const cell = (node: NodeStatus): Part => {
    const value = read(node);
    if (value === undefined) return '-';
    return html`${node.overLimit?.includes(limit) && icon('warning')} ${format(value)}`;
  };
  return [title, cell, 'number'];
}

function pastColumns(lastSeenAt: string, nowMs: number): readonly Column<NodeStatus>[] {
  return [
    NODE,
    [
      'Last seen',
      (node) => html`${icon('unknown')} ${stateOf(node)}, ${relativeTime(lastSeenAt, nowMs)} ago`,
      'words',
    ],
    LOCALITY,
    VERSION,
  ];
}

/** `decommissioned` alone sounds as if nothing was left of the node. */
function stateOf({ status }: NodeStatus): string {
  return status === 'decommissioned' ? 'dead, decommissioning begun' : status;
}

function statusOf(node: NodeStatus, mark: Severity | undefined, nowMs: number): Html {
  const { isStale, recordAt, isRetired, status } = node;
  // Its figures are those of its last record.
  const isOld = isStale || status === 'unavailable';
  const age =
    isOld && recordAt !== undefined && html`, record ${relativeTime(recordAt, nowMs)} old`;
  const level = statusLevel(node, mark);
  return html`${icon(level)} ${stateOf(node)}${age}${isRetired && ', gone for good'}`;
}

/** Severity of the status of a node, as its colour: the severity of the finding that names a node that is not well. */
function statusLevel(
  { status, isStale, isRetired }: NodeStatus,
  mark?: Severity,
): (typeof LEVELS)[number] {
  if (isRetired) return 'info';
  if (status === 'live' && !isStale) return 'live';
  if (mark !== undefined) return mark;
  if (status === 'dead' || status === 'decommissioned') return 'critical';
  if (status === 'unavailable' || status === 'unknown' || isStale) return 'warning';
  return 'info';
}

/** Severity of a node with its figures. */
function nodeLevel(node: NodeStatus, mark?: Severity): (typeof LEVELS)[number] {
  const level = statusLevel(node, mark);
  const isOver = level !== 'critical' && (node.overLimit ?? []).length > 0;
  return isOver ? 'warning' : level;
}

/** Nodes without a row, and the localities of all that are not gone for good; `isPast` where nobody knows what is so now. */
function otherNodes(
  others: readonly NodeStatus[],
  all: readonly NodeStatus[],
  isPast: boolean,
): Html {
  const unhealthy = others.filter((node) => nodeLevel(node) !== 'live').length;
  const what =
    unhealthy === 0
      ? `${isPast ? 'which were ' : ''}all live`
      : isPast
        ? `of which ${formatCount(unhealthy)} ${plural(unhealthy, 'was', 'were')} not healthy`
        : `${formatCount(unhealthy)} of them not healthy`;
  const localities = Array.from(
    groupByLocality(all.filter(({ isRetired }) => !isRetired)),
    ([locality, nodes]) => {
      const live = nodes.filter(({ status }) => status === 'live').length;
      const isWhole = live === nodes.length || isPast;
      const level = isWhole ? '' : live === 0 ? 'critical' : 'warning';
      return { locality, count: nodes.length, live, level, missing: 1 - live / nodes.length };
    },
  ).toSorted((a, b) => b.missing - a.missing || (a.locality < b.locality ? -1 : 1));
  const more = localities.length - MAX_LOCALITY_ROWS;
  return html`<p class="quiet">and ${formatCount(others.length)} more nodes, ${what}</p>
    ${
      localities.length > 1 &&
      html`<ul class="counts" aria-label="Live nodes by locality">
        ${localities.slice(0, MAX_LOCALITY_ROWS).map(
          ({ locality, count, live, level }) =>
            html`<li class="${level}">
              ${locality.replaceAll(',', ', ') || 'no locality'}:
              <b>${formatCount(live)}</b> of ${formatCount(count)} ${isPast && 'were '}live
            </li>`,
        )}
        ${more > 0 && html`<li>and ${formatCount(more)} more localities</li>`}
      </ul>`
    }`;
}

/** Groups nodes by the first tiers that several nodes share: in CockroachDB Cloud the last tier, `dns`, is another one for each node. */
function groupByLocality(nodes: readonly NodeStatus[]): Map<string, NodeStatus[]> {
  const depth = Math.max(0, ...nodes.map(({ locality }) => locality.split(',').length));
  const groups = Array.from({ length: depth }, (_, cut) =>
    Map.groupBy(nodes, ({ locality }) =>
      locality
        .split(',')
        .slice(0, depth - cut)
        .join(','),
    ),
  );
  return groups.find(({ size }) => size < nodes.length) ?? new Map();
}

/** How far an upgrade is. */
function describeUpgrade(versions: VersionsStatus, nowMs: number): Html | false {
  const { builds, openUpgrade, deadWithOlderRelease: dead = [] } = versions;
  const [newest, ...older] = builds;
  if (newest === undefined || (older.length === 0 && openUpgrade === undefined)) return false;
  const all = builds.reduce((count, { nodes }) => count + nodes.length, 0);
  const left = older.map(({ build, nodes }) => `${formatNodes(nodes)} with ${build}`);
  const open = {
    nodes:
      older.length > 0
        ? ' The upgrade is not finalized: it cannot be before all nodes run the new release.'
        : ' The upgrade is not finalized: it cannot be before the nodes that are being decommissioned have left.',
    held: ' The upgrade is not finalized: cluster.preserve_downgrade_option holds it.',
    dead: ` ${capitalize(describeHeldUpgrade(dead))}.`,
  };
  const last =
    older.length > 0 &&
    newest.lastStartedAt !== undefined &&
    html`, the last one since ${relativeTime(newest.lastStartedAt, nowMs)}`;
  return html`<ul class="progress">
    <li>
      ${formatCount(newest.nodes.length)} of ${formatCount(all)} nodes run
      ${newest.build}${last}${left.length > 0 && `; left: ${left.join(', ')}`}.${openUpgrade && open[openUpgrade]}
    </li>
  </ul>`;
}

/** Who does not reach whom, or how slow the slowest pair is. */
export function reachability({ answer, reason = '', slowest }: ReachabilityStatus): Html | false {
  if (answer === 'unchecked') return false;
  if (answer === 'unreachable') return html`<p>${icon('warning')} ${capitalize(reason)}.</p>`;
  if (answer === 'unknown') {
    const text = `Whether all nodes reach each other is not known: ${reason}.`;
    return html`<p>${icon('unknown')} ${text}</p>`;
  }
  const { nodeId, peerId, seconds = 0 } = slowest ?? {};
  const time = `: a round trip takes at most ${formatDuration(seconds)}, between nodes ${nodeId} and ${peerId}`;
  return html`<p class="quiet">All live nodes reach each other${slowest && time}.</p>`;
}
