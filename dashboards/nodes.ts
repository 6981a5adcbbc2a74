import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_SERIES, toBoard, toConsole } from './lib/links.ts';
import { bars, stat, timeline } from './lib/panels.ts';
import { expires, type Limit, LIVENESS } from './lib/style.ts';
import { table } from './lib/table.ts';
import { clusterVariable, nodeVariable, query, S } from './lib/variables.ts';
import { storeRow } from './stores.ts';
import { chosenMetrics, workloadRow } from './workload.ts';

const CHOSEN = `${S}, node_id=~"$node"`;
const LAST_POLL = `max(crdb_exporter_collector_last_success_timestamp_seconds{${S}, collector="nodes"})`;
const RECORD_AGE = `${LAST_POLL} - on () group_right () max by (node_id) (crdb_node_updated_timestamp_seconds`;

const all = (limit: Limit): Row => ({
  title: 'All nodes',
  panels: [
    table('Nodes', {
      about: 'All nodes (crdb_node_info and others). Look for the one that differs.',
      labels: {
        node_id: {
          title: 'node',
          links: [
            toConsole('node', 'node/${__data.fields.node_id}'),
            toConsole('logs', 'node/${__data.fields.node_id}/logs'),
          ],
        },
        address: 'address',
        locality: 'locality',
        build_tag: 'build',
      },
      values: [
        {
          title: 'info',
          hidden: true,
          expr: `max by (node_id, address, locality, build_tag) (crdb_node_info{${S}})`,
        },
        {
          title: 'status',
          unit: 'none',
          states: LIVENESS,
          expr: `max by (node_id) (crdb_node_liveness_code{${S}})`,
        },
        {
          title: 'up for',
          unit: 'dtdurations',
          expr: `time() - max by (node_id) (crdb_node_started_timestamp_seconds{${S}})`,
        },
        {
          title: 'record age',
          unit: 's',
          steps: ['text', [limit('record_age'), 'orange']],
          expr: `${RECORD_AGE}{${S}})`,
        },
        { title: 'CPUs', unit: 'short', expr: `max by (node_id) (crdb_node_cpus{${S}})` },
        { title: 'memory', unit: 'bytes', expr: `max by (node_id) (crdb_node_memory_bytes{${S}})` },
        {
          title: 'leases',
          unit: 'short',
          expr: `sum by (node_id) (max by (node_id, store_id) (crdb_range_leases{${S}}))`,
        },
        {
          title: 'queries/s',
          unit: 'reqps',
          expr: `sum by (node_id) (max by (node_id, store_id) (crdb_store_queries_per_second{${S}}))`,
        },
        {
          title: 'sessions',
          unit: 'short',
          expr: `max by (node_id) (sum without (state) (crdb_sessions{${S}}))`,
        },
        {
          title: 'clock offset',
          unit: 's',
          steps: ['text', [limit('clock_offset'), 'orange']],
          expr: `max by (node_id) (abs(crdb_node_clock_offset_seconds{${S}}))`,
        },
      ],
      join: 'node_id',
      width: 24,
      height: 9,
    }),
    bars('Nodes by status', {
      about: 'Number of nodes in each state (crdb_nodes).',
      queries: `max by (status) (crdb_nodes{${S}})`,
      unit: 'short',
      legend: '{{status}}',
      width: 4,
    }),
    stat('Nodes down', {
      about:
        'Nodes that are dead or unavailable (crdb_node_liveness). Red: two at once, see CrdbMultipleNodesDown.',
      queries: `count(max by (node_id) (crdb_node_liveness{${S}, status=~"dead|unavailable"}) == 1)`,
      unit: 'short',
      steps: ['green', [1, 'orange'], [2, 'red']],
      empty: '0',
      evidence: [`crdb_nodes{${S}}`, 'status'],
      width: 3,
      height: 8,
    }),
    graph('Live nodes by $tier', {
      about:
        'Live nodes of each locality (crdb_node_locality_info). A locality that loses all its nodes at once has probably lost power or network.',
      queries: `sum by (value) (max by (node_id) (crdb_node_liveness{${S}, status="live"}) * on (node_id) group_left (value) max by (node_id, value) (crdb_node_locality_info{${S}, tier="$tier"}))`,
      unit: 'short',
      legend: '{{value}}',
      width: 4,
    }),
    table('Builds', {
      about: 'Nodes by build (crdb_node_info). Two rows: an upgrade is in progress.',
      labels: { build_tag: 'build', server_version: 'version' },
      values: [
        {
          title: 'nodes',
          unit: 'short',
          expr: `count by (build_tag, server_version) (max by (node_id, build_tag, server_version) (crdb_node_info{${S}}))`,
        },
      ],
      width: 5,
    }),
    stat('Upgrade not finalized for', {
      about:
        'Time since cluster.preserve_downgrade_option was set (crdb_preserve_downgrade_option_updated_timestamp_seconds). Orange: CrdbUpgradeNotFinalized.',
      queries: `time() - max(crdb_preserve_downgrade_option_updated_timestamp_seconds{${S}})`,
      unit: 's',
      steps: ['green', [limit('finalize_days') * 86_400, 'orange']],
      empty: 'finalized',
      evidence: [`crdb_nodes{${S}}`, 'status'],
      width: 3,
      height: 8,
    }),
    table('Certificates', {
      about:
        'Time until the first certificate of each kind expires (crdb_node_certificate_expiry_timestamp_seconds). Orange: CrdbCertificateExpiring; certificates of CAs and of short life have other thresholds.',
      labels: { certificate: 'certificate' },
      values: [
        {
          title: 'expires in',
          unit: 's',
          steps: expires(limit, 'certificate'),
          expr: `min by (certificate) (crdb_node_certificate_expiry_timestamp_seconds{${S}}) - time()`,
        },
      ],
      width: 5,
    }),
  ],
});

