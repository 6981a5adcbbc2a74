import { counter, type Family, gauge, type OwnDefinition } from '#metrics';

// The table of the families that copy one metric of a node or store each, by CockroachDB key. A new one is an entry in
// `NODE_METRICS` or `STORE_METRICS`: name, help and labels here, and nothing in another file of src.

/** The metric that is the value of one series. */
export interface KeyedSeries {
  readonly key: string;
  readonly family: Family;
  /** Besides node_id and store_id. */
  readonly labels: Readonly<Record<string, string>>;
}

export const NODE = { labels: ['node_id'], source: 'metrics' } as const;
const STORE = { labels: ['node_id', 'store_id'], source: 'store_metrics' } as const;

const STATEMENT_KINDS = ['select', 'insert', 'update', 'delete', 'ddl'];

export const LICENSE_KEY = 'seconds_until_license_expiry';
/** The second is the key of older servers. */
export const LICENSE_KEYS = [LICENSE_KEY, 'seconds_until_enterprise_license_expiry'] as const;

/** The keys of all certificates of a node begin so. */
export const CERTIFICATE_PREFIX = 'security.certificate.expiration.';

export const COUNTER_NOTES =
  'Counts since the start of the node and is updated every 10 s: use rate windows of 2 m and more.';

const OWN_COUNT_NOTES = 'CrdbScanDisagrees compares the range scan with it.';

export const CLOCK_OFFSET = 'clock-offset.meannanos';

