import { counter, gauge, gaugeHistogram, type OwnDefinition } from '../../metrics/family.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import { formatValue } from '../../metrics/sample-text.ts';
import { REPORTED_PROBLEMS } from '../../vocabulary.ts';
import { CPU_NANOS, LEASE_KINDS, type LOADS, NO_LEASE, QUERY_BOUNDS, WRITES } from './replica.ts';
import type { RangesResult, ScannedNode, ScanSummary } from './result.ts';

// A scan of many nodes is no snapshot: their responses are of different instants.

export const NANOS = 1e9;
/** Ranges with more replicas count as `other`. */
const MAX_SHOWN_REPLICAS = 7;

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

/** The sums over the replicas of a store, by index of LOADS. */
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

/** Writes how many nodes were read, and which; the node beside an exporter has no known id before its first response. */
export function writeScanNodes(
  set: SampleSet,
  shard: string,
  { scanned, failed, skipped }: Pick<RangesResult, 'scanned' | 'failed' | 'skipped'>,
): void {
  set.set(families.scanNodes, { state: 'scanned', shard }, scanned.length);
  set.set(families.scanNodes, { state: 'failed', shard }, failed.length);
  set.set(families.scanNodes, { state: 'skipped', shard }, skipped);
  const queried = [
    ...scanned.map(({ nodeId }) => ({ nodeId, success: 1 })),
    ...failed.filter(({ wasQueried }) => wasQueried).map(({ nodeId }) => ({ nodeId, success: 0 })),
  ];
  for (const { nodeId, success } of queried) {
    if (nodeId !== 0) set.set(families.scanNodeSuccess, { node_id: String(nodeId) }, success);
  }
}

/** Writes the sums of the stores of a node. */
export function writeStores(set: SampleSet, { nodeId, stores, isDetailed }: ScannedNode): void {
  for (const [storeId, store] of stores) {
    const labels = { node_id: String(nodeId), store_id: String(storeId) };
    set.set(families.replicas, labels, store.replicas);
    set.set(families.leases, labels, store.leases);
    set.set(families.quiescent, labels, store.quiescent);
    set.set(families.ticking, labels, store.ticking);
    REPORTED_PROBLEMS.forEach((problem, index) => {
      // The zeros are in crdb_range_problem_ranges; here they would be a sixth of all series.
      const replicas = store.problems[index] || undefined;
      set.set(families.problemReplicas, { problem, ...labels }, replicas);
    });
    STORE_LOADS.forEach((family, index) => {
      if (index > WRITES && !isDetailed) return;
      const value = store.load[index] ?? 0;
      set.set(family, labels, index === CPU_NANOS ? value / NANOS : value);
    });
  }
}

/** Writes the load of the lease-holding replicas. */
export function writeLoad(set: SampleSet, shard: string, nodes: readonly ScannedNode[]): void {
  let cumulative = 0;
  QUERY_BOUNDS.forEach((bound, index) => {
    for (const { byQueries } of nodes) cumulative += byQueries[index] ?? 0;
    set.set(families.byQueries, { le: formatValue(bound), shard }, cumulative);
  });
  set.set(families.maxQueries, { shard }, largest(nodes.map(({ maxQueries }) => maxQueries)));
  const detailed = nodes.filter(({ isDetailed }) => isDetailed);
  const cpuNanos = largest(detailed.map(({ maxCpuNanos }) => maxCpuNanos));
  set.set(families.maxCpu, { shard }, cpuNanos === undefined ? undefined : cpuNanos / NANOS);
}

function largest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((most, value) => Math.max(most, value));
}

/** Writes what is known of leases without a view of all ranges. */
export function writeLeases(set: SampleSet, shard: string, summary: ScanSummary): void {
  LEASE_KINDS.forEach((kind, index) => {
    if (index === NO_LEASE) return;
    set.set(families.byLeaseKind, { kind, shard }, summary.byLeaseKind[index]);
  });
  set.set(families.leaseChanges, { shard }, summary.leaseChanges);
}

/** Writes the counts of distinct ranges that need a view of all ranges. */
export function writeRangeCounts(
  set: SampleSet,
  shard: string,
  { ranges, byReplicas, byLeaseKind }: ScanSummary,
): void {
  set.set(families.ranges, { shard }, ranges);
  let shown = 0;
  for (let replicas = 1; replicas <= MAX_SHOWN_REPLICAS; replicas += 1) {
    const labels = { replicas: String(replicas), shard };
    set.set(families.byReplicas, labels, byReplicas[replicas]);
    shown += byReplicas[replicas] ?? 0;
  }
  set.set(families.byReplicas, { replicas: 'other', shard }, ranges - shown);
  set.set(families.byLeaseKind, { kind: 'none', shard }, byLeaseKind[NO_LEASE]);
}
