import { livenessOf } from '../cockroach/node.ts';
import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatCount, formatDuration, formatList, formatNumber, formatPercent } from '../format.ts';
import type { AlertName } from '../vocabulary.ts';
import type { Problem } from './problem.ts';
import { secondsBetween } from './sql-load.ts';

/** A condition of single nodes; the text follows `Node 3: ` or `Nodes 3 and 4: `. */
export interface NodeCondition {
  readonly alert: AlertName;
  /** The key of its finding, where an alert has several conditions; else the name of the alert. */
  readonly key?: string;
  /** How long the alert waits: until then the finding is information. */
  readonly normalSeconds: number;
  /** The measured value; undefined when the node does not send it. */
  readonly read: (node: NodeStatus) => number | undefined;
  readonly isOver: (value: number, thresholds: Thresholds) => boolean;
  /** The sentence about the worst value. */
  readonly text: (worst: number) => string;
  readonly next: string;
}

const NODE_CONDITIONS: readonly NodeCondition[] = [
  {
    alert: 'CrdbClockOffsetHigh',
    normalSeconds: 300,
    read: ({ metrics }) => absolute(metrics.get('clock-offset.meannanos'), 1e9),
    isOver: (offset, thresholds) => offset > thresholds.clock_offset,
    text: (offset) => `the clock is up to ${Math.round(offset * 1000)} ms off those of the others`,
    next: 'Check the time service: a node stops itself at 80 percent of --max-offset (400 ms by default).',
  },
  {
    alert: 'CrdbNodeMemoryHigh',
    normalSeconds: 1800,
    read: ({ metrics, memoryBytes }) => ratio(metrics.get('sys.rss'), memoryBytes),
    isOver: (share, thresholds) => share > thresholds.memory,
    text: (share) => `the process uses ${formatPercent(share)} of the memory`,
    next: 'Compare --cache and --max-sql-memory with the memory of the machine: the kernel may kill the node.',
  },
  {
    alert: 'CrdbFileDescriptorsHigh',
    normalSeconds: 900,
    read: ({ metrics }) => ratio(metrics.get('sys.fd.open'), metrics.get('sys.fd.softlimit')),
    isOver: (share, thresholds) => share > thresholds.file_descriptors,
    text: (share) => `${formatPercent(share)} of the file descriptors are open`,
    next: 'Raise the limit (nofile) or look for a connection leak.',
  },
  {
    alert: 'CrdbRequestsStuck',
    normalSeconds: 600,
    read: countSlowRequests,
    isOver: (count) => count > 0,
    text: (count) => `up to ${formatCount(count)} requests are stuck`,
    next: 'Look for ranges without a quorum or lease, stalled disks and long transactions.',
  },
  {
    alert: 'CrdbStoreOverloaded',
    normalSeconds: 600,
    read: (node) => largestOf(node, (store) => store.get('storage.l0-sublevels')),
    isOver: (sublevels, thresholds) => sublevels >= thresholds.l0_sublevels,
    text: (sublevels) => `a store has ${formatCount(sublevels)} L0 sublevels and throttles writes`,
    next: 'Check disk throughput and bulk writes.',
  },
  {
    alert: 'CrdbStoreOverloaded',
    key: 'io overload',
    normalSeconds: 600,
    read: (node) => largestOf(node, (store) => store.get('admission.io.overload')),
    isOver: (overload) => overload >= 1,
    text: (overload) =>
      `a store has an I/O overload of ${formatNumber(overload)} and throttles writes`,
    next: 'Check disk throughput and bulk writes.',
  },
  {
    alert: 'CrdbPurgatory',
    normalSeconds: 1800,
    read: (node) => largestOf(node, (store) => store.get('queue.replicate.purgatory')),
    isOver: (count) => count > 0,
    text: () => 'replicas of ranges have no store that satisfies their constraints',
    next: 'Look for nodes that are down or full, and for contradicting zone constraints.',
  },
  {
    alert: 'CrdbChangefeedLagging',
    normalSeconds: 900,
    read: ({ metrics }) => absolute(metrics.get('changefeed.max_behind_nanos'), 1e9),
    isOver: (seconds, thresholds) => seconds > thresholds.changefeed_lag,
    text: (seconds) => `a changefeed is ${formatDuration(seconds)} behind`,
    next: 'Normal during an initial scan; otherwise check the sink and the load.',
  },
];

/** Jobs that may use all CPUs for hours. */
const HEAVY_JOBS = ['backup', 'import', 'restore'];

