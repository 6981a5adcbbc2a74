import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { table } from './lib/table.ts';
import { S } from './lib/variables.ts';

/** Figures by table, over all shards. */
function byTable(figure: string): string {
  return `sum by (table_id) (max by (table_id, shard) (crdb_range_table_${figure}{${S}}))`;
}

const PROBLEMS = `sum by (table_id, problem) (max by (table_id, problem, shard) (crdb_range_table_problem_ranges{${S}}))`;

/** Load and problems by table, from the scan of all ranges. */
export const tableLoad: Row = {
  title: 'Load and problems by table',
  panels: [
    graph('Queries by table', {
      about:
        'Queries per second of the tables with most load; other is the rest, none is outside of tables (crdb_range_table_queries_per_second).',
      queries: byTable('queries_per_second'),
      unit: 'reqps',
      legend: 'table {{table_id}}',
    }),
    graph('CPU by table', {
      about:
        'CPU of all replicas of the table; 100 % is one core (crdb_range_table_cpu_seconds_per_second).',
      queries: byTable('cpu_seconds_per_second'),
      unit: 'percentunit',
      legend: 'table {{table_id}}',
    }),
    graph('Writes by table', {
      about: 'Keys written per second by table (crdb_range_table_writes_per_second).',
      queries: byTable('writes_per_second'),
      unit: 'wps',
      legend: 'table {{table_id}}',
    }),
    table('Tables by load', {
      about:
        'Ranges and load of the tables with most queries, CPU or ranges (crdb_range_table_ranges, crdb_range_table_queries_per_second, …).',
      labels: { table_id: 'table id' },
      values: [
        { title: 'queries/s', unit: 'reqps', expr: byTable('queries_per_second') },
        { title: 'writes/s', unit: 'wps', expr: byTable('writes_per_second') },
        { title: 'CPU', unit: 'percentunit', expr: byTable('cpu_seconds_per_second') },
        { title: 'ranges', unit: 'short', expr: byTable('ranges') },
      ],
      sortBy: 'queries/s',
    }),
    table('Problems by table', {
      about: 'Distinct ranges with a problem, by table (crdb_range_table_problem_ranges).',
      labels: { table_id: 'table id', problem: 'problem' },
      values: [{ title: 'ranges', unit: 'short', steps: ['text', [1, 'orange']], expr: PROBLEMS }],
      sortBy: 'ranges',
      empty: 'none',
      evidence: [`crdb_range_problem_ranges{${S}}`, 'problem'],
    }),
  ],
};
