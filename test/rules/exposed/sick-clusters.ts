import type { Simulator, SimulatorOptions } from '../../../simulator/index.ts';

type Change = (world: Simulator['world'], simulator: Simulator) => void;

/** A simulated cluster in which alerts hold that need no history. */
export interface SickCluster {
  readonly name: string;
  /** Alerts that must hold, with their severities: `CrdbHeartbeatSlow critical`. Their effects may hold, too. */
  readonly alerts: readonly string[];
  readonly options?: Partial<SimulatorOptions>;
  /** Before the exporter starts. */
  readonly change?: Change;
  /** After its first polls. */
  readonly later?: Change;
  /** Settings of its collectors. */
  readonly collectors?: Readonly<Record<string, object>>;
}

const DAY = 86_400;
const GIB = 2 ** 30;

function nowSeconds(): number {
  return Date.now() / 1000;
}

/** Gives the first node these metrics, and its store. */
function measured(
  node: Readonly<Record<string, number>>,
  stores: Readonly<Record<string, number>> = {},
): Change {
  return (world) => {
    for (const [key, value] of Object.entries(node)) world.setMetric(1, key, value);
    for (const [key, value] of Object.entries(stores)) world.setMetric(1, key, value, 'stores');
  };
}

/** Disks of 100 GiB, of which these nodes have this many free. */
function disks(free: number, nodes: readonly number[]): Change {
  return (world) => {
    for (const id of [1, 2, 3, 4]) {
      const available = nodes.includes(id) ? free : 80;
      world.setMetric(id, 'capacity', 100 * GIB, 'stores');
      world.setMetric(id, 'capacity.available', available * GIB, 'stores');
    }
  };
}

function regionOf({ locality }: { readonly locality: readonly { key: string; value: string }[] }) {
  return locality.find(({ key }) => key === 'region')?.value;
}

function memoryOf(world: Simulator['world'], share: number): number {
  return share * (world.state.nodes.get(1)?.memoryBytes ?? 0);
}

