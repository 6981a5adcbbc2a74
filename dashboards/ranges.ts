import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import type { ReportedProblem } from '#base';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, toBoard, toConsole } from './lib/links.ts';
import { bars, note, pie, stat } from './lib/panels.ts';
import { coloured, type Limit } from './lib/style.ts';
import { table } from './lib/table.ts';
import { choices, nodeVariable, R, S } from './lib/variables.ts';
import { problemRanges } from './problem-ranges.ts';
import { safeToStop } from './safe-to-stop.ts';

const CHOSEN = 'problem=~"$problem"';
/** Ranges without a live replica are listed, too: no range reports that problem. */
const LISTED = 'problem=~"$problem|no_live_replica"';

/** All problems, the worst first. */
const BY_SEVERITY: readonly ReportedProblem[] = [
  'unavailable',
  'no_lease',
  'no_raft_leader',
  'circuit_breaker_error',
  'underreplicated',
  'raft_log_too_large',
  'paused_followers',
  'leader_not_lease_holder',
  'quiescent_equals_ticking',
  'range_too_large',
  'overreplicated',
  'other',
];

/** Ranges of the chosen problem. */
function problemCount(which: string): string {
  return `sum by (problem) (max by (problem, shard) (crdb_range_problem_ranges{${S}, ${CHOSEN}${which}}))`;
}

/** Those for which a critical alert fires: without lease or leader where it is not known that they serve requests. */
const CRITICAL = `${problemCount(', problem="unavailable"')} or ${problemCount(', problem=~"no_lease|no_raft_leader|circuit_breaker_error"')} unless on () crdb_cluster:crdb_ranges_serving_nothing:max{${R}} == 0`;

const state: Row = {
  title: 'State',
  panels: [
    stat('Problem: $problem', {
      about:
        'Distinct ranges with the problem (crdb_range_problem_ranges). Red: CrdbRangesUnavailable, CrdbRangesWithoutLease; orange: CrdbRangesUnderreplicated, CrdbRangeProblemPersistent. With shards an upper bound, because replicas on several shards may report the same range.',
      queries: [
        { expr: `${problemCount('')} unless on (problem) (${CRITICAL})`, legend: '{{problem}}' },
        { expr: CRITICAL, legend: '{{problem}}' },
      ],
      unit: 'short',
      repeat: 'problem',
      steps: ['green', [1, 'orange']],
      width: 24,
      links: [toConsole('problem ranges', 'reports/problemranges')],
    }).overrideByQuery('B', coloured(['green', [1, 'red']])),
    stat('Ranges', {
      about:
        'Distinct ranges (crdb_ranges). No data: sharded, route local, or a node could not be read. Falls when all replicas of ranges are on nodes that are down: see Lost ranges.',
      queries: `max(crdb_ranges{${S}})`,
      unit: 'short',
      width: 6,
    }),
    stat('Nodes scanned', {
      about:
        'Share of all nodes that the last scan read, those that it skips because they are down included (crdb_range_scan_nodes). Below 100 % all counts are lower bounds: CrdbRangeScanIncomplete, CrdbNodeDead.',
      queries: `sum(max by (shard) (crdb_range_scan_nodes{${S}, state="scanned"})) / sum(max by (shard) (sum without (state) (crdb_range_scan_nodes{${S}})))`,
      unit: 'percentunit',
      steps: ['orange', [1, 'green']],
      width: 6,
    }),
    stat('Nodes skipped', {
      about:
        'Nodes that the scan skips because they are not live (crdb_range_scan_nodes). Ranges with all replicas on them are in no count. See CrdbNodeDead.',
      queries: `sum(max by (shard) (crdb_range_scan_nodes{${S}, state="skipped"}))`,
      unit: 'short',
      steps: ['green', [1, 'orange']],
      width: 6,
    }),
    table('Nodes that could not be read', {
      about:
        'Nodes that the last scan failed to read (crdb_range_scan_node_success). See CrdbRangeScanIncomplete.',
      labels: {
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
      },
      values: [
        {
          title: 'read',
          expr: `max by (node_id) (crdb_range_scan_node_success{${S}}) == 0`,
          hidden: true,
        },
      ],
      empty: 'all read',
      evidence: [`crdb_range_scan_node_success{${S}}`, 'node_id'],
      width: 6,
      height: 4,
    }),
  ],
};

const problemRow: Row = {
  title: 'Problems',
  panels: [
    table('Node x problem', {
      about:
        'Replicas that report a problem, by reporting node, which is not necessarily the cause (crdb_range_problem_replicas).',
      labels: {
        node_id: {
          title: 'reported by',
          links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)],
        },
        problem: 'problem',
      },
      values: [
        {
          title: 'replicas',
          expr: `sum by (node_id, problem) (max by (node_id, store_id, problem) (crdb_range_problem_replicas{${S}, ${CHOSEN}, node_id=~"$node"})) > 0`,
        },
      ],
      sortBy: 'replicas',
      empty: 'none',
      evidence: [`crdb_range_problem_ranges{${S}}`, 'problem'],
    }),
    graph('Problems over time', {
      about: 'Distinct ranges by problem (crdb_range_problem_ranges).',
      queries: `sum by (problem) (max by (problem, shard) (crdb_range_problem_ranges{${S}, ${CHOSEN}}))`,
      unit: 'short',
      legend: '{{problem}}',
      width: 12,
    }),
    problemRanges('Problem ranges', { problems: LISTED, nodes: 'node_id=~"$node"', width: 20 }),
    stat('Not listed', {
      about:
        'Ranges with a problem that exceed the list (crdb_problem_ranges_omitted). Raise `problem_ranges` to list more.',
      queries: `sum(max by (problem, shard) (crdb_problem_ranges_omitted{${S}, ${LISTED}}))`,
      unit: 'short',
      height: 8,
    }),
  ],
};

