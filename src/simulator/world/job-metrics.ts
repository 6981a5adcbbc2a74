import { countsAsLive, type ClusterNode } from './nodes.ts';
import type { WorldState } from './state.ts';

/** Jobs whose numbers are in every record. */
const JOBS = [
  'backup',
  'changefeed',
  'import',
  'restore',
  'row_level_ttl',
  'schema_change',
  'new_schema_change',
  'logical_replication',
];

/** A backup starts every ten minutes and takes one. */
const BACKUP_PERIOD_SECONDS = 600;
const BACKUP_SECONDS = 60;

/** What a node reports of jobs, backups and replication between clusters. */
export function jobMetrics(
  state: WorldState,
  node: ClusterNode,
  atMs: number,
): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const job of JOBS) {
    metrics[`jobs.${job}.currently_running`] = 0;
    metrics[`jobs.${job}.currently_paused`] = 0;
    metrics[`jobs.${job}.protected_age_sec`] = 0;
  }
  const now = atMs / 1000;
  const [first, second = first] = [...state.nodes.values()].filter(countsAsLive);
  if (node === first) {
    metrics['jobs.changefeed.currently_running'] = 2;
    metrics['jobs.changefeed.protected_age_sec'] = Math.floor(now % 60);
    // Paused jobs are counted by one node for the whole cluster.
    for (const [job, sinceMs] of state.pausedJobs) {
      metrics[`jobs.${job}.currently_paused`] = 1;
      metrics[`jobs.${job}.protected_age_sec`] = Math.floor((atMs - sinceMs) / 1000);
    }
  }
  // Only the node that ran the last backup knows when it ended.
  const lastBackup = lastBackupSeconds(state, now);
  const isRunning =
    now % BACKUP_PERIOD_SECONDS < BACKUP_SECONDS && state.backupsStoppedAtMs === undefined;
  metrics['jobs.backup.currently_running'] = node === second && isRunning ? 1 : 0;
  return {
    ...metrics,
    'schedules.BACKUP.last-completed-time': node === second ? lastBackup : 0,
    'schedules.BACKUP.failed': 0,
    'physical_replication.replicated_time_seconds': 0,
    'logical_replication.replicated_time_seconds': 0,
    'cluster.preserve-downgrade-option.last-updated': 0,
  };
}

/** The end of the last backup that ran. */
function lastBackupSeconds({ backupsStoppedAtMs }: WorldState, now: number): number {
  const until = backupsStoppedAtMs === undefined ? now : backupsStoppedAtMs / 1000;
  const periods = Math.floor((until - BACKUP_SECONDS) / BACKUP_PERIOD_SECONDS);
  return periods * BACKUP_PERIOD_SECONDS + BACKUP_SECONDS;
}
