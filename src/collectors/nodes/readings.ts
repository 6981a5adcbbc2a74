import { counter, type Family, gauge } from '../../metrics/family.ts';

/** A family whose value is one key of the metrics of a node or store, divided to the unit of the family. */
export interface KeyedFamily<L extends string> {
  readonly key: string;
  readonly divisor: number;
  readonly family: Family<L>;
}

interface Definition {
  readonly name: string;
  /** What it is, and its unit. */
  readonly what: string;
  /** The server sends nanoseconds. */
  readonly inNanoseconds?: boolean;
}

const WINDOWS =
  'Grows since the node started, written every 10 s: use rate windows of 2 m and more.';

/** Values of a node by the key they have in `metrics`. */
export const NODE_READINGS: readonly KeyedFamily<'node_id'>[] = [
  ofNode('clock-offset.meannanos', {
    name: 'crdb_node_clock_offset_seconds',
    what: 'Mean offset of the clock of the node to those of its peers in seconds',
    inNanoseconds: true,
  }),
  ofNode('sys.cpu.combined.percent-normalized', {
    name: 'crdb_node_cpu_ratio',
    what: 'CPU that the process of the node uses, 0 to 1 of all its CPUs',
  }),
  ofNode('sys.cpu.host.combined.percent-normalized', {
    name: 'crdb_node_host_cpu_ratio',
    what: 'CPU that the whole machine of the node uses, 0 to 1 of all its CPUs',
  }),
  ofNode('sys.rss', {
    name: 'crdb_node_resident_memory_bytes',
    what: 'Resident memory of the process of the node in bytes',
  }),
  ofNode('sys.runnable.goroutines.per.cpu', {
    name: 'crdb_node_runnable_goroutines_per_cpu',
    what: 'Goroutines that wait for a CPU, for each CPU; above 30 the node is overloaded',
  }),
  ofNode('sql.conns', {
    name: 'crdb_node_sql_connections',
    what: 'Open SQL connections of the node',
  }),
  ofNode('sql.service.latency-p99', {
    name: 'crdb_node_sql_service_latency_p99_seconds',
    what: 'Time in seconds within which 99 % of recent SQL statements were served; 0 when there were none',
    inNanoseconds: true,
  }),
  ofNode('liveness.heartbeatlatency-p99', {
    name: 'crdb_node_liveness_heartbeat_p99_seconds',
    what: 'Time in seconds that 99 % of recent liveness heartbeats of the node took at most; 0 when there were none',
    inNanoseconds: true,
  }),
  ofNode('requests.slow.distsender', {
    name: 'crdb_node_slow_requests',
    what: 'KV requests sent by the node that have been stuck for a long time',
  }),
  ofNode('sys.fd.open', {
    name: 'crdb_node_open_file_descriptors',
    what: 'File descriptors that the process of the node has open',
  }),
  ofNode('sys.fd.softlimit', {
    name: 'crdb_node_file_descriptor_limit',
    what: 'File descriptors that the process of the node may open',
  }),
  ofNode('changefeed.running', {
    name: 'crdb_node_changefeeds_running',
    what: 'Changefeeds that run on the node',
  }),
  ofNode('changefeed.max_behind_nanos', {
    name: 'crdb_node_changefeed_max_behind_seconds',
    what: 'How far the changefeed of the node that is furthest behind lags in seconds',
    inNanoseconds: true,
  }),
  ofNode('sql.query.count', {
    name: 'crdb_node_sql_queries_total',
    what: 'SQL statements that the node executed',
  }),
  ofNode('sql.failure.count', {
    name: 'crdb_node_sql_failures_total',
    what: 'SQL statements that failed on the node',
  }),
  ofNode('liveness.heartbeatfailures', {
    name: 'crdb_node_liveness_heartbeat_failures_total',
    what: 'Liveness heartbeats of the node that failed',
  }),
  ofNode('schedules.BACKUP.failed', {
    name: 'crdb_node_backup_schedule_failures_total',
    what: 'Scheduled backups that failed on the node',
  }),
  ofNode('changefeed.failures', {
    name: 'crdb_node_changefeed_failures_total',
    what: 'Changefeeds that failed for good on the node',
  }),
];

/** Values of a store by the key they have in its member of `store_metrics`. */
export const STORE_READINGS: readonly KeyedFamily<'node_id' | 'store_id'>[] = [
  ofStore('capacity', {
    name: 'crdb_store_capacity_bytes',
    what: 'Size of the store in bytes',
  }),
  ofStore('capacity.available', {
    name: 'crdb_store_available_bytes',
    what: 'Free space that the store may still use in bytes',
  }),
  ofStore('capacity.used', {
    name: 'crdb_store_used_bytes',
    what: 'Space that the store uses on disk in bytes',
  }),
  ofStore('storage.l0-sublevels', {
    name: 'crdb_store_l0_sublevels',
    what: 'Sublevels in level 0 of the storage engine; high when compaction does not keep up with writes',
  }),
  ofStore('storage.write-stalls', {
    name: 'crdb_store_write_stalls_total',
    what: 'Times that the storage engine held writes back to wait for compaction',
  }),
  ofStore('storage.disk-slow', {
    name: 'crdb_store_disk_slow_total',
    what: 'Disk operations of the store that took too long',
  }),
  ofStore('storage.disk-stalled', {
    name: 'crdb_store_disk_stalled_total',
    what: 'Disk operations of the store that seemed not to end',
  }),
];

function ofNode(key: string, definition: Definition): KeyedFamily<'node_id'> {
  return keyed({ labels: ['node_id'], field: 'metrics' }, key, definition);
}

function ofStore(key: string, definition: Definition): KeyedFamily<'node_id' | 'store_id'> {
  return keyed({ labels: ['node_id', 'store_id'], field: 'store_metrics' }, key, definition);
}

function keyed<L extends string>(
  owner: { readonly labels: readonly L[]; readonly field: string },
  key: string,
  { name, what, inNanoseconds = false }: Definition,
): KeyedFamily<L> {
  const isCounter = name.endsWith('_total');
  const source = `${what} (GET /nodes/, ${owner.field} ${key}).`;
  const help = isCounter ? `${source} ${WINDOWS}` : source;
  const define = isCounter ? counter : gauge;
  const family = define({ name, help, labels: owner.labels });
  return { key, divisor: inNanoseconds ? 1e9 : 1, family };
}
