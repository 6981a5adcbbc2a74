import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { toConsole } from './lib/links.ts';
import { bars } from './lib/panels.ts';
import type { Limit } from './lib/style.ts';
import { CHOSEN, perStore, rateBy, STORE } from './node-graphs.ts';

/** Space and health of the disks of the selected nodes. */
export const storageRow = (limit: Limit): Row => ({
  title: 'Storage',
  collapsed: true,
  panels: [
    bars('Used', {
      about: 'Used share of the disk (crdb_store_available_bytes). Orange: CrdbStoreDiskLow.',
      queries: `1 - ${perStore(`crdb_store_available_bytes{${CHOSEN}}`)} / ${perStore(`crdb_store_capacity_bytes{${CHOSEN}}`)}`,
      unit: 'percentunit',
      legend: STORE,
      steps: ['green', [1 - limit('disk'), 'orange'], [1 - limit('disk_critical'), 'red']],
      links: [toConsole('stores', 'reports/stores/${__field.labels.node_id}')],
      width: 12,
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
    graph('Log latency p99', {
      about:
        'Syncs of the write-ahead log and Raft log commits (crdb_store_wal_fsync_p99_seconds, crdb_store_raft_log_commit_p99_seconds). Syncs above the dashed line: CrdbStoreDiskSlow.',
      queries: [
        { expr: perStore(`crdb_store_wal_fsync_p99_seconds{${CHOSEN}}`), legend: `${STORE} sync` },
        {
          expr: perStore(`crdb_store_raft_log_commit_p99_seconds{${CHOSEN}}`),
          legend: `${STORE} commit`,
        },
      ],
      unit: 's',
      steps: ['green', [limit('disk_latency'), 'orange']],
    }),
    graph('Store liveness', {
      about:
        'Times in 10 minutes that a store withdrew its support of another one (crdb_store_support_withdrawn_total), and heartbeats that it could not send (crdb_store_liveness_heartbeat_failures_total). A store that too few others support loses its leader leases (default from 25.2 on). Some are normal while a node is down or restarts.',
      queries: [
        {
          expr: perStore(`increase(crdb_store_support_withdrawn_total{${CHOSEN}}[10m])`),
          legend: `${STORE} withdrawn`,
        },
        {
          expr: perStore(`increase(crdb_store_liveness_heartbeat_failures_total{${CHOSEN}}[10m])`),
          legend: `${STORE} unsent`,
        },
      ],
      unit: 'short',
    }),
    graph('Peers of stores', {
      about:
        'Stores that a store asks for support (crdb_store_support_from_stores), and those that it has ever supported (crdb_store_support_for_stores).',
      queries: [
        { expr: perStore(`crdb_store_support_from_stores{${CHOSEN}}`), legend: `${STORE} from` },
        { expr: perStore(`crdb_store_support_for_stores{${CHOSEN}}`), legend: `${STORE} for` },
      ],
      unit: 'short',
    }),
    graph('Disk slow / stalled', {
      about:
        'Disk operations that were slow in the last 10 minutes or hung in the last 15 (crdb_store_disk_slow_total, crdb_store_disk_stalled_total). Slow ones above the dashed line, or any that hung: CrdbStoreDiskSlow.',
      queries: [
        {
          expr: perStore(`increase(crdb_store_disk_slow_total{${CHOSEN}}[10m])`),
          legend: `${STORE} slow`,
        },
        {
          expr: perStore(`increase(crdb_store_disk_stalled_total{${CHOSEN}}[15m])`),
          legend: `${STORE} stalled`,
        },
      ],
      unit: 'short',
      steps: ['green', [limit('disk_slow'), 'orange']],
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
        'Stops of all writes of the store, per minute (crdb_store_write_stalls_total). Orange or red: CrdbStoreOverloaded.',
      queries: `60 * ${rateBy('node_id, store_id', 'crdb_store_write_stalls_total')}`,
      unit: 'cpm',
      legend: STORE,
      steps: ['green', [limit('write_stalls'), 'orange'], [limit('write_stalls_critical'), 'red']],
    }),
    graph('I/O overload', {
      about:
        'Write backlog (crdb_store_io_overload_ratio). From 1 on the store throttles writes: CrdbStoreOverloaded.',
      queries: perStore(`crdb_store_io_overload_ratio{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
      steps: ['green', [1, 'orange']],
    }),
  ],
});
