import { counter, gauge, gaugeHistogram, type OwnDefinition } from '../../metrics/family.ts';
import type { LOADS } from './replica.ts';

// A scan of many nodes is no snapshot: their responses are of different instants.

const OF_STORE = { labels: ['node_id', 'store_id'] } as const;

export const WHOLE = 'Absent while the last scan lacks a node that may be up.';
export const AVERAGED = 'The server averages over the last 30 minutes at most.';
export const NOT_SENT = 'Absent where the server does not send it (before 23.1).';
const REPLICATED = 'Followers count writes too: a sum over stores counts a write once per replica.';

export const families = {
  ranges: gauge({
    name: 'crdb_ranges',
    help: 'Distinct ranges.',
    labels: ['shard'],
    field: 'desc.range_id',
    notes: `${WHOLE} Ranges whose replicas are all on nodes that are down are not counted.`,
  }),
  replicas: gauge({
    name: 'crdb_range_replicas',
    help: 'Replicas in the store.',
    ...OF_STORE,
    field: 'source_store_id',
  }),
  leases: gauge({
    name: 'crdb_range_leases',
    help: 'Replicas in the store that hold the lease of their range.',
    ...OF_STORE,
    field: 'lease_history',
    notes: 'By the last lease that the replica knows, which may have expired.',
  }),
  quiescent: gauge({
    name: 'crdb_range_replicas_quiescent',
    help: 'Replicas in the store that are quiescent.',
    ...OF_STORE,
    field: 'quiescent',
    notes: 'Ranges with leader leases, from 25.2 on, do not quiesce.',
  }),
  ticking: gauge({
    name: 'crdb_range_replicas_ticking',
    help: 'Replicas in the store whose Raft group is ticking.',
    ...OF_STORE,
    field: 'ticking',
    notes:
      'With leader leases (25.2 and newer) followers that sleep do not tick: fewer are no sign of trouble.',
  }),
  problemReplicas: gauge({
    name: 'crdb_range_problem_replicas',
    help: 'Replicas that report the problem, by their store.',
    labels: ['problem', 'node_id', 'store_id'],
    field: 'problems',
    notes:
      "The store that reports is not necessarily the cause: unavailable, underreplicated, overreplicated and range_too_large come from one replica of the range, usually the leaseholder's. Problems that this exporter does not know count as other. Zeros are left out.",
  }),
  problemRanges: gauge({
    name: 'crdb_range_problem_ranges',
    help: 'Distinct ranges of which any replica reports the problem.',
    labels: ['problem', 'shard'],
    field: 'problems',
    notes:
      'A lower bound while nodes are skipped or failed (crdb_range_scan_nodes). The sum over shards is an upper bound for no_raft_leader, quiescent_equals_ticking, raft_log_too_large, circuit_breaker_error and other.',
  }),
  scanNodes: gauge({
    name: 'crdb_range_scan_nodes',
    help: 'Nodes of the last scan by state: scanned, failed or skipped.',
    labels: ['state', 'shard'],
    notes:
      'failed: the request failed, or the scan ran out of time; skipped: not queried because dead, unavailable, decommissioned (dead while decommissioning) or of unknown status; a shard counts its own nodes only.',
  }),
  scanNodeSuccess: gauge({
    name: 'crdb_range_scan_node_success',
    help: 'Whether the last scan read all ranges of the node.',
    labels: ['node_id'],
    unit: '0 or 1',
    notes: 'A series for each node that was queried.',
  }),
  byReplicas: gauge({
    name: 'crdb_ranges_by_replicas',
    help: 'Distinct ranges by number of replicas seen, 1 to 7 or other.',
    labels: ['replicas', 'shard'],
    notes: WHOLE,
  }),
  byLeaseKind: gauge({
    name: 'crdb_ranges_by_lease_kind',
    help: 'Distinct ranges by kind of their lease: epoch, expiration, leader or none.',
    labels: ['kind', 'shard'],
    field: 'lease_history',
    notes:
      'From the last lease of the replica that holds it. The kind none, of which no replica knows a lease, is normal for idle ranges after nodes restarted, and absent while the last scan lacks a node that may be up.',
  }),
  byQueries: gaugeHistogram({
    name: 'crdb_ranges_by_queries_per_second_bucket',
    help: 'Lease-holding replicas with at most `le` queries per second, cumulative.',
    labels: ['le', 'shard'],
    field: 'stats.queries_per_second',
    notes: AVERAGED,
  }),
  leaseChanges: counter({
    name: 'crdb_range_lease_changes_total',
    help: 'Lease changes since the start of the exporter.',
    labels: ['shard'],
    field: 'lease_history, sequence',
    notes:
      'Increases of the sequence between scans, over ranges seen before, counted where the lease is now held.',
  }),
  maxQueries: gauge({
    name: 'crdb_range_max_queries_per_second',
    help: 'Maximum queries per second of one lease-holding replica.',
    labels: ['shard'],
    unit: 'per second',
    field: 'stats.queries_per_second',
    notes: AVERAGED,
  }),
  maxCpu: gauge({
    name: 'crdb_range_max_cpu_seconds_per_second',
    help: 'Maximum CPU seconds per second of one lease-holding replica.',
    labels: ['shard'],
    unit: 'CPU seconds per second',
    field: 'stats.cpu_time_per_second',
    notes: `${AVERAGED} ${NOT_SENT}`,
  }),
};

function ofLoad(load: (typeof LOADS)[number], { notes, ...definition }: OwnDefinition) {
  return gauge({
    unit: 'per second',
    ...definition,
    ...OF_STORE,
    field: `stats.${load}`,
    notes: [AVERAGED, notes].filter(Boolean).join(' '),
  });
}

/** By index of LOADS: sums over the replicas of a store. */
export const STORE_LOADS = [
  ofLoad('queries_per_second', {
    name: 'crdb_store_queries_per_second',
    help: 'Queries per second of the store, summed over its replicas.',
  }),
  ofLoad('writes_per_second', {
    name: 'crdb_store_writes_per_second',
    help: 'Keys written per second in the store, summed over its replicas.',
    notes: REPLICATED,
  }),
  ofLoad('requests_per_second', {
    name: 'crdb_store_requests_per_second',
    help: 'Requests per second of the store, summed over its replicas.',
    notes: NOT_SENT,
  }),
  ofLoad('reads_per_second', {
    name: 'crdb_store_reads_per_second',
    help: 'Keys read per second in the store, summed over its replicas.',
    notes: NOT_SENT,
  }),
  ofLoad('read_bytes_per_second', {
    name: 'crdb_store_read_bytes_per_second',
    help: 'Bytes read per second in the store, summed over its replicas.',
    unit: 'bytes per second',
    notes: NOT_SENT,
  }),
  ofLoad('write_bytes_per_second', {
    name: 'crdb_store_write_bytes_per_second',
    help: 'Bytes written per second in the store, summed over its replicas.',
    unit: 'bytes per second',
    notes: `${REPLICATED} ${NOT_SENT}`,
  }),
  ofLoad('cpu_time_per_second', {
    name: 'crdb_store_cpu_seconds_per_second',
    help: 'CPU seconds per second of the ranges of the store, summed over its replicas.',
    unit: 'CPU seconds per second',
    notes: NOT_SENT,
  }),
];
