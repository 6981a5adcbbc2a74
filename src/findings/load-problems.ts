import { livenessOf } from '../cockroach/node.ts';
import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import type { SessionsResult } from '../collectors/sessions/collector.ts';
import { formatCount, formatDuration, formatList, formatNumber, formatPercent } from '../format.ts';
import type { AlertName } from '../vocabulary.ts';
import type { Problem } from './problem.ts';
import { THRESHOLDS } from './thresholds.ts';

/** A condition of single nodes; the text follows `Node 3: ` or `Nodes 3 and 4: `. */
interface NodeCondition {
  readonly alert: AlertName;
  /** As long as the alert waits. */
  readonly normalSeconds: number;
  /** Undefined when the node does not send it. */
  readonly read: (node: NodeStatus) => number | undefined;
  readonly isOver: (value: number) => boolean;
  /** Of the worst value. */
  readonly text: (worst: number) => string;
  readonly next: string;
}

const NODE_CONDITIONS: readonly NodeCondition[] = [
  {
    alert: 'CrdbClockOffsetHigh',
    normalSeconds: 300,
    read: ({ metrics }) => absolute(metrics.get('clock-offset.meannanos'), 1e9),
    isOver: (offset) => offset > THRESHOLDS.clock_offset,
    text: (offset) => `the clock is up to ${Math.round(offset * 1000)} ms off those of the others`,
    next: 'Check the time service: a node stops itself at 80 percent of --max-offset (400 ms by default).',
  },
  {
    alert: 'CrdbNodeMemoryHigh',
    normalSeconds: 1800,
    read: ({ metrics, memoryBytes }) => ratio(metrics.get('sys.rss'), memoryBytes),
    isOver: (share) => share > THRESHOLDS.memory,
    text: (share) => `the process uses ${formatPercent(share)} of the memory`,
    next: 'Compare --cache and --max-sql-memory with the memory of the machine: the kernel may kill the node.',
  },
  {
    alert: 'CrdbFileDescriptorsHigh',
    normalSeconds: 900,
    read: ({ metrics }) => ratio(metrics.get('sys.fd.open'), metrics.get('sys.fd.softlimit')),
    isOver: (share) => share > THRESHOLDS.file_descriptors,
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
    isOver: (sublevels) => sublevels >= THRESHOLDS.l0_sublevels,
    text: (sublevels) => `a store has ${formatCount(sublevels)} L0 sublevels and throttles writes`,
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
    isOver: (seconds) => seconds > THRESHOLDS.changefeed_lag,
    text: (seconds) => `a changefeed is ${formatDuration(seconds)} behind`,
    next: 'Normal during an initial scan; otherwise check the sink and the load.',
  },
];

/** Jobs that may use all CPUs for hours. */
const HEAVY_JOBS = ['backup', 'import', 'restore'];

/** Problems of load and resources, from the measurements of the nodes whose records are fresh. */
export function loadProblems({ nodes }: NodesResult): readonly Problem[] {
  const fresh = nodes.filter(({ isFresh }) => isFresh);
  const isHeavy = fresh.some(({ metrics }) =>
    HEAVY_JOBS.some((job) => (metrics.get(`jobs.${job}.currently_running`) ?? 0) > 0),
  );
  const conditions = isHeavy ? NODE_CONDITIONS : [CPU, ...NODE_CONDITIONS];
  return [
    ...conditions.flatMap((condition) => findNodes(condition, fresh)),
    ...licenseProblems(fresh),
    ...capacityProblems(fresh),
    ...partitionProblems(nodes),
  ];
}

const CPU: NodeCondition = {
  alert: 'CrdbNodeCpuHigh',
  normalSeconds: 3600,
  read: ({ metrics }) => metrics.get('sys.cpu.combined.percent-normalized'),
  isOver: (share) => share > THRESHOLDS.cpu,
  text: (share) => `up to ${formatPercent(share)} of all CPUs are used`,
  next: 'Compare the hottest ranges and the running statements.',
};

function findNodes(
  { read, isOver, text, next, alert, normalSeconds }: NodeCondition,
  nodes: readonly NodeStatus[],
): readonly Problem[] {
  const over = nodes.flatMap((node) => {
    const value = read(node);
    return value !== undefined && isOver(value) ? [{ id: node.id, value }] : [];
  });
  if (over.length === 0) return [];
  const worst = over.reduce((most, { value }) => Math.max(most, value), -Infinity);
  const names = formatNodes(over.map(({ id }) => id));
  return [
    { key: alert, about: 'nodes', alert, normalSeconds, text: `${names}: ${text(worst)}.`, next },
  ];
}

