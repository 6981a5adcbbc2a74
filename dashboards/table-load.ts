import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { withTable } from './lib/table-names.ts';
import { table } from './lib/table.ts';
import { S } from './lib/variables.ts';

/** Figures by the labels, over all shards, with the name of each table that is known. */
function byTable(figure: string, labels = 'table_id'): string {
  const sums = `sum by (${labels}) (max by (${labels}, shard) (crdb_range_table_${figure}{${S}}))`;
  return withTable(sums, labels);
}

const COLUMNS = { database: 'database', schema: 'schema', table: 'table', table_id: 'table id' };
const LEGEND = '{{table}} {{table_id}}';

/** Load and problems by table, from the scan of all ranges. */
export const tableLoad: Row = {
  title: 'Load and problems by table',
  panels: [
    graph('Queries by table', {
      about:
        'Queries per second of the tables with most load; other is the rest, none is outside of tables (crdb_range_table_queries_per_second, crdb_table_info).',
      queries: byTable('queries_per_second'),
      unit: 'reqps',
      legend: LEGEND,
    }),
    graph('CPU by table', {
      about:
        'CPU of all replicas of the table; 100 % is one core (crdb_range_table_cpu_seconds_per_second).',
      queries: byTable('cpu_seconds_per_second'),
      unit: 'percentunit',
      legend: LEGEND,
    }),
    graph('Writes by table', {
      about: 'Keys written per second by table (crdb_range_table_writes_per_second).',
      queries: byTable('writes_per_second'),
      unit: 'wps',
      legend: LEGEND,
    }),
    table('Tables by load', {
      about:
        'Ranges and load of the tables with most queries, CPU or ranges (crdb_range_table_ranges, crdb_range_table_queries_per_second, …).',
      labels: COLUMNS,
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
      labels: { ...COLUMNS, problem: 'problem' },
      values: [
        {
          title: 'ranges',
          unit: 'short',
          expr: byTable('problem_ranges', 'table_id, problem'),
        },
      ],
      sortBy: 'ranges',
      empty: 'none',
      evidence: [`crdb_range_problem_ranges{${S}}`, 'problem'],
    }),
  ],
};
