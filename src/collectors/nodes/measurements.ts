import type { KeyFilter } from '../../json/shape.ts';
import {
  counter,
  type Family,
  type FamilyDefinition,
  gauge,
  untyped,
} from '../../metrics/family.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import type { Metrics, NodeRecord, SelectedKeys } from './record.ts';

// The families read from the metrics of a node and of its stores, by their CockroachDB keys.

/** A family whose value is one metric of a node or store, divided to the unit of the family. */
interface KeyedFamily {
  readonly key: string;
  readonly divisor: number;
  readonly family: Family;
}

const NODE = { labels: ['node_id'], series: ['nodes'], source: 'metrics' } as const;
const STORE = {
  labels: ['node_id', 'store_id'],
  series: ['stores'],
  source: 'store_metrics',
} as const;

const COUNTER_NOTES =
  'Counts since the start of the node and is updated every 10 s: use rate windows of 2 m and more.';

const NODE_METRICS = [
  keyed(NODE, 'clock-offset.meannanos', {
    name: 'crdb_node_clock_offset_seconds',
    help: 'Mean offset of the clock of the node to those of its peers in seconds.',
    unit: 'seconds',
  }),
  keyed(NODE, 'sys.cpu.combined.percent-normalized', {
    name: 'crdb_node_cpu_ratio',
    help: 'CPU used by the node process, 0 to 1 of all its CPUs.',
    unit: 'ratio, 0 to 1',
  }),
  keyed(NODE, 'sys.cpu.host.combined.percent-normalized', {
    name: 'crdb_node_host_cpu_ratio',
    help: 'CPU used on the whole machine of the node, 0 to 1 of all its CPUs.',
    unit: 'ratio, 0 to 1',
  }),
  keyed(NODE, 'sys.rss', {
    name: 'crdb_node_resident_memory_bytes',
    help: 'Resident memory of the node process in bytes.',
    unit: 'bytes',
  }),
  keyed(NODE, 'sys.runnable.goroutines.per.cpu', {
    name: 'crdb_node_runnable_goroutines_per_cpu',
    help: 'Goroutines waiting for a CPU, per CPU; above 30 the node is overloaded.',
  }),
  keyed(NODE, 'sql.conns', {
    name: 'crdb_node_sql_connections',
    help: 'Open SQL connections of the node.',
  }),
  keyed(NODE, 'sql.service.latency-p99', {
    name: 'crdb_node_sql_service_latency_p99_seconds',
    help: '99th percentile of recent SQL statement latency in seconds; 0 without statements.',
    unit: 'seconds',
  }),
  keyed(NODE, 'liveness.heartbeatlatency-p99', {
    name: 'crdb_node_liveness_heartbeat_p99_seconds',
    help: '99th percentile of recent liveness heartbeat latency in seconds; 0 without heartbeats.',
    unit: 'seconds',
  }),
  keyed(NODE, 'requests.slow.distsender', {
    name: 'crdb_node_slow_requests',
    help: 'KV requests sent by the node that have been stuck for a long time.',
  }),
  keyed(NODE, 'sys.fd.open', {
    name: 'crdb_node_open_file_descriptors',
    help: 'Open file descriptors of the node process.',
  }),
  keyed(NODE, 'sys.fd.softlimit', {
    name: 'crdb_node_file_descriptor_limit',
    help: 'Maximum number of open file descriptors of the node process.',
  }),
  keyed(NODE, 'changefeed.running', {
    name: 'crdb_node_changefeeds_running',
    help: 'Changefeeds running on the node.',
  }),
  keyed(NODE, 'changefeed.max_behind_nanos', {
    name: 'crdb_node_changefeed_max_behind_seconds',
    help: 'Lag of the slowest changefeed of the node in seconds.',
    unit: 'seconds',
  }),
  keyed(NODE, 'sql.query.count', {
    name: 'crdb_node_sql_queries_total',
    help: 'SQL statements executed by the node.',
  }),
  keyed(NODE, 'sql.failure.count', {
    name: 'crdb_node_sql_failures_total',
    help: 'SQL statements that failed on the node.',
  }),
  keyed(NODE, 'liveness.heartbeatfailures', {
    name: 'crdb_node_liveness_heartbeat_failures_total',
    help: 'Failed liveness heartbeats of the node.',
  }),
  keyed(NODE, 'schedules.BACKUP.failed', {
    name: 'crdb_node_backup_schedule_failures_total',
    help: 'Scheduled backups that failed on the node.',
  }),
  keyed(NODE, 'changefeed.failures', {
    name: 'crdb_node_changefeed_failures_total',
    help: 'Changefeeds that failed permanently on the node.',
  }),
];

