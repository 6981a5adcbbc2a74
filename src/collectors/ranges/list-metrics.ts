import { gauge } from '../../metrics/family.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import { REPORTED_PROBLEMS } from '../../vocabulary.ts';
import { isLower } from './lists.ts';
import { tableLabels } from './replica.ts';
import type { Dependence, HotRange, ListedRange, ProblemRange, ScanSummary } from './result.ts';
import { AVERAGED, families, NANOS, NOT_SENT, WHOLE } from './scan-metrics.ts';

// Ranges and tables by name, and what depends on nodes and localities.

const TABLE_ID =
  'table_id and index_id are those of the start key, empty outside of tables; `3/104` is table 104 of virtual cluster 3.';
const HOT_LIST = { name: 'hot ranges', entry: ['range_id'] } as const;
const HOT = { labels: ['range_id', 'table_id', 'index_id', 'shard'], list: HOT_LIST } as const;
const ENTERS =
  'enters the list when its value is 20 % above that of the last entry, or above it for 3 scans.';
const LISTED = `${AVERAGED} Listed are the hot_ranges with most queries and those with most CPU. A range ${ENTERS} ${TABLE_ID}`;
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

export const listFamilies = {
  hotQueries: gauge({
    name: 'crdb_hot_range_queries_per_second',
    help: 'Queries per second of the hottest lease-holding replicas.',
    ...HOT,
    unit: 'per second',
    field: 'stats.queries_per_second',
    notes: LISTED,
  }),
  hotWrites: gauge({
    name: 'crdb_hot_range_writes_per_second',
    help: 'Keys written per second in the hottest lease-holding replicas.',
    ...HOT,
    unit: 'per second',
    field: 'stats.writes_per_second',
    notes: LISTED,
  }),
  hotCpu: gauge({
    name: 'crdb_hot_range_cpu_seconds_per_second',
    help: 'CPU seconds per second of the hottest lease-holding replicas.',
    ...HOT,
    unit: 'CPU seconds per second',
    field: 'stats.cpu_time_per_second',
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
  tableQueries: gauge({
    name: 'crdb_range_table_queries_per_second',
    help: 'Queries per second of the table, summed over its lease-holding replicas.',
    ...OF_TABLE,
    unit: 'per second',
    field: 'stats.queries_per_second',
    notes: `${AVERAGED} ${TOP_TABLES}`,
  }),
  tableWrites: gauge({
    name: 'crdb_range_table_writes_per_second',
    help: 'Keys written per second in the table, summed over its lease-holding replicas.',
    ...OF_TABLE,
    unit: 'per second',
    field: 'stats.writes_per_second',
    notes: `${AVERAGED} ${TOP_TABLES}`,
  }),
  tableCpu: gauge({
    name: 'crdb_range_table_cpu_seconds_per_second',
    help: 'CPU seconds per second of the table, summed over all its replicas.',
    ...OF_TABLE,
    unit: 'CPU seconds per second',
    field: 'stats.cpu_time_per_second',
    notes: `${AVERAGED} Absent while a node does not send it (before 23.1). ${TOP_TABLES}`,
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

/** Writes the hottest ranges. */
export function writeHotRanges(set: SampleSet, shard: string, hot: readonly HotRange[]): void {
  for (const range of hot) {
    const labels = { ...labelsOf(range), shard };
    set.set(listFamilies.hotQueries, labels, range.queries);
    set.set(listFamilies.hotWrites, labels, range.writes);
    set.set(listFamilies.hotCpu, labels, range.cpuSeconds);
    set.info(listFamilies.hotLeaseholder, { ...replicaLabels(range), shard });
  }
}

/** Writes the ranges with problems, and which of them are listed. */
export function writeProblemRanges(set: SampleSet, shard: string, { problems }: ScanSummary): void {
  const reporters = new Map<number, ProblemRange>();
  for (const [problem, { ranges, listed }] of problems) {
    if (problem !== 'no_live_replica') set.set(families.problemRanges, { problem, shard }, ranges);
    set.set(listFamilies.problemRangesOmitted, { problem, shard }, ranges - listed.length);
    for (const range of listed) {
      const labels = { problem, ...labelsOf(range), shard };
      set.set(listFamilies.problemFirstSeen, labels, range.firstSeenSeconds);
      const lowest = reporters.get(range.rangeId);
      if (lowest === undefined || isLower(range, lowest)) reporters.set(range.rangeId, range);
    }
  }
  for (const reporter of reporters.values()) {
    set.info(listFamilies.problemReporter, { ...replicaLabels(reporter), shard });
  }
}

function labelsOf({ rangeId, tableIndex }: ListedRange) {
  return { range_id: String(rangeId), ...tableLabels(tableIndex) };
}

function replicaLabels({ rangeId, nodeId, storeId }: ListedRange) {
  return {
    range_id: String(rangeId),
    node_id: String(nodeId),
    store_id: storeId === 0 ? '' : String(storeId),
  };
}

/** Writes the load and the problems of the tables that are shown. */
export function writeTables(set: SampleSet, shard: string, summary: ScanSummary): void {
  const { tables, hasTableCpu } = summary;
  for (const [tableId, load] of tables.loads) {
    const labels = { table_id: tableId, shard };
    set.set(listFamilies.tableRanges, labels, load.ranges);
    set.set(listFamilies.tableQueries, labels, load.queries);
    set.set(listFamilies.tableWrites, labels, load.writes);
    if (hasTableCpu) set.set(listFamilies.tableCpu, labels, load.cpuNanos / NANOS);
  }
  for (const [tableId, counts] of tables.problems) {
    REPORTED_PROBLEMS.forEach((problem, index) => {
      const labels = { table_id: tableId, problem, shard };
      set.set(listFamilies.tableProblems, labels, counts[index] || undefined);
    });
  }
}

/** Writes what depends on each node and locality, and the ranges that are lost. */
export function writeDependence(
  set: SampleSet,
  { problems }: ScanSummary,
  { nodes, localities, unknownVoters }: Dependence,
): void {
  for (const [nodeId, { quorum, allReplicas, withoutQuorum }] of nodes) {
    const labels = { node_id: String(nodeId) };
    set.set(listFamilies.nodeDependent, { ...labels, effect: 'quorum' }, quorum);
    set.set(listFamilies.nodeDependent, { ...labels, effect: 'all_replicas' }, allReplicas);
    set.set(listFamilies.nodeDependent, { ...labels, effect: 'without_quorum' }, withoutQuorum);
  }
  for (const { tier, locality, quorum, allReplicas } of localities) {
    const labels = { tier, locality };
    set.set(listFamilies.localityDependent, { ...labels, effect: 'quorum' }, quorum);
    set.set(listFamilies.localityDependent, { ...labels, effect: 'all_replicas' }, allReplicas);
  }
  set.set(listFamilies.unknownVoters, { scope: 'node' }, unknownVoters.node);
  set.set(listFamilies.unknownVoters, { scope: 'locality' }, unknownVoters.locality);
  set.set(listFamilies.withoutLiveReplica, {}, problems.get('no_live_replica')?.ranges);
}
