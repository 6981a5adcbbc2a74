import { counter, type Family, type FamilyDefinition, gauge, gaugeHistogram } from '#metrics';
import type { LOADS } from './replica.ts';

const WHOLE = 'Absent while the last scan lacks a node that may be up.';
const LOWER_BOUND = 'A lower bound while nodes are skipped or failed (crdb_range_scan_nodes).';
const AVERAGED = 'The server averages over the last 30 minutes at most.';
const NOT_SENT = 'Absent where the server does not send it (before 23.1).';
const REPLICATED = 'Followers count writes too: a sum over stores counts a write once per replica.';

const TABLE_ID =
  'table_id and index_id are those of the start key, empty outside of tables; `3/104` is table 104 of virtual cluster 3.';
const HOT_LIST = { name: 'hot ranges', entry: ['range_id'] } as const;
const ENTERS =
  'enters the list when its value is 20 % above that of the last entry, or above it for 3 scans.';
const PROBLEM_LIST = { name: 'problem ranges', entry: ['range_id'] } as const;
const EFFECTS =
  'effect quorum: ranges that have a quorum and would lose it; all_replicas: ranges that would lose their last live replica, whether they have a quorum or not.';
const WITHOUT_QUORUM =
  'without_quorum: ranges that have no quorum now and a live replica on the node. A node may stop only when its three numbers are 0.';
const FROM_DESCRIPTORS =
  'From the last known descriptor of each range and the present liveness. A lower bound while crdb_ranges_unverified is above 0; absent where descriptors are refused or not read.';

const DESCRIPTOR = 'state.state.desc of GET /_status/ranges/{node_id}';

// Stores, hot ranges and tables have loads. These are the begin of their names, the end of their HELP and what they share.
const STORE = {
  name: 'crdb_store',
  help: 'the store, summed over its replicas',
  labels: ['node_id', 'store_id'],
} as const;

const HOT = {
  name: 'crdb_hot_range',
  help: 'the hottest lease-holding replicas',
  labels: ['range_id', 'table_id', 'index_id', 'shard'],
  list: HOT_LIST,
  notes: `Listed are the hot_ranges with most queries and those with most CPU. A range ${ENTERS} ${TABLE_ID}`,
} as const;

const TABLE = {
  name: 'crdb_range_table',
  help: 'the table, summed over its lease-holding replicas',
  labels: ['table_id', 'shard'],
  list: { name: 'tables by load', entry: ['table_id'] },
  notes: `By the table in which the range begins. Shown are the top_tables with most queries, most CPU and most ranges; other is the rest, none is outside of tables. A table ${ENTERS} ${LOWER_BOUND}`,
} as const;

const TABLE_CPU = {
  ...TABLE,
  help: 'the table, summed over all its replicas',
  notes: `Absent while a node does not send it (before 23.1). ${TABLE.notes}`,
} as const;

