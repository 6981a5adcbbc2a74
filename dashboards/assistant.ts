import type { Row } from './lib/board.ts';
import { note, stat, timeline } from './lib/panels.ts';
import { S } from './lib/variables.ts';

/** The migration assistant of CockroachDB Cloud. */
export const assistantRow: Row = {
  title: 'Migration assistant (CockroachDB Cloud)',
  collapsed: true,
  panels: [
    note(
      'Why this may be empty',
      'Only for clusters with `cloud_api` in the configuration (`--cloud.cluster-id`) and while the collector `cloud` is on.',
    ),
    timeline('Assistant status', {
      about:
        'The present status, one row for each that was reached (crdb_cloud_migration_assistant_status).',
      queries: `max by (status) (crdb_cloud_migration_assistant_status{${S}}) == 1`,
      unit: 'none',
      legend: '{{status}}',
      states: { 1: ['now', 'blue'] },
      empty: 'no assistant',
    }),
    timeline('Assistant health', {
      about:
        'The present health (crdb_cloud_migration_assistant_health). Unavailable for more than 15 minutes: see CrdbMigrationAssistantUnhealthy.',
      queries: `max by (health) (crdb_cloud_migration_assistant_health{${S}}) == 1`,
      unit: 'none',
      legend: '{{health}}',
      states: { 1: ['now', 'blue'] },
      empty: 'no assistant',
    }),
    stat('Assistant in this status for', {
      about:
        'Time since the present status was first seen (crdb_cloud_migration_assistant_status_since_timestamp_seconds).',
      queries: `time() - max(crdb_cloud_migration_assistant_status_since_timestamp_seconds{${S}})`,
      unit: 'dtdurations',
      width: 8,
      empty: 'no assistant',
    }),
  ],
};
