import { keyed, keyedBy, type KeyedSeries, kindsOf, STORE } from './keyed.ts';

/** The families of a store that are one metric each, or one by kind. */
export const STORE_METRICS: readonly KeyedSeries[] = [
  keyed(STORE, 'capacity', {
    name: 'crdb_store_capacity_bytes',
    help: 'Size of the store in bytes.',
  }),
  keyed(STORE, 'capacity.available', {
    name: 'crdb_store_available_bytes',
    help: 'Free space available to the store in bytes.',
  }),
  keyed(STORE, 'capacity.used', {
    name: 'crdb_store_used_bytes',
    help: 'Disk space used by the store in bytes.',
  }),
  keyed(STORE, 'storage.l0-sublevels', {
    name: 'crdb_store_l0_sublevels',
    help: 'Sublevels in level 0 of the storage engine; high when compaction falls behind writes.',
  }),
  keyed(STORE, 'storage.write-stalls', {
    name: 'crdb_store_write_stalls_total',
    help: 'Write stalls: times that the storage engine delayed writes to wait for compaction.',
  }),
  keyed(STORE, 'storage.disk-slow', {
    name: 'crdb_store_disk_slow_total',
    help: 'Disk operations of the store that took too long.',
  }),
  keyed(STORE, 'storage.disk-stalled', {
    name: 'crdb_store_disk_stalled_total',
    help: 'Disk operations of the store that appeared to hang.',
  }),
  ...keyedBy(STORE, 'kind', kindsOf('requests.slow.*', ['latch', 'lease', 'raft']), {
    name: 'crdb_store_slow_requests',
    help: 'Requests stuck for a long time in the store, by what they wait for: latch, lease or raft.',
  }),
  keyed(STORE, 'livebytes', {
    name: 'crdb_store_live_bytes',
    help: 'Bytes of the replicas of the store that are neither deleted nor overwritten.',
  }),
  keyed(STORE, 'raftlog.behind', {
    name: 'crdb_store_raft_log_behind',
    help: 'Raft log entries that followers of the ranges led by the store are behind.',
  }),
  keyed(STORE, 'storage.wal.fsync.latency-p99', {
    name: 'crdb_store_wal_fsync_p99_seconds',
    help: '99th percentile of recent write-ahead log sync latency in seconds; 0 without syncs.',
  }),
  keyed(STORE, 'raft.process.logcommit.latency-p99', {
    name: 'crdb_store_raft_log_commit_p99_seconds',
    help: '99th percentile of recent Raft log commit latency in seconds; 0 without commits.',
  }),
  keyed(STORE, 'range.snapshots.rcvd-bytes', {
    name: 'crdb_store_snapshot_received_bytes_total',
    help: 'Bytes of range snapshots received by the store.',
  }),
  keyed(STORE, 'leases.transfers.success', {
    name: 'crdb_store_lease_transfers_total',
    help: 'Successful lease transfers by the store.',
  }),
  ...keyedBy(STORE, 'state', kindsOf('queue.replicate.*', ['pending', 'purgatory']), {
    name: 'crdb_store_replicate_queue',
    help: 'Replicas in the replicate queue of the store, by state.',
    notes: 'purgatory: no allocation satisfies the constraints.',
  }),
  keyed(STORE, 'ranges.decommissioning', {
    name: 'crdb_store_decommissioning_ranges',
    help: 'Ranges led by the store that have a replica on a decommissioning node.',
  }),
  keyed(STORE, 'leases.preferences.violating', {
    name: 'crdb_store_lease_preference_violations',
    help: 'Leases held by the store against the lease preferences.',
  }),
  keyed(STORE, 'kv.concurrency.lock_wait_queue_waiters', {
    name: 'crdb_store_lock_waiters',
    help: 'Requests that wait for the lock of another transaction in the store.',
  }),
  keyed(STORE, 'admission.io.overload', {
    name: 'crdb_store_io_overload_ratio',
    help: 'I/O overload of the store; from 1 on it throttles writes.',
    unit: 'ratio',
  }),
];
