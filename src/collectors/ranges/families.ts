import { counter, gauge, gaugeHistogram } from '../../metrics/family.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import { AVERAGED, NOT_SENT, WHOLE } from './family-notes.ts';
import { LEASE_KINDS } from './range.ts';
import { QUERY_BOUNDS } from './tally.ts';

// A scan of many nodes is no snapshot: their responses are of different instants.

const OF_STORE = { labels: ['node_id', 'store_id'], series: ['stores'], unit: 'count' } as const;
const LOAD = { ...OF_STORE, unit: 'per second' } as const;
const OF_SHARD = { labels: ['shard'], series: [], unit: 'count' } as const;
const OF_PROBLEM = {
  labels: ['problem', 'shard'],
  series: [PROBLEMS.length],
  unit: 'count',
} as const;

const REPLICATED = 'Followers count writes too: a sum over stores counts a write once per replica.';

export const RANGES = gauge({
  name: 'crdb_ranges',
  help: 'Distinct ranges.',
  ...OF_SHARD,
  field: 'desc.range_id',
  notes: `${WHOLE} Falls when all replicas of ranges are on nodes that are down.`,
});

export const REPLICAS = gauge({
  name: 'crdb_range_replicas',
  help: 'Replicas in the store.',
  ...OF_STORE,
  field: 'source_store_id',
});

export const LEASES = gauge({
  name: 'crdb_range_leases',
  help: 'Replicas in the store that hold the lease of their range.',
  ...OF_STORE,
  field: 'lease_history',
  notes: 'By the last lease that the replica knows, which may have expired.',
});

export const QUIESCENT = gauge({
  name: 'crdb_range_replicas_quiescent',
  help: 'Replicas in the store that are quiescent.',
  ...OF_STORE,
  field: 'quiescent',
  notes: 'Ranges with leader leases, from 25.x on, do not quiesce.',
});

export const TICKING = gauge({
  name: 'crdb_range_replicas_ticking',
  help: 'Replicas in the store whose Raft group is ticking.',
  ...OF_STORE,
  field: 'ticking',
});

export const PROBLEM_REPLICAS = gauge({
  name: 'crdb_range_problem_replicas',
  help: 'Replicas that report the problem, by their store.',
  labels: ['problem', 'node_id', 'store_id'],
  series: [PROBLEMS.length, 'stores'],
  unit: 'count',
  field: 'problems',
  notes:
    "The store that reports is not necessarily the cause: unavailable, underreplicated, overreplicated and range_too_large come from one replica of the range, usually the leaseholder's. Problems that this exporter does not know count as other. Zeros are left out.",
});

export const PROBLEM_RANGES = gauge({
  name: 'crdb_range_problem_ranges',
  help: 'Distinct ranges of which any replica reports the problem.',
  ...OF_PROBLEM,
  field: 'problems',
  notes:
    'A lower bound while nodes are skipped or failed (crdb_range_scan_nodes). The sum over shards is an upper bound for no_raft_leader, quiescent_equals_ticking, raft_log_too_large, circuit_breaker_error and other.',
});

export const STORE_QUERIES = gauge({
  name: 'crdb_store_queries_per_second',
  help: 'Queries per second of the store, summed over its replicas.',
  ...LOAD,
  field: 'stats.queries_per_second',
  notes: AVERAGED,
});

export const STORE_WRITES = gauge({
  name: 'crdb_store_writes_per_second',
  help: 'Keys written per second in the store, summed over its replicas.',
  ...LOAD,
  field: 'stats.writes_per_second',
  notes: `${AVERAGED} ${REPLICATED}`,
});

export const STORE_REQUESTS = gauge({
  name: 'crdb_store_requests_per_second',
  help: 'Requests per second of the store, summed over its replicas.',
  ...LOAD,
  field: 'stats.requests_per_second',
  notes: `${AVERAGED} ${NOT_SENT}`,
});

export const STORE_READS = gauge({
  name: 'crdb_store_reads_per_second',
  help: 'Keys read per second in the store, summed over its replicas.',
  ...LOAD,
  field: 'stats.reads_per_second',
  notes: `${AVERAGED} ${NOT_SENT}`,
});

