import type { Query } from '#base';

/** The settings of a query, unless it has others. */
const COMMON = { database: 'system', interval: 300, timeout: 5, max_rows: 100 } as const;

const QUERIES: readonly (Omit<Query, keyof typeof COMMON> & Partial<Query>)[] = [
  {
    name: 'schedules',
    help: 'Schedules by label.',
    sql: [
      'SELECT label,',
      "count(*) FILTER (WHERE schedule_status = 'PAUSED') AS paused,",
      "count(*) FILTER (WHERE state ILIKE '%failed%') AS failed",
      'FROM [SHOW SCHEDULES] GROUP BY label',
    ].join(' '),
    labels: ['label'],
    values: { paused: 'gauge', failed: 'gauge' },
  },
  {
    name: 'running_jobs',
    help: 'Running jobs by type.',
    sql: [
      'SELECT job_type,',
      'count(*) AS jobs,',
      'max(extract(epoch FROM now() - created))::FLOAT AS oldest_seconds',
      "FROM [SHOW JOBS] WHERE status = 'running' GROUP BY job_type",
    ].join(' '),
    labels: ['job_type'],
    values: { jobs: 'gauge', oldest_seconds: 'gauge' },
  },
  {
    name: 'unused',
    help: 'Secondary indexes that were not read for 30 days.',
    sql: [
      'SELECT i.descriptor_name AS table_name,',
      'count(*) AS indexes',
      'FROM crdb_internal.index_usage_statistics AS u',
      'JOIN crdb_internal.table_indexes AS i',
      'ON i.descriptor_id = u.table_id AND i.index_id = u.index_id',
      "WHERE i.index_type = 'secondary' AND NOT i.is_unique",
      "AND (u.last_read IS NULL OR u.last_read < now() - INTERVAL '30 days')",
      'GROUP BY i.descriptor_name',
    ].join(' '),
    database: 'movr',
    labels: ['table_name'],
    values: { indexes: 'gauge' },
    interval: 3600,
    timeout: 20,
  },
  {
    name: 'constraints',
    help: 'Ranges that violate a replication constraint.',
    sql: [
      'SELECT zone_id, type,',
      'sum(violating_ranges)::FLOAT AS violating_ranges',
      'FROM system.replication_constraint_stats',
      'GROUP BY zone_id, type',
    ].join(' '),
    labels: ['zone_id', 'type'],
    values: { violating_ranges: 'gauge' },
  },
  {
    name: 'settings',
    help: 'Cluster settings that differ from their default. Always 1.',
    sql: [
      'SELECT variable AS setting,',
      '1 AS changed',
      'FROM crdb_internal.cluster_settings',
      "WHERE value <> default_value AND variable <> 'version'",
    ].join(' '),
    labels: ['setting'],
    values: { changed: 'gauge' },
    interval: 600,
  },
  {
    name: 'tables',
    help: 'Live data of the largest tables, one replica of it.',
    sql: [
      'SELECT db_name AS database_name, schema_name, table_name,',
      'total_live_data_bytes AS live_bytes',
      'FROM system.table_metadata',
      'ORDER BY total_live_data_bytes DESC LIMIT 20',
    ].join(' '),
    labels: ['database_name', 'schema_name', 'table_name'],
    values: { live_bytes: 'gauge' },
    interval: 600,
  },
  {
    name: 'statements',
    help: 'Statements with most time in the last two hours.',
    sql: [
      "SELECT encode(fingerprint_id, 'hex') AS fingerprint_id,",
      'sum(execution_count)::FLOAT AS executions,',
      'sum(execution_total_seconds)::FLOAT AS busy_seconds',
      'FROM crdb_internal.statement_activity',
      "WHERE aggregated_ts >= now() - INTERVAL '2 hours'",
      'GROUP BY 1 ORDER BY 3 DESC LIMIT 20',
    ].join(' '),
    labels: ['fingerprint_id'],
    values: { executions: 'gauge', busy_seconds: 'gauge' },
    interval: 600,
    timeout: 20,
  },
];

/** The seven queries of docs/sql.md, which the simulator answers. */
export const DEMO_QUERIES: readonly Query[] = QUERIES.map((query) => ({ ...COMMON, ...query }));