/**
 * Write stalls per minute of each node between its last two records, of the store with most. Example: records of 12:00:00
 * and 12:00:30 count 5 and 7 stalls of one store: 4 a minute. A node that restarted has none: its counter began again.
 */
export function readWriteStalls(
  before: NodesResult | undefined,
  now: NodesResult,
): ReadonlyMap<number, number> {
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  const rates = now.nodes.flatMap((node) => {
    const previous = earlier.get(node.id);
    const seconds = secondsBetween(previous, node);
    if (seconds === undefined) return [];
    const counts = Array.from(node.stores, ([storeId, store]) => {
      const first = previous?.stores.get(storeId)?.get('storage.write-stalls') ?? NaN;
      return (store.get('storage.write-stalls') ?? NaN) - first;
    }).filter((count) => count >= 0);
    return [[node.id, (60 * Math.max(0, ...counts)) / seconds] as const];
  });
  return new Map(rates);
}

/** Problems of load and resources, from the nodes whose records are fresh and the write stalls per minute by node id. */
export function loadProblems(
  { nodes }: NodesResult,
  writeStalls: ReadonlyMap<number, number>,
  thresholds: Thresholds,
): readonly Problem[] {
  const fresh = nodes.filter(({ isFresh }) => isFresh);
  const isHeavy = fresh.some(({ metrics }) =>
    HEAVY_JOBS.some((job) => (metrics.get(`jobs.${job}.currently_running`) ?? 0) > 0),
  );
  const stalls: NodeCondition = {
    alert: 'CrdbStoreOverloaded',
    key: 'write stalls',
    normalSeconds: 600,
    read: ({ id }) => writeStalls.get(id),
    isOver: (count) => count > thresholds.write_stalls,
    text: (count) => `a store stops all its writes ${formatNumber(count)} times a minute`,
    next: 'Check disk throughput and bulk writes.',
  };
  const conditions = [...NODE_CONDITIONS, stalls, ...(isHeavy ? [] : [CPU])];
  return [
    ...conditions.flatMap((condition) => findNodes(condition, fresh, thresholds)),
    ...licenseProblems(fresh, thresholds),
    ...diskProblems(fresh, thresholds),
    ...capacityProblems(fresh, thresholds),
    ...partitionProblems(nodes),
  ];
}

const CPU: NodeCondition = {
  alert: 'CrdbNodeCpuHigh',
  normalSeconds: 3600,
  read: ({ metrics }) => metrics.get('sys.cpu.combined.percent-normalized'),
  isOver: (share, thresholds) => share > thresholds.cpu,
  text: (share) => `up to ${formatPercent(share)} of all CPUs are used`,
  next: 'Compare the hottest ranges and the running statements.',
};

/** The problem of all nodes that are in this condition. */
export function findNodes(
  { read, isOver, text, next, alert, key = alert, normalSeconds }: NodeCondition,
  nodes: readonly NodeStatus[],
  thresholds: Thresholds,
): readonly Problem[] {
  const over = nodes.flatMap((node) => {
    const value = read(node);
    return value !== undefined && isOver(value, thresholds) ? [{ id: node.id, value }] : [];
  });
  if (over.length === 0) return [];
  const worst = over.reduce((most, { value }) => Math.max(most, value), -Infinity);
  const names = formatNodes(over.map(({ id }) => id));
  return [{ key, about: 'nodes', alert, normalSeconds, text: `${names}: ${text(worst)}.`, next }];
}

function licenseProblems(nodes: readonly NodeStatus[], thresholds: Thresholds): readonly Problem[] {
  const left = nodes.flatMap(({ metrics }) => {
    const seconds =
      metrics.get('seconds_until_license_expiry') ??
      metrics.get('seconds_until_enterprise_license_expiry');
    // 0 without a license.
    return seconds === undefined || seconds === 0 ? [] : [seconds];
  });
  const days = Math.min(...left) / 86_400;
  if (left.length === 0 || days >= thresholds.license_days) return [];
  return [
    {
      key: 'license',
      about: 'nodes',
      alert: 'CrdbLicenseExpiring',
      level: days < thresholds.license_critical_days ? 'critical' : undefined,
      text:
        days <= 0
          ? 'The license has expired.'
          : `The license expires in ${formatDuration(days * 86_400)}.`,
      next: 'After the grace period the cluster throttles transactions; renew with SET CLUSTER SETTING enterprise.license.',
    },
  ];
}