export const STORE_READ_BYTES = gauge({
  name: 'crdb_store_read_bytes_per_second',
  help: 'Bytes read per second in the store, summed over its replicas.',
  ...OF_STORE,
  unit: 'bytes per second',
  field: 'stats.read_bytes_per_second',
  notes: `${AVERAGED} ${NOT_SENT}`,
});

export const STORE_WRITE_BYTES = gauge({
  name: 'crdb_store_write_bytes_per_second',
  help: 'Bytes written per second in the store, summed over its replicas.',
  ...OF_STORE,
  unit: 'bytes per second',
  field: 'stats.write_bytes_per_second',
  notes: `${AVERAGED} ${REPLICATED} ${NOT_SENT}`,
});

export const STORE_CPU = gauge({
  name: 'crdb_store_cpu_seconds_per_second',
  help: 'CPU seconds per second of the ranges of the store, summed over its replicas.',
  ...OF_STORE,
  unit: 'CPU seconds per second',
  field: 'stats.cpu_time_per_second',
  notes: `${AVERAGED} ${NOT_SENT}`,
});

export const SCAN_NODES = gauge({
  name: 'crdb_range_scan_nodes',
  help: 'Nodes of the last scan by state: scanned, failed or skipped.',
  labels: ['state', 'shard'],
  series: [3],
  unit: 'count',
  notes:
    'failed: the request failed, or the scan ran out of time; skipped: not queried because dead, unavailable or of unknown status. Decommissioned nodes are not counted; a shard counts its own nodes only.',
});

export const SCAN_NODE_SUCCESS = gauge({
  name: 'crdb_range_scan_node_success',
  help: 'Whether the last scan read all ranges of the node.',
  labels: ['node_id'],
  series: ['nodes'],
  unit: '0 or 1',
  notes: 'A series for each node that was queried.',
});

export const BY_REPLICAS = gauge({
  name: 'crdb_ranges_by_replicas',
  help: 'Distinct ranges by number of replicas seen, 1 to 7 or other.',
  labels: ['replicas', 'shard'],
  series: [8],
  unit: 'count',
  notes: WHOLE,
});

export const BY_LEASE_KIND = gauge({
  name: 'crdb_ranges_by_lease_kind',
  help: 'Distinct ranges by kind of their lease: epoch, expiration, leader or none.',
  labels: ['kind', 'shard'],
  series: [LEASE_KINDS.length + 1],
  unit: 'count',
  field: 'lease_history',
  notes:
    'From the last lease of the replica that holds it. The kind none, which no replica holds, is absent unless this exporter read every node that is not known to be down.',
});

export const BY_QUERIES = gaugeHistogram({
  name: 'crdb_ranges_by_queries_per_second_bucket',
  help: 'Lease-holding replicas with at most `le` queries per second, cumulative.',
  labels: ['le', 'shard'],
  series: [QUERY_BOUNDS.length],
  unit: 'count',
  field: 'stats.queries_per_second',
  notes: AVERAGED,
});

export const LEASE_CHANGES = counter({
  name: 'crdb_range_lease_changes_total',
  help: 'Lease changes since the start of the exporter.',
  ...OF_SHARD,
  field: 'lease_history, sequence',
  notes:
    'Increases of the sequence between scans, over ranges seen before, counted where the lease is now held.',
});

export const MAX_QUERIES = gauge({
  name: 'crdb_range_max_queries_per_second',
  help: 'Maximum queries per second of one lease-holding replica.',
  ...OF_SHARD,
  unit: 'per second',
  field: 'stats.queries_per_second',
  notes: AVERAGED,
});

export const MAX_CPU = gauge({
  name: 'crdb_range_max_cpu_seconds_per_second',
  help: 'Maximum CPU seconds per second of one lease-holding replica.',
  ...OF_SHARD,
  unit: 'CPU seconds per second',
  field: 'stats.cpu_time_per_second',
  notes: `${AVERAGED} ${NOT_SENT}`,
});
