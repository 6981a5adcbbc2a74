import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { stat } from './lib/panels.ts';
import type { Limit } from './lib/style.ts';
import { S } from './lib/variables.ts';

/** Backups, changefeeds and other jobs, and what they keep from garbage collection. */
export const jobsRow = (limit: Limit): Row => ({
  title: 'Jobs',
  collapsed: true,
  panels: [
    stat('Last backup', {
      about:
        'Time since the end of the last scheduled backup (crdb_backup_last_completed_timestamp_seconds). Orange: CrdbBackupTooOld. No data: no schedule reports it, see that runbook.',
      queries: `time() - max(crdb_backup_last_completed_timestamp_seconds{${S}})`,
      unit: 's',
      steps: ['green', [limit('backup_hours') * 3600, 'orange']],
    }),
    stat('Failed backups, 24 h', {
      about:
        'Scheduled backups that failed (crdb_node_backup_schedule_failures_total); manual backups are not counted. Orange, and no later success: CrdbBackupFailing.',
      queries: `sum(max by (node_id) (increase(crdb_node_backup_schedule_failures_total{${S}}[24h])))`,
      unit: 'short',
      decimals: 0,
      steps: ['green', [1, 'orange']],
    }),
    stat('KMS out of reach', {
      about:
        'Time since a backup last failed because its KMS was out of reach (crdb_backup_kms_inaccessible_timestamp_seconds). No data: none has since the nodes started. Younger than the last backup: CrdbBackupKmsInaccessible.',
      queries: `time() - max(crdb_backup_kms_inaccessible_timestamp_seconds{${S}})`,
      unit: 's',
      empty: 'never since the nodes started',
      evidence: [`crdb_nodes{${S}}`, 'status'],
    }),
    stat('Issues of INSPECT', {
      about:
        'Inconsistencies of data that INSPECT has found since the nodes started (crdb_node_inspect_issues_total). Red: CrdbDataInconsistent.',
      queries: `sum(max by (node_id) (crdb_node_inspect_issues_total{${S}}))`,
      unit: 'short',
      decimals: 0,
      steps: ['green', [1, 'red']],
    }),
    stat('Failed changefeeds, 24 h', {
      about:
        'Changefeeds that failed permanently (crdb_node_changefeed_failures_total). They do not restart automatically. Red: CrdbChangefeedFailing.',
      queries: `sum(max by (node_id) (increase(crdb_node_changefeed_failures_total{${S}}[24h])))`,
      unit: 'short',
      decimals: 0,
      steps: ['green', [1, 'red']],
    }),
    stat('Changefeeds running', {
      about: 'Running changefeeds (crdb_node_changefeeds_running).',
      queries: `sum(max by (node_id) (crdb_node_changefeeds_running{${S}}))`,
      unit: 'short',
    }),
    graph('Changefeed lag', {
      about:
        'Lag of the slowest changefeed of each node (crdb_node_changefeed_max_behind_seconds). Above a dashed line: CrdbChangefeedLagging. Not while a changefeed scans whole tables (crdb_node_changefeed_backfills): what nodes then report is no lag.',
      queries: `max by (node_id) (crdb_node_changefeed_max_behind_seconds{${S}}) unless on () max(crdb_node_changefeed_backfills{${S}}) > 0`,
      unit: 's',
      legend: 'n{{node_id}}',
      steps: [
        'green',
        [limit('changefeed_lag'), 'orange'],
        [limit('changefeed_lag_critical'), 'red'],
      ],
      width: 8,
      height: 6,
    }),
    graph('Failed jobs', {
      about: 'Jobs that failed for good, by type (crdb_node_job_failures_total): CrdbJobFailing.',
      queries: `sum by (job_type) (max by (node_id, job_type) (increase(crdb_node_job_failures_total{${S}}[$__rate_interval])))`,
      unit: 'short',
      legend: '{{job_type}}',
      steps: ['green', [1, 'orange']],
      width: 8,
      height: 6,
    }),
    graph('Jobs running', {
      about: 'Running jobs by type (crdb_jobs).',
      queries: `max by (job_type) (crdb_jobs{${S}, state="running"})`,
      unit: 'short',
      legend: '{{job_type}}',
      width: 8,
      height: 6,
    }),
    graph('Jobs paused', {
      about:
        'Paused jobs by type (crdb_jobs). Their work is not done, and they may keep old data: see Protected data.',
      queries: `max by (job_type) (crdb_jobs{${S}, state="paused"})`,
      unit: 'short',
      legend: '{{job_type}}',
      height: 6,
    }),
    graph('Protected data, age', {
      about:
        'Age of the oldest data that jobs keep from garbage collection (crdb_protected_timestamp_age_seconds). Above the dashed line, of paused jobs: CrdbJobPaused.',
      queries: `max by (job_type) (crdb_protected_timestamp_age_seconds{${S}})`,
      unit: 's',
      legend: '{{job_type}}',
      steps: ['green', [limit('protected_age'), 'orange']],
      height: 6,
    }),
  ],
});
