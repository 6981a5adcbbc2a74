import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { bars, stat, timeline } from './lib/panels.ts';
import { BREAKER, expires, type Limit, SUCCESS, UP_DOWN } from './lib/style.ts';
import { table } from './lib/table.ts';
import { many, S_MANY as S } from './lib/variables.ts';
import { processRow } from './process.ts';

const OF = `${S}, collector=~"$collector", shard=~"$shard"`;
const KEYS = 'crdb_cluster, collector, shard';
const COLLECTOR = '{{crdb_cluster}} {{collector}} {{shard}}';
const AGE = `time() - max by (${KEYS}) (crdb_exporter_collector_last_success_timestamp_seconds{${OF}})`;
const INTERVAL = `max by (crdb_cluster, shard) (crdb_exporter_collector_interval_seconds{${S}, collector="ranges"})`;

function latest(family: string): string {
  return `max by (${KEYS}) (${family}{${OF}})`;
}

function rateBy(labels: string, family: string, matchers: string): string {
  return `sum by (${labels}) (rate(${family}{${matchers}}[$__rate_interval]))`;
}

const collectors = (limit: Limit): Row => ({
  title: 'Collectors and data age',
  panels: [
    table('Collectors', {
      about:
        'Result of the last poll (crdb_exporter_collector_…). Orange: CrdbDataStale, CrdbExporterLimitHit; data older than max_age is no longer exported.',
      labels: { crdb_cluster: 'cluster', collector: 'collector', shard: 'shard' },
      values: [
        { title: 'success', states: SUCCESS, expr: latest('crdb_exporter_collector_success') },
        { title: 'data age', unit: 's', expr: AGE },
        {
          title: 'age / max_age',
          unit: 'percentunit',
          steps: ['green', [1, 'orange']],
          expr: `(${AGE}) / (${latest('crdb_exporter_collector_interval_seconds')} + clamp_max(2 * ${latest('crdb_exporter_collector_interval_seconds')}, 600))`,
        },
        {
          title: 'interval',
          unit: 's',
          expr: latest('crdb_exporter_collector_interval_seconds'),
        },
        {
          title: 'configured',
          unit: 's',
          expr: latest('crdb_exporter_collector_configured_interval_seconds'),
        },
        {
          title: 'duration',
          unit: 's',
          expr: latest('crdb_exporter_collector_duration_seconds'),
        },
        { title: 'items', unit: 'short', expr: latest('crdb_exporter_collector_items') },
        {
          title: 'limit hit',
          states: { 0: ['no', 'green'], 1: ['yes', 'orange'] },
          expr: latest('crdb_exporter_collector_limit_hit'),
        },
      ],
      width: 24,
    }),
    timeline('API up', {
      about:
        'Whether the API returned a successful, authenticated response (crdb_up). Down: CrdbClusterApiDown.',
      queries: `max by (crdb_cluster, api) (crdb_up{${S}})`,
      unit: 'none',
      legend: '{{crdb_cluster}} {{api}}',
      states: UP_DOWN,
      width: 6,
    }),
    table('Exporters', {
      about: 'Running processes (crdb_exporter_build_info). Several rows: an HA pair, or shards.',
      labels: { instance: 'instance', version: 'version', revision: 'revision' },
      values: [
        {
          title: 'is',
          hidden: true,
          expr: 'max by (instance, version, revision) (crdb_exporter_build_info{job=~"$job"})',
        },
      ],
      width: 6,
    }),
    stat('Shards with fresh ranges / configured', {
      about:
        'Number of shards with fresh range data, and number of configured shards (crdb_exporter_shards). Fewer: CrdbShardsMissing. With route local each exporter is a shard of its own (shard.name), and 1 is configured.',
      queries: [
        {
          expr: `count by (crdb_cluster) (time() - max by (crdb_cluster, shard) (crdb_exporter_collector_last_success_timestamp_seconds{${S}, collector="ranges"}) <= ${INTERVAL} + clamp_max(2 * ${INTERVAL}, 600))`,
          legend: '{{crdb_cluster}} fresh',
        },
        {
          expr: `max by (crdb_cluster) (crdb_exporter_shards{${S}})`,
          legend: '{{crdb_cluster}} configured',
        },
      ],
      unit: 'short',
      height: 8,
    }),
    table('TLS not verified', {
      about:
        'Clusters whose certificate is not verified (crdb_exporter_tls_verification_disabled).',
      labels: { crdb_cluster: 'cluster' },
      values: [
        {
          title: 'off',
          hidden: true,
          expr: `max by (crdb_cluster) (crdb_exporter_tls_verification_disabled{${S}}) == 1`,
        },
      ],
      empty: 'verified',
      evidence: [`crdb_exporter_tls_verification_disabled{${S}}`, 'crdb_cluster'],
      width: 4,
    }),
    table('Certificates of the exporter', {
      about:
        'Time until a certificate that the exporter presents expires (crdb_exporter_certificate_expiry_timestamp_seconds); use server has no cluster. Orange or red: CrdbCertificateExpiring.',
      labels: { crdb_cluster: 'cluster', use: 'use' },
      values: [
        {
          title: 'expires in',
          unit: 's',
          steps: expires(limit, 'certificate'),
          expr: 'min by (crdb_cluster, use) (crdb_exporter_certificate_expiry_timestamp_seconds{job=~"$job"}) - time()',
        },
      ],
      empty: 'none in use',
      evidence: ['crdb_exporter_build_info{job=~"$job"}', 'use'],
      width: 4,
    }),
    graph('Data age', {
      about:
        'Time since the last successful poll (crdb_exporter_collector_last_success_timestamp_seconds). Normally it stays below the interval.',
      queries: AGE,
      unit: 's',
      legend: COLLECTOR,
      width: 6,
    }),
    graph('Time used of interval', {
      about:
        'Duration of the last poll as a share of the interval (crdb_exporter_collector_duration_seconds). Above 80 % the next polls are late: shard the exporter or raise the interval.',
      queries: `max by (${KEYS}) (crdb_exporter_collector_duration_seconds{${OF}} / (crdb_exporter_collector_interval_seconds{${OF}} > 0))`,
      unit: 'percentunit',
      legend: COLLECTOR,
      width: 6,
    }),
    graph('Interval / configured', {
      about:
        'Above 1, max_duty stretches the interval (crdb_exporter_collector_interval_seconds). Above 3 data is old: shard the exporter, raise max_duty, or set the longer interval.',
      queries: `min by (${KEYS}) (crdb_exporter_collector_interval_seconds{${OF}} / (crdb_exporter_collector_configured_interval_seconds{${OF}} > 0))`,
      unit: 'short',
      legend: COLLECTOR,
      width: 6,
    }),
    graph('Replicas read and counted', {
      about:
        "Replicas that the range scans read (crdb_range_replicas), and the nodes' own counts of the same stores (crdb_store_replicas). Different: CrdbScanDisagrees.",
      queries: [
        {
          expr: `sum by (crdb_cluster, instance) (crdb_range_replicas{${S}} and on (crdb_cluster, node_id, store_id) crdb_store_replicas{${S}})`,
          legend: '{{crdb_cluster}} {{instance}} read',
        },
        {
          expr: `sum by (crdb_cluster, instance) (group by (crdb_cluster, instance, node_id, store_id) (crdb_range_replicas{${S}}) * on (crdb_cluster, node_id, store_id) group_left () max by (crdb_cluster, node_id, store_id) (crdb_store_replicas{${S}}))`,
          legend: '{{crdb_cluster}} {{instance}} counted',
        },
      ],
      unit: 'short',
      width: 6,
    }),
    bars('Range scan progress', {
      about:
        'Share of nodes that the running or last scan has finished (crdb_exporter_range_scan_nodes_done).',
      queries: `max by (crdb_cluster, shard) (crdb_exporter_range_scan_nodes_done{${S}} / (crdb_exporter_range_scan_nodes_planned{${S}} > 0))`,
      unit: 'percentunit',
      legend: '{{crdb_cluster}} {{shard}}',
      width: 6,
    }),
  ],
});