/** Stores with little free space: critical below a tenth, and below 5 GiB unless 30 percent are free. */
function diskProblems(nodes: readonly NodeStatus[], thresholds: Thresholds): readonly Problem[] {
  const low = nodes.flatMap(({ id, stores }) =>
    [...stores.values()].flatMap((store) => {
      const available = store.get('capacity.available');
      const free = ratio(available, store.get('capacity'));
      if (available === undefined || free === undefined) return [];
      const isScarce = free < 3 * thresholds.disk_critical && available < thresholds.disk_floor;
      const isCritical = isScarce || free < thresholds.disk_critical;
      return isCritical || free < thresholds.disk ? [{ id, free, isCritical }] : [];
    }),
  );
  if (low.length === 0) return [];
  const ids = [...new Set(low.map(({ id }) => id))];
  const least = Math.min(...low.map(({ free }) => free));
  return [
    {
      key: 'full stores',
      about: 'nodes',
      alert: 'CrdbStoreDiskLow',
      level: low.some(({ isCritical }) => isCritical) ? 'critical' : undefined,
      text: `${formatNodes(ids)} ${ids.length === 1 ? 'has a store' : 'have stores'} with little free space, the fullest is ${formatPercent(1 - least)} full.`,
      next: 'Add disk space or nodes: a node with a full disk stops.',
    },
  ];
}

/** Free space of the others once they hold the data of the largest node; three nodes cannot take over those of a fourth. */
function capacityProblems(
  nodes: readonly NodeStatus[],
  thresholds: Thresholds,
): readonly Problem[] {
  const sizes = nodes
    .map(({ stores }) => {
      const list = [...stores.values()];
      const sum = (key: string) => list.reduce((all, store) => all + (store.get(key) ?? 0), 0);
      return { capacity: sum('capacity'), available: sum('capacity.available') };
    })
    .filter(({ capacity }) => capacity > 0);
  if (sizes.length <= 3) return [];
  const largest = sizes.reduce((most, { capacity }) => Math.max(most, capacity), 0);
  const capacity = sizes.reduce((all, one) => all + one.capacity, 0) - largest;
  const available = sizes.reduce((all, one) => all + one.available, 0) - largest;
  if (!(capacity > 0) || available / capacity >= thresholds.capacity) return [];
  const share = Math.max(0, available / capacity);
  const text = `Without the largest node the others would be full but for ${formatPercent(share)}.`;
  const next = 'Add nodes or disk space.';
  const alert = 'CrdbClusterCapacity';
  return [{ key: 'capacity', about: 'nodes', alert, normalSeconds: 3600, text, next }];
}

/** Some nodes have connections that fail and others none, although all are live. */
function partitionProblems(nodes: readonly NodeStatus[]): readonly Problem[] {
  if (nodes.some((node) => livenessOf(node) !== 'live')) return [];
  const known = nodes.flatMap(({ id, isFresh, metrics }) => {
    const count = isFresh ? metrics.get('rpc.connection.unhealthy') : undefined;
    return count === undefined ? [] : [{ id, count }];
  });
  const apart = known.filter(({ count }) => count > 0);
  if (apart.length === 0 || apart.length === known.length) return [];
  const names = formatNodes(apart.map(({ id }) => id));
  return [
    {
      key: 'partition',
      about: 'nodes',
      alert: 'CrdbPartitionSuspected',
      normalSeconds: 300,
      text: `${names} ${apart.length === 1 ? 'does' : 'do'} not reach all others, although all are live.`,
      next: 'Check the network between these nodes and the others.',
    },
  ];
}

function countSlowRequests({ metrics, stores }: NodeStatus): number {
  const kinds = ['latch', 'lease', 'raft'].map((kind) => `requests.slow.${kind}`);
  const ofStores = [...stores.values()].flatMap((store) => kinds.map((key) => store.get(key) ?? 0));
  return ofStores.reduce((all, one) => all + one, metrics.get('requests.slow.distsender') ?? 0);
}

function largestOf(
  { stores }: NodeStatus,
  read: (store: ReadonlyMap<string, number>) => number | undefined,
): number | undefined {
  const values = [...stores.values()].flatMap((store) => read(store) ?? []);
  return values.length === 0 ? undefined : Math.max(...values);
}

function absolute(value: number | undefined, unit: number): number | undefined {
  return value === undefined ? undefined : Math.abs(value) / unit;
}

/** The share of the whole; undefined where one of both is not known, or the whole is 0. */
export function ratio(value: number | undefined, whole: number | undefined): number | undefined {
  return value === undefined || whole === undefined || !(whole > 0) ? undefined : value / whole;
}

/** `Node 3`, `Nodes 3 and 4`. */
export function formatNodes(ids: readonly number[]): string {
  return `${ids.length === 1 ? 'Node' : 'Nodes'} ${formatList(ids)}`;
}
