import { describe, expect, test } from 'vitest';
import { expandCase } from '../rules/cases.ts';
import { testRules } from '../rules/promtool.ts';
import { closureOf, readRules } from '../rules/rule-set.ts';
import { hasProgram } from '../support/programs.ts';
import { ALL_VALUES, fillVariables, PANELS } from './panels.ts';

/** A query of a panel for the cluster `c`. */
function queryOf(panel: string, refId = 'A'): string {
  const placed = PANELS.find(({ title }) => title === `CockroachDB / ${panel}`);
  const query = placed?.queries.find((one) => one.refId === refId);
  return fillVariables(query?.expr ?? `no panel ${panel}`, { ...ALL_VALUES, cluster: 'c' });
}

/** What promtool says about the expected values of queries over these series; `names` are the rules in use. */
async function verdict(series: string, values: readonly string[], names: readonly string[] = []) {
  const world = expandCase({ name: 'dashboards: a world', series, values: values.join('\n') });
  return testRules(closureOf(readRules(), names), [world]);
}

/** The series of a firing alert. */
function firing(labels: string): string {
  return `ALERTS{alertstate="firing",${labels}} 1x9`;
}

/** 12 ranges that are under-replicated since minute 0, ranges 2, 30 (of the system) and 98 that lost their quorum later, and 99 that is lost. */
const OLD = Array.from({ length: 12 }, (_, index) => index + 1).join(',');
const PROBLEMS = `
  crdb_problem_range_reporter_info{crdb_cluster="c",job="j",range_id="{${OLD},30,98,99}",node_id="1",store_id="1"} 1x9
  crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",problem="underreplicated",range_id="{${OLD}}",table_id="104",index_id="1"} 0x9
  crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",problem="unavailable",range_id="98",table_id="104",index_id="1"} 240x9
  crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",problem="unavailable",range_id="2",table_id="",index_id=""} 292x9
  crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",problem="unavailable",range_id="30",table_id="11",index_id="1"} 294x9
  crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",problem="no_live_replica",range_id="99",table_id="104",index_id="1"} 270x9
  crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="c",job="j",problem="no_lease",range_id="1",table_id="104",index_id="1"} 290x9
  crdb_table_info{crdb_cluster="c",job="j",database="movr",schema="public",table="rides",table_id="104"} 1x9
  crdb_range_problem_ranges{crdb_cluster="c",job="j",problem="unavailable",shard="0"} 1x9
`;

