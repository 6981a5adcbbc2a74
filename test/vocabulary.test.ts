import { expect, test } from 'vitest';
import * as vocabulary from '../src/vocabulary.ts';

/** A list of one word each. */
function words(text: string): readonly string[] {
  return text.split(' ');
}

test('the values of labels, which queries and alerts name, stay as they are', () => {
  const { ALERT_SEVERITIES: _, ...lists } = vocabulary;
  const liveness = 'unknown dead unavailable live decommissioning decommissioned draining';
  const problems =
    'unavailable underreplicated overreplicated no_lease no_raft_leader leader_not_lease_holder quiescent_equals_ticking raft_log_too_large circuit_breaker_error paused_followers range_too_large other';
  expect({ ...lists }).toEqual({
    APIS: ['cluster', 'cloud'],
    CLUSTER_ENDPOINTS: words(
      'login nodes node_ranges sessions users table table_metadata range_types',
    ),
    FAILURE_REASONS: words(
      'timeout network tls auth forbidden not_available http decode limit breaker_open other',
    ),
    RETRY_REASONS: ['timeout', 'network', 'http', 'throttled'],
    LIMITS: ['pages', 'bytes', 'items', 'duration', 'series'],
    BREAKER_STATES: ['closed', 'open', 'half_open'],
    LIVENESS_BY_CODE: words(liveness),
    LIVENESS_STATUSES: words(`${liveness} other`),
    SEVERITIES: ['critical', 'warning', 'info'],
    REPORTED_PROBLEMS: words(problems),
    PROBLEMS: words(`${problems} no_live_replica`),
  });
});
