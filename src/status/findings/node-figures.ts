import { formatCount, formatRanges, plural, ratio, smallest, sum, toTime } from '#base';
import { livenessOf, REACHABLE } from '#cockroach';
import { type JobsStatus, type ListedNode, measuredMetrics, type RangesResult } from '#collectors';
import { describeAdding } from './dead-nodes.ts';
import { countInPurgatory, freeShare, latencyOf, sumOfStores } from './node-metrics.ts';
import type { NodeFigures, NodesStatus } from './node-status.ts';
import type { Connections } from './reachability.ts';
import type { Finding, SqlLoad } from './status.ts';
import { readVersions } from './versions.ts';

/** What the figures of nodes follow from, beside their records. */
interface FigureSources {
  readonly network: Connections;
  readonly ranges: RangesResult | undefined;
  readonly jobs: JobsStatus;
}

/** The nodes with what their records say, a stale one nothing of now, and their versions. */
export function addFigures(
  status: NodesStatus,
  records: readonly ListedNode[],
  sources: FigureSources,
): NodesStatus {
  const byId = new Map(records.map((node) => [node.id, node]));
  const unavailable = sources.ranges?.summary?.problems.get('unavailable')?.ranges ?? 0;
  const obstacle = describeObstacle(records, unavailable);
  const list = status.list.map((node) => {
    const record = byId.get(node.id);
    if (record === undefined || !record.isFresh) return node;
    return {
      ...node,
      ...readFigures(record, sources),
      ...(node.status === 'decommissioning' && { obstacle }),
    };
  });
  const versions = readVersions(records, sources.jobs.preserveDowngradeSeconds);
  return { ...status, versions, list };
}

function readFigures(node: ListedNode, sources: FigureSources): NodeFigures {
  // Without a current list nobody knows who reaches whom.
  const network = sources.network === 'unread' ? undefined : sources.network;
  const { id, memoryBytes } = node;
  const metrics = measuredMetrics(node);
  const cpuRatio = metrics.get('sys.cpu.combined.percent-normalized');
  const memoryRatio = ratio(metrics.get('sys.rss'), memoryBytes);
  const freeRatio = leastFree(node);
  const peers = network?.peers.get(id);
  const figures = {
    startedAt: toTime(node.startedSeconds * 1000),
    cpuRatio,
    memoryRatio,
    diskUsedRatio: freeRatio === undefined ? undefined : 1 - freeRatio,
    leases: sumOfStores(node, 'replicas.leaseholders'),
    sqlLatencyP99Seconds: latencyOf(node),
    peers: peers && {
      reached: peers.established,
      all: peers.established + peers.establishing + peers.error + peers.unknown,
    },
  };
  const isApart = network?.unreachable.some(({ nodeId }) => nodeId === id) ?? false;
  return { ...figures, overLimit: isApart ? ['peers'] : [] };
}

/** The figures of a node, by the alert that has their limit. */
const LIMITED = {
  CrdbNodeCpuHigh: 'cpu',
  CrdbNodeMemoryHigh: 'memory',
  CrdbStoreDiskLow: 'disk',
  CrdbLatencyHigh: 'latency',
} as const;

/** The nodes, whose figures that findings name are over their limits. */
export function markFigures(status: NodesStatus, findings: readonly Finding[]): NodesStatus {
  const over = Object.entries(LIMITED).map(([alert, name]) => {
    const found = findings.filter((finding) => finding.alert === alert);
    return { name, ids: new Set(found.flatMap(({ nodeIds = [] }) => nodeIds)) };
  });
  const list = status.list.map((node) => {
    if (node.overLimit === undefined) return node;
    const names = over.flatMap(({ name, ids }) => (ids.has(node.id) ? [name] : []));
    return { ...node, overLimit: [...names, ...node.overLimit] };
  });
  return { ...status, list };
}

/** The latency of SQL by the fresh records of nodes that may serve it. */
export function readSqlLoad(fresh: readonly ListedNode[]): SqlLoad {
  const latencies = fresh.flatMap((node) => {
    const seconds = REACHABLE.has(livenessOf(node)) ? latencyOf(node) : undefined;
    return seconds === undefined ? [] : [{ id: node.id, seconds }];
  });
  const [slowest] = latencies.toSorted((a, b) => b.seconds - a.seconds);
  return { latencyP99Seconds: slowest?.seconds, slowestNodeId: slowest?.id };
}

/** The free share of the fullest store; undefined where no store tells. */
function leastFree({ stores }: ListedNode): number | undefined {
  return smallest([...stores.values()].flatMap((store) => freeShare(store) ?? []));
}

/** Most ranges have this many replicas. */
const USUAL_REPLICAS = 3;
/** A store that is fuller takes no replicas, by default. */
const FULL = 0.95;

/** Why replicas cannot leave a node, as a clause; undefined where it is not known. */
function describeObstacle(records: readonly ListedNode[], unavailable: number): string | undefined {
  const targets = records.filter((node) => livenessOf(node) === 'live');
  if (targets.length < USUAL_REPLICAS)
    return `only ${targets.length} other ${plural(targets.length, 'node is', 'nodes are')} live, and most ranges need ${USUAL_REPLICAS}: ${describeAdding(targets.length, USUAL_REPLICAS)}`;
  if (targets.every((node) => node.isFresh && (leastFree(node) ?? 1) < 1 - FULL))
    return 'the stores of all live nodes are full: add a node or disk space';
  const fresh = records.filter(({ isFresh }) => isFresh);
  const waiting = sum(fresh.map(countInPurgatory));
  if (waiting > 0)
    return `${formatCount(waiting)} ${plural(waiting, 'replica has', 'replicas have')} no store that satisfies the constraints of ${plural(waiting, 'its zone', 'their zones')}`;
  if (unavailable > 0) return `${formatRanges(unavailable)} without a quorum cannot move`;
  return undefined;
}
