import { traitsOf } from '../releases.ts';
import { countsAsLive, type ClusterNode } from './nodes.ts';
import type { ReplicationKind, WorldState } from './state.ts';

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
  'replication_stream_ingestion',
  'inspect',
];

/** The jobs that replicate from another cluster. */
const REPLICATION_JOBS: Readonly<Record<ReplicationKind, string>> = {
  physical: 'replication_stream_ingestion',
  logical: 'logical_replication',
};

/** A backup starts every ten minutes and takes one. */
const BACKUP_PERIOD_SECONDS = 600;
const BACKUP_SECONDS = 60;

/** A changefeed that only retries does so every minute. */
const RETRY_MS = 60_000;
/** What a node takes for the lag while a changefeed scans whole tables. */
const BACKFILL_NANOS = 40_000 * 3600 * 1e9;

/** What a node reports of jobs, backups and replication between clusters. */
export function jobMetrics(
  state: WorldState,
  node: ClusterNode,
  atMs: number,
): Record<string, number> {
  const metrics: Record<string, number> = {};
  const { hasInspect } = traitsOf(node);
  for (const job of JOBS) {
    if (job === 'inspect' && !hasInspect) continue;
    metrics[`jobs.${job}.currently_running`] = 0;
    metrics[`jobs.${job}.currently_paused`] = 0;
    metrics[`jobs.${job}.protected_age_sec`] = 0;
    metrics[`jobs.${job}.resume_failed`] = failuresOf(state, node, job);
  }
  const now = atMs / 1000;
  const [first, second = first] = [...state.nodes.values()].filter(countsAsLive);
  if (node === first) {
    metrics['jobs.changefeed.currently_running'] = 2;
    if (state.changefeedError !== undefined) metrics['changefeed.max_behind_nanos'] = 0;
    else if (state.backfillNodeId !== undefined)
      metrics['changefeed.max_behind_nanos'] = BACKFILL_NANOS;
  }
  // Only the node that ran the last backup knows when it ended.
  const lastBackup = lastBackupSeconds(state, now);
  const isRunning = node === second && isBackupRunning(state, atMs);
  metrics['jobs.backup.currently_running'] = isRunning ? 1 : 0;
  const isStatistician = node === statisticsNode(state);
  if (isStatistician) Object.assign(node.keptGauges, statistics(state, atMs, hasInspect));
  for (const [kind, { nodeId, lagMs }] of state.replications) {
    const job = REPLICATION_JOBS[kind];
    const pausedMs = state.pausedJobs.get(job);
    if (node.id !== nodeId) continue;
    metrics[`jobs.${job}.currently_running`] = pausedMs === undefined ? 1 : 0;
    const replicatedMs = (pausedMs ?? atMs) - lagMs;
    node.keptGauges[`${kind}_replication.replicated_time_seconds`] = Math.floor(
      replicatedMs / 1000,
    );
  }
  return {
    ...metrics,
    'schedules.BACKUP.last-completed-time': node === second ? lastBackup : 0,
    'schedules.BACKUP.failed': 0,
    'backup.last-failed-time.kms-inaccessible': 0,
    ...(hasInspect && { 'jobs.inspect.issues_found': 0 }),
    'physical_replication.replicated_time_seconds': 0,
    'logical_replication.replicated_time_seconds': 0,
    'cluster.preserve-downgrade-option.last-updated': 0,
    ...node.keptGauges,
    ...(state.hasStatisticsJob && {
      'jobs.poll_jobs_stats.currently_running': isStatistician ? 1 : 0,
    }),
  };
}

/** Whether the periodic backup runs at this time. */
export function isBackupRunning({ backupsStoppedAtMs }: WorldState, atMs: number): boolean {
  const seconds = (atMs / 1000) % BACKUP_PERIOD_SECONDS;
  return seconds < BACKUP_SECONDS && backupsStoppedAtMs === undefined;
}

/** Retries of changefeeds since the world began; the first live node counts them. */
export function retriesOf({ changefeedError, pastRetries }: WorldState, atMs: number): number {
  if (changefeedError === undefined) return pastRetries;
  return pastRetries + 1 + Math.floor((atMs - changefeedError.sinceMs) / RETRY_MS);
}

/** The failures since the node started. */
function failuresOf(state: WorldState, node: ClusterNode, job: string): number {
  return state.failedJobs.filter(
    (failed) =>
      failed.job === job && failed.nodeId === node.id && failed.failedAtMs > node.startedAtMs,
  ).length;
}

/** The node that runs the job poll_jobs_stats: the chosen one while it is live, else the first that is. */
export function statisticsNode(state: WorldState): ClusterNode | undefined {
  const live = [...state.nodes.values()].filter(countsAsLive);
  return live.find(({ id }) => id === state.statisticsNodeId) ?? live[0];
}

/** Paused jobs and protected data of the cluster, which one node counts for all. */
function statistics(state: WorldState, atMs: number, hasInspect: boolean): Record<string, number> {
  const gauges: Record<string, number> = {};
  for (const job of JOBS) {
    if (job === 'inspect' && !hasInspect) continue;
    const sinceMs = state.pausedJobs.get(job);
    gauges[`jobs.${job}.currently_paused`] = sinceMs === undefined ? 0 : 1;
    const ageMs = sinceMs === undefined ? 0 : atMs - sinceMs;
    gauges[`jobs.${job}.protected_age_sec`] = Math.floor(ageMs / 1000);
  }
  if (!state.pausedJobs.has('changefeed')) {
    gauges['jobs.changefeed.protected_age_sec'] = Math.floor((atMs / 1000) % 60);
  }
  return gauges;
}

/** The end of the last backup that ran. */
function lastBackupSeconds({ backupsStoppedAtMs }: WorldState, now: number): number {
  const until = backupsStoppedAtMs === undefined ? now : backupsStoppedAtMs / 1000;
  const periods = Math.floor((until - BACKUP_SECONDS) / BACKUP_PERIOD_SECONDS);
  return periods * BACKUP_PERIOD_SECONDS + BACKUP_SECONDS;
}