const selected = (limit: Limit): Row => ({
  title: 'Selected nodes',
  panels: [
    timeline('Liveness', {
      about: 'State of the selected nodes (crdb_node_liveness_code).',
      queries: `max by (node_id) (crdb_node_liveness_code{${CHOSEN}})`,
      unit: 'none',
      legend: 'n{{node_id}}',
      states: LIVENESS,
    }),
    stat('Restarts in 6 h', {
      about:
        'Restarts of the process (crdb_node_started_timestamp_seconds). Orange: CrdbNodeFlapping.',
      queries: `max by (node_id) (changes(crdb_node_started_timestamp_seconds{${CHOSEN}}[6h]))`,
      unit: 'short',
      legend: 'n{{node_id}}',
      steps: ['green', [limit('restarts'), 'orange']],
      width: 8,
      height: 8,
    }),
    ofNode('Status record age', {
      about:
        'Age of the record that a node writes every 10 s (crdb_node_updated_timestamp_seconds). Orange: CrdbNodeRecordStale; its metrics are not exported, because they are too old.',
      expr: `${RECORD_AGE}{${CHOSEN}})`,
      unit: 's',
      steps: ['green', [limit('record_age'), 'orange']],
    }),
    ofNode('Clock offset', {
      about:
        'Mean offset to the other nodes (crdb_node_clock_offset_seconds). Orange: CrdbClockOffsetHigh; at 0.4 s the node stops itself.',
      expr: `max by (node_id) (abs(crdb_node_clock_offset_seconds{${CHOSEN}}))`,
      unit: 's',
      steps: ['green', [limit('clock_offset'), 'orange']],
    }),
    ofNode('CPU', {
      about:
        'Share of all CPUs that the process uses (crdb_node_cpu_ratio). Orange for an hour: CrdbNodeCpuHigh.',
      expr: `max by (node_id) (crdb_node_cpu_ratio{${CHOSEN}})`,
      unit: 'percentunit',
      steps: ['green', [limit('cpu'), 'orange']],
    }),
    ofNode('CPU of host', {
      about:
        'Share of all CPUs that the machine uses (crdb_node_host_cpu_ratio). Far above CPU: another process uses it.',
      expr: `max by (node_id) (crdb_node_host_cpu_ratio{${CHOSEN}})`,
      unit: 'percentunit',
    }),
    ofNode('Memory of process', {
      about:
        'Share of the memory of the node (crdb_node_resident_memory_bytes, crdb_node_memory_bytes). Orange: CrdbNodeMemoryHigh; the kernel may kill the process.',
      expr: `max by (node_id) (crdb_node_resident_memory_bytes{${CHOSEN}}) / on (node_id) max by (node_id) (crdb_node_memory_bytes{${S}})`,
      unit: 'percentunit',
      steps: ['green', [limit('memory'), 'orange']],
    }),
    ofNode('Run queue per CPU', {
      about:
        'Goroutines that wait for a CPU (crdb_node_runnable_goroutines_per_cpu). Above 30 the node is overloaded.',
      expr: `max by (node_id) (crdb_node_runnable_goroutines_per_cpu{${CHOSEN}})`,
      unit: 'short',
      steps: ['green', [30, 'red']],
    }),
    ofNode('SQL statements', {
      about: 'Executed statements per second (crdb_node_sql_queries_total).',
      expr: rateOf('crdb_node_sql_queries_total'),
      unit: 'reqps',
    }),
    ofNode('Failed statements', {
      about:
        'Failed statements per second (crdb_node_sql_failures_total). On one node only: read its log.',
      expr: rateOf('crdb_node_sql_failures_total'),
      unit: 'reqps',
    }),
    ofNode('SQL connections', {
      about: 'Open connections (crdb_node_sql_connections). Uneven: check the load balancer.',
      expr: `max by (node_id) (crdb_node_sql_connections{${CHOSEN}})`,
      unit: 'short',
    }),
    ofNode('SQL latency p99', {
      about:
        'Service latency of recent statements (crdb_node_sql_service_latency_p99_seconds). Orange, and twice as long as usual: CrdbLatencyHigh.',
      expr: `max by (node_id) (crdb_node_sql_service_latency_p99_seconds{${CHOSEN}})`,
      unit: 's',
      steps: ['green', [limit('latency'), 'orange']],
    }),
    ofNode('Heartbeat latency p99', {
      about:
        'Latency of recent liveness heartbeats (crdb_node_liveness_heartbeat_p99_seconds). Red: the node is about to lose its leases.',
      expr: `max by (node_id) (crdb_node_liveness_heartbeat_p99_seconds{${CHOSEN}})`,
      unit: 's',
      steps: ['green', [0.5, 'orange'], [3, 'red']],
    }),
    ofNode('Missed heartbeats', {
      about:
        'Failed liveness heartbeats (crdb_node_liveness_heartbeat_failures_total). Check disk, CPU and network.',
      expr: rateOf('crdb_node_liveness_heartbeat_failures_total'),
      unit: 'cps',
    }),
    ofNode('File descriptors', {
      about:
        'Open file descriptors as a share of the limit (crdb_node_open_file_descriptors). Orange: CrdbFileDescriptorsHigh.',
      expr: `max by (node_id) (crdb_node_open_file_descriptors{${CHOSEN}} / (crdb_node_file_descriptor_limit{${CHOSEN}} > 0))`,
      unit: 'percentunit',
      steps: ['green', [limit('file_descriptors'), 'orange']],
    }),
    ofNode('Stuck requests of gateway', {
      about:
        'Requests to ranges that do not respond (crdb_node_slow_requests). Check the problem ranges.',
      expr: `max by (node_id) (crdb_node_slow_requests{${CHOSEN}})`,
      unit: 'short',
      steps: ['green', [1, 'orange']],
    }),
    table('Certificates of selected nodes', {
      about:
        'Time until each certificate expires (crdb_node_certificate_expiry_timestamp_seconds). Orange: CrdbCertificateExpiring; certificates of CAs and of short life have other thresholds.',
      labels: { node_id: 'node', certificate: 'certificate' },
      values: [
        {
          title: 'expires in',
          unit: 's',
          steps: expires(limit, 'certificate'),
          expr: `min by (node_id, certificate) (crdb_node_certificate_expiry_timestamp_seconds{${CHOSEN}}) - time()`,
        },
      ],
      width: 8,
    }),
  ],
});

interface NodeGraph {
  readonly about: string;
  readonly expr: string;
  readonly unit: string;
  readonly steps?: Parameters<typeof graph>[1]['steps'];
}

/** One line per node; a click selects only that node. */
function ofNode(title: string, { expr, steps, ...options }: NodeGraph): ReturnType<typeof graph> {
  return graph(title, {
    ...options,
    queries: expr,
    legend: 'n{{node_id}}',
    links: [toBoard('Only this node', 'crdb-nodes', NODE_OF_SERIES)],
    ...(steps === undefined ? {} : { steps }),
  });
}

function rateOf(family: string): string {
  return `max by (node_id) (rate(${family}{${CHOSEN}}[$__rate_interval]))`;
}

export function nodes(limit: Limit): Dashboard {
  const tiers = `label_values(crdb_node_locality_info{${S}}, tier)`;
  return buildBoard({
    uid: 'crdb-nodes',
    title: 'Nodes',
    question: 'Which node differs from the others?',
    variables: [clusterVariable(), query('tier', 'Locality tier', tiers), nodeVariable()],
    rows: [all(limit), selected(limit), workloadRow(limit), storeRow(limit), chosenMetrics],
  });
}
