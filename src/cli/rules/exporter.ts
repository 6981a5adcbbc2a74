import { alert, fold, list, present, record, type Rule, type Values } from './rule.ts';

const COLLECTOR = 'collector, shard';
/** The collector in a summary, with its shard if there are several. */
const NAME =
  'Collector {{ $labels.collector }}{{ if ne $labels.shard "0" }} (shard {{ $labels.shard }}){{ end }} for {{ $labels.crdb_cluster }}';

/** Rules on the exporter itself, and on what it can reach. */
export function exporterRules(set: Values): readonly Rule[] {
  return [...records(), ...blindness(set), ...data(), ...work()];
}

function records(): readonly Rule[] {
  return [
    record(
      'crdb_cluster_collector_shard:data_age_seconds:min',
      `time() - ${fold(COLLECTOR, 'crdb_exporter_collector_last_success_timestamp_seconds')}`,
    ),
    record(
      'crdb_cluster_collector_shard:max_age_seconds:max',
      fold(
        COLLECTOR,
        '\n  crdb_exporter_collector_interval_seconds + clamp_max(2 * crdb_exporter_collector_interval_seconds, 600)\n',
      ),
      {
        comment:
          'The default max_age, after which the exporter drops the data: min(3 × interval, interval + 10m).',
      },
    ),
    record(
      'crdb_cluster_collector_shard:poll_duty:ratio',
      fold(
        COLLECTOR,
        '\n  crdb_exporter_collector_duration_seconds / (crdb_exporter_collector_interval_seconds > 0)\n',
      ),
    ),
    record(
      'crdb_cluster_collector_shard:interval_stretch:ratio',
      `min by (crdb_cluster, ${COLLECTOR}) (
  crdb_exporter_collector_interval_seconds / (crdb_exporter_collector_configured_interval_seconds > 0)
)`,
    ),
    record(
      'crdb_cluster:crdb_up:lost',
      `group by (crdb_cluster) (
  present_over_time(crdb_up[6h]) unless on (job) up == 1
)
unless
${present('', 'crdb_up')}`,
      {
        comment:
          'Clusters on which no exporter reports because none is up. A cluster that was removed from the configuration is not among them.',
      },
    ),
    record('crdb_cluster:crdb_up:known', `${fold('', 'crdb_up')} or crdb_cluster:crdb_up:lost`, {
      comment: 'Clusters that are monitored, or should be.',
    }),
  ];
}

function blindness({ job }: Values): readonly Rule[] {
  return [
    alert('CrdbWatchdog', 'none', 'exporter', {
      expr: 'vector(1)',
      summary: 'Prometheus evaluates rules and Alertmanager sends notifications.',
      description:
        "This alert always fires. Send it to a dead man's switch, which calls somebody when it stops.",
    }),
    alert('CrdbExporterDown', 'warning', 'exporter', {
      expr: `up{job=~${job}} == 0`,
      for: '5m',
      summary: 'CockroachDB exporter {{ $labels.instance }} cannot be scraped.',
      description:
        'Prometheus has failed to scrape {{ $labels.instance }} (job {{ $labels.job }}) for 5 minutes. CrdbMonitoringBlind fires when a cluster has no exporter left.',
    }),
    alert('CrdbMonitoringBlind', 'critical', 'exporter', {
      expr: 'group(crdb_cluster:crdb_up:lost) or absent_over_time(crdb_up[6h])',
      for: '5m',
      summary: 'No exporter reports on CockroachDB clusters.',
      description:
        'No other alert can fire on: {{ range $i, $row := query "crdb_cluster:crdb_up:lost" | sortByLabel "crdb_cluster" }}{{ if $i }}, {{ end }}{{ $row.Labels.crdb_cluster }}{{ else }}all clusters (none seen for 6 hours){{ end }}. Targets that cannot be scraped: {{ range $i, $row := query "up == 0 and on (job) max by (job) (max_over_time(crdb_up[6h]))" | sortByLabel "instance" }}{{ if $i }}, {{ end }}{{ $row.Labels.instance }}{{ else }}none{{ end }}. Check the clusters themselves (DB Console), then the exporters.',
    }),
    alert('CrdbClusterApiDown', 'critical', 'api', {
      expr: `${fold('', 'crdb_up{api="cluster"}')} == 0`,
      for: '3m',
      summary:
        'No exporter gets a successful response from the REST API of {{ $labels.crdb_cluster }}.',
      description: `For 3 minutes no configured node has returned a successful, authenticated response; other alerts on this cluster cannot fire. Failed polls of the last 10 minutes by reason: ${list(
        'sum by (reason) (increase(crdb_exporter_poll_failures_total{crdb_cluster="%s",collector!="cloud"}[10m])) > 0',
        '{{ $row.Labels.reason }} {{ printf "%.0f" $row.Value }}',
        { sortBy: 'reason' },
      )} (timeout, network, http: the cluster may be down; auth, tls: only the exporter has no access). First run a SQL query: the database may still work.`,
    }),
    alert('CrdbAccessRejected', 'warning', 'api', {
      expr: `max by (crdb_cluster, collector, reason) (
  increase(crdb_exporter_poll_failures_total{reason=~"auth|forbidden"}[15m])
) >= 2`,
      for: '10m',
      summary:
        '{{ if eq $labels.collector "cloud" }}The Cloud API rejects the token for {{ $labels.crdb_cluster }}.{{ else }}{{ $labels.crdb_cluster }} denies the exporter access to {{ $labels.collector }}.{{ end }}',
      description:
        'Collector {{ $labels.collector }} failed {{ printf "%.0f" $value }} times in 15 minutes with reason {{ $labels.reason }}. auth: wrong or expired password or token; forbidden: the user lacks a privilege (run crdb-exporter diagnose).',
    }),
  ];
}

