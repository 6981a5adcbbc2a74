import { largest, smallest, sumOrNone } from '#base';
import { livenessOf, medianRecord, REACHABLE } from '#cockroach';
import { counter, type Family, gauge, type SampleSet } from '#metrics';
import { COUNTER_NOTES, NODE } from './node-families.ts';
import type { ListedNode, NodeRecord } from './node-record.ts';

// Families of jobs, backups and an open upgrade, most of them of the cluster as a whole.

/** Values of the label `job_type`, which are also the names of the jobs in the metrics of CockroachDB. */
const JOB_TYPES = [
  'backup',
  'changefeed',
  'import',
  'restore',
  'row_level_ttl',
  'schema_change',
  'logical_replication',
  'replication_stream_ingestion',
  'inspect',
];

/** The jobs that replicate from another cluster, by kind. */
const REPLICATION_JOBS = {
  physical: 'replication_stream_ingestion',
  logical: 'logical_replication',
} as const;
const REPLICATION_KINDS = ['physical', 'logical'] as const;
type ReplicationKind = (typeof REPLICATION_KINDS)[number];

/** 1 on the node that counts paused jobs and protected data for the whole cluster. */
const STATISTICS = 'jobs.poll_jobs_stats.currently_running';
const FROM_STATISTICS =
  'Of the node that runs the job poll_jobs_stats: a former one keeps its numbers until it restarts. Absent while no node with a fresh record runs it, and until that node has counted, which takes it 30 s.';

export const LAST_BACKUP = 'schedules.BACKUP.last-completed-time';
const KMS_INACCESSIBLE = 'backup.last-failed-time.kms-inaccessible';
const PRESERVE_DOWNGRADE = 'cluster.preserve-downgrade-option.last-updated';

/** The metrics of a node that these families need. */
export const JOB_KEYS: readonly string[] = [
  LAST_BACKUP,
  KMS_INACCESSIBLE,
  PRESERVE_DOWNGRADE,
  STATISTICS,
  ...REPLICATION_KINDS.map(replicatedTimeKey),
  ...JOB_TYPES.flatMap((type) => [
    ...jobKeys(type, 'currently_running'),
    ...jobKeys(type, 'currently_paused'),
    ...jobKeys(type, 'protected_age_sec'),
    ...jobKeys(type, 'resume_failed'),
  ]),
];

/** Servers run changes of schemas under two names. */
function jobKeys(type: string, metric: string): readonly string[] {
  const names = type === 'schema_change' ? [type, 'new_schema_change'] : [type];
  return names.map((name) => `jobs.${name}.${metric}`);
}

function replicatedTimeKey(kind: ReplicationKind): string {
  return `${kind}_replication.replicated_time_seconds`;
}

const families = {
  lastBackup: gauge({
    name: 'crdb_backup_last_completed_timestamp_seconds',
    help: 'End of the last scheduled backup, Unix time in seconds.',
    field: `metrics ${LAST_BACKUP}`,
    notes:
      'Only of schedules created with the option updates_cluster_last_backup_time_metric; of two such schedules the later backup hides the other. The largest over the nodes since the exporter started: a node forgets it when it restarts. Absent while no node reports one, and once no current record has this metric any more.',
  }),
  kmsInaccessible: gauge({
    name: 'crdb_backup_kms_inaccessible_timestamp_seconds',
    help: 'When a backup last failed because its KMS was out of reach, Unix time in seconds.',
    field: `metrics ${KMS_INACCESSIBLE}`,
    notes:
      'Only of schedules created with the option updates_cluster_last_backup_time_metric. The largest over the nodes: a node forgets it when it restarts. Absent while no node reports one.',
  }),
  jobFailures: counter({
    name: 'crdb_node_job_failures_total',
    help: 'Jobs of the type that failed for good on the node.',
    labels: [...NODE.labels, 'job_type'],
    field: 'metrics jobs.*.resume_failed',
    notes: `The command jobs shows which and why. Not those that were cancelled. ${COUNTER_NOTES}`,
  }),
  jobs: gauge({
    name: 'crdb_jobs',
    help: 'Jobs of the cluster by type and state: running or paused.',
    labels: ['job_type', 'state'],
    field: 'metrics jobs.*.currently_running and jobs.*.currently_paused',
    notes: `Running: summed over the nodes, each of which counts its own; absent while the record of a live, draining or decommissioning node is stale. Paused: ${FROM_STATISTICS}`,
  }),
  protectedAge: gauge({
    name: 'crdb_protected_timestamp_age_seconds',
    help: 'Age of the oldest data that jobs of this type protect from garbage collection in seconds.',
    labels: ['job_type'],
    field: 'metrics jobs.*.protected_age_sec',
    notes: `0 when nothing is protected. ${FROM_STATISTICS}`,
  }),
  replicationLag: gauge({
    name: 'crdb_replication_lag_seconds',
    help: 'Lag of replication from another cluster in seconds, by kind: physical or logical.',
    labels: ['kind'],
    field:
      'updated_at and metrics *_replication.replicated_time_seconds, jobs.replication_stream_ingestion.currently_*, jobs.logical_replication.currently_*',
    notes:
      'A node that no longer runs the job keeps its old time. physical: of the node with the newest time; of two streams the newer one hides the other. logical: of the node that runs the job poll_jobs_stats, whose time is the oldest of all such jobs. Absent while no such job runs or is paused, as far as fresh records tell.',
  }),
  preserveDowngrade: gauge({
    name: 'crdb_preserve_downgrade_option_updated_timestamp_seconds',
    help: 'When finalizing the upgrade of the cluster was put off, Unix time in seconds.',
    field: `metrics ${PRESERVE_DOWNGRADE}`,
    notes:
      'The smallest over the nodes: a node sets it again when it starts, so the true time may be earlier still. Absent while the setting cluster.preserve_downgrade_option is empty.',
  }),
};

