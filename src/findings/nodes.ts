import { DEAD, livenessOf } from '../cockroach/node.ts';
import type { NodesResult, NodeStatus as PolledNode } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import { QUERIES } from '../collectors/ranges/replica.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatCount, formatList } from '../format.ts';
import { ALERT_SEVERITIES, LIVENESS_STATUSES, type Severity } from '../vocabulary.ts';
import { type Problem, NORMAL_SECONDS, toTime } from './problem.ts';
import { adviseDeadNodes, type DecommissionDecision } from './safe-to-stop.ts';

/** The nodes of a cluster. */
export interface NodesStatus {
  readonly byStatus: Readonly<Record<string, number>>;
  /** Builds of the nodes that are neither dead nor decommissioned. */
  readonly builds: readonly string[];
  /** The nodes by id. */
  readonly list: readonly NodeStatus[];
}

/** A node as its record describes it; without the measurements of a stale record, as on /metrics. */
export interface NodeStatus {
  readonly id: number;
  readonly status: string;
  /** `region=us-east1,zone=b`; empty when the node has none. */
  readonly locality: string;
  readonly build: string;
  readonly startedAt: string | undefined;
  /** When the node last wrote its record. */
  readonly recordAt: string | undefined;
  /** True when other nodes write their records and this one does not. */
  readonly isStale: boolean;
  readonly cpuRatio: number | undefined;
  readonly sqlConnections: number | undefined;
  /** The sum over its stores in the last range scan; absent when the node has gone since then. */
  readonly queriesPerSecond: number | undefined;
  /** Resident memory of the process, of the memory of the machine. */
  readonly memoryUsedRatio: number | undefined;
  /** The share of its fullest store that is not available. */
  readonly storeUsedRatio: number | undefined;
}

export function readNodes({ nodes }: NodesResult, ranges: RangesResult | undefined): NodesStatus {
  const queries = queriesByNode(ranges);
  const list = nodes.map((node) => describeNode(node, queries.get(node.id)));
  const builds = list.filter(({ status }) => !DEAD.has(status)).map(({ build }) => build);
  const byStatus: Record<string, number> = {};
  for (const status of LIVENESS_STATUSES) byStatus[status] = 0;
  for (const { status } of list) byStatus[status] = (byStatus[status] ?? 0) + 1;
  return {
    byStatus,
    builds: [...new Set(builds)].filter((build) => build !== '').toSorted(),
    list,
  };
}

function describeNode(node: PolledNode, queriesPerSecond: number | undefined): NodeStatus {
  const status: string = livenessOf(node);
  const measured = node.isFresh ? node.metrics : undefined;
  return {
    id: node.id,
    status,
    locality: node.tiers.map(({ key, value }) => `${key}=${value}`).join(','),
    build: node.buildTag,
    startedAt: toTime(node.startedSeconds * 1000),
    recordAt: toTime(node.updatedSeconds * 1000),
    isStale: !DEAD.has(status) && !node.isFresh,
    cpuRatio: measured?.get('sys.cpu.combined.percent-normalized'),
    sqlConnections: measured?.get('sql.conns'),
    queriesPerSecond: DEAD.has(status) ? undefined : queriesPerSecond,
    memoryUsedRatio: memoryRatio(node, measured?.get('sys.rss')),
    storeUsedRatio: node.isFresh ? fullestStore(node) : undefined,
  };
}

function memoryRatio({ memoryBytes }: PolledNode, resident?: number): number | undefined {
  return resident === undefined || memoryBytes === undefined ? undefined : resident / memoryBytes;
}

function queriesByNode(ranges: RangesResult | undefined): ReadonlyMap<number, number> {
  const scanned = ranges?.summary === undefined ? [] : ranges.scanned;
  return new Map(
    scanned.map(({ nodeId, stores }) => [
      nodeId,
      [...stores.values()].reduce((sum, { load }) => sum + (load[QUERIES] ?? 0), 0),
    ]),
  );
}

/** Used share of the fullest store: all space that is not available, also that of other programs. */
function fullestStore({ stores }: PolledNode): number | undefined {
  let fullest: number | undefined;
  for (const store of stores.values()) {
    const capacity = store.get('capacity') ?? 0;
    const available = store.get('capacity.available');
    if (!(capacity > 0) || available === undefined) continue;
    fullest = Math.max(fullest ?? 0, 1 - available / capacity);
  }
  return fullest;
}

/** Nodes leave for a restart or an upgrade, which is normal. */
const LEAVING = {
  alert: 'CrdbNodeStuckLeaving',
  normalSeconds: NORMAL_SECONDS.CrdbNodeStuckLeaving,
} as const;

/** Issues by liveness; `what` follows `Node 3 is` or `Nodes 3 and 4 are`. */
const LIVENESS_ISSUES: Readonly<Record<string, Partial<Problem> & { readonly what: string }>> = {
  dead: {
    alert: 'CrdbNodeDead',
    what: 'dead',
  },
  decommissioned: {
    alert: 'CrdbNodeDead',
    what: 'dead, after decommissioning had begun',
  },
  unavailable: {
    alert: 'CrdbNodeUnavailable',
    what: 'unavailable: no recent heartbeat',
    next: 'Check that the process and the machine are up. By default a node counts as dead after 5 min.',
  },
  unknown: {
    level: 'warning',
    what: 'of unknown liveness',
    next: 'Check the log of the node.',
  },
  draining: {
    ...LEAVING,
    what: 'draining',
    next: 'Leases and connections move to other nodes, as before a restart.',
  },
  decommissioning: {
    ...LEAVING,
    what: 'being decommissioned',
    next: 'This ends when all replicas have moved to other nodes.',
  },
};

