import { formatCount, formatDuration, formatNumber, formatPercent, ratio } from '#base';
import { CLOCK_OFFSET } from './check-clocks.ts';
import { atNodes, atStores, type Check } from './check.ts';
import { countInPurgatory, countSlowRequests, latencyOf } from './node-metrics.ts';

/** How much older the cluster may be than the oldest start of a process that a record names. */
const RESTARTED_SECONDS = 30 * 86_400;

/** The CPU of the machine with all its processes. */
const HOST_CPU = 'sys.cpu.host.combined.percent-normalized';

/** None while a changefeed scans whole tables, on whatever node: what the nodes report then is no lag. */
const findChangefeedLag: Check['find'] = (evidence) => {
  const { fresh, nodes, nowMs } = evidence;
  if (fresh.some(({ metrics }) => (metrics.get('changefeed.backfill_count') ?? 0) > 0))
    return undefined;
  const starts = nodes.flatMap(({ startedSeconds: start }) => (start ? [start] : []));
  const firstStart = starts.reduce((first, start) => Math.min(first, start), Infinity);
  // A lag of 4 years in a cluster that is a day old is none.
  const longest = starts.length === 0 ? Infinity : nowMs / 1000 - firstStart + RESTARTED_SECONDS;
  return atNodes(
    'fresh',
    ({ metrics }) => {
      const seconds = (metrics.get('changefeed.max_behind_nanos') ?? NaN) / 1e9;
      return seconds > longest ? undefined : seconds;
    },
    (seconds, { changefeed_lag }) => seconds > changefeed_lag,
    (seconds) => `a changefeed is ${formatDuration(seconds)} behind`,
    (seconds, { changefeed_lag_critical: limit }) => seconds > limit,
  )(evidence);
};

const SLOW_DISK =
  'Every write to the ranges of these stores waits: check the volumes and their I/O limits.';

/** The checks of what a node reports: a slow disk before what it holds up. */
export const NODE_CHECKS: readonly Check[] = [
  CLOCK_OFFSET,
  {
    about: 'nodes',
    alert: 'CrdbStoreDiskSlow',
    find: atStores(
      (store) => (store.get('storage.wal.fsync.latency-p99') ?? NaN) / 1e9,
      (seconds, { disk_latency }) => seconds > disk_latency,
      (seconds) => `syncs of the write-ahead log take up to ${formatDuration(seconds)} (p99)`,
    ),
    next: SLOW_DISK,
  },
  {
    about: 'nodes',
    alert: 'CrdbHeartbeatSlow',
    find: atNodes(
      'fresh',
      ({ metrics }) => (metrics.get('liveness.heartbeatlatency-p99') ?? NaN) / 1e9,
      (seconds, { heartbeat }) => seconds > heartbeat,
      (seconds) => `liveness heartbeats take up to ${formatDuration(seconds)} (p99)`,
      (seconds, { heartbeat_critical: limit }) => seconds > limit,
    ),
    next: 'Check disk, CPU and network of these nodes and of the leaseholder of the liveness range (r2): a node that misses its heartbeats loses its liveness and its epoch leases. Leader leases (from 25.2 on) depend on heartbeats between stores.',
  },
  {
    about: 'nodes',
    alert: 'CrdbLatencyHigh',
    // The alert compares with the last day: slow statements may be usual.
    level: 'info',
    find: atNodes(
      'fresh',
      latencyOf,
      (seconds, { latency }) => seconds > latency,
      (seconds) => `the slowest percent of SQL statements takes ${formatDuration(seconds)} or more`,
    ),
    next: 'Long analytical statements may be usual: the alert compares with the last day. One node: check its disk, its CPU and its clock. All nodes: range problems, hot ranges, contention, the network.',
  },
  {
    about: 'nodes',
    alert: 'CrdbNodeMemoryHigh',
    find: atNodes(
      'fresh',
      ({ metrics, memoryBytes }) => ratio(metrics.get('sys.rss'), memoryBytes),
      (share, { memory }) => share > memory,
      (share) => `the process uses ${formatPercent(share)} of the memory`,
      (share, { memory_full }) => share > memory_full,
    ),
    next: 'Compare --cache and --max-sql-memory with the memory of the machine: the kernel may kill the node.',
  },
  {
    about: 'nodes',
    alert: 'CrdbFileDescriptorsHigh',
    find: atNodes(
      'fresh',
      ({ metrics }) => ratio(metrics.get('sys.fd.open'), metrics.get('sys.fd.softlimit')),
      (share, { file_descriptors }) => share > file_descriptors,
      (share) => `${formatPercent(share)} of the file descriptors are open`,
    ),
    next: 'Raise the limit (nofile) or look for a connection leak.',
  },
  {
    about: 'nodes',
    alert: 'CrdbRequestsStuck',
    find: atNodes(
      'fresh',
      countSlowRequests,
      (count) => count > 0,
      (count) => `up to ${formatCount(count)} requests are stuck`,
    ),
    next: 'Look for ranges without a quorum or lease, stalled disks and long transactions.',
  },
  {
    about: 'nodes',
    alert: 'CrdbStoreOverloaded',
    find: atStores(
      (store) => store.get('storage.l0-sublevels'),
      (sublevels, { l0_sublevels }) => sublevels >= l0_sublevels,
      (sublevels) => `up to ${formatCount(sublevels)} L0 sublevels, so writes are throttled`,
    ),
    next: 'Check disk throughput and bulk writes.',
  },
  {
    about: 'nodes',
    alert: 'CrdbStoreOverloaded',
    key: 'io overload',
    find: atStores(
      (store) => store.get('admission.io.overload'),
      (overload) => overload >= 1,
      (overload) => `an I/O overload of up to ${formatNumber(overload)}, so writes are throttled`,
    ),
    next: 'Check disk throughput and bulk writes.',
  },
  {
    about: 'nodes',
    alert: 'CrdbPurgatory',
    find: atNodes(
      'fresh',
      // One or two nodes cannot hold three replicas.
      (node, { nodes }) => (nodes.length < 3 ? undefined : countInPurgatory(node)),
      (count) => count > 0,
      () => 'no store satisfies the constraints of some replicas',
    ),
    next: 'Look for nodes that are down or full, and for contradicting zone constraints.',
  },
  {
    about: 'nodes',
    alert: 'CrdbChangefeedLagging',
    find: findChangefeedLag,
    next: 'Check the sink and the load.',
  },
  {
    about: 'nodes',
    alert: 'CrdbNodeCpuHigh',
    find: atNodes(
      'fresh',
      ({ metrics }, { isHeavyJobRunning }) =>
        isHeavyJobRunning ? undefined : metrics.get('sys.cpu.combined.percent-normalized'),
      (share, { cpu }) => share > cpu,
      (share) => `up to ${formatPercent(share)} of all CPUs are used`,
      (share, { cpu_critical }) => share > cpu_critical,
    ),
    next: 'Compare the hottest ranges and the running statements.',
  },
  {
    about: 'nodes',
    alert: 'CrdbHostCpuHigh',
    find: atNodes(
      'fresh',
      ({ metrics }, { thresholds }) => {
        const own = metrics.get('sys.cpu.combined.percent-normalized') ?? 0;
        return own > thresholds.cpu ? undefined : metrics.get(HOST_CPU);
      },
      (share, { cpu_critical }) => share > cpu_critical,
      (share) =>
        `up to ${formatPercent(share)} of the CPU of the machine is used, most of it not by CockroachDB`,
    ),
    next: 'Look for the other process on these machines: it takes time from the node, so heartbeats are late and statements slow.',
  },
];