function data(): readonly Rule[] {
  const age = 'crdb_cluster_collector_shard:data_age_seconds:min';
  const limit = 'crdb_cluster_collector_shard:max_age_seconds:max';
  return [
    alert('CrdbDataStale', 'warning', 'exporter', {
      expr: `${age} > ${limit}
or
(
  ${fold(COLLECTOR, 'crdb_exporter_collector_success')} == 0
  unless
  ${age}
)`,
      for: '2m',
      summary:
        'No fresh data of collector {{ $labels.collector }}{{ if ne $labels.shard "0" }} (shard {{ $labels.shard }}){{ end }} for {{ $labels.crdb_cluster }}.',
      description:
        '{{ if eq $value 0.0 }}No poll has succeeded since the exporter started.{{ else }}The last successful poll was {{ $value | humanizeDuration }} ago, longer than max_age.{{ end }} Alerts on this data cannot fire.',
    }),
    alert('CrdbShardsMissing', 'warning', 'exporter', {
      expr: `(
  count by (crdb_cluster) (
    ${age}{collector="ranges"}
    <= ${limit}
  )
  or
  0 * ${present('', 'crdb_exporter_shards')}
)
< on (crdb_cluster) (${fold('', 'crdb_exporter_shards')} > 1)`,
      for: '5m',
      summary: 'Only {{ $value }} shard(s) export range data of {{ $labels.crdb_cluster }}.',
      description: `Fewer than the configured {{ range printf "max by (crdb_cluster) (crdb_exporter_shards{crdb_cluster=\\"%s\\"})" $labels.crdb_cluster | query }}{{ .Value }}{{ end }}: no shard reads the ranges of the missing ones. Fresh: ${list(
        `${age}{crdb_cluster="%s",collector="ranges"} <= ${limit}`,
        '{{ $row.Labels.shard }}',
        { sortBy: 'shard' },
      )}.`,
    }),
  ];
}

function work(): readonly Rule[] {
  const duty = 'crdb_cluster_collector_shard:poll_duty:ratio';
  const stretch = 'crdb_cluster_collector_shard:interval_stretch:ratio';
  return [
    alert('CrdbExporterSaturated', 'info', 'exporter', {
      expr: `${duty} > 0.8\nor\n${stretch} > 3`,
      for: '30m',
      summary: `${NAME} is polled less often than configured.`,
      description:
        'A poll takes more than 80 percent of its interval, or max_duty has stretched the interval to more than three times the configured one: data is older, and its alerts fire later. Shard the exporter, raise max_duty or concurrency if the cluster has spare capacity, or configure the longer interval.',
    }),
    alert('CrdbExporterLimitHit', 'warning', 'exporter', {
      expr: `${fold(`${COLLECTOR}, limit`, 'crdb_exporter_collector_limit_hit')} == 1`,
      for: '30m',
      summary: `${NAME} reaches its {{ $labels.limit }} limit.`,
      description:
        'For 30 minutes every poll has reached the {{ $labels.limit }} limit: the counts of this collector are lower bounds (limit series: series were dropped, see crdb_exporter_series_dropped_total by family).',
    }),
    alert('CrdbConfigReloadFailed', 'warning', 'exporter', {
      expr: 'min by (job, instance) (crdb_exporter_config_last_reload_successful) == 0',
      for: '5m',
      summary: 'Exporter {{ $labels.instance }} runs with an old configuration.',
      description:
        'The configuration, the web config or a certificate is invalid. The exporter keeps the last valid version until a restart. crdb-exporter check and the log show the errors.',
    }),
  ];
}