/** The alert waits this long after the last node with another build. */
const SKEW_SECONDS = 12 * 3600;

/** CrdbMultipleNodesDown needs two nodes, and a share of the cluster. */
const MANY_NODES = 2;

/** A replica can be rebuilt only with so many live nodes. */
const MIN_LIVE = 3;

function isMany(list: NodesStatus['list'], { nodes_down }: Thresholds): boolean {
  const down = list.filter(isDown).length;
  return down >= MANY_NODES && down >= nodes_down * list.length;
}

/** Localities of several nodes that are all down, without those inside of another one: `region=us-east1`. */
function findLostLocalities(list: NodesStatus['list']): readonly string[] {
  const byPrefix = new Map<string, NodesStatus['list'][number][]>();
  for (const node of list) {
    const tiers = node.locality === '' ? [] : node.locality.split(',');
    for (const index of tiers.keys()) {
      const prefix = tiers.slice(0, index + 1).join(',');
      byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), node]);
    }
  }
  const lost = [...byPrefix]
    .filter(([, nodes]) => nodes.length >= MANY_NODES && nodes.every(isDown))
    .map(([prefix]) => prefix);
  return lost.filter((prefix) => !lost.some((other) => prefix.startsWith(`${other},`)));
}

/** Nodes whose process or machine is down: their last record is about as old as that. */
export function isDown({ status }: Pick<NodeStatus, 'status'>): boolean {
  return status === 'unavailable' || DEAD.has(status);
}

/** The state of a node for people: `decommissioned` alone sounds as if nothing was left of the node. */
export function stateText({ status }: Pick<NodeStatus, 'status'>): string {
  return status === 'decommissioned' ? 'dead, decommissioning begun' : status;
}

/** Severity of the state of one node, as its colour. */
export function nodeLevel({ status, isStale }: NodeStatus): Severity | 'live' {
  if (DEAD.has(status)) return 'critical';
  const { alert, level } = LIVENESS_ISSUES[status] ?? {};
  if (alert !== undefined && isDown({ status })) return ALERT_SEVERITIES[alert];
  if (isStale) return ALERT_SEVERITIES.CrdbNodeRecordStale;
  return level ?? (status === 'live' ? 'live' : 'info');
}

export function nodeProblems(
  { list, builds, byStatus }: NodesStatus,
  decommission: DecommissionDecision,
  thresholds: Thresholds,
): readonly Problem[] {
  const issues: Problem[] = [];
  const about = 'nodes';
  const areManyDown = isMany(list, thresholds);
  for (const [status, { what, ...issue }] of Object.entries(LIVENESS_ISSUES)) {
    const nodes = list.filter((node) => node.status === status);
    if (nodes.length === 0) continue;
    const lost = areManyDown && nodes.every(isDown) ? findLostLocalities(list) : [];
    const where = lost.length === 0 ? '' : ` Localities without a live node: ${formatList(lost)}.`;
    const text = `${formatNodes(nodes)} ${nodes.length === 1 ? 'is' : 'are'} ${what}.${where}`;
    // A node that is down wrote its last record just before.
    const since = nodes.every(isDown) ? oldestRecord(nodes) : undefined;
    const alert = areManyDown && nodes.every(isDown) ? 'CrdbMultipleNodesDown' : issue.alert;
    const isRebuilt = (byStatus['live'] ?? 0) >= MIN_LIVE || list.length < MIN_LIVE;
    const level = alert === 'CrdbNodeDead' && !isRebuilt ? 'critical' : issue.level;
    const next = issue.next ?? adviseDeadNodes(nodes.length, decommission);
    issues.push({ ...issue, key: `nodes ${status}`, about, alert, level, text, next, since });
  }
  // An unavailable node has its issue already.
  const stale = list.filter(({ isStale, status }) => isStale && status !== 'unavailable');
  if (stale.length > 0) {
    const verb = stale.length === 1 ? 'has' : 'have';
    issues.push({
      key: 'stale records',
      about,
      alert: 'CrdbNodeRecordStale',
      text: `${formatNodes(stale)} ${verb} stopped updating the record that node metrics are read from.`,
      next: 'Check for overload and disk stalls. Values of stale records are not exported.',
      since: oldestRecord(stale),
    });
  }
  if (builds.length > 1) {
    issues.push({
      key: 'builds',
      about,
      alert: 'CrdbVersionSkew',
      normalSeconds: SKEW_SECONDS,
      text: `The nodes run ${builds.length} builds: ${formatList(builds)}.`,
      next: 'Expected only during an upgrade.',
    });
  }
  return issues;
}

/** `8 of 9`: the live nodes of all. */
export function formatLiveNodes({ byStatus, list }: NodesStatus): string {
  return `${formatCount(byStatus['live'] ?? 0)} of ${formatCount(list.length)}`;
}

function oldestRecord(nodes: readonly NodeStatus[]): string | undefined {
  return nodes.flatMap(({ recordAt }) => recordAt ?? []).toSorted()[0];
}

function formatNodes(nodes: readonly NodeStatus[]): string {
  return `${nodes.length === 1 ? 'Node' : 'Nodes'} ${formatList(nodes.map(({ id }) => id))}`;
}