function licenseProblems(nodes: readonly NodeStatus[]): readonly Problem[] {
  const left = nodes.flatMap(({ metrics }) => {
    const seconds =
      metrics.get('seconds_until_license_expiry') ??
      metrics.get('seconds_until_enterprise_license_expiry');
    // 0 without a license.
    return seconds === undefined || seconds === 0 ? [] : [seconds];
  });
  const days = Math.min(...left) / 86_400;
  if (left.length === 0 || days >= THRESHOLDS.license_days) return [];
  return [
    {
      key: 'license',
      about: 'nodes',
      alert: 'CrdbLicenseExpiring',
      level: days < THRESHOLDS.license_critical_days ? 'critical' : undefined,
      text:
        days <= 0
          ? 'The license has expired.'
          : `The license expires in ${formatDuration(days * 86_400)}.`,
      next: 'After the grace period the cluster throttles transactions; renew with SET CLUSTER SETTING enterprise.license.',
    },
  ];
}

/** Free space of the others once they hold the data of the largest node; three nodes cannot take over those of a fourth. */
function capacityProblems(nodes: readonly NodeStatus[]): readonly Problem[] {
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
  if (!(capacity > 0) || available / capacity >= THRESHOLDS.capacity) return [];
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

/** Ranges with more load than one CPU core serves well. */
export function hotRangeProblems({ scanned }: RangesResult): readonly Problem[] {
  const detailed = scanned.filter(({ isDetailed }) => isDetailed);
  const nanos = detailed.flatMap(({ maxCpuNanos }) => maxCpuNanos ?? []);
  const cpu = nanos.reduce((most, value) => Math.max(most, value / 1e9), 0);
  const queries = scanned.reduce((most, { maxQueries = 0 }) => Math.max(most, maxQueries), 0);
  const isHot =
    nanos.length > 0 ? cpu > THRESHOLDS.hot_range_cpu : queries > THRESHOLDS.hot_range_queries;
  if (!isHot) return [];
  const load =
    nanos.length > 0
      ? `${formatNumber(cpu)} CPU seconds per second`
      : `${formatNumber(queries)} queries per second`;
  return [
    {
      key: 'hot range',
      about: 'ranges',
      alert: 'CrdbHotRange',
      normalSeconds: 1800,
      text: `A range has ${load}.`,
      next: 'See the hottest ranges: probably one key or an ascending key.',
    },
  ];
}

/** Statements and memory of sessions by node, against its CPUs and its memory. */
export function sessionLoadProblems(
  { nodes: tallies }: SessionsResult,
  listed: NodesResult,
): readonly Problem[] {
  const connections = listed.nodes
    .filter(({ isFresh }) => isFresh)
    .reduce((all, { metrics }) => all + (metrics.get('sql.conns') ?? 0), 0);
  const hidden: readonly Problem[] =
    connections > 0 && tallies.size === 0 ? [hiddenProblem(connections)] : [];
  const tallyOf = (id: number) => tallies.get(id);
  const statements: NodeCondition = {
    alert: 'CrdbStatementConcurrencyHigh',
    normalSeconds: 900,
    read(node) {
      const executing = tallyOf(node.id)?.executing ?? 0;
      return executing > THRESHOLDS.statements ? ratio(executing, node.cpus) : undefined;
    },
    isOver: (share) => share > THRESHOLDS.statements_per_cpu,
    text: (share) => `up to ${formatNumber(share)} statements per CPU are executing`,
    next: 'Limit the connection pools: more concurrency only adds latency.',
  };
  const memory: NodeCondition = {
    alert: 'CrdbSessionMemoryHigh',
    normalSeconds: 600,
    read: ({ id, memoryBytes }) => ratio(tallyOf(id)?.allocBytes, memoryBytes),
    isOver: (share) => share > THRESHOLDS.session_memory,
    text: (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
    next: '`crdb-exporter sessions --sort memory` lists the largest first.',
  };
  const found = [statements, memory].flatMap((condition) => findNodes(condition, listed.nodes));
  return [...hidden, ...found];
}

function hiddenProblem(connections: number): Problem {
  return {
    key: 'hidden sessions',
    about: 'exporter',
    alert: 'CrdbSessionsHidden',
    normalSeconds: 3600,
    text: `The list of sessions is empty, although the nodes count ${formatCount(connections)} connections.`,
    next: 'The user probably lacks VIEWACTIVITYREDACTED; `crdb-exporter diagnose` prints the GRANT.',
  };
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

function ratio(value: number | undefined, of: number | undefined): number | undefined {
  return value === undefined || of === undefined || !(of > 0) ? undefined : value / of;
}

function formatNodes(ids: readonly number[]): string {
  return `${ids.length === 1 ? 'Node' : 'Nodes'} ${formatList(ids)}`;
}
