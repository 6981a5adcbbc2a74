import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { note } from './lib/panels.ts';
import type { Limit } from './lib/style.ts';
import { S } from './lib/variables.ts';
import { CHOSEN, ofNode, perNode, perStore, rateBy, STORE } from './node-graphs.ts';

/** What the selected nodes do for SQL clients, changefeeds and other clusters. */
export const sqlRow = (limit: Limit): Row => ({
  title: 'SQL',
  collapsed: true,
  panels: [
    ofNode('SQL statements', {
      about: 'Executed statements per second (crdb_node_sql_queries_total).',
      expr: rateBy('node_id', 'crdb_node_sql_queries_total'),
      unit: 'reqps',
    }),
    ofNode('SQL latency p99', {
      about:
        'Service latency of recent statements, without COMMIT and retried ones (crdb_node_sql_service_latency_p99_seconds). Orange, and twice as long as usual: CrdbLatencyHigh.',
      expr: perNode('crdb_node_sql_service_latency_p99_seconds'),
      unit: 's',
      steps: ['green', [limit('latency'), 'orange']],
    }),
    ofNode('Failed statements', {
      about:
        'Statements that failed while they executed, per second (crdb_node_sql_failures_total). On one node only: read its log.',
      expr: rateBy('node_id', 'crdb_node_sql_failures_total'),
      unit: 'reqps',
    }),
    ofNode('SQL connections', {
      about: 'Open connections (crdb_node_sql_connections). Uneven: check the load balancer.',
      expr: perNode('crdb_node_sql_connections'),
      unit: 'short',
    }),
    graph('Statements by kind', {
      about: 'SQL statements that succeeded, per second (crdb_node_sql_statements_total).',
      queries: `sum by (kind) (${rateBy('node_id, kind', 'crdb_node_sql_statements_total')})`,
      unit: 'cps',
      legend: '{{kind}}',
      stacked: true,
    }),
    graph('Transactions', {
      about:
        'All SQL transactions per second (crdb_node_sql_transactions_total); COMMIT and ROLLBACK statements, and transactions that an error aborted, which also end by one of the two (crdb_node_sql_transaction_ends_total); those that waited for another one, of the 1 % that servers sample (crdb_node_sql_contended_transactions_sampled_total).',
      queries: [
        { expr: `sum(${rateBy('node_id', 'crdb_node_sql_transactions_total')})`, legend: 'all' },
        {
          expr: `sum by (kind) (${rateBy('node_id, kind', 'crdb_node_sql_transaction_ends_total')})`,
          legend: '{{kind}}',
        },
        {
          expr: `sum(${rateBy('node_id', 'crdb_node_sql_contended_transactions_sampled_total')})`,
          legend: 'waited, of 1 %',
        },
      ],
      unit: 'cps',
    }),
    ofNode('SQL memory', {
      about: 'Memory that SQL holds (crdb_node_sql_memory_bytes).',
      expr: perNode('crdb_node_sql_memory_bytes'),
      unit: 'bytes',
    }),
    graph('Lock waiters', {
      about: 'Requests that wait for the lock of another transaction (crdb_store_lock_waiters).',
      queries: perStore(`crdb_store_lock_waiters{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
    }),
    graph('Failed connections', {
      about:
        'Connections per second that were accepted and did not become sessions: failed logins, and clients that went (crdb_node_sql_connections_new_total less crdb_node_sql_connections_ready_total); and those refused before the login, by nodes that drain or lack memory (crdb_node_sql_connection_failures_total).',
      queries: [
        {
          expr: `clamp_min(${rateBy('node_id', 'crdb_node_sql_connections_new_total')} - ${rateBy('node_id', 'crdb_node_sql_connections_ready_total')}, 0)`,
          legend: 'n{{node_id}} not ready',
        },
        {
          expr: rateBy('node_id', 'crdb_node_sql_connection_failures_total'),
          legend: 'n{{node_id}} refused',
        },
      ],
      unit: 'cps',
    }),
    graph('Replication lag', {
      about:
        'Lag of replication from another cluster (crdb_replication_lag_seconds). Above the dashed line: CrdbReplicationLag. No data: nothing is replicated.',
      queries: `max by (kind) (crdb_replication_lag_seconds{${S}})`,
      unit: 's',
      legend: '{{kind}}',
      steps: ['green', [limit('replication_lag'), 'orange']],
      empty: 'none',
      evidence: [`crdb_nodes{${S}}`, 'kind'],
    }),
    ofNode('Changefeed output', {
      about: 'Bytes emitted per second (crdb_node_changefeed_emitted_bytes_total).',
      expr: rateBy('node_id', 'crdb_node_changefeed_emitted_bytes_total'),
      unit: 'Bps',
    }),
    ofNode('Changefeed retries', {
      about: 'Retries after an error, per second (crdb_node_changefeed_retries_total).',
      expr: rateBy('node_id', 'crdb_node_changefeed_retries_total'),
      unit: 'cps',
    }),
  ],
});

/** What the configuration of the exporter adds. */
export const chosenMetrics: Row = {
  title: 'Metrics of collectors.nodes.metrics',
  collapsed: true,
  panels: [
    note(
      'Panels without data',
      'This row needs keys in `collectors.nodes.metrics`. Counters are shown as they are, since the node started.',
    ),
    graph('Metrics of nodes', {
      about:
        'Of each chosen metric the five nodes with the highest values (crdb_node_metric). Many keys: /_status/vars is the better source.',
      queries: `max by (key, node_id) (crdb_node_metric{${CHOSEN}})`,
      unit: 'short',
      legend: '{{key}} n{{node_id}}',
      width: 12,
    }),
    graph('Metrics of stores', {
      about:
        'Of each chosen metric the five stores with the highest values (crdb_store_metric). Many keys: /_status/vars is the better source.',
      queries: `max by (key, node_id, store_id) (crdb_store_metric{${CHOSEN}})`,
      unit: 'short',
      legend: '{{key}} n{{node_id}} s{{store_id}}',
      width: 12,
    }),
  ],
};
