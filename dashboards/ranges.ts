import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, toBoard, toConsole } from './lib/links.ts';
import { bars, note, pie, stat } from './lib/panels.ts';
import { coloured, type Limit } from './lib/style.ts';
import { table } from './lib/table.ts';
import { clusterVariable, many, nodeVariable, S } from './lib/variables.ts';
import { problemRanges } from './problem-ranges.ts';
import { safeToStop } from './safe-to-stop.ts';

const CHOSEN = 'problem=~"$problem"';
/** Ranges without a live replica are listed, too: no range reports that problem. */
const LISTED = 'problem=~"$problem|no_live_replica"';
const LEASES = `sum by (node_id) (max by (node_id, store_id) (crdb_range_leases{${S}}))`;

/** Ranges of the chosen problem where it stops requests (`=~`), or where it does not (`!~`). */
function problemCount(match: '=~' | '!~'): string {
  return `sum by (problem) (max by (problem, shard) (crdb_range_problem_ranges{${S}, ${CHOSEN}, problem${match}"unavailable|no_lease|no_raft_leader"}))`;
}

const state: Row = {
  title: 'State',
  panels: [
    stat('Problem: $problem', {
      about:
        'Distinct ranges with the problem (crdb_range_problem_ranges). Red: no requests are served. With shards an upper bound, because replicas on several shards may report the same range.',
      queries: [
        { expr: problemCount('!~'), legend: '{{problem}}' },
        { expr: problemCount('=~'), legend: '{{problem}}' },
      ],
      unit: 'short',
      sparkline: true,
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
      sparkline: true,
      width: 6,
    }),
    stat('Nodes scanned', {
      about:
        'Share of all nodes that the last scan read, those that it skips because they are down included (crdb_range_scan_nodes). Below 100 % all counts are lower bounds.',
      queries: `sum(max by (shard) (crdb_range_scan_nodes{${S}, state="scanned"})) / sum(max by (shard) (sum without (state) (crdb_range_scan_nodes{${S}})))`,
      unit: 'percentunit',
      steps: ['orange', [1, 'green']],
      width: 6,
    }),
    stat('Nodes skipped', {
      about:
        'Nodes that the scan skips because they are not live (crdb_range_scan_nodes). Ranges with all replicas on them are in no count.',
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
          steps: ['text', [1, 'orange']],
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
      steps: ['green', [1, 'orange']],
      height: 8,
    }),
  ],
};

const leases = (limit: Limit): Row => ({
  title: 'Leases and replicas',
  panels: [
    graph('Leases by node', {
      about: 'Ranges whose lease the node holds (crdb_range_leases).',
      queries: LEASES,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
    graph('Replicas by node', {
      about: 'Replicas that a node holds (crdb_range_replicas).',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_range_replicas{${S}}))`,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
    graph('Lease imbalance (max / mean)', {
      about:
        'Leases of the node with most, divided by the mean (crdb_range_leases). Above the dashed line: check lease preferences and nodes that restarted.',
      queries: `max(${LEASES}) / avg(${LEASES})`,
      unit: 'short',
      legend: 'max / mean',
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
          expr: `max by (database, schema, table) (crdb_table_ranges{${S}})`,
        },
        {
          title: 'replicas',
          unit: 'short',
          steps: ['orange', [3, 'green']],
          expr: `max by (database, schema, table) (crdb_table_zone_replicas{${S}})`,
        },
        {
          title: 'GC after',
          unit: 's',
          expr: `max by (database, schema, table) (crdb_table_zone_gc_ttl_seconds{${S}})`,
        },
        {
          title: 'indexes',
          unit: 'short',
          expr: `max by (database, schema, table) (crdb_table_indexes{${S}})`,
        },
      ],
      empty: 'no table is configured',
      evidence: [`crdb_exporter_collector_success{${S}, collector="tables"}`, 'table'],
    }),
    graph('Ranges of configured tables', {
      about: 'Number of ranges of each table (crdb_table_ranges).',
      queries: `max by (database, schema, table) (crdb_table_ranges{${S}})`,
      unit: 'short',
      legend: '{{database}}.{{schema}}.{{table}}',
      width: 12,
    }),
  ],
};

export function ranges(limit: Limit): Dashboard {
  const problems = `label_values(crdb_range_problem_ranges{${S}}, problem)`;
  return buildBoard({
    uid: 'crdb-ranges',
    title: 'Ranges',
    question: 'Which ranges are broken, where, since when?',
    variables: [clusterVariable(), many('problem', 'Problem', problems), nodeVariable()],
    rows: [state, problemRow, safeToStop, leases(limit), tables],
  });
}
