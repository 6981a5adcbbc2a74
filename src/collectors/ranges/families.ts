import { counter, gauge } from '../../metrics/family.ts';

// All of GET /nodes/{node_id}/ranges/; the field is named in brackets. A scan of many nodes is no snapshot: its
// answers are of different instants.

const STORE = ['node_id', 'store_id'] as const;
const SHARD = ['shard'] as const;

const WHOLE =
  'Only there when every node that is not known to be down was read, and all of them by this exporter.';
const LOAD = 'The server averages over the last 30 minutes at most.';
const WRITES_TWICE = `${LOAD} Followers count writes too: a sum over stores counts a write once per replica.`;
const NOT_SENT = 'Absent where the server does not send it (before 23.1).';

export const RANGES = gauge({
  name: 'crdb_ranges',
  help: `Distinct ranges seen (desc.range_id). ${WHOLE} Falls when all replicas of ranges are on nodes that are down.`,
  labels: SHARD,
});

export const REPLICAS = gauge({
  name: 'crdb_range_replicas',
  help: 'Replicas that the store reports (source_store_id).',
  labels: STORE,
});

export const LEASES = gauge({
  name: 'crdb_range_leases',
  help: 'Replicas of the store that hold the lease of their range: the last one they know of names their store (lease_history). It need not be valid any more.',
  labels: STORE,
});

export const QUIESCENT = gauge({
  name: 'crdb_range_replicas_quiescent',
  help: 'Replicas of the store that are quiescent (quiescent). With leader leases, from 25.x on, ranges no longer quiesce.',
  labels: STORE,
});

export const TICKING = gauge({
  name: 'crdb_range_replicas_ticking',
  help: 'Replicas of the store whose raft group is ticking (ticking).',
  labels: STORE,
});

export const PROBLEM_REPLICAS = gauge({
  name: 'crdb_range_problem_replicas',
  help: "Replicas that report the problem, by the store that reports it, which is not the culprit: unavailable, underreplicated, overreplicated and range_too_large come from one replica of the range, usually the leaseholder's (problems). A member that this exporter does not know counts as other.",
  labels: ['problem', ...STORE],
});

export const PROBLEM_RANGES = gauge({
  name: 'crdb_range_problem_ranges',
  help: 'Distinct ranges of which any replica reports the problem (problems). A lower bound while nodes are skipped or failed (crdb_range_scan_nodes). Over shards, the sum is an upper bound for no_raft_leader, quiescent_equals_ticking, raft_log_too_large, circuit_breaker_error and other.',
  labels: ['problem', ...SHARD],
});

export const STORE_QUERIES = gauge({
  name: 'crdb_store_queries_per_second',
  help: `Queries per second of the store, summed over its replicas (stats.queries_per_second). ${LOAD}`,
  labels: STORE,
});

export const STORE_WRITES = gauge({
  name: 'crdb_store_writes_per_second',
  help: `Keys written per second in the store, summed over its replicas (stats.writes_per_second). ${WRITES_TWICE}`,
  labels: STORE,
});

export const STORE_REQUESTS = gauge({
  name: 'crdb_store_requests_per_second',
  help: `Requests per second of the store, summed over its replicas (stats.requests_per_second). ${LOAD} ${NOT_SENT}`,
  labels: STORE,
});

export const STORE_READS = gauge({
  name: 'crdb_store_reads_per_second',
  help: `Keys read per second in the store, summed over its replicas (stats.reads_per_second). ${LOAD} ${NOT_SENT}`,
  labels: STORE,
});

export const STORE_READ_BYTES = gauge({
  name: 'crdb_store_read_bytes_per_second',
  help: `Bytes read per second in the store, summed over its replicas (stats.read_bytes_per_second). ${LOAD} ${NOT_SENT}`,
  labels: STORE,
});

export const STORE_WRITE_BYTES = gauge({
  name: 'crdb_store_write_bytes_per_second',
  help: `Bytes written per second in the store, summed over its replicas (stats.write_bytes_per_second). ${WRITES_TWICE} ${NOT_SENT}`,
  labels: STORE,
});

export const STORE_CPU = gauge({
  name: 'crdb_store_cpu_seconds_per_second',
  help: `CPU seconds per second that the ranges of the store take, summed over its replicas (stats.cpu_time_per_second). ${LOAD} ${NOT_SENT}`,
  labels: STORE,
});

