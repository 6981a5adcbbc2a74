import { describe, expect, test } from 'vitest';
import { expandCase } from '../rules/cases.ts';
import { testRules } from '../rules/promtool.ts';
import { hasProgram } from '../support/programs.ts';
import { ALL_VALUES, fillVariables, PANELS } from './panels.ts';

/** Two exporters of one cluster, of which one has not read the new name of table 104 yet. Table 105 has no name. */
const RENAMED = `
crdb_table_info{crdb_cluster="c",job="j",instance="a",database="movr",schema="public",table="rides",table_id="104"} 1x9
crdb_table_info{crdb_cluster="c",job="j",instance="b",database="movr",schema="public",table="journeys",table_id="104"} 1x9
crdb_range_problem_ranges{crdb_cluster="c",job="j",instance="{a,b}",shard="0",problem="no_lease"} 3x9
crdb_range_table_problem_ranges{crdb_cluster="c",job="j",instance="{a,b}",shard="0",problem="no_lease",table_id="{104,105}"} 3x9
crdb_hot_range_leaseholder_info{crdb_cluster="c",job="j",instance="{a,b}",range_id="{7,8}",node_id="1",store_id="1"} 1x9
crdb_problem_range_reporter_info{crdb_cluster="c",job="j",instance="{a,b}",range_id="{7,8}",node_id="1",store_id="1"} 1x9
${['queries_per_second', 'cpu_seconds_per_second', 'writes_per_second', 'ranges']
  .map(
    (figure) =>
      `crdb_range_table_${figure}{crdb_cluster="c",job="j",instance="{a,b}",shard="0",table_id="{104,105}"} 3x9`,
  )
  .join('\n')}
${['7', '8']
  .map((range) => `range_id="${range}",table_id="${range === '7' ? 104 : 105}",index_id="1"} 3x9`)
  .flatMap((range) => [
    `crdb_hot_range_queries_per_second{crdb_cluster="c",job="j",instance="{a,b}",${range}`,
    `crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",instance="{a,b}",problem="no_lease",${range}`,
  ])
  .join('\n')}
`;

const NAMED = PANELS.flatMap(({ title, queries }) =>
  queries
    .filter(({ expr }) => expr.includes('crdb_table_info'))
    .map(({ refId, expr }) => ({
      title: `${title} ${refId}`,
      expr: fillVariables(expr, { ...ALL_VALUES, cluster: 'c', __range: '5m' }),
    })),
);

describe.skipIf(!hasProgram('promtool'))('two exporters with two names of one table', () => {
  test.each(NAMED)('give one row for each table in $title', async ({ expr }) => {
    const rows = expandCase({
      name: 'names: a renamed table',
      series: RENAMED,
      values: `
        5m count(${expr}) => {} 2
        5m count((${expr}) unless on (table) group by (table) (crdb_table_info)) => {} 1
      `,
    });
    expect(await testRules([], [rows])).toMatchObject({ passed: true });
  });

  test('are in every panel that names tables by id', () => {
    expect(NAMED.length).toBeGreaterThanOrEqual(10);
  });
});
