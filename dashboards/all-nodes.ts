import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_SERIES, toBoard, toConsole } from './lib/links.ts';
import { bars, stat, timeline } from './lib/panels.ts';
import {
  coloured,
  expires,
  type Limit,
  LIVENESS,
  LIVENESS_SEVERITY,
  livenessOf,
  nodesDown,
} from './lib/style.ts';
import { table } from './lib/table.ts';
import { R, S } from './lib/variables.ts';

const SELECTED = `${R}, node_id=~"$node"`;

/** What is first looked at: all nodes of the cluster, and which were down. */
export const allNodesRow = (limit: Limit): Row => ({
  title: 'All nodes',
  panels: [
    table('Nodes', {
      about:
        'All nodes (crdb_node_info and others). Look for the one that differs. Orange: CrdbNodeRecordStale, CrdbClockOffsetHigh.',
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
          expr: livenessOf(R),
        },
        {
          title: 'up for',
          unit: 's',
          expr: `time() - max by (node_id) (crdb_node_started_timestamp_seconds{${S}})`,
        },
        {
          title: 'record age',
          unit: 's',
          steps: ['text', [limit('record_age'), 'orange']],
          expr: `min by (node_id) (crdb_node_record_age_seconds{${S}})`,
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
    timeline('Liveness', {
      about:
        'State of the selected nodes (recorded by rules.yml from crdb_node_liveness); the worst, where exporters differ. See CrdbNodeDead, CrdbNodeUnavailable.',
      queries: `${LIVENESS_SEVERITY}{${SELECTED}}`,
      unit: 'none',
      legend: 'n{{node_id}}',
      states: LIVENESS,
      width: 12,
      links: [toBoard('Only this node', 'crdb-nodes', NODE_OF_SERIES)],
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
        'Nodes that are dead or unavailable (recorded by rules.yml), also those that died while they were decommissioned; not those that have been dead for 7 days and that no range needs. Orange: CrdbNodeDead, CrdbNodeUnavailable; red: CrdbMultipleNodesDown.',
      queries: nodesDown(R),
      unit: 'short',
      steps: ['green', [1, 'orange']],
      empty: '0',
      evidence: [`${LIVENESS_SEVERITY}{${R}}`, 'status'],
      width: 4,
      height: 8,
    }).overrideByQuery('B', coloured(['red'])),
    stat('Restarts in 6 h', {
      about:
        'Restarts of the process of the selected nodes (recorded by rules.yml). Orange: CrdbNodeFlapping, which does not count upgrades.',
      queries: `changes(crdb_cluster_node:crdb_node_started_timestamp_seconds:max{${SELECTED}}[6h])`,
      unit: 'short',
      legend: 'n{{node_id}}',
      steps: ['green', [limit('restarts'), 'orange']],
      width: 4,
      height: 8,
    }),
    graph('Live nodes by $tier', {
      about:
        'Live nodes of each locality (crdb_node_locality_info). A locality that loses all its nodes at once has probably lost power or network.',
      queries: `sum by (value) (max by (node_id) (crdb_node_liveness{${S}, status="live"}) * on (node_id) group_left (value) max by (node_id, value) (crdb_node_locality_info{${S}, tier="$tier"}))`,
      unit: 'short',
      legend: '{{value}}',
      width: 6,
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
      width: 4,
    }),
    stat('Distinct builds and versions', {
      about:
        'Builds of the nodes and versions that they support (crdb_build_tags, crdb_node_info). Orange for hours: CrdbVersionSkew.',
      queries: [
        { expr: `max(crdb_build_tags{${S}})`, legend: 'builds' },
        {
          expr: `count(count by (server_version) (crdb_node_info{${S}}))`,
          legend: 'versions',
        },
      ],
      unit: 'short',
      steps: ['green', [2, 'orange']],
      height: 8,
    }).overrideByQuery('B', coloured(['text'])),
    stat('Upgrade not finalized for', {
      about:
        'Time since cluster.preserve_downgrade_option was set (crdb_preserve_downgrade_option_updated_timestamp_seconds). Blue: CrdbUpgradeNotFinalized.',
      queries: `time() - max(crdb_preserve_downgrade_option_updated_timestamp_seconds{${S}})`,
      unit: 's',
      steps: ['green', [limit('finalize_days') * 86_400, 'blue']],
      empty: 'finalized',
      evidence: [`crdb_nodes{${S}}`, 'status'],
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
      width: 6,
    }),
  ],
});
