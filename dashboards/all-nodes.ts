import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { toConsole } from './lib/links.ts';
import { bars, stat } from './lib/panels.ts';
import { expires, type Limit, LIVENESS, worstLiveness } from './lib/style.ts';
import { table } from './lib/table.ts';
import { S } from './lib/variables.ts';

/** Without the selector of its family, and the end. */
export const RECORD_AGE = 'min by (node_id) (crdb_node_record_age_seconds';

/** All nodes of the cluster, whatever is selected. */
export const allNodesRow = (limit: Limit): Row => ({
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
          expr: worstLiveness(S),
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
      width: 3,
    }),
    stat('Nodes down', {
      about:
        'Nodes that are dead or unavailable (crdb_node_liveness), also those that died while they were decommissioned. Red: two at once, see CrdbMultipleNodesDown.',
      queries: `count(max by (node_id) (crdb_node_liveness{${S}, status=~"dead|unavailable|decommissioned"}) == 1)`,
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
      width: 4,
    }),
    stat('Distinct builds and versions', {
      about:
        'Builds of the nodes and versions that they support (crdb_build_tags, crdb_node_info). More than one build for hours: CrdbVersionSkew.',
      queries: [
        { expr: `max(crdb_build_tags{${S}})`, legend: 'builds' },
        {
          expr: `count(count by (server_version) (crdb_node_info{${S}}))`,
          legend: 'versions',
        },
      ],
      unit: 'short',
      steps: ['green', [2, 'orange']],
      width: 3,
      height: 8,
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
      width: 4,
    }),
  ],
});
