import {
  counter,
  type Family,
  type FamilyDefinition,
  gauge,
  gaugeHistogram,
  type OwnDefinition,
} from '../../metrics/family.ts';
import type { LOADS } from './replica.ts';

const OF_SHARD = { labels: ['shard'] } as const;
const OF_STORE = { labels: ['node_id', 'store_id'] } as const;

const WHOLE = 'Absent while the last scan lacks a node that may be up.';
const AVERAGED = 'The server averages over the last 30 minutes at most.';
const NOT_SENT = 'Absent where the server does not send it (before 23.1).';
const REPLICATED = 'Followers count writes too: a sum over stores counts a write once per replica.';

const TABLE_ID =
  'table_id and index_id are those of the start key, empty outside of tables; `3/104` is table 104 of virtual cluster 3.';
const HOT_LIST = { name: 'hot ranges', entry: ['range_id'] } as const;
const HOT = { labels: ['range_id', 'table_id', 'index_id', 'shard'], list: HOT_LIST } as const;
const ENTERS =
  'enters the list when its value is 20 % above that of the last entry, or above it for 3 scans.';
const LISTED = `Listed are the hot_ranges with most queries and those with most CPU. A range ${ENTERS} ${TABLE_ID}`;
const PROBLEM_LIST = { name: 'problem ranges', entry: ['range_id'] } as const;
const OF_TABLE = {
  labels: ['table_id', 'shard'],
  list: { name: 'tables by load', entry: ['table_id'] },
} as const;
const TOP_TABLES = `By the table in which the range begins. Shown are the top_tables with most queries, most CPU and most ranges; other is the rest, none is outside of tables. A table ${ENTERS}`;
const EFFECTS =
  'effect quorum: ranges that have a quorum and would lose it; all_replicas: ranges that would lose their last live replica, whether they have a quorum or not.';
const WITHOUT_QUORUM =
  'without_quorum: ranges that have no quorum now and a live replica on the node. A node may stop only when its three numbers are 0.';
const UPPER_BOUND =
  'Which replica is a voter is not known, so each missing or failing one counts as a voter while voters are left: an upper bound. A lower bound where crdb_ranges_of_unknown_voters is above 0.';

const UNITS: Readonly<Record<string, Family['unit']>> = {
  read_bytes_per_second: 'bytes per second',
  write_bytes_per_second: 'bytes per second',
  cpu_time_per_second: 'CPU seconds per second',
};