const errors: Row = {
  title: 'Errors and limits',
  panels: [
    graph('Poll failures by reason', {
      about: 'Failed polls (crdb_exporter_poll_failures_total). The log has the cause and a hint.',
      queries: `${rateBy(`${KEYS}, reason`, 'crdb_exporter_poll_failures_total', OF)} > 0`,
      empty: 'none',
      evidence: [`crdb_exporter_poll_failures_total{${OF}}`, 'reason'],
      unit: 'cps',
      legend: `${COLLECTOR} {{reason}}`,
    }),
    graph('Skipped polls', {
      about:
        'Polls that did not start (crdb_exporter_polls_skipped_total), because the previous one was still running or the circuit breaker was open.',
      queries: `${rateBy(`${KEYS}, reason`, 'crdb_exporter_polls_skipped_total', OF)} > 0`,
      empty: 'none',
      evidence: [`crdb_exporter_polls_skipped_total{${OF}}`, 'reason'],
      unit: 'cps',
      legend: `${COLLECTOR} {{reason}}`,
    }),
    timeline('Limits hit', {
      about:
        'Polls that reached a limit (crdb_exporter_collector_limit_hit). Their counts are lower bounds: CrdbExporterLimitHit.',
      queries: `max by (${KEYS}, limit) (crdb_exporter_collector_limit_hit{${OF}}) == 1`,
      unit: 'none',
      legend: `${COLLECTOR} {{limit}}`,
      states: { 1: ['hit', 'orange'] },
      empty: 'none',
      evidence: [`crdb_exporter_collector_limit_hit{${OF}}`, 'limit'],
    }),
    graph('Missing metrics of nodes', {
      about:
        'Metrics that are read and that no node sends any more (crdb_exporter_node_keys_missing). Above 0: CrdbNodeKeysMissing.',
      queries: `max by (crdb_cluster) (crdb_exporter_node_keys_missing{${S}})`,
      unit: 'short',
      decimals: 0,
      legend: '{{crdb_cluster}}',
    }),
    graph('Decode errors', {
      about:
        'Fields or elements that were skipped because of a wrong type (crdb_exporter_decode_errors_total). The server may have a new version.',
      queries: rateBy('endpoint', 'crdb_exporter_decode_errors_total', S),
      unit: 'cps',
      legend: '{{endpoint}}',
    }),
    graph('Login failures', {
      about: 'Failed logins (crdb_exporter_login_failures_total).',
      queries: rateBy('reason', 'crdb_exporter_login_failures_total', S),
      unit: 'cps',
      legend: '{{reason}}',
    }),
    timeline('Circuit breakers', {
      about:
        'Current state for each configured address (crdb_exporter_breaker_state). Open: requests go to the other addresses.',
      queries: `2 * max by (crdb_cluster, target) (crdb_exporter_breaker_state{${S}, state="open"}) + max by (crdb_cluster, target) (crdb_exporter_breaker_state{${S}, state="half_open"})`,
      unit: 'none',
      legend: '{{crdb_cluster}} {{target}}',
      states: BREAKER,
    }),
  ],
};

