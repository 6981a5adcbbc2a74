import { type Expected, keyOf, type Moment } from './expected.ts';

const STATUSES = [
  'unknown',
  'dead',
  'unavailable',
  'live',
  'decommissioning',
  'decommissioned',
  'draining',
] as const;
/** A node that reads decommissioned died before its decommissioning finished. */
const DEAD = ['dead', 'decommissioned'];
/** Keys of a record that stand for all of them: gauges, a counter, figures of a store. */
const NODE_KEYS = {
  crdb_node_resident_memory_bytes: 'sys.rss',
  crdb_node_sql_connections: 'sql.conns',
  crdb_node_sql_queries_total: 'sql.query.count',
  crdb_node_changefeed_backfills: 'changefeed.backfill_count',
  crdb_node_changefeed_retries_total: 'changefeed.error_retries',
} as const;
/** Types of jobs by the keys that count for them. */
const JOB_KEYS = {
  backup: ['backup'],
  changefeed: ['changefeed'],
  import: ['import'],
  inspect: ['inspect'],
  restore: ['restore'],
  row_level_ttl: ['row_level_ttl'],
  schema_change: ['schema_change', 'new_schema_change'],
  logical_replication: ['logical_replication'],
  replication_stream_ingestion: ['replication_stream_ingestion'],
} as const;
const LICENSE = 'seconds_until_license_expiry';
const OLD_LICENSE = 'seconds_until_enterprise_license_expiry';
const STORE_KEYS = {
  crdb_store_capacity_bytes: 'capacity',
  crdb_store_used_bytes: 'capacity.used',
} as const;
/** A record that old against the newest, or against the clock of the server that answers, is no current value. */
const STALE_MS = { behind: 60_000, old: 120_000 };
/** States of nodes whose builds count. */
const ACTIVE: readonly string[] = ['live', 'draining', 'unavailable'];
/** States of nodes whose records say what the newest is. */
const SERVING: readonly string[] = ['live', 'draining', 'decommissioning'];

export function expectNodes({ truth, nodes }: Moment): Expected {
  const expected: Expected = new Map();
  for (const status of STATUSES) {
    expected.set(keyOf('crdb_nodes', { status }), truth.nodesByStatus[status] ?? 0);
  }
  expected.set(keyOf('crdb_nodes', { status: 'other' }), 0);
  const serving = truth.nodes.filter(({ status }) => SERVING.includes(status));
  const newestMs = Math.max(...serving.map(({ updatedAtMs }) => updatedAtMs));
  for (const { nodeId, status, startedAtMs, updatedAtMs } of truth.nodes) {
    const node_id = String(nodeId);
    for (const each of [...STATUSES, 'other']) {
      const isSo = each === status ? 1 : 0;
      expected.set(keyOf('crdb_node_liveness', { node_id, status: each }), isSo);
    }
    expected.set(keyOf('crdb_node_started_timestamp_seconds', { node_id }), startedAtMs / 1000);
    expected.set(keyOf('crdb_node_updated_timestamp_seconds', { node_id }), updatedAtMs / 1000);
    const isStale =
      newestMs - updatedAtMs > STALE_MS.behind || truth.nowMs - updatedAtMs > STALE_MS.old;
    if (!DEAD.includes(status) && !isStale) expectRecord(expected, nodes.get(nodeId), updatedAtMs);
  }
  const active = truth.nodes.filter(({ status }) => ACTIVE.includes(status));
  expected.set(keyOf('crdb_build_tags', {}), new Set(active.map((node) => node.buildTag)).size);
  return expected;
}

function expectRecord(
  expected: Expected,
  node: ReturnType<Moment['nodes']['get']>,
  updatedAtMs: number,
): void {
  const record = node?.frozenRecord ?? node?.written;
  if (node === undefined || record === undefined) return;
  const node_id = String(node.id);
  for (const [family, key] of Object.entries(NODE_KEYS)) {
    const value = record.metrics[key];
    if (value !== undefined) expected.set(keyOf(family, { node_id }), value);
  }
  const license = record.metrics[LICENSE];
  const untilExpiry = license ?? record.metrics[OLD_LICENSE];
  if (license !== undefined) {
    expected.set(keyOf('crdb_node_license_installed', { node_id }), license === 0 ? 0 : 1);
  }
  if (untilExpiry) {
    const expiry = updatedAtMs / 1000 + untilExpiry;
    expected.set(keyOf('crdb_node_license_expiry_timestamp_seconds', { node_id }), expiry);
  }
  for (const [job_type, keys] of Object.entries(JOB_KEYS)) {
    // An older release does not know the type.
    if (keys.every((key) => record.metrics[`jobs.${key}.resume_failed`] === undefined)) continue;
    const count = (metric: string): number =>
      keys.reduce((sum, key) => sum + (record.metrics[`jobs.${key}.${metric}`] ?? 0), 0);
    expected.set(
      keyOf('crdb_node_job_failures_total', { node_id, job_type }),
      count('resume_failed'),
    );
    const running = keyOf('crdb_jobs', { job_type, state: 'running' });
    expected.set(running, (expected.get(running) ?? 0) + count('currently_running'));
    // One node counts the paused jobs of the cluster; the others keep old numbers.
    if (record.metrics['jobs.poll_jobs_stats.currently_running'] !== 1) continue;
    const paused = keyOf('crdb_jobs', { job_type, state: 'paused' });
    expected.set(paused, Math.max(expected.get(paused) ?? 0, count('currently_paused')));
  }
  for (const [id, metrics] of record.stores) {
    for (const [family, key] of Object.entries(STORE_KEYS)) {
      const value = metrics[key];
      if (value !== undefined)
        expected.set(keyOf(family, { node_id, store_id: String(id) }), value);
    }
  }
}
