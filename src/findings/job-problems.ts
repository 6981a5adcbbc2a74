import type { NodesResult } from '../collectors/nodes/collector.ts';
import { type JobsStatus, readJobs } from '../collectors/nodes/jobs.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatDuration, formatList } from '../format.ts';
import type { Problem } from './problem.ts';

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
