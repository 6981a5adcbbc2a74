import { describe, expect, test } from 'vitest';
import { expandCase } from '../rules/cases.ts';
import { testRules, type Verdict } from '../rules/promtool.ts';
import { hasProgram } from '../support/programs.ts';
import { ALL_VALUES, fillVariables, PANELS } from './panels.ts';

/** Ranges without a majority that no node reports (2), that one exporter of a pair has seen reported (3), and none (0). */
const UNAVAILABLE = `
crdb_range_problem_ranges{crdb_cluster="{unreported,none}",job="j",instance="{a,b}",shard="0",problem="unavailable"} 0
crdb_range_problem_ranges{crdb_cluster="reported",job="j",instance="a",shard="{0,1}",problem="unavailable"} 3
crdb_range_problem_ranges{crdb_cluster="reported",job="j",instance="b",shard="{0,1}",problem="unavailable"} 0
crdb_node_dependent_ranges{crdb_cluster="unreported",job="j",instance="{a,b}",node_id="{1,2}",effect="without_quorum"} 2
crdb_node_dependent_ranges{crdb_cluster="none",job="j",instance="{a,b}",node_id="1",effect="without_quorum"} 0
`;

function queryOf(panelTitle: string, column: number, cluster: string): string {
  const panel = PANELS.find(({ title }) => title === panelTitle);
  return fillVariables(panel?.queries[column]?.expr ?? '', { ...ALL_VALUES, cluster });
}

/** What promtool says of the query of a panel that should have this value for each cluster, or none. */
async function compareValues(
  series: string,
  [title, column]: readonly [title: string, column: number],
  values: Readonly<Record<string, number | undefined>>,
): Promise<Verdict> {
  const lines = Object.entries(values).map(([cluster, value]) => {
    const expr = `max(${queryOf(title, column, cluster)})`;
    return `0m ${expr} => ${value === undefined ? '-' : `{} ${value}`}`;
  });
  const cases = [expandCase({ name: 'panels: values', series, values: lines.join('\n') })];
  return testRules([], cases);
}

describe.skipIf(!hasProgram('promtool'))('a panel', () => {
  test.each([
    ['CockroachDB / Overview / Unavailable ranges', 0],
    ['CockroachDB / Fleet / Clusters', 5],
  ] as const)('counts ranges without quorum as CrdbRangesUnavailable: %s', async (...panel) => {
    const verdict = await compareValues(UNAVAILABLE, panel, {
      unreported: 2,
      reported: 6,
      none: 0,
      unknown: undefined,
    });
    expect(verdict).toMatchObject({ passed: true });
  });

  // 1: draining; 4: other; 5: unavailable.
  test.each([
    ['CockroachDB / Overview / Live nodes', 0, 2],
    ['CockroachDB / Overview / Live nodes', 1, 1],
    ['CockroachDB / Overview / Live nodes', 3, 1],
    ['CockroachDB / Overview / Live nodes', 4, 1],
    ['CockroachDB / Fleet / Clusters', 3, 5],
    ['CockroachDB / Fleet / Clusters', 4, 1],
  ] as const)(
    'counts a node once that two Prometheus servers record: %s, query %i',
    async (title, query, count) => {
      const series = [0, 0, 1, 4, 5].map(
        (value, node) =>
          `crdb_cluster_node:crdb_node_liveness:severity{crdb_cluster="c",node_id="${node}",prometheus="{a,b}"} ${value}`,
      );
      const verdict = await compareValues(series.join('\n'), [title, query], { c: count });
      expect(verdict).toMatchObject({ passed: true });
    },
  );

  test('calls no license missing of one node that a pair of exporters watches', async () => {
    const series = `crdb_node_license_installed{crdb_cluster="{one,two}",job="j",instance="{a,b}",node_id="1"} 0
      crdb_node_license_installed{crdb_cluster="two",job="j",instance="{a,b}",node_id="2"} 0
      crdb_nodes{crdb_cluster="{one,two}",job="j",instance="{a,b}",status="live"} 1`;
    const panel = ['CockroachDB / Overview / License ends in', 0] as const;
    const verdict = await compareValues(series, panel, { one: undefined, two: 0 });
    expect(verdict).toMatchObject({ passed: true });
  });
});
