import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { allNodesRow, RECORD_AGE } from './all-nodes.ts';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_SERIES, toBoard } from './lib/links.ts';
import { stat, timeline } from './lib/panels.ts';
import { expires, type Limit, LIVENESS, worstLiveness } from './lib/style.ts';
import { table } from './lib/table.ts';
import { clusterVariable, nodeVariable, query, S } from './lib/variables.ts';
import { storeRow } from './stores.ts';
import { chosenMetrics, workloadRow } from './workload.ts';

const CHOSEN = `${S}, node_id=~"$node"`;

const selected = (limit: Limit): Row => ({
  title: 'Selected nodes',
  panels: [
    timeline('Liveness', {
      about: 'State of the selected nodes (crdb_node_liveness); the worst, where exporters differ.',
      queries: worstLiveness(CHOSEN),
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
        'Age of the record that a node writes every 10 s (crdb_node_record_age_seconds). Orange: CrdbNodeRecordStale; its metrics are not exported, because they are too old.',
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
        'Share of all CPUs that the process uses (crdb_node_cpu_ratio). Orange for 4 hours, or red for one: CrdbNodeCpuHigh.',
      expr: `max by (node_id) (crdb_node_cpu_ratio{${CHOSEN}})`,
      unit: 'percentunit',
      steps: ['green', [limit('cpu'), 'orange'], [limit('cpu_critical'), 'red']],
    }),
    ofNode('CPU of host', {
      about:
        'Share of all CPUs that the machine uses (crdb_node_host_cpu_ratio). Far above CPU: another process uses it.',
      expr: `max by (node_id) (crdb_node_host_cpu_ratio{${CHOSEN}})`,
      unit: 'percentunit',
    }),
    ofNode('Memory of process', {
      about:
        'Share of the memory of the node (crdb_node_resident_memory_bytes, crdb_node_memory_bytes). Orange for 4 hours, or red for one: CrdbNodeMemoryHigh; the kernel may kill the process.',
      expr: `max by (node_id) (crdb_node_resident_memory_bytes{${CHOSEN}}) / on (node_id) max by (node_id) (crdb_node_memory_bytes{${S}})`,
      unit: 'percentunit',
      steps: ['green', [limit('memory'), 'orange'], [limit('memory_critical'), 'red']],
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
        'Statements that failed while they executed, per second (crdb_node_sql_failures_total). On one node only: read its log.',
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
        'Service latency of recent statements, without COMMIT and retried ones (crdb_node_sql_service_latency_p99_seconds). Orange, and twice as long as usual: CrdbLatencyHigh.',
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
        'Time until certificates expire, the first 100 (crdb_node_certificate_expiry_timestamp_seconds). Orange: CrdbCertificateExpiring; certificates of CAs and of short life have other thresholds.',
      labels: { node_id: 'node', certificate: 'certificate' },
      values: [
        {
          title: 'expires in',
          unit: 's',
          steps: expires(limit, 'certificate'),
          expr: `bottomk(100, min by (node_id, certificate) (crdb_node_certificate_expiry_timestamp_seconds{${CHOSEN}})) - time()`,
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
    rows: [allNodesRow(limit), selected(limit), workloadRow(limit), storeRow(limit), chosenMetrics],
  });
}