/** The families of a node that are one metric each, or one by kind. */
export const NODE_METRICS: readonly KeyedSeries[] = [
  keyed(NODE, CLOCK_OFFSET, 'crdb_node_clock_offset_seconds', {
    help: "Mean offset of the node's clock from the clocks of its peers in seconds.",
  }),
  keyed(NODE, 'sys.cpu.combined.percent-normalized', 'crdb_node_cpu_ratio', {
    help: 'CPU used by the node process, 0 to 1 of all its CPUs.',
    unit: 'ratio, 0 to 1',
  }),
  keyed(NODE, 'sys.cpu.host.combined.percent-normalized', 'crdb_node_host_cpu_ratio', {
    help: 'CPU used on the whole machine of the node, 0 to 1 of all its CPUs.',
    unit: 'ratio, 0 to 1',
  }),
  keyed(NODE, 'sys.rss', 'crdb_node_resident_memory_bytes', {
    help: 'Resident memory of the node process in bytes.',
  }),
  keyed(NODE, 'sys.runnable.goroutines.per.cpu', 'crdb_node_runnable_goroutines_per_cpu', {
    help: 'Goroutines waiting for a CPU, per CPU; above 30 the node is overloaded.',
  }),
  keyed(NODE, 'sql.conns', 'crdb_node_sql_connections', {
    help: 'Open SQL connections of the node.',
  }),
  keyed(NODE, 'sql.service.latency-p99', 'crdb_node_sql_service_latency_p99_seconds', {
    help: '99th percentile of recent SQL statement latency in seconds; 0 without statements.',
    notes:
      'Of SELECT, INSERT, UPDATE and DELETE statements that succeeded at the first attempt. COMMIT, where writes of an explicit transaction wait for replication, is not in it, nor DDL, retried or running statements: see crdb_store_raft_log_commit_p99_seconds and crdb_store_wal_fsync_p99_seconds for slow writes.',
  }),
  keyed(NODE, 'liveness.heartbeatlatency-p99', 'crdb_node_liveness_heartbeat_p99_seconds', {
    help: '99th percentile of recent liveness heartbeat latency in seconds; 0 without heartbeats.',
  }),
  keyed(NODE, 'requests.slow.distsender', 'crdb_node_slow_requests', {
    help: 'KV requests sent by the node that have been stuck for a long time.',
  }),
  keyed(NODE, 'sys.fd.open', 'crdb_node_open_file_descriptors', {
    help: 'Open file descriptors of the node process.',
  }),
  keyed(NODE, 'sys.fd.softlimit', 'crdb_node_file_descriptor_limit', {
    help: 'Maximum number of open file descriptors of the node process.',
  }),
  keyed(NODE, 'changefeed.running', 'crdb_node_changefeeds_running', {
    help: 'Changefeeds running on the node.',
  }),
  keyed(NODE, 'changefeed.max_behind_nanos', 'crdb_node_changefeed_max_behind_seconds', {
    help: 'Lag of the slowest changefeed of the node in seconds.',
    notes:
      'No lag while crdb_node_changefeed_backfills of any node is not 0. 0 for a changefeed that is paused or only retries.',
  }),
  keyed(NODE, 'changefeed.backfill_count', 'crdb_node_changefeed_backfills', {
    help: 'Scans of whole tables that changefeeds of the node are running.',
    notes: 'Until they end, crdb_node_changefeed_max_behind_seconds of any node is no lag.',
  }),
  keyed(NODE, 'sql.query.count', 'crdb_node_sql_queries_total', {
    help: 'SQL statements that succeeded on the node.',
    notes: 'BEGIN, COMMIT and ROLLBACK included.',
  }),
  keyed(NODE, 'sql.failure.count', 'crdb_node_sql_failures_total', {
    help: 'SQL statements that failed while the node executed them.',
    notes:
      'None of them is in crdb_node_sql_queries_total. Not counted: errors of parse and bind (a missing table, column or privilege with a driver that prepares), syntax errors, and errors that ask the client to retry (40001). The share of failed statements is this divided by the sum of crdb_node_sql_statements_started_total.',
  }),
  keyed(NODE, 'liveness.heartbeatfailures', 'crdb_node_liveness_heartbeat_failures_total', {
    help: 'Failed liveness heartbeats of the node.',
  }),
  keyed(NODE, 'schedules.BACKUP.failed', 'crdb_node_backup_schedule_failures_total', {
    help: 'Scheduled backups that failed on the node.',
  }),
  keyed(NODE, 'changefeed.failures', 'crdb_node_changefeed_failures_total', {
    help: 'Changefeeds that failed permanently on the node.',
  }),
  keyed(NODE, 'sql.*.count', 'crdb_node_sql_statements_total', {
    help: 'SQL statements that succeeded on the node, by kind.',
    by: ['kind', STATEMENT_KINDS],
  }),
  keyed(NODE, 'sql.*.started.count', 'crdb_node_sql_statements_started_total', {
    help: 'SQL statements that the node began to execute, by kind.',
    by: ['kind', STATEMENT_KINDS],
    notes: 'Successful or not. Not counted: what failed before, in parse or bind.',
  }),
  keyed(NODE, 'sql.txn.latency-count', 'crdb_node_sql_transactions_total', {
    help: 'SQL transactions that ended on the node, implicit ones included.',
  }),
  keyed(NODE, 'sql.txn.*.count', 'crdb_node_sql_transaction_ends_total', {
    help: 'Ends of explicit SQL transactions on the node, by kind.',
    by: ['kind', ['commit', 'rollback', 'abort']],
    notes:
      'commit and rollback: COMMIT and ROLLBACK statements; abort: transactions that an error aborted, which also end by one of the two. The kinds overlap: never add them up.',
  }),
  keyed(NODE, 'sql.txn.contended.count', 'crdb_node_sql_contended_transactions_sampled_total', {
    help: 'Sampled SQL transactions of the node that had to wait for another transaction.',
    notes:
      'The server samples 1 % of the transactions (setting sql.txn_stats.sample_rate) and the first of each fingerprint: a sign of contention, not a count. crdb_store_lock_waiters is exact.',
  }),
  keyed(NODE, 'sql.new_conns', 'crdb_node_sql_connections_new_total', {
    help: 'SQL connections that the node accepted, before any login.',
    notes:
      'Less crdb_node_sql_connections_ready_total: logins that failed, and clients that went before they were ready.',
  }),
  keyed(NODE, 'sql.conn.latency-count', 'crdb_node_sql_connections_ready_total', {
    help: 'SQL connections to the node that became sessions.',
  }),
  keyed(NODE, 'sql.conn.failures', 'crdb_node_sql_connection_failures_total', {
    help: 'SQL connections that the node refused before the login.',
    notes:
      'The node drains or has no memory for them. No failed login, no port scan, no health check is in it.',
  }),
  keyed(NODE, 'sql.mem.root.current', 'crdb_node_sql_memory_bytes', {
    help: 'Memory that SQL holds on the node in bytes.',
  }),
  keyed(NODE, 'changefeed.emitted_bytes', 'crdb_node_changefeed_emitted_bytes_total', {
    help: 'Bytes that changefeeds of the node emitted.',
  }),
  keyed(NODE, 'changefeed.error_retries', 'crdb_node_changefeed_retries_total', {
    help: 'Retries of changefeeds of the node after an error.',
    notes: 'A changefeed that only retries shows no lag.',
  }),
  keyed(NODE, 'jobs.inspect.issues_found', 'crdb_node_inspect_issues_total', {
    help: 'Inconsistencies of data that INSPECT found on the node.',
    notes:
      'Above 0: data is inconsistent. A job that is tried again may count one twice; errors of the check itself count, too.',
  }),
  keyed(NODE, 'rpc.connection.*', 'crdb_node_rpc_connections', {
    help: 'RPC connections of the node to its peers, by state.',
    by: ['state', ['healthy', 'unhealthy']],
    notes:
      'Connections, several for each peer. Those to a dead peer stay unhealthy until it is decommissioned. Unhealthy on some nodes only while all are live: a network partition. Both may be 0 where nodes talk by DRPC, which is off by default: then nothing is known.',
  }),
].flat();