const leases = (limit: Limit): Row => ({
  title: 'Leases and replicas',
  panels: [
    graph('Leases by node', {
      about: 'Ranges whose lease the node holds (crdb_range_leases).',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_range_leases{${S}}))`,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
    graph('Replicas by node', {
      about: 'Replicas that a node holds (crdb_range_replicas).',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_range_replicas{${S}}))`,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
    graph('Lease imbalance', {
      about:
        'Leases of a node as a multiple of the mean of the other nodes of its region, the largest of each region (recorded by rules.yml from crdb_range_leases). Above the dashed line, and its CPU is above theirs: CrdbNodeHotspot; check lease preferences and nodes that restarted.',
      // The recorded series outlives the data by 10 minutes.
      queries: `max by (region) (crdb_cluster_region_node:crdb_range_leases:over_others{${R}}) and on () crdb_range_scan_nodes{${S}}`,
      unit: 'short',
      legend: '{{region}}',
      empty: 'no region has two nodes',
      evidence: [`crdb_range_scan_nodes{${S}}`, 'region'],
      steps: ['green', [limit('lease_imbalance'), 'orange']],
    }),
    graph('Lease changes', {
      about:
        'Leases that moved between two scans (crdb_range_lease_changes_total). Many: nodes miss heartbeats, or leases follow the load.',
      queries: `sum(max by (shard) (rate(crdb_range_lease_changes_total{${S}}[$__rate_interval])))`,
      unit: 'cps',
      legend: 'changes',
    }),
    graph('Quiescent and ticking replicas', {
      about:
        'Quiescent replicas and replicas whose raft group ticks (crdb_range_replicas_quiescent, _ticking). With leader leases no replica is quiescent.',
      queries: [
        {
          expr: `sum(max by (node_id, store_id) (crdb_range_replicas_quiescent{${S}}))`,
          legend: 'quiescent',
        },
        {
          expr: `sum(max by (node_id, store_id) (crdb_range_replicas_ticking{${S}}))`,
          legend: 'ticking',
        },
      ],
      unit: 'short',
    }),
    pie('Lease kinds', {
      about: 'Ranges by the kind of their last lease (crdb_ranges_by_lease_kind).',
      queries: `sum by (kind) (max by (kind, shard) (crdb_ranges_by_lease_kind{${S}}))`,
      unit: 'short',
      legend: '{{kind}}',
      width: 4,
    }),
    bars('Ranges by number of replicas', {
      about: 'Ranges by the number of their replicas (crdb_ranges_by_replicas).',
      queries: `sum by (replicas) (max by (replicas, shard) (crdb_ranges_by_replicas{${S}}))`,
      unit: 'short',
      legend: '{{replicas}}',
      width: 4,
    }),
  ],
});

/** The labels of a table, and a family of the configured tables. */
const OF_TABLE = 'database, schema, table';
const CONFIGURED = `group by (${OF_TABLE}) (crdb_table_zone_replicas{${S}})`;

const tables: Row = {
  title: 'Tables',
  collapsed: true,
  panels: [
    note(
      'Panels without data',
      'This row needs tables in `collectors.tables.tables` and the collector `tables` enabled.',
    ),
    table('Configured tables', {
      about:
        'Ranges, replicas, garbage collection and indexes of the configured tables (crdb_table_ranges, crdb_table_zone_replicas, …). A table with fewer than 3 replicas does not survive a failure.',
      labels: { database: 'database', schema: 'schema', table: 'table' },
      values: [
        {
          title: 'ranges',
          unit: 'short',
          expr: `max by (${OF_TABLE}) (crdb_table_ranges{${S}}) and on (${OF_TABLE}) ${CONFIGURED}`,
        },
        {
          title: 'replicas',
          unit: 'short',
          expr: `max by (${OF_TABLE}) (crdb_table_zone_replicas{${S}})`,
        },
        {
          title: 'GC after',
          unit: 's',
          expr: `max by (${OF_TABLE}) (crdb_table_zone_gc_ttl_seconds{${S}})`,
        },
        {
          title: 'indexes',
          unit: 'short',
          expr: `max by (${OF_TABLE}) (crdb_table_indexes{${S}})`,
        },
      ],
      empty: 'no table is configured',
      // While the collector has no current data, no table would be listed either.
      evidence: [`crdb_exporter_series{${S}, collector="tables"} > 0`, 'table'],
    }),
    graph('Ranges of configured tables', {
      about: 'Number of ranges of each table (crdb_table_ranges).',
      queries: `max by (${OF_TABLE}) (crdb_table_ranges{${S}}) and on (${OF_TABLE}) ${CONFIGURED}`,
      unit: 'short',
      legend: '{{database}}.{{schema}}.{{table}}',
      width: 12,
    }),
  ],
};

export function ranges(limit: Limit): Dashboard {
  return buildBoard({
    uid: 'crdb-ranges',
    title: 'Ranges',
    question: 'Which ranges are broken, where, since when?',
    variables: [choices('problem', 'Problem', BY_SEVERITY), nodeVariable()],
    rows: [state, problemRow, safeToStop, leases(limit), tables],
  });
}
