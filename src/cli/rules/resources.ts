import {
  ADDRESS,
  alert,
  byLocality,
  figure,
  fold,
  last,
  list,
  listNodes,
  present,
  record,
  type Rule,
  type Values,
} from './rule.ts';

const NODE = 'n{{ $labels.node_id }} of {{ $labels.crdb_cluster }}';
const CPU = 'crdb_cluster_node:crdb_node_cpu_ratio:max';
const LEASES = 'crdb_cluster_node:crdb_range_leases:sum';
const QUERIES = 'crdb_cluster_node:crdb_store_queries_per_second:sum';

/** Rules on what nodes use: time, CPU, memory, load, licenses and certificates. */
export function resourceRules(set: Values): readonly Rule[] {
  return [...records(), ...load(set), ...limits(set), ...licenses(set), ...certificates(set)];
}

function records(): readonly Rule[] {
  const region = 'crdb_cluster_region_node:crdb_nodes:info';
  const inRegion = (value: string): string =>
    `(${value} * on (crdb_cluster, node_id) group_left (region) ${region})`;
  return [
    record(CPU, fold('node_id', last('crdb_node_cpu_ratio'))),
    record(
      'crdb_cluster_node:crdb_node_memory:ratio',
      `${fold('node_id', last('crdb_node_resident_memory_bytes'))}
/ (${fold('node_id', last('crdb_node_memory_bytes'))} > 0)`,
    ),
    record(
      region,
      `group by (crdb_cluster, node_id, region) (
  label_replace(
    crdb_cluster_node:crdb_node_info:first, "region", "$1", "locality", "(.*region=[^,]+|[^,]*).*"
  )
)`,
      { comment: 'The widest locality of a node: its region, or the first tier.' },
    ),
    ...[
      ['crdb_cluster_region_node:crdb_range_leases:over_avg', LEASES],
      ['crdb_cluster_region_node:crdb_store_queries_per_second:over_avg', QUERIES],
    ].map(([name = '', value = '']) =>
      record(
        name,
        `${inRegion(value)}
/ on (crdb_cluster, region) group_left ()
(avg by (crdb_cluster, region) ${inRegion(value)} > 0)`,
      ),
    ),
    record(
      'crdb_cluster_region_node:crdb_node_cpu_ratio:over_median',
      `${inRegion(CPU)}
- on (crdb_cluster, region) group_left ()
quantile by (crdb_cluster, region) (0.5, ${inRegion(CPU)})`,
      {
        comment:
          'Nodes are compared with those of their region: lease preferences make regions differ.',
      },
    ),
    ...['crdb_range_leases', 'crdb_store_queries_per_second'].map((family) =>
      byLocality(`${family}:sum`, `crdb_cluster_node:${family}:sum`),
    ),
    byLocality(
      'crdb_store_available_bytes:sum',
      `sum by (crdb_cluster, node_id) (${fold('node_id, store_id', 'crdb_store_available_bytes')})`,
    ),
    record(
      'crdb_cluster:crdb_node_sql_service_latency_p99_seconds:max',
      `max by (crdb_cluster) (
  crdb_node_sql_service_latency_p99_seconds and rate(crdb_node_sql_queries_total[5m]) > 1
)`,
      {
        comment:
          'Of nodes with more than one statement a second: the p99 of a few statements says nothing.',
      },
    ),
  ];
}

/** The load of a node over the mean of its region. */
function over(family: string): string {
  return `crdb_cluster_region_node:${family}:over_avg`;
}

