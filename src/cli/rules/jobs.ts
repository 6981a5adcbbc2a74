import { alert, fold, last, listNodes, present, type Rule, type Values } from './rule.ts';

/** Failures of all nodes within 12 hours. */
function failures(family: string): string {
  return `sum by (crdb_cluster) (${fold('node_id', `increase(${family}[12h])`)}) > 0`;
}

/** Rules on backups and changefeeds. */
export function jobRules(set: Values): readonly Rule[] {
  const lag = 'crdb_node_changefeed_max_behind_seconds';
  return [
    alert('CrdbBackupFailing', 'warning', 'job', {
      expr: failures('crdb_node_backup_schedule_failures_total'),
      summary: 'Scheduled backups of {{ $labels.crdb_cluster }} have failed in the last 12 hours.',
      description:
        'Failures: {{ printf "%.0f" $value }}. See SHOW SCHEDULES and SHOW JOBS; a disaster loses the data since the last successful backup.',
    }),
    alert('CrdbChangefeedFailing', 'warning', 'job', {
      expr: failures('crdb_node_changefeed_failures_total'),
      summary: 'Changefeeds of {{ $labels.crdb_cluster }} have failed in the last 12 hours.',
      description:
        'Failures: {{ printf "%.0f" $value }}. A failed changefeed does not restart automatically and no longer protects its data from garbage collection: after gc.ttlseconds (4 hours by default) it loses changes. See SHOW CHANGEFEED JOBS.',
    }),
    alert('CrdbChangefeedLagging', 'warning', 'job', {
      expr: `${fold('', lag)} > ${set.changefeed_lag}`,
      for: '15m',
      summary:
        'A changefeed of {{ $labels.crdb_cluster }} is {{ $value | humanizeDuration }} behind.',
      description: `For 15 minutes more than ${set.changefeed_lag} s behind. Normal during an initial scan; otherwise check the sink and the load. Sent by: ${listNodes(
        `max by (node_id) (${lag}{crdb_cluster="%s"}) > ${set.changefeed_lag}`,
      )}.`,
    }),
    alert('CrdbBackupTooOld', 'warning', 'job', {
      expr: `time() - ${fold('', last('crdb_backup_last_completed_timestamp_seconds'))} > ${set.backup_hours} * 3600`,
      for: '10m',
      summary:
        'The last backup of {{ $labels.crdb_cluster }} ended {{ $value | humanizeDuration }} ago.',
      description:
        'No scheduled backup has ended since. A disaster now would lose all changes made after it. See SHOW SCHEDULES and SHOW JOBS; set the limit to the interval of your backups.',
    }),
    ...paused(set),
    alert('CrdbReplicationLag', 'warning', 'job', {
      expr: `${fold('kind', 'crdb_node_replication_lag_seconds')} > ${set.replication_lag}`,
      for: '10m',
      summary:
        'The {{ $labels.kind }} replication into {{ $labels.crdb_cluster }} is {{ $value | humanizeDuration }} behind.',
      description: `For 10 minutes more than ${set.replication_lag} s behind: a failover now would lose the changes since then. Check the job, the source cluster and the network between the two.`,
    }),
  ];
}

/** Paused jobs. Prometheus stores the label job of these metrics as exported_job, since job names the scrape job. */
function paused({ protected_age: limit }: Values): readonly Rule[] {
  const age = 'crdb_protected_timestamp_age_seconds';
  return [
    alert('CrdbChangefeedPaused', 'warning', 'job', {
      expr: `${present('', `${last('crdb_jobs{exported_job="changefeed",state="paused"}')} > 0`)}
and
${fold('', last(`${age}{exported_job="changefeed"}`))} > ${limit}`,
      for: '15m',
      summary: 'Changefeeds of {{ $labels.crdb_cluster }} are paused and keep old data.',
      description: `The oldest data that changefeeds protect from garbage collection is older than ${limit} s and grows: disks fill and scans get slower. Consumers get no changes. Resume or cancel the job; see SHOW CHANGEFEED JOBS.`,
    }),
    alert('CrdbJobPaused', 'warning', 'job', {
      expr: `${present('exported_job', `${last('crdb_jobs{exported_job!="changefeed",state="paused"}')} > 0`)}
and
${fold('exported_job', last(age))} > ${limit}`,
      for: '15m',
      summary:
        'Jobs of {{ $labels.crdb_cluster }} ({{ $labels.exported_job }}) are paused and keep old data.',
      description: `The oldest data that jobs of this type protect from garbage collection is older than ${limit} s and grows: disks fill and scans get slower. Resume or cancel the job; see SHOW JOBS.`,
    }),
  ];
}

/** With a label that says what is wrong. */
function state(name: string, expr: string): string {
  return `label_replace(${expr}, "state", "${name}", "", "")`;
}

/** Rules on the migration assistant of the Cloud API. */
export function cloudRules(): readonly Rule[] {
  const assistant = 'crdb_cloud_migration_assistant';
  return [
    alert('CrdbMigrationAssistantFailing', 'warning', 'cloud', {
      expr: `${state('failed', `${fold('', `${assistant}_status{status="failed"}`)} == 1`)}
or
${state('not healthy', `${fold('', `${assistant}_health{health=~"unavailable|unknown"}`)} == 1`)}
or
${state(
  'stuck',
  `
  ${fold('', `${assistant}_status{status=~"pending|deleting"}`)} == 1
  and
  time() - ${fold('', `${assistant}_status_since_timestamp_seconds`)} > 2700
`,
)}`,
      for: '15m',
      summary: 'The migration assistant of {{ $labels.crdb_cluster }} is {{ $labels.state }}.',
      description:
        'failed: the last_error field of the API holds the reason (crdb-exporter cloud assistant get). not healthy: the state usually ends within minutes; this has lasted 15. stuck: it has been provisioned or deleted for an hour, which normally takes minutes.',
    }),
  ];
}