/** A scan of many nodes is no snapshot: their responses are of different instants. */
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
  maxQueries: ofLoad('queries_per_second', OF_SHARD, {
    name: 'crdb_range_max_queries_per_second',
    help: 'Maximum queries per second of one lease-holding replica.',
  }),
  maxCpu: ofLoad('cpu_time_per_second', OF_SHARD, {
    name: 'crdb_range_max_cpu_seconds_per_second',
    help: 'Maximum CPU seconds per second of one lease-holding replica.',
    notes: NOT_SENT,
  }),
  // Sums over the replicas of a store, by their names in LOADS.
  queries_per_second: ofLoad('queries_per_second', OF_STORE, {
    name: 'crdb_store_queries_per_second',
    help: 'Queries per second of the store, summed over its replicas.',
  }),
  writes_per_second: ofLoad('writes_per_second', OF_STORE, {
    name: 'crdb_store_writes_per_second',
    help: 'Keys written per second in the store, summed over its replicas.',
    notes: REPLICATED,
  }),
  requests_per_second: ofLoad('requests_per_second', OF_STORE, {
    name: 'crdb_store_requests_per_second',
    help: 'Requests per second of the store, summed over its replicas.',
    notes: NOT_SENT,
  }),
  reads_per_second: ofLoad('reads_per_second', OF_STORE, {
    name: 'crdb_store_reads_per_second',
    help: 'Keys read per second in the store, summed over its replicas.',
    notes: NOT_SENT,
  }),
  read_bytes_per_second: ofLoad('read_bytes_per_second', OF_STORE, {
    name: 'crdb_store_read_bytes_per_second',
    help: 'Bytes read per second in the store, summed over its replicas.',
    notes: NOT_SENT,
  }),
  write_bytes_per_second: ofLoad('write_bytes_per_second', OF_STORE, {
    name: 'crdb_store_write_bytes_per_second',
    help: 'Bytes written per second in the store, summed over its replicas.',
    notes: `${REPLICATED} ${NOT_SENT}`,
  }),
  cpu_time_per_second: ofLoad('cpu_time_per_second', OF_STORE, {
    name: 'crdb_store_cpu_seconds_per_second',
    help: 'CPU seconds per second of the ranges of the store, summed over its replicas.',
    notes: NOT_SENT,
  }),
  hotQueries: ofLoad('queries_per_second', HOT, {
    name: 'crdb_hot_range_queries_per_second',
    help: 'Queries per second of the hottest lease-holding replicas.',
    notes: LISTED,
  }),
  hotWrites: ofLoad('writes_per_second', HOT, {
    name: 'crdb_hot_range_writes_per_second',
    help: 'Keys written per second in the hottest lease-holding replicas.',
    notes: LISTED,
  }),
  hotCpu: ofLoad('cpu_time_per_second', HOT, {
    name: 'crdb_hot_range_cpu_seconds_per_second',
    help: 'CPU seconds per second of the hottest lease-holding replicas.',
    notes: `${LISTED} ${NOT_SENT}`,
  }),
  hotLeaseholder: gauge({
    name: 'crdb_hot_range_leaseholder_info',
    help: 'The store that holds the lease of the hot range.',
    labels: ['range_id', 'node_id', 'store_id', 'shard'],
    list: HOT_LIST,
    field: 'lease_history',
    notes: 'A lease that moves changes only this series.',
  }),
  problemFirstSeen: gauge({
    name: 'crdb_problem_range_first_seen_timestamp_seconds',
    help: 'Unix time in seconds of the first scan that saw the problem of the range.',
    labels: ['problem', 'range_id', 'table_id', 'index_id', 'shard'],
    list: { ...PROBLEM_LIST, per: 'problem' },
    field: 'problems',
    notes: `Kept while the problem is reported. Listed are the problem_ranges oldest of each problem, then those of the lowest range_id. no_live_replica: see crdb_ranges_without_live_replica. ${TABLE_ID}`,
  }),
  problemReporter: gauge({
    name: 'crdb_problem_range_reporter_info',
    help: 'The lowest node and store that report a problem of the range.',
    labels: ['range_id', 'node_id', 'store_id', 'shard'],
    list: PROBLEM_LIST,
    field: 'problems',
    notes:
      'A reporter, not necessarily the cause. For no_live_replica the lowest node that held the range; store_id is empty where that node has several stores.',
  }),
  problemRangesOmitted: gauge({
    name: 'crdb_problem_ranges_omitted',
    help: 'Distinct ranges with the problem that do not fit the list of problem ranges.',
    labels: ['problem', 'shard'],
    notes: 'The list is crdb_problem_range_first_seen_timestamp_seconds.',
  }),
  tableRanges: gauge({
    name: 'crdb_range_table_ranges',
    help: 'Lease-holding replicas of the ranges of the table.',
    ...OF_TABLE,
    field: 'span.start_key',
    notes: TOP_TABLES,
  }),
  tableQueries: ofLoad('queries_per_second', OF_TABLE, {
    name: 'crdb_range_table_queries_per_second',
    help: 'Queries per second of the table, summed over its lease-holding replicas.',
    notes: TOP_TABLES,
  }),
  tableWrites: ofLoad('writes_per_second', OF_TABLE, {
    name: 'crdb_range_table_writes_per_second',
    help: 'Keys written per second in the table, summed over its lease-holding replicas.',
    notes: TOP_TABLES,
  }),
  tableCpu: ofLoad('cpu_time_per_second', OF_TABLE, {
    name: 'crdb_range_table_cpu_seconds_per_second',
    help: 'CPU seconds per second of the table, summed over all its replicas.',
    notes: `Absent while a node does not send it (before 23.1). ${TOP_TABLES}`,
  }),
  tableProblems: gauge({
    name: 'crdb_range_table_problem_ranges',
    help: 'Distinct ranges of the table of which any replica reports the problem.',
    labels: ['table_id', 'problem', 'shard'],
    list: { name: 'tables by problems', entry: ['table_id'] },
    field: 'problems',
    notes:
      'For the top_tables with most; other is the rest, none is outside of tables. Problems that no range of the table has are left out.',
  }),
  nodeDependent: gauge({
    name: 'crdb_node_dependent_ranges',
    help: 'Ranges that have no quorum, or would lose it or their last live replica without this node.',
    labels: ['node_id', 'effect'],
    notes: `${EFFECTS} ${WITHOUT_QUORUM} ${UPPER_BOUND} ${WHOLE}`,
  }),
  localityDependent: gauge({
    name: 'crdb_locality_dependent_ranges',
    help: 'Ranges that would lose quorum or last live replica if all nodes of the locality stopped now.',
    labels: ['tier', 'locality', 'effect'],
    notes: `locality is the prefix up to the tier, as names of zones repeat. ${EFFECTS} ${UPPER_BOUND} ${WHOLE}`,
  }),
  unknownVoters: gauge({
    name: 'crdb_ranges_of_unknown_voters',
    help: 'Ranges whose voters are not known, where figures of nodes or localities depend on them.',
    labels: ['scope'],
    field: 'state.state.desc.internalReplicas[].type of GET /_status/ranges/{node_id}',
    notes: `Ranges of 4 or more intended replicas whose types were not read (refused, or not yet), and ranges with a ninth holder or a node id above 65,535. scope node: those with fewer live replicas than intended; locality: those of which a locality holds two or more replicas, but not all. Where it is above 0, crdb_node_dependent_ranges and crdb_locality_dependent_ranges are lower bounds. ${WHOLE}`,
  }),
  withoutLiveReplica: gauge({
    name: 'crdb_ranges_without_live_replica',
    help: 'Ranges known from earlier scans whose replicas are all on nodes that are not live.',
    notes: `Also absent while a node is down that this exporter has never read. A lower bound: ranges created since the last complete scan are not known. ${WHOLE}`,
  }),
};

/** The load of replicas, as LOADS names it; `shared` has the labels and the list. */
function ofLoad<const L extends string>(
  load: (typeof LOADS)[number],
  shared: Pick<FamilyDefinition<L>, 'labels' | 'list'>,
  { notes = '', ...definition }: OwnDefinition,
): Family<L> {
  const unit = UNITS[load] ?? 'per second';
  const allNotes = `${AVERAGED} ${notes}`.trim();
  return gauge({ ...shared, ...definition, unit, field: `stats.${load}`, notes: allNotes });
}