export const JOB_FAMILIES: readonly Family[] = Object.values(families);

/**
 * End of the last backup that any of the nodes reports or that is remembered, Unix time in seconds; 0 without one. A time that the
 * cluster has not reached is of a wrong clock, and would hide for that long that backups fail: it counts no more.
 */
export function lastBackupSeconds(
  nodes: readonly NodeRecord[],
  remembered: number,
  answeredMs: number | undefined,
): number {
  const now = Math.max((answeredMs ?? 0) / 1000, medianRecord(nodes)) || Infinity;
  const times = [remembered, ...valuesOf(nodes, [LAST_BACKUP])];
  return Math.max(0, ...times.filter((time) => time <= now));
}

/** Jobs, replication and an open upgrade, as the nodes with fresh records report them. */
export interface JobsStatus {
  readonly preserveDowngradeSeconds: number | undefined;
  /** When the KMS of a backup was last out of reach, Unix time. */
  readonly kmsInaccessibleSeconds: number | undefined;
  readonly jobs: readonly JobStatus[];
  /** Absent while no such job exists. */
  readonly lagSeconds: Readonly<Record<ReplicationKind, number | undefined>>;
  /** Why the lag of a job that runs is not known. */
  readonly lagUnknown: Readonly<Record<ReplicationKind, LagUnknown | undefined>>;
}

/** `nothing`: the job has replicated nothing yet; `not sent`: no current record has its time. */
type LagUnknown = 'nothing' | 'not sent';

/** The jobs of a type; a figure is absent while it is not known. */
interface JobStatus {
  readonly type: string;
  readonly running: number | undefined;
  readonly paused: number | undefined;
  readonly protectedAgeSeconds: number | undefined;
}

/** How long the job of the statistics runs on a node before its record has a count: it waits for 30 s, the record for 10 s. */
const FIRST_COUNT_SECONDS = 40;

/** Remembers since when the nodes run the job of the statistics. */
export class StatisticsNodes {
  /** The time of the first record that says so, by node and start; undefined before the first poll. */
  #since: ReadonlyMap<string, number> | undefined;

  /**
   * The ids of the nodes that run the job and have not counted yet. Example: the job moves to node 2 at 12:00:00. The record of
   * 12:00:10 has 0 paused jobs, or as many as node 2 counted last week; the record of 12:00:50 has as many as there are. What the first
   * poll finds counts since the start of the process.
   */
  findNew(nodes: readonly NodeRecord[]): ReadonlySet<number> {
    const before = this.#since;
    const since = new Map<string, number>();
    const found = new Set<number>();
    for (const { id, startedSeconds, updatedSeconds, metrics } of nodes) {
      if (metrics.get(STATISTICS) !== 1) continue;
      const runner = `${id} ${startedSeconds}`;
      const first = before === undefined ? startedSeconds : updatedSeconds;
      // The clock of the node may have been ahead.
      const begin = Math.min(before?.get(runner) ?? first, updatedSeconds);
      since.set(runner, begin);
      if (updatedSeconds - begin < FIRST_COUNT_SECONDS) found.add(id);
    }
    this.#since = since;
    return found;
  }
}

