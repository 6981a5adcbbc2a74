import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { toConsole } from './lib/links.ts';
import { bars } from './lib/panels.ts';
import type { Limit } from './lib/style.ts';
import { S } from './lib/variables.ts';

const STORE = 'n{{node_id}} s{{store_id}}';

const CHOSEN = `${S}, node_id=~"$node"`;

function perStore(expr: string): string {
  return `max by (node_id, store_id) (${expr})`;
}

function increaseOf(family: string): string {
  return perStore(`increase(${family}{${CHOSEN}}[$__rate_interval])`);
}

/** The stores of the selected nodes. */
export const storeRow = (limit: Limit): Row => ({
  title: 'Stores of selected nodes',
  panels: [
    bars('Used', {
      about: 'Used share of the disk (crdb_store_available_bytes). Orange: CrdbStoreDiskLow.',
      queries: `1 - ${perStore(`crdb_store_available_bytes{${CHOSEN}}`)} / ${perStore(`crdb_store_capacity_bytes{${CHOSEN}}`)}`,
      unit: 'percentunit',
      legend: STORE,
      steps: ['green', [1 - limit('disk'), 'orange'], [1 - limit('disk_critical'), 'red']],
      links: [toConsole('stores', 'reports/stores/${__field.labels.node_id}')],
    }),
    graph('Free, and in 24 h by trend', {
      about:
        'Free space and, dashed, its forecast for 24 hours by the trend of 6 hours (crdb_store_available_bytes). Below 0: CrdbStoreDiskFillsSoon.',
      queries: [
        { expr: perStore(`crdb_store_available_bytes{${CHOSEN}}`), legend: STORE },
        {
          expr: perStore(`predict_linear(crdb_store_available_bytes{${CHOSEN}}[6h], 86400)`),
          legend: `${STORE} in 24 h`,
        },
      ],
      unit: 'bytes',
      second: 'dashed',
      lowest: true,
      width: 16,
    }),
    graph('L0 sublevels', {
      about: 'Compaction backlog (crdb_store_l0_sublevels). Orange: CrdbStoreOverloaded.',
      queries: perStore(`crdb_store_l0_sublevels{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
      steps: ['green', [limit('l0_sublevels'), 'orange']],
    }),
    graph('Write stalls', {
      about:
        'Stops of all writes of the store, per minute (crdb_store_write_stalls_total). Orange: CrdbStoreOverloaded.',
      queries: `60 * ${perStore(`rate(crdb_store_write_stalls_total{${CHOSEN}}[$__rate_interval])`)}`,
      unit: 'cpm',
      legend: STORE,
      steps: ['green', [limit('write_stalls'), 'orange'], [limit('write_stalls_critical'), 'red']],
    }),
    graph('Disk slow / stalled', {
      about:
        'Disk operations that were slow or hung (crdb_store_disk_slow_total, crdb_store_disk_stalled_total). Any stall: CrdbStoreDiskSlow.',
      queries: [
        { expr: increaseOf('crdb_store_disk_slow_total'), legend: `${STORE} slow` },
        { expr: increaseOf('crdb_store_disk_stalled_total'), legend: `${STORE} stalled` },
      ],
      unit: 'short',
      draw: 'bars',
      steps: ['green', [1, 'orange']],
    }),
    graph('Stuck requests of stores', {
      about:
        'Requests that have waited long for a latch, a lease or raft (crdb_store_slow_requests). See CrdbRequestsStuck.',
      queries: `sum by (node_id, kind) (max by (node_id, store_id, kind) (crdb_store_slow_requests{${CHOSEN}}))`,
      unit: 'short',
      legend: 'n{{node_id}} {{kind}}',
      steps: ['green', [1, 'orange']],
      width: 12,
    }),
    graph('Replicas and leases', {
      about:
        'Replicas and leases of each store (crdb_range_replicas, crdb_range_leases). Falling replicas: the node is being decommissioned or rebalanced.',
      queries: [
        { expr: perStore(`crdb_range_replicas{${CHOSEN}}`), legend: `${STORE} replicas` },
        { expr: perStore(`crdb_range_leases{${CHOSEN}}`), legend: `${STORE} leases` },
      ],
      unit: 'short',
      width: 12,
    }),
    graph('Leases counted by stores', {
      about:
        'Leases as the stores count them (crdb_store_leaseholders), every 10 s and without a range scan. Zero on one store only: its node does not get leases.',
      queries: perStore(`crdb_store_leaseholders{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
      width: 12,
    }),
    graph('Problem ranges counted by stores', {
      about:
        'Ranges as the leaseholders count them, without a range scan (crdb_store_unavailable_ranges, crdb_store_underreplicated_ranges). Other numbers than the range scans: CrdbScanDisagrees.',
      queries: ['unavailable', 'underreplicated'].map((problem) => ({
        expr: `sum(${perStore(`crdb_store_${problem}_ranges{${CHOSEN}}`)})`,
        legend: problem,
      })),
      unit: 'short',
      width: 12,
    }),
    graph('I/O overload', {
      about: 'Write backlog (crdb_store_io_overload_ratio). From 1 on the store throttles writes.',
      queries: perStore(`crdb_store_io_overload_ratio{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
      steps: ['green', [0.5, 'orange'], [1, 'red']],
    }),
    graph('Log latency p99', {
      about:
        'Syncs of the write-ahead log and Raft log commits (crdb_store_wal_fsync_p99_seconds, crdb_store_raft_log_commit_p99_seconds). High: a slow disk.',
      queries: [
        { expr: perStore(`crdb_store_wal_fsync_p99_seconds{${CHOSEN}}`), legend: `${STORE} sync` },
        {
          expr: perStore(`crdb_store_raft_log_commit_p99_seconds{${CHOSEN}}`),
          legend: `${STORE} commit`,
        },
      ],
      unit: 's',
    }),
    graph('Lock waiters', {
      about: 'Requests that wait for the lock of another transaction (crdb_store_lock_waiters).',
      queries: perStore(`crdb_store_lock_waiters{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
    }),
    graph('Replicate queue', {
      about:
        'Replicas to place (crdb_store_replicate_queue). In purgatory no store satisfies their constraints: CrdbPurgatory.',
      queries: `sum by (state) (max by (node_id, store_id, state) (crdb_store_replicate_queue{${CHOSEN}}))`,
      unit: 'short',
      legend: '{{state}}',
    }),
    graph('Ranges to move', {
      about:
        'Ranges with a replica on a decommissioning node (crdb_store_decommissioning_ranges), and leases against the preferences (crdb_store_lease_preference_violations).',
      queries: [
        {
          expr: `sum(${perStore(`crdb_store_decommissioning_ranges{${CHOSEN}}`)})`,
          legend: 'decommissioning',
        },
        {
          expr: `sum(${perStore(`crdb_store_lease_preference_violations{${CHOSEN}}`)})`,
          legend: 'lease preference',
        },
      ],
      unit: 'short',
    }),
    graph('Raft log behind', {
      about: 'Log entries that followers are behind (crdb_store_raft_log_behind).',
      queries: perStore(`crdb_store_raft_log_behind{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
    }),
    graph('Snapshots received', {
      about: 'Bytes of range snapshots per second (crdb_store_snapshot_received_bytes_total).',
      queries: perStore(
        `rate(crdb_store_snapshot_received_bytes_total{${CHOSEN}}[$__rate_interval])`,
      ),
      unit: 'Bps',
      legend: STORE,
    }),
    graph('Lease transfers', {
      about: 'Lease transfers per second (crdb_store_lease_transfers_total).',
      queries: perStore(`rate(crdb_store_lease_transfers_total{${CHOSEN}}[$__rate_interval])`),
      unit: 'cps',
      legend: STORE,
    }),
    graph('Used and live data', {
      about:
        'Disk space used, and bytes before compression that are neither deleted nor overwritten (crdb_store_used_bytes, crdb_store_live_bytes). Used grows and live does not: data waits for garbage collection.',
      queries: [
        { expr: perStore(`crdb_store_used_bytes{${CHOSEN}}`), legend: `${STORE} used` },
        { expr: perStore(`crdb_store_live_bytes{${CHOSEN}}`), legend: `${STORE} live` },
      ],
      unit: 'bytes',
    }),
  ],
});