describe.skipIf(!hasProgram('promtool'))('in an incident', () => {
  test.each(['Overview / Worst problem ranges', 'Ranges / Problem ranges'])(
    '%s has the ranges without quorum first, of these those of the system, then the oldest, with the names of their tables',
    async (panel) => {
      const severity = `max by (problem, range_id, table) (${queryOf(panel, 'A')})`;
      const since = `max by (problem, range_id) (${queryOf(panel, 'B')})`;
      const rows = panel.startsWith('Overview') ? 10 : 17;
      const result = await verdict(PROBLEMS, [
        `5m ${severity} > 1 => {problem="unavailable",range_id="2"} 6`,
        `5m ${severity} > 1 => {problem="unavailable",range_id="30"} 6`,
        `5m ${severity} > 1 => {problem="unavailable",range_id="98",table="rides"} 5`,
        `5m ${severity} > 1 => {problem="no_live_replica",range_id="99",table="rides"} 5`,
        `5m ${severity} > 1 => {problem="no_lease",range_id="1",table="rides"} 3`,
        `5m ${since} < 290 => {problem="unavailable",range_id="98"} 60`,
        `5m ${since} < 290 => {problem="no_live_replica",range_id="99"} 30`,
        `5m ${since} < 290 => {problem="no_lease",range_id="1"} 10`,
        `5m ${since} < 290 => {problem="unavailable",range_id="2"} 8`,
        `5m ${since} < 290 => {problem="unavailable",range_id="30"} 6`,
        `5m count(${severity}) => {} ${rows}`,
      ]);
      expect(result).toMatchObject({ passed: true });
    },
  );

  test('a wrong password makes the health unknown on Overview and Fleet, beside the last one that was known', async () => {
    const series = `
      crdb_up{crdb_cluster="c",api="cluster",job="j",instance="a"} 1x9 0x30
      up{job="j",instance="a"} 1x40
      crdb_ranges_without_live_replica{crdb_cluster="c",job="j"} 1x9 stale
      crdb_exporter_collector_interval_seconds{crdb_cluster="c",collector="nodes",shard="0",job="j"} 30x40
      crdb_exporter_collector_last_success_timestamp_seconds{crdb_cluster="c",collector="nodes",shard="0",job="j"} 0+60x9 540x30
    `;
    const result = await verdict(
      series,
      [
        `5m ${queryOf('Overview / Health')} => {} 2`,
        `30m ${queryOf('Overview / Health')} => {} 3`,
        `30m ${queryOf('Overview / Last known health')} => {} 2`,
        `30m ${queryOf('Fleet / Clusters', 'A')} => {crdb_cluster="c"} 3`,
        `30m ${queryOf('Fleet / Clusters', 'B')} => {crdb_cluster="c"} 2`,
        '30m ALERTS{alertname="CrdbClusterApiDown"} => ALERTS{alertname="CrdbClusterApiDown",alertstate="firing",component="api",crdb_cluster="c",severity="critical"} 1',
      ],
      ['CrdbClusterApiDown', 'crdb_cluster:crdb_health:code'],
    );
    expect(result).toMatchObject({ passed: true });
  });

  test('of two exporters that differ, all panels show the worst that one sees of a node', async () => {
    const series = `
      crdb_node_liveness{crdb_cluster="c",job="j",instance="{a,b}",node_id="{1,2,3}",status="live"} 1x9
      crdb_node_liveness{crdb_cluster="c",job="j",instance="a",node_id="{4,5}",status="live"} 1x9
      crdb_node_liveness{crdb_cluster="c",job="j",instance="b",node_id="{4,5}",status="live"} 0x9
      crdb_node_liveness{crdb_cluster="c",job="j",instance="a",node_id="{4,5}",status="dead"} 0x9
      crdb_node_liveness{crdb_cluster="c",job="j",instance="b",node_id="{4,5}",status="dead"} 1x9
      crdb_nodes{crdb_cluster="c",job="j",instance="{a,b}",status="live"} 3x9
    `;
    const states = ['Overview / Node liveness', 'Nodes / Liveness', 'Overview / Nodes not live'];
    const ofNode = (panel: string) => `max by (node_id) (${queryOf(panel)}) > 0`;
    const result = await verdict(
      series,
      [
        ...states.flatMap((panel) => [
          `5m ${ofNode(panel)} => {node_id="4"} 7`,
          `5m ${ofNode(panel)} => {node_id="5"} 7`,
        ]),
        `5m ${queryOf('Overview / Live nodes', 'A')} => {} 3`,
        // Two of five nodes are critical.
        `5m ${queryOf('Overview / Live nodes', 'B')} => -`,
        `5m ${queryOf('Overview / Live nodes', 'C')} => {} 2`,
      ],
      ['crdb_cluster_node:crdb_node_liveness:severity', 'crdb_cluster_reason:crdb_health:code'],
    );
    expect(result).toMatchObject({ passed: true });
  });

  test('a cluster whose only exporter is down stays on Fleet as unknown', async () => {
    const series = `
      crdb_up{crdb_cluster="c",api="cluster",job="j",instance="a"} 1x9 stale
      up{job="j",instance="a"} 1x9 0x120
    `;
    const health = queryOf('Fleet / Clusters', 'A');
    const result = await verdict(
      series,
      [`15m ${health} => {crdb_cluster="c"} 3`, `120m ${health} => {crdb_cluster="c"} 3`],
      ['crdb_cluster:crdb_health:code'],
    );
    expect(result).toMatchObject({ passed: true });
  });

  test('alerts are listed by name, the worst first, those of all clusters included', async () => {
    const series = [
      firing('alertname="CrdbNodeDead",severity="warning",crdb_cluster="c",node_id="{1,2}"'),
      firing('alertname="CrdbNodeDead",severity="critical",crdb_cluster="c",node_id="1"'),
      firing('alertname="CrdbHotRange",severity="warning",crdb_cluster="c"'),
      firing('alertname="CrdbMonitoringBlind",severity="page"'),
      firing('alertname="CrdbWatchdog",severity="none"'),
      firing('alertname="CrdbRangesLost",severity="critical",crdb_cluster="other"'),
      'ALERTS{alertstate="pending",alertname="CrdbRangesLost",crdb_cluster="c"} 1x9',
      'crdb_cluster:crdb_health:code{crdb_cluster="c"} 2x9',
    ].join('\n');
    const severity = queryOf('Overview / Firing alerts', 'A');
    const times = queryOf('Overview / Firing alerts', 'B');
    const result = await verdict(series, [
      `5m ${severity} => {alertname="CrdbNodeDead"} 3`,
      `5m ${severity} => {alertname="CrdbHotRange"} 2`,
      `5m ${severity} => {alertname="CrdbMonitoringBlind"} 0`,
      `5m ${times} => {alertname="CrdbNodeDead"} 3`,
      `5m ${times} => {alertname="CrdbHotRange"} 1`,
      `5m ${times} => {alertname="CrdbMonitoringBlind"} 1`,
    ]);
    expect(result).toMatchObject({ passed: true });
  });

  test('nodes that the scan skipped count as not scanned', async () => {
    const series = `
      crdb_range_scan_nodes{crdb_cluster="c",job="j",instance="{a,b}",shard="0",state="scanned"} 6x9
      crdb_range_scan_nodes{crdb_cluster="c",job="j",instance="{a,b}",shard="0",state="failed"} 0x9
      crdb_range_scan_nodes{crdb_cluster="c",job="j",instance="{a,b}",shard="0",state="skipped"} 2x9
    `;
    const result = await verdict(series, [`5m ${queryOf('Ranges / Nodes scanned')} => {} 0.75`]);
    expect(result).toMatchObject({ passed: true });
  });
});

describe('Overview', () => {
  test('begins with health and the golden signals, then the ranges', () => {
    const titles = PANELS.filter(({ board }) => board.uid === 'crdb-overview')
      .slice(0, 7)
      .map(({ panel }) => panel.title);
    expect(titles).toEqual([
      'Health',
      'Statements per second',
      'Failed statements',
      'SQL latency p99',
      'Open connections',
      'Unavailable ranges',
      'Firing alerts',
    ]);
  });
});