/** The families of a store that are one metric each, or one by kind. */
export const STORE_METRICS: readonly KeyedSeries[] = [
  keyed(STORE, 'capacity', 'crdb_store_capacity_bytes', {
    help: 'Size of the store in bytes.',
    notes: 'Servers send the metrics of their stores from 23.2 on.',
  }),
  keyed(STORE, 'capacity.available', 'crdb_store_available_bytes', {
    help: 'Free space available to the store in bytes.',
  }),
  keyed(STORE, 'capacity.used', 'crdb_store_used_bytes', {
    help: 'Disk space used by the store in bytes.',
    notes: 'Not capacity less available space where others use the disk, too.',
  }),
  keyed(STORE, 'storage.l0-sublevels', 'crdb_store_l0_sublevels', {
    help: 'Sublevels in level 0 of the storage engine; high when compaction falls behind writes.',
  }),
  keyed(STORE, 'storage.write-stalls', 'crdb_store_write_stalls_total', {
    help: 'Write stalls: times that the storage engine delayed writes to wait for compaction.',
  }),
  keyed(STORE, 'storage.disk-slow', 'crdb_store_disk_slow_total', {
    help: 'Disk operations of the store that took too long.',
  }),
  keyed(STORE, 'storage.disk-stalled', 'crdb_store_disk_stalled_total', {
    help: 'Disk operations of the store that appeared to hang.',
  }),
  keyed(STORE, 'requests.slow.*', 'crdb_store_slow_requests', {
    help: 'Requests stuck for a long time in the store, by what they wait for: latch, lease or raft.',
    by: ['kind', ['latch', 'lease', 'raft']],
  }),
  keyed(STORE, 'livebytes', 'crdb_store_live_bytes', {
    help: 'Bytes of the replicas of the store that are neither deleted nor overwritten.',
  }),
  keyed(STORE, 'raftlog.behind', 'crdb_store_raft_log_behind', {
    help: 'Raft log entries that followers of the ranges led by the store are behind.',
    notes: 'Grows without limit for a follower on a dead node until it is replaced.',
  }),
  keyed(STORE, 'storage.wal.fsync.latency-p99', 'crdb_store_wal_fsync_p99_seconds', {
    help: '99th percentile of recent write-ahead log sync latency in seconds; 0 without syncs.',
  }),
  keyed(STORE, 'raft.process.logcommit.latency-p99', 'crdb_store_raft_log_commit_p99_seconds', {
    help: '99th percentile of recent Raft log commit latency in seconds; 0 without commits.',
  }),
  keyed(STORE, 'range.snapshots.rcvd-bytes', 'crdb_store_snapshot_received_bytes_total', {
    help: 'Bytes of range snapshots received by the store.',
  }),
  keyed(STORE, 'leases.transfers.success', 'crdb_store_lease_transfers_total', {
    help: 'Successful lease transfers by the store.',
  }),
  keyed(STORE, 'storeliveness.heartbeat.failures', 'crdb_store_liveness_heartbeat_failures_total', {
    help: 'Heartbeats that the store could not send to other stores.',
    notes:
      'Its disk did not take the write before them, or no connection to the other node was there: also while that node is down. Leader leases (from 25.2 on) depend on these heartbeats, not on those of crdb_node_liveness_heartbeat_failures_total.',
  }),
  keyed(STORE, 'storeliveness.support_withdraw.successes', 'crdb_store_support_withdrawn_total', {
    help: 'Times that the store withdrew its support of another store, whose heartbeats did not come.',
    notes:
      'The other store loses the leader leases (from 25.2 on) that need this support. Normal when a node stops.',
  }),
  keyed(STORE, 'storeliveness.support_from.stores', 'crdb_store_support_from_stores', {
    help: 'Stores that the store asks for support by its heartbeats.',
  }),
  keyed(STORE, 'storeliveness.support_for.stores', 'crdb_store_support_for_stores', {
    help: 'Stores that the store has ever supported.',
    notes: 'No less where it has withdrawn its support.',
  }),
  keyed(STORE, 'queue.replicate.*', 'crdb_store_replicate_queue', {
    help: 'Replicas in the replicate queue of the store, by state.',
    by: ['state', ['pending', 'purgatory']],
    notes: 'purgatory: no allocation satisfies the constraints.',
  }),
  keyed(STORE, 'ranges.decommissioning', 'crdb_store_decommissioning_ranges', {
    help: 'Ranges led by the store that have a replica on a decommissioning node.',
  }),
  keyed(STORE, 'leases.preferences.violating', 'crdb_store_lease_preference_violations', {
    help: 'Leases held by the store against the lease preferences.',
  }),
  keyed(STORE, 'replicas', 'crdb_store_replicas', {
    help: "Replicas on the store by the node's own count.",
    notes: OWN_COUNT_NOTES,
  }),
  keyed(STORE, 'replicas.leaseholders', 'crdb_store_leaseholders', {
    help: "Valid leases held by the store, by the node's own count.",
    notes: 'crdb_range_leases are the last known leases, valid or not.',
  }),
  keyed(STORE, 'ranges.unavailable', 'crdb_store_unavailable_ranges', {
    help: "Unavailable ranges that the store reports, by the node's own count.",
    notes: OWN_COUNT_NOTES,
  }),
  keyed(STORE, 'ranges.underreplicated', 'crdb_store_underreplicated_ranges', {
    help: "Under-replicated ranges that the store reports, by the node's own count.",
    notes: OWN_COUNT_NOTES,
  }),
  keyed(STORE, 'kv.concurrency.lock_wait_queue_waiters', 'crdb_store_lock_waiters', {
    help: 'Requests that wait for the lock of another transaction in the store.',
  }),
  keyed(STORE, 'admission.io.overload', 'crdb_store_io_overload_ratio', {
    help: 'I/O overload of the store; from 1 on it throttles writes.',
    unit: 'ratio',
  }),
].flat();

interface Definition extends Pick<OwnDefinition, 'help' | 'unit' | 'notes'> {
  /** A further label, and its values, which stand in place of `*` in the key. */
  readonly by?: readonly [label: string, values: readonly string[]];
}

/** A family whose value is one metric, or one for each value of a further label. */
function keyed(
  owner: typeof NODE | typeof STORE,
  pattern: string,
  name: string,
  { notes = '', by, ...definition }: Definition,
): readonly KeyedSeries[] {
  const [label, values = []] = by ?? [];
  const series =
    label === undefined
      ? [{ key: pattern, labels: {} }]
      : values.map((value) => {
          return { key: pattern.replace('*', value), labels: { [label]: value } };
        });
  const isCounter = name.endsWith('_total');
  const family = (isCounter ? counter : gauge)({
    ...definition,
    name,
    labels: label === undefined ? owner.labels : [...owner.labels, label],
    field: `${owner.source} ${series.map(({ key }) => key).join(', ')}`,
    notes: isCounter ? `${notes} ${COUNTER_NOTES}`.trim() : notes,
  });
  return series.map(({ key, labels }) => ({ family, key, labels }));
}
