import type { Row } from './lib/board.ts';
import type { Query } from './lib/crowd.ts';
import { toBoard } from './lib/links.ts';
import { stat } from './lib/panels.ts';
import { coloured, HEALTH, type Limit, unavailableRanges } from './lib/style.ts';
import { R, S } from './lib/variables.ts';

/** A value of the cluster now, and an hour ago; `of` makes the query for a time offset. */
function nowAndBefore(of: (offset: string) => string): readonly Query[] {
  return [
    { expr: of(''), legend: 'now' },
    { expr: of(' offset 1h'), legend: 'an hour ago' },
  ];
}

/** The same of a recorded series. */
function recordedNowAndBefore(name: string): readonly Query[] {
  return nowAndBefore((offset) => `max(${name}{${R}}${offset})`);
}

const PLAIN = coloured(['text']);

/** The golden signals, after the health that follows from all data. */
export const userImpact = (limit: Limit): Row => ({
  title: 'Are users affected?',
  panels: [
    stat('Health', {
      about:
        'Critical, degraded or OK; unknown while no exporter sees the cluster (recorded by rules.yml, see Reasons). Unknown: first run a SQL query, the database may still work; then see CrdbClusterApiDown. No data: the rules are not loaded.',
      queries: `max(crdb_cluster:crdb_health:code{${R}})`,
      unit: 'none',
      states: HEALTH,
    }),
    stat('Statements per second', {
      about:
        'SELECT, INSERT, UPDATE, DELETE and DDL that all nodes begin to execute per second, now and an hour ago (recorded by rules.yml from crdb_node_sql_statements_started_total). Far fewer than usual: clients do not reach the database, or wait.',
      queries: recordedNowAndBefore('crdb_cluster:crdb_node_sql_statements_started:rate5m'),
      unit: 'cps',
      links: [toBoard('Nodes', 'crdb-nodes')],
    }),
    stat('Failed statements', {
      about:
        'Share of the started statements that fail, now and an hour ago (recorded by rules.yml from crdb_node_sql_failures_total and crdb_node_sql_statements_started_total). Not counted: errors before the execution, syntax errors and 40001. Orange or red: CrdbSqlFailing. No data: at most one statement a second.',
      queries: recordedNowAndBefore('crdb_cluster:crdb_node_sql_failures:ratio_rate5m'),
      unit: 'percentunit',
      steps: ['green', [limit('sql_failures'), 'orange'], [limit('sql_failures_critical'), 'red']],
      links: [toBoard('Nodes', 'crdb-nodes')],
    }).overrideByQuery('B', PLAIN),
    stat('SQL latency p99', {
      about:
        'Of recent statements, without COMMIT and retried ones, on the slowest node with more than one a second, now and an hour ago (recorded by rules.yml from crdb_node_sql_service_latency_p99_seconds). Orange, and twice as long as usual: CrdbLatencyHigh. No data: no node has that many.',
      queries: recordedNowAndBefore('crdb_cluster:crdb_node_sql_service_latency_p99_seconds:max'),
      unit: 's',
      steps: ['green', [limit('latency'), 'orange']],
      links: [toBoard('Nodes', 'crdb-nodes')],
    }).overrideByQuery('B', PLAIN),
    stat('Open connections', {
      about:
        'SQL connections of all nodes, now and an hour ago (crdb_node_sql_connections). Far fewer: clients do not reach the database. Far more: CrdbSessionStorm.',
      queries: nowAndBefore(
        (offset) => `sum(max by (node_id) (crdb_node_sql_connections{${S}}${offset}))`,
      ),
      unit: 'short',
      links: [toBoard('SQL sessions', 'crdb-sql')],
    }),
    stat('Unavailable ranges', {
      about:
        'Ranges without quorum: requests to them hang. As nodes report (crdb_range_problem_ranges), or more on one node by descriptors (crdb_node_dependent_ranges). Red: CrdbRangesUnavailable.',
      queries: unavailableRanges(S),
      unit: 'short',
      steps: ['green', [1, 'red']],
      links: [toBoard('Ranges', 'crdb-ranges', 'var-problem=unavailable')],
    }),
  ],
});