function load(set: Values): readonly Rule[] {
  const latency = 'crdb_cluster:crdb_node_sql_service_latency_p99_seconds:max';
  return [
    alert('CrdbClockOffsetHigh', 'warning', 'node', {
      expr: `crdb_cluster_node:crdb_node_clock_offset_seconds:max > ${set.clock_offset}`,
      for: '5m',
      summary: `Clock of ${NODE} is {{ $value | humanizeDuration }} off its peers.`,
      description:
        'A node stops itself at 80 percent of --max-offset (400 ms by default). Check its time service.',
    }),
    alert('CrdbNodeCpuHigh', 'warning', 'node', {
      expr: `${CPU} > ${set.cpu}
unless on (crdb_cluster)
${present('', `${last('crdb_jobs{exported_job=~"backup|import|restore",state="running"}')} > 0`)}
or
(min_over_time(${CPU}[6h]) > ${set.cpu} and ${CPU} offset 6h)`,
      for: '1h',
      summary: `CPU of ${NODE} is at {{ $value | humanizePercentage }}.`,
      description: `The process has used more than {{ ${set.cpu} | humanizePercentage }} of all cores for an hour, or for seven while a backup, an import or a restore runs; latency rises and heartbeats are missed. Compare CrdbStatementConcurrencyHigh and the hot ranges.`,
    }),
    alert('CrdbNodeHotspot', 'warning', 'node', {
      expr: `(${over('crdb_range_leases')} > ${set.lease_imbalance} and on (crdb_cluster, node_id) ${LEASES} > 100)
or
(
  ${over('crdb_store_queries_per_second')} > ${set.load_imbalance}
  and on (crdb_cluster, node_id)
  crdb_cluster_region_node:crdb_node_cpu_ratio:over_median > 0.3
)`,
      for: '30m',
      summary: `${NODE} carries {{ printf "%.1f" $value }} times the load of the other nodes in its region.`,
      description: `For 30 minutes its leases, or its queries and its CPU, have been far above those of {{ or $labels.region "the cluster" }}. Leases: ${figure(
        `${over('crdb_range_leases')}{crdb_cluster="%s",node_id="%s"}`,
        'printf "%.1f"',
      )} times the mean; queries: ${figure(
        `${over('crdb_store_queries_per_second')}{crdb_cluster="%s",node_id="%s"}`,
        'printf "%.1f"',
      )} times; CPU: ${figure(`${CPU}{crdb_cluster="%s",node_id="%s"}`, 'humanizePercentage')}. See hot ranges on the Load dashboard, lease preferences, and whether the rebalancer works.`,
    }),
    alert('CrdbLatencyHigh', 'warning', 'sql', {
      expr: `${latency} > ${set.latency}
unless
${latency} <= ${set.latency_growth} * avg_over_time(${latency}[1d] offset 1h)`,
      for: '10m',
      summary:
        'SQL statements of {{ $labels.crdb_cluster }} take up to {{ $value | humanizeDuration }} (p99).',
      description: `For 10 minutes the slowest percent has taken longer than ${set.latency} s and ${set.latency_growth} times the mean of the last day. Slowest: ${list(
        'topk(3, max by (node_id) (crdb_node_sql_service_latency_p99_seconds{crdb_cluster="%s"}))',
        'n{{ $row.Labels.node_id }} {{ $row.Value | humanizeDuration }}',
      )}. One node: see CrdbNodeHotspot, its disk and its clock. All nodes: see range problems, hot ranges and contention.`,
    }),
  ];
}

function limits(set: Values): readonly Rule[] {
  return [
    alert('CrdbNodeMemoryHigh', 'warning', 'node', {
      expr: `crdb_cluster_node:crdb_node_memory:ratio > ${set.memory}`,
      for: '30m',
      summary: `Memory of ${NODE} is {{ $value | humanizePercentage }} used by the process.`,
      description: `Above {{ ${set.memory} | humanizePercentage }} the kernel may kill the node. Compare the session memory by application and the size of --cache and --max-sql-memory.`,
    }),
    alert('CrdbFileDescriptorsHigh', 'warning', 'node', {
      expr: `max by (crdb_cluster, node_id) (
  crdb_node_open_file_descriptors / (crdb_node_file_descriptor_limit > 0)
) > ${set.file_descriptors}`,
      for: '15m',
      summary: `${NODE} has {{ $value | humanizePercentage }} of its file descriptors open.`,
      description: `At the limit the node refuses connections and cannot open its own files. Raise the limit (nofile) or look for a connection leak. ${ADDRESS}.`,
    }),
    alert('CrdbRequestsStuck', 'warning', 'node', {
      expr: `sum by (crdb_cluster, kind) (max by (crdb_cluster, node_id, store_id, kind) (crdb_store_slow_requests)) > 0
or
label_replace(
  sum by (crdb_cluster) (max by (crdb_cluster, node_id) (crdb_node_slow_requests)) > 0,
  "kind", "distsender", "", ""
)`,
      for: '10m',
      summary: '{{ $value }} request(s) of {{ $labels.crdb_cluster }} stuck ({{ $labels.kind }}).',
      description: `raft: no quorum or an overloaded store; lease: no lease can be acquired; latch: behind another long request; distsender: sent to ranges that do not respond. On: {{ range $i, $row := printf "sum by (node_id) (max by (node_id, store_id) (crdb_store_slow_requests{crdb_cluster=\\"%s\\",kind=\\"%s\\"})) > 0" $labels.crdb_cluster $labels.kind | query | sortByLabel "node_id" }}{{ if $i }}, {{ end }}n{{ $row.Labels.node_id }}{{ end }}{{ if eq $labels.kind "distsender" }}${listNodes(
        'max by (node_id) (crdb_node_slow_requests{crdb_cluster="%s"}) > 0',
      )}{{ end }}.`,
    }),
  ];
}