export const SCAN_NODES = gauge({
  name: 'crdb_range_scan_nodes',
  help: 'Nodes of the last scan by what became of them: scanned, failed (asked in vain, or not reached in time), skipped (not asked because dead, unavailable or of unknown status). Decommissioned nodes are not counted; a shard counts its own nodes only.',
  labels: ['state', ...SHARD],
});

export const SCAN_NODE_SUCCESS = gauge({
  name: 'crdb_range_scan_node_success',
  help: 'Whether the last scan read all ranges of the node: 1 or 0 for each node that was asked.',
  labels: ['node_id'],
});

export const BY_REPLICAS = gauge({
  name: 'crdb_ranges_by_replicas',
  help: `Distinct ranges by number of replicas seen, 1 to 7 or other. ${WHOLE}`,
  labels: ['replicas', ...SHARD],
});

export const BY_LEASE_KIND = gauge({
  name: 'crdb_ranges_by_lease_kind',
  help: 'Distinct ranges by kind of their lease: epoch, expiration or leader, from the last lease of the replica that holds it (lease_history); none when no replica holds it, which is only told when every node that is not known to be down was read, and all of them by this exporter.',
  labels: ['kind', ...SHARD],
});

export const BY_QUERIES = gauge({
  name: 'crdb_ranges_by_queries_per_second',
  help: `Lease-holding replicas with at most that many queries per second, cumulative (stats.queries_per_second). ${LOAD}`,
  labels: ['upper', ...SHARD],
});

export const LEASE_CHANGES = counter({
  name: 'crdb_range_lease_changes_total',
  help: 'Lease changes since the start of the exporter: increases of the sequence between scans, over ranges seen before, counted where the lease is now held (lease_history, sequence).',
  labels: SHARD,
});

const HOT = {
  labels: ['range_id', ...STORE, 'table_id', ...SHARD],
  list: { name: 'hot ranges', entry: ['range_id'] },
} as const;
const HOTTEST =
  'of the lease-holding replicas with most queries. A range enters the list when it beats the last of it by 20 % or has been above it for 3 scans; table_id is that of the start key, empty outside of tables';

export const HOT_QUERIES = gauge({
  name: 'crdb_hot_range_queries_per_second',
  help: `Queries per second ${HOTTEST} (stats.queries_per_second). ${LOAD}`,
  ...HOT,
});

export const HOT_WRITES = gauge({
  name: 'crdb_hot_range_writes_per_second',
  help: `Keys written per second ${HOTTEST} (stats.writes_per_second). ${LOAD}`,
  ...HOT,
});

export const HOT_CPU = gauge({
  name: 'crdb_hot_range_cpu_seconds_per_second',
  help: `CPU seconds per second ${HOTTEST} (stats.cpu_time_per_second). ${LOAD} ${NOT_SENT}`,
  ...HOT,
});

export const MAX_QUERIES = gauge({
  name: 'crdb_range_max_queries_per_second',
  help: `Most queries per second of one lease-holding replica (stats.queries_per_second). ${LOAD}`,
  labels: SHARD,
});

export const MAX_CPU = gauge({
  name: 'crdb_range_max_cpu_seconds_per_second',
  help: `Most CPU seconds per second of one lease-holding replica (stats.cpu_time_per_second). ${LOAD} ${NOT_SENT}`,
  labels: SHARD,
});

export const PROBLEM_FIRST_SEEN = gauge({
  name: 'crdb_problem_range_first_seen_timestamp_seconds',
  help: 'Unix time in seconds of the first scan that saw the problem of the range, kept while it is reported: the oldest of each problem, then the lowest range_id (problems). node_id and store_id are the lowest that report it, not the culprit; table_id is that of the start key, empty outside of tables.',
  labels: ['problem', 'range_id', ...STORE, 'table_id', ...SHARD],
  list: { name: 'problem ranges', entry: ['range_id'], per: 'problem' },
});

export const PROBLEM_RANGES_OMITTED = gauge({
  name: 'crdb_problem_ranges_omitted',
  help: 'Distinct ranges with the problem that did not fit the list of crdb_problem_range_first_seen_timestamp_seconds.',
  labels: ['problem', ...SHARD],
});