export const SICK_CLUSTERS: readonly SickCluster[] = [
  { name: 'calm', alerts: [] },
  {
    name: 'slow',
    alerts: [
      'CrdbHeartbeatSlow warning',
      'CrdbStoreDiskSlow warning',
      'CrdbClockOffsetHigh warning',
      'CrdbFileDescriptorsHigh warning',
      'CrdbRequestsStuck warning',
      'CrdbStoreOverloaded warning',
    ],
    change: measured(
      {
        'liveness.heartbeatlatency-p99': 2e9,
        'sql.service.latency-p99': 4e9,
        'clock-offset.meannanos': -300e6,
        'sys.fd.open': 900,
        'sys.fd.softlimit': 1_000,
        'requests.slow.distsender': 3,
      },
      { 'storage.wal.fsync.latency-p99': 600e6, 'storage.l0-sublevels': 25 },
    ),
  },
  {
    name: 'slower',
    alerts: [
      'CrdbHeartbeatSlow critical',
      'CrdbNodeCpuHigh critical',
      'CrdbNodeMemoryHigh critical',
      'CrdbChangefeedLagging critical',
    ],
    change(world) {
      world.setMetric(1, 'liveness.heartbeatlatency-p99', 4e9);
      world.setMetric(1, 'sys.cpu.combined.percent-normalized', 0.95);
      world.setMetric(1, 'sys.rss', memoryOf(world, 0.985));
      world.setMetric(1, 'changefeed.max_behind_nanos', 15_000e9);
      world.stopBackups(3_600_000);
    },
  },
  {
    name: 'loaded',
    alerts: [
      'CrdbNodeCpuHigh warning',
      'CrdbNodeMemoryHigh warning',
      'CrdbHostCpuHigh warning',
      'CrdbChangefeedLagging warning',
      'CrdbPurgatory info',
    ],
    change(world) {
      world.setMetric(1, 'sys.cpu.combined.percent-normalized', 0.85);
      world.setMetric(1, 'sys.rss', memoryOf(world, 0.85));
      world.setMetric(1, 'changefeed.max_behind_nanos', 700e9);
      world.setMetric(2, 'sys.cpu.host.combined.percent-normalized', 0.95);
      world.setMetric(2, 'queue.replicate.purgatory', 7, 'stores');
      world.stopBackups(3_600_000);
    },
  },
  {
    name: 'throttled',
    alerts: ['CrdbStoreOverloaded warning'],
    change: measured({}, { 'admission.io.overload': 1.5 }),
  },
  { name: 'full', alerts: ['CrdbStoreDiskLow warning'], change: disks(15, [1]) },
  { name: 'fuller', alerts: ['CrdbStoreDiskLow critical'], change: disks(3, [1]) },
  {
    name: 'scarce',
    alerts: ['CrdbClusterCapacity warning'],
    change: disks(30, [1, 2, 3, 4]),
  },
  {
    name: 'expiring',
    alerts: ['CrdbLicenseExpiring warning'],
    change: (world) => {
      for (const id of [1, 2, 3, 4]) {
        world.setMetric(id, 'seconds_until_license_expiry', 10.52 * DAY);
        world.setMetric(id, 'security.certificate.expiration.node', nowSeconds() + 4.52 * DAY);
      }
    },
  },
  {
    name: 'expired',
    alerts: ['CrdbLicenseExpiring critical'],
    change: (world) => {
      world.setLicense('expired');
      world.setMetric(2, 'security.certificate.expiration.node', nowSeconds() + 1.02 * DAY);
    },
  },
  {
    name: 'unlicensed',
    alerts: ['CrdbLicenseMissing warning'],
    change: (world) => world.setLicense('none'),
  },
  {
    name: 'jobs',
    alerts: [
      'CrdbJobPaused warning',
      'CrdbReplicationLag warning',
      'CrdbBackupTooOld warning',
      'CrdbUpgradeNotFinalized info',
      'CrdbBackupKmsInaccessible warning',
      'CrdbDataInconsistent critical',
    ],
    change(world) {
      world.setMetric(2, 'backup.last-failed-time.kms-inaccessible', nowSeconds() - 3600);
      world.setMetric(3, 'jobs.inspect.issues_found', 4);
      world.pauseJob('restore', 7_500_000);
      world.replicate('logical', 1, 1_500_000);
      world.stopBackups(30.5 * 3_600_000);
      world.setMetric(
        1,
        'cluster.preserve-downgrade-option.last-updated',
        nowSeconds() - 8.5 * DAY,
      );
    },
  },
  {
    name: 'paused',
    alerts: ['CrdbJobPaused critical'],
    change: (world) => world.pauseJob('changefeed', 7_500_000),
  },
  {
    name: 'away',
    alerts: ['CrdbNodeUnavailable warning', 'CrdbRangesUnderreplicated warning'],
    options: { nodes: 5 },
    change: (world) => world.killNode(5, 'unavailable'),
  },
  {
    name: 'dead',
    alerts: ['CrdbNodeDead warning', 'CrdbRangesUnderreplicated critical'],
    options: { nodes: 6 },
    later: (world) => world.killNode(6),
  },
  {
    name: 'two-left',
    alerts: ['CrdbNodeDead critical'],
    options: { nodes: 3 },
    later: (world) => world.killNode(3),
  },
  {
    name: 'outage',
    alerts: ['CrdbRangesUnavailable critical'],
    options: { nodes: 5 },
    later(world) {
      world.killNode(4);
      world.killNode(5);
    },
  },
  {
    name: 'lost',
    alerts: ['CrdbRangesLost critical'],
    options: { nodes: 5 },
    change: (world) => world.placeRange(40, [5]),
    later: (world) => world.killNode(5),
  },
  {
    name: 'stuck',
    alerts: ['CrdbRangesWithoutLease critical', 'CrdbRangeProblemPersistent warning'],
    change(world) {
      world.setProblem(41, 'no_lease');
      world.setProblem(42, 'raft_log_too_large');
    },
  },
  {
    name: 'silent-record',
    alerts: ['CrdbNodeRecordStale warning'],
    change(world) {
      const node = world.state.nodes.get(2);
      const startedAtMs = node?.startedAtMs ?? 0;
      const frozenRecord = {
        startedAtMs,
        updatedAtMs: Date.now() - 300_000,
        metrics: {},
        stores: new Map<number, Readonly<Record<string, number>>>(),
      };
      Object.assign(node ?? {}, { frozenRecord });
    },
  },
  {
    name: 'parted',
    alerts: ['CrdbPartitionSuspected warning'],
    change: (world) => world.partitionPair(1, 2),
  },
  {
    name: 'parted-stuck',
    alerts: ['CrdbPartitionSuspected critical', 'CrdbRequestsStuck warning'],
    change(world) {
      world.partitionPair(1, 2);
      world.setMetric(3, 'requests.slow.raft', 4, 'stores');
    },
  },
  {
    name: 'leaving',
    alerts: ['CrdbNodeStuckLeaving warning'],
    change: (world) => world.drainNode(2),
  },
  {
    name: 'at-risk',
    alerts: ['CrdbQuorumAtRisk warning'],
    options: { nodes: 9 },
    change(world) {
      const regions = [...Map.groupBy(world.state.nodes.values(), regionOf).values()];
      const ids = regions.map((nodes) => nodes.map(({ id }) => id));
      for (const id of world.state.ranges.keys())
        world.placeRange(
          id,
          ids.map((all) => all[id % all.length] ?? 0),
        );
      world.placeRange(50, ids[0] ?? []);
    },
  },
  {
    name: 'unread',
    alerts: ['CrdbRangeScanIncomplete warning'],
    change: (_world, simulator) => {
      simulator.fault({ endpoint: 'node_ranges', node: 3, kind: 'status', status: 500 });
    },
  },
  {
    name: 'hot',
    alerts: ['CrdbHotRange info', 'CrdbNodeHotspot warning'],
    options: { nodes: 6, ranges: 400 },
    change(world) {
      world.setLoad(30, 900, 0.95);
      for (const { id, replicas } of world.state.ranges.values())
        if (replicas.some(({ nodeId }) => nodeId === 1)) world.moveLease(id, 1);
      world.setMetric(1, 'sys.cpu.combined.percent-normalized', 0.75);
    },
  },
  {
    name: 'old-transactions',
    alerts: ['CrdbTransactionTooOld warning', 'CrdbSessionMemoryHigh warning'],
    change(world) {
      world.openSession({
        nodeId: 2,
        username: 'payments',
        applicationName: 'leaky-service',
        state: 'idle_in_transaction',
        transactionAgeMs: 1_500_000,
        allocBytes: Math.floor(0.3 * (world.state.nodes.get(2)?.memoryBytes ?? 0)),
      });
    },
  },
  {
    name: 'idle',
    alerts: ['CrdbIdleTransactions warning'],
    change(world) {
      for (let count = 0; count < 9; count += 1) {
        world.openSession({
          nodeId: 1,
          username: 'movr',
          applicationName: 'checkout',
          state: 'idle_in_transaction',
          transactionAgeMs: 5_000,
        });
      }
      world.setMetric(1, 'kv.concurrency.lock_wait_queue_waiters', 30, 'stores');
    },
  },
  {
    name: 'hidden',
    alerts: ['CrdbSessionsHidden warning'],
    options: {
      users: [
        {
          name: 'exporter',
          password: 'exporter-demo',
          privileges: ['VIEWCLUSTERMETADATA', 'SELECT_USERS', 'CONNECT'],
        },
      ],
    },
    change: (world) => world.setMetric(1, 'sql.conns', 450),
  },
  {
    name: 'limited',
    alerts: ['CrdbExporterLimitHit warning'],
    options: { nodes: 9 },
    collectors: { nodes: { max_series: 500 } },
  },
  {
    name: 'moved',
    alerts: ['CrdbNodeKeysMissing info'],
    collectors: { nodes: { metrics: ['exportrequest.delay.total', 'no.such.*'] } },
  },
  {
    name: 'stale',
    alerts: ['CrdbDataStale warning'],
    change: (_world, simulator) => {
      simulator.fault({ endpoint: 'sessions', kind: 'status', status: 500 });
    },
  },
  {
    name: 'silent',
    alerts: ['CrdbClusterApiDown critical'],
    later: (_world, simulator) => {
      simulator.fault({ api: 'cluster', kind: 'status', status: 500 });
    },
  },
  {
    name: 'past',
    alerts: ['CrdbExporterClockWrong info'],
    options: { now: () => Date.now() - 185_000 },
  },
  {
    name: 'assistant',
    alerts: ['CrdbMigrationAssistantFailing warning'],
    change: (world) => world.setAssistant({ status: 'FAILED', health: 'UNKNOWN' }),
  },
];
