import { type CloudResult, HEALTHS, STATUSES } from '../collectors/cloud.ts';
import type { NodesResult } from '../collectors/nodes/collector.ts';
import { type JobsStatus, readJobs } from '../collectors/nodes/jobs.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatDuration, formatList } from '../format.ts';
import { type Problem, toTime } from './problem.ts';

/** Problems of jobs, backups and an open upgrade, as the nodes report them. */
export function jobProblems(
  { nodes, lastBackupSeconds }: NodesResult,
  nowMs: number,
  thresholds: Thresholds,
): readonly Problem[] {
  const status = readJobs(nodes);
  const now = nowMs / 1000;
  return [
    ...pausedProblems(status, thresholds),
    ...Object.entries(status.lagSeconds).flatMap(([kind, lag = 0]) =>
      lagProblem(kind, lag, thresholds),
    ),
    ...backupProblem(lastBackupSeconds === 0 ? 0 : now - lastBackupSeconds, thresholds),
    ...upgradeProblem(
      status.preserveDowngradeSeconds === undefined ? 0 : now - status.preserveDowngradeSeconds,
      thresholds,
    ),
  ];
}

const UNITS = { hour: 3600, day: 86_400 } as const;

/** Paused jobs that keep old data. */
function pausedProblems({ jobs }: JobsStatus, thresholds: Thresholds): readonly Problem[] {
  const paused = jobs.filter(
    ({ paused: count = 0, protectedAgeSeconds = 0 }) =>
      count > 0 && protectedAgeSeconds > thresholds.protected_age,
  );
  const describe = (alert: 'CrdbChangefeedPaused' | 'CrdbJobPaused', types: typeof paused) => {
    const age = formatDuration(Math.max(...types.map((one) => one.protectedAgeSeconds ?? 0)));
    const names = formatList(types.map(({ type }) => type));
    const text = `Paused jobs (${names}) keep data that is ${age} old.`;
    const next = 'Resume or cancel them; see SHOW JOBS.';
    return { key: alert, about: 'jobs', alert, normalSeconds: 900, text, next } as const;
  };
  const changefeeds = paused.filter(({ type }) => type === 'changefeed');
  const others = paused.filter(({ type }) => type !== 'changefeed');
  return [
    ...(changefeeds.length > 0 ? [describe('CrdbChangefeedPaused', changefeeds)] : []),
    ...(others.length > 0 ? [describe('CrdbJobPaused', others)] : []),
  ];
}

function lagProblem(kind: string, lagSeconds: number, thresholds: Thresholds): readonly Problem[] {
  if (lagSeconds <= thresholds.replication_lag) return [];
  const text = `The ${kind} replication into this cluster is ${formatDuration(lagSeconds)} behind.`;
  const next = 'Check the job, the source cluster and the network between the two.';
  const alert = 'CrdbReplicationLag';
  return [{ key: `${kind} lag`, about: 'jobs', alert, normalSeconds: 600, text, next }];
}

function backupProblem(ageSeconds: number, thresholds: Thresholds): readonly Problem[] {
  if (ageSeconds <= thresholds.backup_hours * UNITS.hour) return [];
  const text = `The last scheduled backup ended ${formatDuration(ageSeconds)} ago.`;
  const next = 'See SHOW SCHEDULES and SHOW JOBS.';
  const alert = 'CrdbBackupTooOld';
  return [{ key: 'backup', about: 'jobs', alert, normalSeconds: 600, text, next }];
}

function upgradeProblem(ageSeconds: number, thresholds: Thresholds): readonly Problem[] {
  if (ageSeconds <= thresholds.finalize_days * UNITS.day) return [];
  const text = `The upgrade has not been finalized for ${formatDuration(ageSeconds)}.`;
  const next =
    'When the new version works, RESET CLUSTER SETTING cluster.preserve_downgrade_option.';
  const alert = 'CrdbUpgradeNotFinalized';
  return [{ key: 'upgrade', about: 'nodes', alert, normalSeconds: 3600, text, next }];
}

/** The migration assistant. */
export interface AssistantStatus {
  readonly exists: boolean;
  readonly status: string | undefined;
  readonly health: string | undefined;
  readonly region: string | undefined;
  /** When this exporter first saw the current status. */
  readonly statusSince: string | undefined;
}

/** Describes the migration assistant; all but `exists` is absent when there is none. */
export function readAssistant({ assistant }: CloudResult): AssistantStatus {
  return {
    exists: assistant !== undefined,
    status: stateOf(STATUSES, assistant?.status),
    health: stateOf(HEALTHS, assistant?.health),
    region: assistant?.region,
    statusSince: toTime(assistant?.statusSinceMs),
  };
}

/** `other` for a value that this exporter does not know, as on /metrics. */
function stateOf(known: readonly string[], state: string | undefined): string | undefined {
  return state === undefined || known.includes(state) ? state : 'other';
}

export function assistantProblems({
  status,
  health,
  statusSince: since,
}: AssistantStatus): readonly Problem[] {
  const issue = { key: 'assistant', about: 'assistant' } as const;
  if (status === 'failed') {
    const text = 'The migration assistant has failed.';
    const next =
      '`crdb-exporter cloud assistant get` shows its last error. Delete it before you retry.';
    return [{ ...issue, alert: 'CrdbMigrationAssistantFailing', text, next, since }];
  }
  if (health !== 'unavailable' && health !== 'unknown') return [];
  const text = `The health of the migration assistant is ${health}.`;
  const next = '`crdb-exporter cloud assistant get` shows its state.';
  return [{ ...issue, alert: 'CrdbMigrationAssistantFailing', text, next }];
}