const EXPIRES =
  '{{ if lt $value 0.0 }}has expired{{ else }}expires in {{ $value | humanizeDuration }}{{ end }}';

function licenses(set: Values): readonly Rule[] {
  const license = 'min by (crdb_cluster) (crdb_node_license_expiry_timestamp_seconds) - time()';
  const licenseText = {
    for: '1h',
    summary: `The license of {{ $labels.crdb_cluster }} ${EXPIRES}.`,
    description:
      'After the grace period the cluster throttles transactions; renew with SET CLUSTER SETTING enterprise.license.',
  };
  return [
    alert('CrdbLicenseExpiring', 'warning', 'node', {
      expr: `${license} < ${set.license_days} * 86400`,
      ...licenseText,
    }),
    alert('CrdbLicenseExpiring', 'critical', 'node', {
      expr: `${license} < ${set.license_critical_days} * 86400`,
      ...licenseText,
    }),
  ];
}

function certificates(set: Values): readonly Rule[] {
  const left = 'crdb_cluster_certificate:remaining_seconds:min';
  const life = 'crdb_cluster_certificate:life_seconds:max';
  /** Certificates with little left: of their life when it is short, else of these days. */
  const certificate = (days: string, caDays: string, share: string, kinds: string): string => `(
  ${left}${kinds} < ${days} * 86400
  or
  ${left}{certificate=~".*ca"} < ${caDays} * 86400
)
and
(${life} > 30 * 86400 or ${left} < ${share} * ${life})`;
  const certificateText = {
    for: '1h',
    summary: `A {{ $labels.certificate }} certificate of {{ $labels.crdb_cluster }} ${EXPIRES}.`,
    description: `{{ if eq $labels.certificate "client" }}The certificate of a SQL client, which can then no longer connect: issue a new one for its user.{{ else if match "^exporter " $labels.certificate }}A certificate of the exporter: Prometheus (server) or the cluster (client) will reject it. Replace the file; it is reloaded without a restart.{{ else }}First: ${list(
      'bottomk(3, min by (node_id) (crdb_node_certificate_expiry_timestamp_seconds{crdb_cluster="%s",certificate="%s"}))',
      'n{{ $row.Labels.node_id }}',
    )}. Install new files and send SIGHUP to the nodes; after the expiry nodes and clients can no longer connect.{{ if match "ca$" $labels.certificate }} A new CA takes time: first add it beside the old one everywhere, then issue certificates with it.{{ end }}{{ end }}`,
  };
  return [
    record(
      left,
      `min by (crdb_cluster, certificate) (crdb_node_certificate_expiry_timestamp_seconds) - time()
or
min by (crdb_cluster, certificate) (
  label_replace(
    crdb_exporter_tls_certificate_not_after_timestamp_seconds, "certificate", "exporter $1", "use", "(.+)"
  )
) - time()`,
    ),
    record(life, `max_over_time(${left}[30d:1h])`, {
      comment:
        'At least this is the life of a certificate: the most that was left of it in 30 days.',
    }),
    alert('CrdbCertificateExpiring', 'warning', 'node', {
      expr: certificate(set.certificate_days, set.ca_days, set.short_certificate, ''),
      ...certificateText,
    }),
    alert('CrdbCertificateExpiring', 'critical', 'node', {
      expr: certificate(
        set.certificate_critical_days,
        set.ca_critical_days,
        set.short_certificate_critical,
        '{certificate!~"client|exporter .+"}',
      ),
      ...certificateText,
    }),
  ];
}
