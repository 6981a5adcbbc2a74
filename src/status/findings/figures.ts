import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  ratio,
} from '#base';
import { clockOffsets } from './check-clocks.ts';
import { type Figure, ofCluster, ofNodes, ofStores } from './find-figures.ts';
import {
  countInPurgatory,
  countSlowRequests,
  freeShare,
  latencyOf,
  secondsOf,
} from './node-metrics.ts';
import {
  ageOfPaused,
  changefeedLags,
  describeIdle,
  hottestCpu,
  isScarce,
  shareOfIdle,
  shareWithoutLargest,
  typesOfPaused,
} from './readings.ts';
import { describeFurtherHolds } from './versions.ts';

const HOUR = 3600;
const DAY = 86_400;

const CPU = 'sys.cpu.combined.percent-normalized';
/** The CPU of the machine with all its processes. */
const HOST_CPU = 'sys.cpu.host.combined.percent-normalized';

/** The figures that have the limit of an alert, by the collector that reads them. A cause is before its effects. */
export const FIGURES: Readonly<Record<'nodes' | 'ranges' | 'sessions', readonly Figure[]>> = {
  nodes: [
    {
      about: 'nodes',
      alert: 'CrdbClockOffsetHigh',
      read: clockOffsets,
      side: 'above',
      limit: 'clock_offset',
      text: (seconds) => `the clock is up to ${formatDuration(seconds)} off those of the others`,
      next: 'Check the time service: a node stops itself at 80 percent of --max-offset (400 ms by default).',
    },
    {
      about: 'nodes',
      alert: 'CrdbStoreDiskSlow',
      read: ofStores((store) => secondsOf(store, 'storage.wal.fsync.latency-p99')),
      side: 'above',
      limit: 'disk_latency',
      text: (p99) => `syncs of the write-ahead log take up to ${formatDuration(p99)} (p99)`,
      next: 'Every write to the ranges of these stores waits: check the volumes and their I/O limits.',
    },
    {
      about: 'nodes',
      alert: 'CrdbHeartbeatSlow',
      read: ofNodes('fresh', ({ metrics }) => secondsOf(metrics, 'liveness.heartbeatlatency-p99')),
      side: 'above',
      limit: 'heartbeat',
      critical: 'heartbeat_critical',
      text: (p99) => `liveness heartbeats take up to ${formatDuration(p99)} (p99)`,
      next: 'Check disk, CPU and network of these nodes and of the leaseholder of the liveness range (r2): a node that misses its heartbeats loses its liveness and its epoch leases. Leader leases (from 25.2 on) depend on heartbeats between stores.',
    },
    {
      about: 'nodes',
      alert: 'CrdbLatencyHigh',
      // The alert compares with the last day: slow statements may be usual.
      level: 'info',
      read: ofNodes('fresh', latencyOf),
      side: 'above',
      limit: 'latency',
      text: (p99) => `the slowest percent of SQL statements takes ${formatDuration(p99)} or more`,
      next: 'Long analytical statements may be usual: the alert compares with the last day. One node: check its disk, its CPU and its clock. All nodes: range problems, hot ranges, contention, the network.',
    },
    {
      about: 'nodes',
      alert: 'CrdbNodeMemoryHigh',
      read: ofNodes('fresh', ({ metrics, memoryBytes }) =>
        ratio(metrics.get('sys.rss'), memoryBytes),
      ),
      side: 'above',
      limit: 'memory',
      critical: 'memory_full',
      text: (share) => `the process uses ${formatPercent(share)} of the memory`,
      next: 'Compare --cache and --max-sql-memory with the memory of the machine: the kernel may kill the node.',
    },
    {
      about: 'nodes',
      alert: 'CrdbFileDescriptorsHigh',
      read: ofNodes('fresh', ({ metrics }) =>
        ratio(metrics.get('sys.fd.open'), metrics.get('sys.fd.softlimit')),
      ),
      side: 'above',
      limit: 'file_descriptors',
      text: (share) => `${formatPercent(share)} of the file descriptors are open`,
      next: 'Raise the limit (nofile) or look for a connection leak.',
    },
    {
      about: 'nodes',
      alert: 'CrdbRequestsStuck',
      read: ofNodes('fresh', countSlowRequests),
      side: 'above',
      limit: 0,
      text: (count) => `up to ${formatCount(count)} requests are stuck`,
      next: 'Look for ranges without a quorum or lease, stalled disks and long transactions.',
    },
    {
      about: 'nodes',
      alert: 'CrdbStoreOverloaded',
      read: ofStores((store) => store.get('storage.l0-sublevels')),
      side: 'from',
      limit: 'l0_sublevels',
      text: (sublevels) => `up to ${formatCount(sublevels)} L0 sublevels, so writes are throttled`,
      next: 'Check disk throughput and bulk writes.',
    },
    {
      about: 'nodes',
      alert: 'CrdbStoreOverloaded',
      key: 'io overload',
      read: ofStores((store) => store.get('admission.io.overload')),
      side: 'from',
      limit: 1,
      text: (overload) =>
        `an I/O overload of up to ${formatNumber(overload)}, so writes are throttled`,
      next: 'Check disk throughput and bulk writes.',
    },
    {
      about: 'nodes',
      alert: 'CrdbPurgatory',
      // One or two nodes cannot hold three replicas.
      read: ofNodes('fresh', (node, { nodes }) =>
        nodes.length < 3 ? undefined : countInPurgatory(node),
      ),
      side: 'above',
      limit: 0,
      text: () => 'no store satisfies the constraints of some replicas',
      next: 'Look for nodes that are down or full, and for contradicting zone constraints.',
    },
    {
      about: 'nodes',
      alert: 'CrdbChangefeedLagging',
      read: changefeedLags,
      side: 'above',
      limit: 'changefeed_lag',
      critical: 'changefeed_lag_critical',
      text: (lag) => `a changefeed is ${formatDuration(lag)} behind`,
      next: 'Check the sink and the load.',
    },
    {
      about: 'nodes',
      alert: 'CrdbNodeCpuHigh',
      read: ofNodes('fresh', ({ metrics }, { isHeavyJobRunning }) =>
        isHeavyJobRunning ? undefined : metrics.get(CPU),
      ),
      side: 'above',
      limit: 'cpu',
      critical: 'cpu_critical',
      text: (share) => `up to ${formatPercent(share)} of all CPUs are used`,
      next: 'Compare the hottest ranges and the running statements.',
    },
    {
      about: 'nodes',
      alert: 'CrdbHostCpuHigh',
      read: ofNodes('fresh', ({ metrics }, { thresholds }) =>
        (metrics.get(CPU) ?? 0) > thresholds.cpu ? undefined : metrics.get(HOST_CPU),
      ),
      side: 'above',
      limit: 'cpu_critical',
      text: (share) =>
        `up to ${formatPercent(share)} of the CPU of the machine is used, most of it not by CockroachDB`,
      next: 'Look for the other process on these machines: it takes time from the node, so heartbeats are late and statements slow.',
    },
    {
      key: 'license',
      about: 'nodes',
      alert: 'CrdbLicenseExpiring',
      read: ofCluster(
        ({ fresh, clusterMs }) =>
          Math.min(...fresh.flatMap((node) => node.licenseExpirySeconds ?? [])) - clusterMs / 1000,
      ),
      side: 'below',
      limit: 'license_days',
      critical: 'license_critical_days',
      unit: DAY,
      text: (left) =>
        left <= 0 ? 'the license has expired' : `the license expires in ${formatDuration(left)}`,
      next: 'Renew it with SET CLUSTER SETTING enterprise.license. With a free or trial license the cluster throttles transactions after the grace period; with a paid one it does not.',
    },
    {
      key: 'full stores',
      about: 'nodes',
      alert: 'CrdbStoreDiskLow',
      read: ofStores((store, evidence) =>
        isScarce(store, evidence) ? undefined : freeShare(store),
      ),
      side: 'below',
      limit: 'disk',
      critical: 'disk_critical',
      text: (free) => `only ${formatPercent(free)} of the disk is free`,
      next: 'Add disk space or nodes: a node with a full disk stops.',
    },
    {
      key: 'scarce bytes',
      about: 'nodes',
      alert: 'CrdbStoreDiskLow',
      level: 'critical',
      read: ofStores((store, evidence) =>
        isScarce(store, evidence) ? store.get('capacity.available') : undefined,
      ),
      side: 'below',
      limit: 'disk_floor',
      text: (bytes) => `only ${formatBytes(bytes)} of the disk are free`,
      next: 'Add disk space or nodes: a node with a full disk stops.',
    },
    {
      key: 'capacity',
      about: 'nodes',
      alert: 'CrdbClusterCapacity',
      read: ofCluster(shareWithoutLargest),
      side: 'below',
      limit: 'capacity',
      text: (free) =>
        `without the largest node the others would be full but for ${formatPercent(Math.max(0, free))}`,
      next: 'Add nodes or disk space.',
    },
    {
      about: 'jobs',
      alert: 'CrdbJobPaused',
      read: ofCluster((evidence) => ageOfPaused(evidence, 'others')),
      side: 'above',
      limit: 'protected_age',
      text: (age, evidence) =>
        `paused jobs (${typesOfPaused(evidence)}) keep data that is up to ${formatDuration(age)} old`,
      next: 'Resume or cancel them; see SHOW JOBS.',
    },
    {
      key: 'paused changefeeds',
      about: 'jobs',
      alert: 'CrdbJobPaused',
      level: 'critical',
      read: ofCluster((evidence) => ageOfPaused(evidence, 'changefeeds')),
      side: 'above',
      limit: 'protected_age',
      text: (age) => `paused jobs (changefeed) keep data that is ${formatDuration(age)} old`,
      next: 'Resume or cancel them; see SHOW CHANGEFEED JOBS. Consumers get no changes, and disks fill.',
    },
    ...(['physical', 'logical'] as const).map((kind): Figure => ({
      key: `${kind} lag`,
      about: 'jobs',
      alert: 'CrdbReplicationLag',
      read: ofCluster(({ jobs }) => jobs.lagSeconds[kind]),
      side: 'above',
      limit: 'replication_lag',
      text: (lag) => `the ${kind} replication into this cluster is ${formatDuration(lag)} behind`,
      next: 'Check the job, the source cluster and the network between the two.',
    })),
    {
      key: 'backup',
      about: 'jobs',
      alert: 'CrdbBackupTooOld',
      read: ofCluster(({ lastBackupSeconds, clusterMs }) =>
        lastBackupSeconds === 0 ? undefined : clusterMs / 1000 - lastBackupSeconds,
      ),
      side: 'above',
      limit: 'backup_hours',
      unit: HOUR,
      text: (age) => `the last scheduled backup ended ${formatDuration(age)} ago`,
      next: 'See SHOW SCHEDULES and SHOW JOBS.',
    },
    {
      key: 'upgrade',
      about: 'nodes',
      alert: 'CrdbUpgradeNotFinalized',
      read: ofCluster(
        ({ jobs: { preserveDowngradeSeconds: since = NaN }, clusterMs }) =>
          clusterMs / 1000 - since,
      ),
      side: 'above',
      limit: 'finalize_days',
      unit: DAY,
      text: (age) => `the upgrade has not been finalized for ${formatDuration(age)}`,
      next: ({ view }) =>
        `It may be longer: nodes count from their own start. When the new version works, RESET CLUSTER SETTING cluster.preserve_downgrade_option. ${describeFurtherHolds(view.nodes?.versions)}`,
    },
  ],
  ranges: [
    {
      key: 'hot range',
      about: 'ranges',
      alert: 'CrdbHotRange',
      read: ofCluster(hottestCpu),
      side: 'above',
      limit: 'hot_range_cpu',
      text: (cpu) => `a range has ${formatNumber(cpu)} CPU seconds per second`,
      next: 'See the hottest ranges: probably one key or an ascending key.',
    },
    {
      key: 'queries of a hot range',
      about: 'ranges',
      alert: 'CrdbHotRange',
      // Only where the servers send no CPU.
      read: ofCluster(({ ranges }) =>
        hottestCpu({ ranges }) === undefined
          ? Math.max(0, ...(ranges?.scanned ?? []).map(({ maxQueries = 0 }) => maxQueries))
          : undefined,
      ),
      side: 'above',
      limit: 'hot_range_queries',
      text: (queries) => `a range has ${formatNumber(queries)} queries per second`,
      next: 'See the hottest ranges: probably one key or an ascending key.',
    },
  ],
  sessions: [
    {
      about: 'nodes',
      alert: 'CrdbSessionMemoryHigh',
      read: ofNodes('nodes', ({ id, memoryBytes }, { sessions }) =>
        ratio(sessions?.nodes.get(id)?.allocBytes, memoryBytes),
      ),
      side: 'above',
      limit: 'session_memory',
      text: (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
      next: '`crdb-exporter sessions --sort memory` lists the largest first.',
    },
    {
      about: 'sessions',
      alert: 'CrdbIdleTransactions',
      read: ofCluster(shareOfIdle),
      side: 'above',
      limit: 'idle_transactions',
      text: describeIdle,
      next: 'Usually a call to another service within a transaction, or a transaction that an error leaves open. `crdb-exporter sessions --sort txn-age` lists the oldest first.',
    },
  ],
};
