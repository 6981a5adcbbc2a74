import { hashOf } from '../random.ts';

/** Parts of metric names; they make as many names as v25.4 has. */
const NODE_FAMILIES: Readonly<Record<string, readonly string[]>> = {
  jobs: crossed(
    [
      'adopt_iterations',
      'auto_create_stats',
      'auto_schema_telemetry',
      'auto_span_config_reconciliation',
      'auto_sql_stats_compaction',
      'auto_update_sql_activity',
      'backup',
      'changefeed',
      'create_stats',
      'history_retention',
      'import',
      'key_visualizer',
      'logical_replication',
      'migration',
      'mvcc_statistics_update',
      'new_schema_change',
      'physical_replication',
      'poll_jobs_stats',
      'replication_stream_ingestion',
      'restore',
      'row_level_ttl',
      'schema_change',
      'schema_change_gc',
      'standby_read_ts_poller',
      'typedesc_schema_change',
      'update_table_metadata_cache',
    ],
    [
      'currently_idle',
      'currently_paused',
      'currently_running',
      'expired_pts_count',
      'fail_or_cancel_completed',
      'fail_or_cancel_failed',
      'fail_or_cancel_retry_error',
      'protected_age_sec',
      'protected_record_count',
      'resume_completed',
      'resume_failed',
      'resume_retry_error',
      'status.paused_seconds',
      'status.retried_count',
    ],
  ),
  distsender: [
    ...crossed(
      [
        'addsstable',
        'barrier',
        'clearrange',
        'conditionalput',
        'delete',
        'deleterange',
        'endtxn',
        'export',
        'gc',
        'get',
        'heartbeattxn',
        'increment',
        'leaseinfo',
        'merge',
        'pushtxn',
        'put',
        'queryintent',
        'refresh',
        'resolveintent',
        'reversescan',
        'scan',
        'truncatelog',
      ].map((name) => `rpc.${name}`),
      ['sent', 'bytes_sent', 'received'],
    ),
    ...Array.from({ length: 60 }, (_, index) => `rpc.err.errordetailtype(${index})`),
  ],
  sql: crossed(
    [
      'begin',
      'call_stored_proc',
      'copy',
      'crud_query',
      'ddl',
      'delete',
      'insert',
      'misc',
      'optimizer.plan_cache',
      'release_savepoint',
      'rollback',
      'savepoint',
      'select',
      'txn',
      'update',
    ].map((name) => `bulk.${name}`),
    ['started.count', 'count', 'started.count.internal', 'count.internal', 'errors', 'retries'],
  ),
  admission: crossed(
    ['admitted', 'errored', 'requested', 'wait_queue_length', 'granted'],
    ['kv', 'kv.high-pri', 'kv.normal-pri', 'sql-kv-response', 'sql-sql-response', 'elastic-cpu'],
  ),
  rpc: crossed(
    ['batches', 'connection', 'drpc', 'streams', 'method.heartbeat', 'method.gossip'],
    ['recv', 'sent', 'inactive', 'unhealthy_nanos', 'failures', 'bytes', 'count', 'avg_latency'],
  ),
  tail: crossed(
    Array.from({ length: 45 }, (_, index) => `subsystem_${index}`),
    ['active', 'attempts', 'bytes', 'errors', 'failures', 'pending', 'processed', 'queue', 'skips'],
  ),
};
const STORE_FAMILIES: Readonly<Record<string, readonly string[]>> = {
  queue: crossed(
    ['consistency', 'gc', 'lease', 'merge', 'raftlog', 'raftsnapshot', 'split', 'tsmaintenance'],
    ['pending', 'process.failure', 'process.success', 'processingnanos', 'purgatory', 'priority'],
  ),
  storage: crossed(
    Array.from({ length: 7 }, (_, level) => `l${level}`),
    [
      'bytes-flushed',
      'bytes-ingested',
      'level-score',
      'level-size',
      'num-files',
      'reads',
      'writes',
    ],
  ),
  raft: crossed(
    ['rcvd', 'sent', 'dropped', 'entrycache', 'flows', 'timeouts', 'scheduler', 'snapshots'],
    ['app', 'appresp', 'bytes', 'cancelled', 'heartbeat', 'prevote', 'prop', 'stepped', 'vote'],
  ),
  tail: crossed(
    Array.from({ length: 40 }, (_, index) => `engine_${index}`),
    ['active', 'attempts', 'bytes', 'errors', 'failures', 'pending', 'processed', 'queue', 'skips'],
  ),
};
const HISTOGRAMS = { node: 108, store: 28 };
const SUFFIXES = [
  'avg',
  'count',
  'max',
  'p50',
  'p75',
  'p90',
  'p99',
  'p99.9',
  'p99.99',
  'p99.999',
  'sum',
];

function crossed(heads: readonly string[], tails: readonly string[]): string[] {
  return heads.flatMap((head) => tails.map((tail) => `${head}.${tail}`));
}

/** The metrics that no collector reads but every response contains: about 2400 for a node, 900 for a store. */
export function bulkMetrics(
  kind: 'node' | 'store',
  id: number,
  uptime: number,
): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const key of bulkNames(kind)) metrics[key] = valueOf(key, id, uptime);
  return metrics;
}

function* bulkNames(kind: 'node' | 'store'): Generator<string> {
  const families = kind === 'node' ? NODE_FAMILIES : STORE_FAMILIES;
  for (const [family, names] of Object.entries(families)) {
    for (const name of names) yield `${family}.${name}`;
  }
  for (let number = 0; number < HISTOGRAMS[kind]; number++) {
    for (const suffix of SUFFIXES) yield `pipeline.stage_${number}.duration_nanos-${suffix}`;
  }
}

/** A third are zero, a third grow, a third are constant; most real ones are zero. */
function valueOf(key: string, id: number, uptime: number): number {
  const hash = hashOf(key, id);
  if (hash % 3 === 0) return 0;
  return hash % 3 === 1 ? Math.floor((hash % 1000) * uptime) / 100 : (hash % 1_000_000) / 7;
}