const cost: Row = {
  title: 'Load put on the database',
  panels: [
    graph('Requests', {
      about: 'Requests to the APIs by endpoint and status (crdb_exporter_http_requests_total).',
      queries: rateBy('endpoint, code', 'crdb_exporter_http_requests_total', S),
      unit: 'reqps',
      legend: '{{endpoint}} {{code}}',
      width: 6,
    }),
    graph('Request time p95', {
      about: 'Duration by endpoint (crdb_exporter_http_request_duration_seconds).',
      // The second is the name where Prometheus converts classic histograms to native ones.
      queries: [
        rateBy('endpoint, le', 'crdb_exporter_http_request_duration_seconds_bucket', S),
        rateBy('endpoint', 'crdb_exporter_http_request_duration_seconds', S),
      ]
        .map((rate) => `histogram_quantile(0.95, ${rate})`)
        .join(' or '),
      unit: 's',
      legend: '{{endpoint}}',
      width: 6,
    }),
    graph('Bytes read', {
      about: 'Size of responses after decompression (crdb_exporter_http_response_bytes_total).',
      queries: rateBy('api, endpoint', 'crdb_exporter_http_response_bytes_total', S),
      unit: 'Bps',
      legend: '{{api}} {{endpoint}}',
      width: 6,
    }),
    graph('Retries', {
      about: 'Retries by reason (crdb_exporter_http_retries_total).',
      queries: rateBy('endpoint, reason', 'crdb_exporter_http_retries_total', S),
      unit: 'cps',
      legend: '{{endpoint}} {{reason}}',
      empty: 'none',
      evidence: [`crdb_exporter_http_requests_total{${S}}`, 'reason'],
      width: 6,
    }),
  ],
};

function valuesOf(label: string): string {
  return `label_values(crdb_exporter_collector_success{${S}}, ${label})`;
}

export function exporter(limit: Limit): Dashboard {
  const instances = 'label_values(crdb_exporter_build_info{job=~"$job"}, instance)';
  return buildBoard({
    uid: 'crdb-exporter',
    title: 'Exporter',
    question: 'Can I trust the other dashboards?',
    showsMany: true,
    variables: [
      many('collector', 'Collector', valuesOf('collector')),
      many('shard', 'Shard', valuesOf('shard')),
      many('instance', 'Instance', instances),
    ],
    rows: [collectors(limit), errors, cost, processRow],
  });
}