const STORE_METRICS = [
  keyed(STORE, 'capacity', {
    name: 'crdb_store_capacity_bytes',
    help: 'Size of the store in bytes.',
    unit: 'bytes',
  }),
  keyed(STORE, 'capacity.available', {
    name: 'crdb_store_available_bytes',
    help: 'Free space available to the store in bytes.',
    unit: 'bytes',
  }),
  keyed(STORE, 'capacity.used', {
    name: 'crdb_store_used_bytes',
    help: 'Disk space used by the store in bytes.',
    unit: 'bytes',
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
];

function keyed(
  { source, ...owner }: typeof NODE | typeof STORE,
  key: string,
  { unit = 'count', ...definition }: Pick<FamilyDefinition<never>, 'name' | 'help' | 'unit'>,
): KeyedFamily {
  const define = definition.name.endsWith('_total') ? counter : gauge;
  const notes = define === counter ? COUNTER_NOTES : '';
  const family = define({ ...definition, ...owner, unit, field: `${source} ${key}`, notes });
  // CockroachDB measures durations in nanoseconds.
  return { key, divisor: unit === 'seconds' ? 1e9 : 1, family };
}

const LICENSE_KEYS = [
  'seconds_until_license_expiry',
  'seconds_until_enterprise_license_expiry',
] as const;

const CERTIFICATE_PREFIX = 'security.certificate.expiration.';

const SLOW_REQUEST_KINDS = ['latch', 'lease', 'raft'] as const;

const families = {
  licenseExpiry: gauge({
    ...NODE,
    name: 'crdb_node_license_expiry_timestamp_seconds',
    help: 'Expiry of the license, Unix time in seconds.',
    unit: 'Unix time in seconds',
    field: 'updated_at and metrics seconds_until_license_expiry',
    notes: 'Absent without a license.',
  }),
  certificateExpiry: gauge({
    name: 'crdb_node_certificate_expiry_timestamp_seconds',
    help: 'Expiry of a certificate of the node, Unix time in seconds.',
    labels: ['node_id', 'certificate'],
    unit: 'Unix time in seconds',
    field: `metrics ${CERTIFICATE_PREFIX}*`,
    series: ['nodes', 'certificates'],
    notes: 'Absent where the node has no such certificate.',
  }),
  storeSlowRequests: gauge({
    name: 'crdb_store_slow_requests',
    help: 'Requests stuck for a long time in the store, by what they wait for: latch, lease or raft.',
    labels: ['node_id', 'store_id', 'kind'],
    unit: 'count',
    field: 'store_metrics requests.slow.*',
    series: ['stores', SLOW_REQUEST_KINDS.length],
  }),
  nodeMetric: untyped({
    name: 'crdb_node_metric',
    help: 'A metric of the node by its CockroachDB key, as selected in collectors.nodes.metrics.',
    labels: ['node_id', 'key'],
    unit: 'that of its key',
    field: 'metrics',
    series: ['nodes', 'chosen keys'],
    importance: 'chosen',
  }),
  storeMetric: untyped({
    name: 'crdb_store_metric',
    help: 'A metric of the store by its CockroachDB key, as selected in collectors.nodes.metrics.',
    labels: ['node_id', 'store_id', 'key'],
    unit: 'that of its key',
    field: 'store_metrics',
    series: ['stores', 'chosen keys'],
    importance: 'chosen',
  }),
};

export const MEASUREMENT_FAMILIES: readonly Family[] = [
  ...[...NODE_METRICS, ...STORE_METRICS].map(({ family }) => family),
  ...Object.values(families),
];

/** The metrics to read of a node: those of the families and the selected ones. */
export function nodeKeys(selected: KeyFilter): KeyFilter {
  return {
    keys: [...NODE_METRICS.map(({ key }) => key), ...LICENSE_KEYS, ...selected.keys],
    prefixes: [CERTIFICATE_PREFIX, ...selected.prefixes],
  };
}

/** The metrics to read of a store. */
export function storeKeys({ keys, prefixes }: KeyFilter): KeyFilter {
  const slow = SLOW_REQUEST_KINDS.map((kind) => `requests.slow.${kind}`);
  return { keys: [...STORE_METRICS.map(({ key }) => key), ...slow, ...keys], prefixes };
}

/** Writes the samples of the metrics of a node and its stores, for nodes with a fresh record. */
export function writeMeasurements(set: SampleSet, node: NodeRecord, selected: SelectedKeys): void {
  const labels = { node_id: String(node.id) };
  const { metrics, stores, updatedSeconds } = node;
  writeKeyed(set, NODE_METRICS, labels, metrics);
  const untilExpiry = LICENSE_KEYS.map((key) => metrics.get(key)).find((it) => it !== undefined);
  // 0 seconds mean that there is no license; an expired one has less.
  if (untilExpiry !== undefined && untilExpiry !== 0) {
    set.set(families.licenseExpiry, labels, updatedSeconds + untilExpiry);
  }
  for (const [key, value] of metrics) {
    // 0 means that the node has no such certificate.
    if (key.startsWith(CERTIFICATE_PREFIX) && value !== 0) {
      const certificate = key.slice(CERTIFICATE_PREFIX.length);
      set.set(families.certificateExpiry, { ...labels, certificate }, value);
    }
    if (selected.has(key)) set.set(families.nodeMetric, { ...labels, key }, value);
  }
  for (const [storeId, values] of stores) {
    const storeLabels = { ...labels, store_id: storeId };
    writeKeyed(set, STORE_METRICS, storeLabels, values);
    for (const kind of SLOW_REQUEST_KINDS) {
      set.set(
        families.storeSlowRequests,
        { ...storeLabels, kind },
        values.get(`requests.slow.${kind}`),
      );
    }
    for (const [key, value] of values) {
      if (selected.has(key)) set.set(families.storeMetric, { ...storeLabels, key }, value);
    }
  }
}

function writeKeyed(
  set: SampleSet,
  table: readonly KeyedFamily[],
  labels: Readonly<Record<string, string>>,
  values: Metrics,
): void {
  for (const { family, key, divisor } of table) {
    const value = values.get(key);
    if (value !== undefined) set.set(family, labels, value / divisor);
  }
}