/** The begin of the HELP of each load. */
const LOAD_TEXTS: Readonly<Record<(typeof LOADS)[number], string>> = {
  queries_per_second: 'Queries per second of',
  writes_per_second: 'Keys written per second in',
  requests_per_second: 'Requests per second of',
  reads_per_second: 'Keys read per second in',
  read_bytes_per_second: 'Bytes read per second in',
  write_bytes_per_second: 'Bytes written per second in',
  cpu_time_per_second: 'CPU seconds per second of',
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
    labels: STORE.labels,
    field: 'source_store_id',
  }),
  leases: gauge({
    name: 'crdb_range_leases',
    help: 'Replicas in the store that hold the lease of their range.',
    labels: STORE.labels,
    field: 'lease_history',
    notes: 'By the last lease that the replica knows, which may have expired.',
  }),
  quiescent: gauge({
    name: 'crdb_range_replicas_quiescent',
    help: 'Replicas in the store that are quiescent.',
    labels: STORE.labels,
    field: 'quiescent',
    notes: 'Ranges with leader leases, from 25.2 on, do not quiesce.',
  }),
  ticking: gauge({
    name: 'crdb_range_replicas_ticking',
    help: 'Replicas in the store whose Raft group is ticking.',
    labels: STORE.labels,
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
    help: 'Distinct ranges with a replica that reports the problem.',
    labels: ['problem', 'shard'],
    field: 'problems',
    notes: `${LOWER_BOUND} Zeros are left out while the problems of a replica could not be read. The sum over shards is an upper bound for no_raft_leader, quiescent_equals_ticking, raft_log_too_large, circuit_breaker_error and other.`,
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
    notes: `From the last lease of the replica that holds it. The kind none, of which no replica knows a lease, is normal for idle ranges after nodes restarted, and absent while the last scan lacks a node that may be up. ${LOWER_BOUND}`,
  }),
  byQueries: gaugeHistogram({
    name: 'crdb_ranges_by_queries_per_second_bucket',
    help: 'Lease-holding replicas with at most `le` queries per second, cumulative.',
    labels: ['le', 'shard'],
    field: 'stats.queries_per_second',
    notes: `${AVERAGED} ${LOWER_BOUND}`,
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
    field: 'stats.queries_per_second',
    notes: AVERAGED,
  }),
  maxCpu: gauge({
    name: 'crdb_range_max_cpu_seconds_per_second',
    help: 'Maximum CPU seconds per second of one lease-holding replica.',
    labels: ['shard'],
    field: 'stats.cpu_time_per_second',
    notes: `${AVERAGED} ${NOT_SENT}`,
  }),
  // Sums over the replicas of a store, by their names in LOADS.
  queries_per_second: loadGauge(STORE, 'queries_per_second'),
  writes_per_second: loadGauge(STORE, 'writes_per_second', REPLICATED),
  requests_per_second: loadGauge(STORE, 'requests_per_second', NOT_SENT),
  reads_per_second: loadGauge(STORE, 'reads_per_second', NOT_SENT),
  read_bytes_per_second: loadGauge(STORE, 'read_bytes_per_second', NOT_SENT),
  write_bytes_per_second: loadGauge(STORE, 'write_bytes_per_second', `${REPLICATED} ${NOT_SENT}`),
  cpu_time_per_second: loadGauge(STORE, 'cpu_time_per_second', NOT_SENT),
  hotQueries: loadGauge(HOT, 'queries_per_second'),
  hotWrites: loadGauge(HOT, 'writes_per_second'),
  hotCpu: loadGauge(HOT, 'cpu_time_per_second', NOT_SENT),
  hotLeaseholder: gauge({
    name: 'crdb_hot_range_leaseholder_info',
    help: 'The store that holds the lease of the hot range.',
    labels: ['range_id', 'node_id', 'store_id', 'last_table_id', 'shard'],
    list: HOT_LIST,
    field: 'lease_history, span.end_key',
    notes:
      'A lease that moves changes only this series. last_table_id: the table that the range ends in, where it is another one than it begins in: small tables share ranges.',
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
      'A reporter, not necessarily the cause. For no_live_replica the lowest node of its last descriptor; store_id is empty where that node has several stores, and the status page names all nodes.',
  }),
  problemRangesOmitted: gauge({
    name: 'crdb_problem_ranges_omitted',
    help: 'Distinct ranges with the problem that do not fit the list of problem ranges.',
    labels: ['problem', 'shard'],
    notes: 'The list is crdb_problem_range_first_seen_timestamp_seconds.',
  }),
  tableRanges: gauge({
    ...TABLE,
    name: 'crdb_range_table_ranges',
    help: 'Lease-holding replicas of the ranges of the table.',
    field: 'span.start_key',
  }),
  tableQueries: loadGauge(TABLE, 'queries_per_second'),
  tableWrites: loadGauge(TABLE, 'writes_per_second'),
  tableCpu: loadGauge(TABLE_CPU, 'cpu_time_per_second'),
  tableProblems: gauge({
    name: 'crdb_range_table_problem_ranges',
    help: 'Distinct ranges of the table with a replica that reports the problem.',
    labels: ['table_id', 'problem', 'shard'],
    list: { name: 'tables by problems', entry: ['table_id'] },
    field: 'problems',
    notes: `For the top_tables with most; other is the rest, none is outside of tables. Problems that no range of the table has are left out. ${LOWER_BOUND}`,
  }),
  nodeDependent: gauge({
    name: 'crdb_node_dependent_ranges',
    help: 'Ranges that have no quorum, or would lose it or their last live replica without this node.',
    labels: ['node_id', 'effect'],
    notes: `${EFFECTS} ${WITHOUT_QUORUM} ${FROM_DESCRIPTORS} ${WHOLE}`,
  }),
  localityDependent: gauge({
    name: 'crdb_locality_dependent_ranges',
    help: 'Ranges that would lose quorum or last live replica if all nodes of the locality stopped now.',
    labels: ['tier', 'locality', 'effect'],
    notes: `locality is the prefix up to the tier, as names of zones repeat. ${EFFECTS} ${FROM_DESCRIPTORS} ${WHOLE}`,
  }),
  downReplicas: gauge({
    name: 'crdb_node_down_replicas',
    help: 'Ranges whose last known descriptor names this member, which is not live.',
    labels: ['node_id'],
    field: DESCRIPTOR,
    notes: `Lost ranges included. The cluster replaces the replicas of a member that has been down for 5 minutes, where enough live nodes are left. Absent where descriptors are refused or not read. ${WHOLE}`,
  }),
  unverified: gauge({
    name: 'crdb_ranges_unverified',
    help: 'Ranges whose replicas are not verified.',
    field: DESCRIPTOR,
    notes: `Ranges without a descriptor, or with one that is too old or that the scan contradicts; and those of which a live node lacks a voter, until a second scan in a row finds that. While there are some, which nodes may stop is not known. All ranges where descriptors are refused or not read. ${WHOLE}`,
  }),
  servingNothing: gauge({
    name: 'crdb_ranges_serving_nothing',
    help: 'Ranges that serve nothing: no Raft leader, an open circuit breaker, or no lease.',
    field: 'problems',
    notes: `Reported twice in one scan, by the replica that holds the lease, by the leader, or by enough of its replicas to leave no majority. At most 1,000 ranges are asked a second time: of more it is a lower bound, and the others count in crdb_ranges_unverified. A zero is left out while the problems of a replica could not be read, or none of those that report it could be asked again. ${WHOLE}`,
  }),
  leftOver: gauge({
    name: 'crdb_ranges_left_over',
    help: 'Ranges that a merge removed, and whose old replicas are still reported.',
    field: 'desc.start_key, desc.end_key',
    notes: `Verified ranges join from the first key to the last without them, so that they serve no key. Not counted in crdb_ranges_serving_nothing, crdb_ranges_unverified, crdb_range_problem_ranges and the figures of dependence, but in crdb_range_replicas and crdb_range_problem_replicas, as the nodes count them, too. What was proved once stays so. Ranges over the keys of others of which that is not known yet are in crdb_ranges_unverified alone in the first two scans that find them. The status page names them. ${WHOLE}`,
  }),
  keySpaceComplete: gauge({
    name: 'crdb_range_key_space_complete',
    help: 'Whether the ranges join from the first key to the last, so that none is missing.',
    unit: '0 or 1',
    field: 'desc.start_key, desc.end_key',
    notes: WHOLE,
  }),
  keySpaceGap: gauge({
    name: 'crdb_range_key_space_gap',
    help: 'Whether the last three complete scans had the same gap: ranges are missing.',
    unit: '0 or 1',
    field: 'desc.start_key, desc.end_key',
    notes: `No node reports these ranges, and their ids may not be known. ${WHOLE}`,
  }),
  withoutLiveReplica: gauge({
    name: 'crdb_ranges_without_live_replica',
    help: 'Ranges that no node reports and whose last known replicas are all on nodes not live.',
    field: DESCRIPTOR,
    notes: `0 whenever the key space is complete. Also absent while it is not, and a member is down whose ranges were never verified: crdb_range_key_space_gap tells then. ${WHOLE}`,
  }),
};

/** Declares a load: `crdb_store_cpu_seconds_per_second`, "CPU seconds per second of the store, summed over its replicas." */
function loadGauge<const L extends string>(
  subject: FamilyDefinition<L>,
  load: (typeof LOADS)[number],
  notes = '',
): Family<L> {
  return gauge({
    ...subject,
    name: `${subject.name}_${load.replace('cpu_time', 'cpu_seconds')}`,
    help: `${LOAD_TEXTS[load]} ${subject.help}.`,
    field: `stats.${load}`,
    notes: [AVERAGED, subject.notes, notes].filter(Boolean).join(' '),
  });
}
