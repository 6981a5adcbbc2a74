import { describe, expect, test } from 'vitest';
import { expandCase } from '../rules/cases.ts';
import { testRules } from '../rules/promtool.ts';
import { hasProgram } from '../support/programs.ts';
import { ALL_VALUES, fillVariables, PANELS } from './panels.ts';

/** Ranges without a majority that no node reports (2), that one exporter of a pair has seen reported (3), and none (0). */
const SERIES = `
crdb_range_problem_ranges{crdb_cluster="{unreported,none}",job="j",instance="{a,b}",shard="0",problem="unavailable"} 0
crdb_range_problem_ranges{crdb_cluster="reported",job="j",instance="a",shard="{0,1}",problem="unavailable"} 3
crdb_range_problem_ranges{crdb_cluster="reported",job="j",instance="b",shard="{0,1}",problem="unavailable"} 0
crdb_node_dependent_ranges{crdb_cluster="unreported",job="j",instance="{a,b}",node_id="{1,2}",effect="without_quorum"} 2
crdb_node_dependent_ranges{crdb_cluster="none",job="j",instance="{a,b}",node_id="1",effect="without_quorum"} 0
`;
const RESULTS = { unreported: 2, reported: 6, none: 0 };

function queryOf(panelTitle: string, column: number, cluster: string): string {
  const panel = PANELS.find(({ title }) => title === panelTitle);
  return fillVariables(panel?.queries[column]?.expr ?? '', { ...ALL_VALUES, cluster });
}

describe.skipIf(!hasProgram('promtool'))('ranges without quorum', () => {
  test.each([
    ['CockroachDB / Overview / Unavailable ranges', 0],
    ['CockroachDB / Fleet / Clusters', 5],
  ])('are those that CrdbRangesUnavailable counts: %s', async (title, column) => {
    const values = Object.entries({ ...RESULTS, unknown: undefined }).map(([cluster, count]) => {
      const expr = `max(${queryOf(title, column, cluster)})`;
      return `0m ${expr} => ${count === undefined ? '-' : `{} ${count}`}`;
    });
    const name = 'CrdbRangesUnavailable: in panels';
    const cases = [expandCase({ name, series: SERIES, values: values.join('\n') })];
    expect(await testRules([], cases)).toMatchObject({ passed: true });
  });
});
