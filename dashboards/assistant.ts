import type { Row } from './lib/board.ts';
import { note, stat, timeline } from './lib/panels.ts';
import { ASSISTANT_HEALTH, ASSISTANT_STATUS } from './lib/style.ts';
import { S } from './lib/variables.ts';

/** The position of the current state of a state set in the list, from 1; 0 when there is none. */
function numberOf(label: string, states: readonly string[]): string {
  const family = `crdb_cloud_migration_assistant_${label}`;
  const terms = states.map(
    (state, index) => `${index + 1} * max(${family}{${S}, ${label}="${state}"})`,
  );
  return terms.join(' + ');
}

/** The migration assistant of CockroachDB Cloud. */
export const assistantRow: Row = {
  title: 'Migration assistant (CockroachDB Cloud)',
  collapsed: true,
  panels: [
    note(
      'Panels without data',
      'This row needs `cloud_api` in the configuration of the cluster (`--cloud.cluster-id`) and the collector `cloud` enabled.',
    ),
    timeline('Assistant status', {
      about: 'Current status (crdb_cloud_migration_assistant_status).',
      queries: numberOf('status', ['pending', 'running', 'deleting', 'failed', 'other']),
      unit: 'none',
      legend: 'status',
      states: ASSISTANT_STATUS,
      empty: 'no assistant',
      evidence: [`crdb_up{${S}, api="cloud"}`, 'api'],
    }),
    timeline('Assistant health', {
      about:
        'Current health (crdb_cloud_migration_assistant_health). Unavailable for more than 15 minutes: see CrdbMigrationAssistantFailing.',
      queries: numberOf('health', ['healthy', 'not_computed', 'unavailable', 'unknown', 'other']),
      unit: 'none',
      legend: 'health',
      states: ASSISTANT_HEALTH,
      empty: 'no assistant',
      evidence: [`crdb_up{${S}, api="cloud"}`, 'api'],
    }),
    stat('Assistant in this status for', {
      about:
        'Time since the current status was first seen (crdb_cloud_migration_assistant_status_since_timestamp_seconds).',
      queries: `time() - max(crdb_cloud_migration_assistant_status_since_timestamp_seconds{${S}})`,
      unit: 's',
      width: 8,
      empty: 'no assistant',
      evidence: [`crdb_up{${S}, api="cloud"}`, 'api'],
    }),
  ],
};