export function readJobs(all: readonly ListedNode[]): JobsStatus {
  const fresh = all.filter(({ isFresh }) => isFresh);
  // Example: node 1 counted 3 paused jobs, then the job poll_jobs_stats moved to node 2, which counts 0. Node 1 still
  // reports 3, and node 2 alone is right. Old servers do not tell which node counts.
  const isTold = all.some(({ metrics }) => metrics.has(STATISTICS));
  const counting = isTold
    ? fresh.filter((node) => node.metrics.get(STATISTICS) === 1 && node.hasNotCounted !== true)
    : fresh;
  const running = (type: string) => sumOrNone(valuesOf(fresh, jobKeys(type, 'currently_running')));
  // Example: node 3 runs the only backup, and its record is stale. The other nodes count none, and the backup goes on.
  const isWhole = all.every((node) => node.isFresh || !REACHABLE.has(livenessOf(node)));
  const paused = (type: string) =>
    sumOrNone(
      jobKeys(type, 'currently_paused').flatMap((key) => largest(valuesOf(counting, [key])) ?? []),
    );
  const lagOf = (kind: ReplicationKind): number | undefined => {
    const job = REPLICATION_JOBS[kind];
    const reporting = kind === 'logical' ? counting : fresh;
    return running(job) || paused(job)
      ? smallestLag(reporting, replicatedTimeKey(kind))
      : undefined;
  };
  const unknownOf = (kind: ReplicationKind): LagUnknown | undefined => {
    if (!running(REPLICATION_JOBS[kind]) || lagOf(kind) !== undefined) return undefined;
    const reporting = kind === 'logical' ? counting : fresh;
    const isNamed = reporting.some(({ metrics }) => metrics.has(replicatedTimeKey(kind)));
    return isNamed ? 'nothing' : 'not sent';
  };
  return {
    // Example: the option was set 30 days ago on three nodes; node 2 started 2 days ago and says 2 days.
    preserveDowngradeSeconds: smallest(
      valuesOf(fresh, [PRESERVE_DOWNGRADE]).filter((time) => time > 0),
    ),
    kmsInaccessibleSeconds: largest(valuesOf(fresh, [KMS_INACCESSIBLE]).filter((time) => time > 0)),
    jobs: JOB_TYPES.map((type) => ({
      type,
      running: isWhole ? running(type) : undefined,
      paused: paused(type),
      protectedAgeSeconds: largest(valuesOf(counting, jobKeys(type, 'protected_age_sec'))),
    })),
    lagSeconds: { physical: lagOf('physical'), logical: lagOf('logical') },
    lagUnknown: { physical: unknownOf('physical'), logical: unknownOf('logical') },
  };
}

/** Writes the samples of the cluster from the metrics of the nodes whose record is fresh. */
export function writeJobSamples(
  set: SampleSet,
  all: readonly ListedNode[],
  lastBackup: number,
): void {
  const { preserveDowngradeSeconds, kmsInaccessibleSeconds, jobs, lagSeconds } = readJobs(all);
  set.set(families.lastBackup, {}, lastBackup || undefined);
  set.set(families.kmsInaccessible, {}, kmsInaccessibleSeconds);
  set.set(families.preserveDowngrade, {}, preserveDowngradeSeconds);
  for (const { type, running, paused, protectedAgeSeconds } of jobs) {
    const labels = { job_type: type };
    set.set(families.jobs, { ...labels, state: 'running' }, running);
    set.set(families.jobs, { ...labels, state: 'paused' }, paused);
    set.set(families.protectedAge, labels, protectedAgeSeconds);
  }
  for (const kind of REPLICATION_KINDS) {
    set.set(families.replicationLag, { kind }, lagSeconds[kind]);
  }
}

/** Writes how many jobs of each type failed on a node whose record is fresh. */
export function writeJobFailures(set: SampleSet, node: NodeRecord): void {
  for (const type of JOB_TYPES) {
    const labels = { node_id: String(node.id), job_type: type };
    set.set(
      families.jobFailures,
      labels,
      sumOrNone(valuesOf([node], jobKeys(type, 'resume_failed'))),
    );
  }
}

/** The lag behind the newest replicated time of all nodes; 0 means that nothing was replicated. */
function smallestLag(nodes: readonly NodeRecord[], key: string): number | undefined {
  const lags = nodes.flatMap(({ metrics, updatedSeconds }) => {
    const replicatedSeconds = metrics.get(key) ?? 0;
    return replicatedSeconds === 0 ? [] : Math.max(0, updatedSeconds - replicatedSeconds);
  });
  return smallest(lags);
}

/** Values that the nodes sent under these keys. */
function valuesOf(nodes: readonly NodeRecord[], keys: readonly string[]): readonly number[] {
  const values: number[] = [];
  for (const { metrics } of nodes) {
    for (const key of keys) {
      const value = metrics.get(key);
      if (value !== undefined) values.push(value);
    }
  }
  return values;
}
