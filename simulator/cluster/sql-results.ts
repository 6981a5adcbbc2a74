import type { SqlResult } from '../options.ts';
import { bytesOf, fractionOf } from '../random.ts';
import type { WorldState } from '../world/state.ts';
import { sizesOf } from '../world/table-sizes.ts';

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 86_400;

const BUSIEST_STATEMENTS = 10;

/** Results of the statements in docs/sql.md, and of the plainest one. */
export function createSqlResults(state: WorldState): readonly SqlResult[] {
  return [ONE, ...createSystemResults(state), ...createActivityResults(state)];
}

const ONE: SqlResult = { contains: 'SELECT 1 AS one', columns: [['one', 'INT8']], rows: [[1]] };

/** What the system does: schedules, jobs, constraints, settings. */
function createSystemResults(state: WorldState): readonly SqlResult[] {
  const sinceStart = (state.now() - state.startMs) / 1000;
  return [
    {
      contains: '[SHOW SCHEDULES]',
      privilege: 'SELECT_SYSTEM',
      relation: 'scheduled_jobs',
      columns: [
        ['label', 'STRING'],
        ['paused', 'INT8'],
        ['failed', 'INT8'],
      ],
      rows: [
        ['daily-backup', state.backupsStoppedAtMs === undefined ? 0 : 1, 0],
        ['row-level-ttl-movr', 0, 1],
        ['sql-stats-compaction', 0, 0],
      ],
    },
    {
      contains: '[SHOW JOBS]',
      columns: [
        ['job_type', 'STRING'],
        ['jobs', 'INT8'],
        ['oldest_seconds', 'FLOAT8'],
      ],
      rows: [
        ['CHANGEFEED', 2, DAY_SECONDS + sinceStart],
        ['SCHEMA CHANGE', 1, 2 * HOUR_SECONDS + sinceStart],
      ],
    },
    {
      contains: 'replication_constraint_stats',
      privilege: 'SELECT_SYSTEM',
      relation: 'replication_constraint_stats',
      columns: [
        ['zone_id', 'INT8'],
        ['type', 'STRING'],
        ['violating_ranges', 'FLOAT8'],
      ],
      rows: [
        [0, 'constraint', 0],
        [106, 'constraint', 3],
        [106, 'voter_constraint', 0],
      ],
    },
    {
      contains: 'crdb_internal.cluster_settings',
      privilege: 'VIEWCLUSTERSETTING',
      columns: [
        ['setting', 'STRING'],
        ['changed', 'INT8'],
      ],
      rows: [
        ['kv.rangefeed.enabled', 1],
        ['server.time_until_store_dead', 1],
        ['sql.defaults.idle_in_session_timeout', 1],
      ],
    },
  ];
}

/** How tables, indexes and statements are used. */
function createActivityResults(state: WorldState): readonly SqlResult[] {
  const indexed = state.tables.filter(
    ({ indexes, database }) => indexes.length > 1 && database === 'movr',
  );
  const largest = sizesOf(state, state.now())
    .toSorted((a, b) => b.liveBytes - a.liveBytes)
    .slice(0, 20);
  return [
    {
      contains: 'index_usage_statistics',
      privilege: 'VIEWACTIVITYREDACTED',
      columns: [
        ['table_name', 'STRING'],
        ['indexes', 'INT8'],
      ],
      rows: indexed.map(({ name, indexes }) => [name, indexes.length - 1]),
    },
    {
      contains: 'system.table_metadata',
      privilege: 'SELECT_SYSTEM',
      relation: 'table_metadata',
      columns: [
        ['database_name', 'STRING'],
        ['schema_name', 'STRING'],
        ['table_name', 'STRING'],
        ['live_bytes', 'INT8'],
      ],
      rows: largest.map(({ table, liveBytes }) => [
        table.database,
        table.schema,
        table.name,
        liveBytes,
      ]),
    },
    {
      contains: 'statement_activity',
      privilege: 'VIEWACTIVITYREDACTED',
      columns: [
        ['fingerprint_id', 'STRING'],
        ['executions', 'FLOAT8'],
        ['busy_seconds', 'FLOAT8'],
      ],
      rows: Array.from({ length: BUSIEST_STATEMENTS }, (_, index) => {
        const executions = Math.round(1e6 * fractionOf('executions', index));
        const seconds = 0.02 * fractionOf('seconds', index);
        return [bytesOf(8, 'fingerprint', index).toString('hex'), executions, executions * seconds];
      }),
    },
  ];
}
