import { type Family, gauge } from '../../metrics/family.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import type { NodeRecord } from './record.ts';

// Families of the cluster as a whole that nodes report in their metrics: jobs, backups, an open upgrade.

/** Jobs by the value of the label `job`: the names that CockroachDB gives them in its metrics. */
const JOBS: Readonly<Record<string, readonly string[]>> = {
  backup: ['backup'],
  changefeed: ['changefeed'],
  import: ['import'],
  restore: ['restore'],
  row_level_ttl: ['row_level_ttl'],
  // Servers run these under two names.
  schema_change: ['schema_change', 'new_schema_change'],
  logical_replication: ['logical_replication'],
};
const JOB_COUNT = Object.keys(JOBS).length;
const STORED_AS =
  'Prometheus stores the label as exported_job, since job names the scrape job, unless honor_labels is set.';

const LAST_BACKUP = 'schedules.BACKUP.last-completed-time';
const PRESERVE_DOWNGRADE = 'cluster.preserve-downgrade-option.last-updated';

/** The metrics of a node that these families need. */
export const CLUSTER_KEYS: readonly string[] = [
  LAST_BACKUP,
  PRESERVE_DOWNGRADE,
  ...Object.values(JOBS)
    .flat()
    .flatMap((name) =>
      ['currently_running', 'currently_paused', 'protected_age_sec'].map(
        (metric) => `jobs.${name}.${metric}`,
      ),
    ),
];

const families = {
  lastBackup: gauge({
    name: 'crdb_backup_last_completed_timestamp_seconds',
    help: 'End of the last scheduled backup, Unix time in seconds.',
    field: `metrics ${LAST_BACKUP}`,
    notes:
      'Only of schedules created with the option updates_cluster_last_backup_time_metric. The largest over the nodes since the exporter started: a node forgets it when it restarts. Absent while no node reports one.',
  }),
  jobs: gauge({
    name: 'crdb_jobs',
    help: 'Jobs of the cluster by type and state: running or paused.',
    labels: ['job', 'state'],
    field: 'metrics jobs.*.currently_running and jobs.*.currently_paused',
    series: [JOB_COUNT, 2],
    notes: `Each node counts the running jobs that it coordinates. ${STORED_AS}`,
  }),
  protectedAge: gauge({
    name: 'crdb_protected_timestamp_age_seconds',
    help: 'Age of the oldest data that jobs of this type protect from garbage collection in seconds.',
    labels: ['job'],
    field: 'metrics jobs.*.protected_age_sec',
    series: [JOB_COUNT],
    notes: `0 when nothing is protected. ${STORED_AS}`,
  }),
  preserveDowngrade: gauge({
    name: 'crdb_preserve_downgrade_option_updated_timestamp_seconds',
    help: 'When finalizing the upgrade of the cluster was put off, Unix time in seconds.',
    field: `metrics ${PRESERVE_DOWNGRADE}`,
    notes: 'Absent while the setting cluster.preserve_downgrade_option is empty.',
  }),
};

export const JOB_FAMILIES: readonly Family[] = Object.values(families);

/** End of the last backup that any of the nodes reports, Unix time in seconds; 0 without one. */
export function lastBackupSeconds(nodes: readonly NodeRecord[]): number {
  return nodes.reduce((last, { metrics }) => Math.max(last, metrics.get(LAST_BACKUP) ?? 0), 0);
}

/** Writes the samples of the cluster from the metrics of the nodes whose record is fresh. */
export function writeJobSamples(
  set: SampleSet,
  nodes: readonly NodeRecord[],
  lastBackup: number,
): void {
  set.set(families.lastBackup, {}, lastBackup || undefined);
  set.set(families.preserveDowngrade, {}, maximum(nodes, [PRESERVE_DOWNGRADE]) || undefined);
  for (const [job, names] of Object.entries(JOBS)) {
    const keysOf = (metric: string): string[] => names.map((name) => `jobs.${name}.${metric}`);
    // Each node counts the jobs that it runs, but a node that reports paused jobs reports those of the cluster.
    const running = valuesOf(nodes, keysOf('currently_running'));
    const paused = keysOf('currently_paused').map((key) => maximum(nodes, [key]));
    set.set(families.jobs, { job, state: 'running' }, sum(running));
    set.set(families.jobs, { job, state: 'paused' }, sum(paused));
    const protectedAge = maximum(nodes, keysOf('protected_age_sec'));
    set.set(families.protectedAge, { job }, protectedAge);
  }
}

/** Values that the nodes sent under these keys. */
function valuesOf(nodes: readonly NodeRecord[], keys: readonly string[]): readonly number[] {
  return nodes.flatMap(({ metrics }) => keys.flatMap((key) => metrics.get(key) ?? []));
}

/** Undefined when no node sent a value. */
function maximum(nodes: readonly NodeRecord[], keys: readonly string[]): number | undefined {
  const values = valuesOf(nodes, keys);
  return values.length === 0 ? undefined : values.reduce((most, value) => Math.max(most, value));
}

/** Undefined when there is no value. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, value) => total + value, 0);
}
