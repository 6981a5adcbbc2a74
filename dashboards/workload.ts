import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { note } from './lib/panels.ts';
import type { Limit } from './lib/style.ts';
import { S } from './lib/variables.ts';

const CHOSEN = `${S}, node_id=~"$node"`;

function rateBy(labels: string, family: string): string {
  return `max by (${labels}) (rate(${family}{${CHOSEN}}[$__rate_interval]))`;
}

/** What the selected nodes do for SQL clients, changefeeds and other clusters, and their connections to each other. */
export const workloadRow = (limit: Limit): Row => ({
  title: 'Workload of selected nodes',
  panels: [
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
    graph('SQL memory', {
      about: 'Memory that SQL holds (crdb_node_sql_memory_bytes).',
      queries: `max by (node_id) (crdb_node_sql_memory_bytes{${CHOSEN}})`,
      unit: 'bytes',
      legend: 'n{{node_id}}',
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
    graph('Unhealthy RPC connections', {
      about:
        'Connections to peers that fail (crdb_node_rpc_connections). On some nodes only, while all are live: CrdbPartitionSuspected.',
      queries: `max by (node_id) (crdb_node_rpc_connections{${CHOSEN}, state="unhealthy"})`,
      unit: 'short',
      legend: 'n{{node_id}}',
      steps: ['green', [1, 'orange']],
    }),
    graph('Unreachable peers', {
      about:
        'A line for each failed connection while both nodes are live (crdb_node_unreachable_peer_info, crdb_network_unreachable_pairs): CrdbPartitionSuspected. `crdb-exporter network` prints the errors. No data: the server does not list connections.',
      queries: `max by (node_id, peer_node_id) (crdb_node_unreachable_peer_info{${CHOSEN}})`,
      unit: 'short',
      legend: 'n{{node_id}} not n{{peer_node_id}}',
      empty: 'none',
      evidence: [`crdb_network_unreachable_pairs{${S}}`, 'node_id'],
    }),
    graph('Round trip to peers', {
      about:
        'Median and longest time to another node (crdb_node_peer_latency_median_seconds, crdb_node_peer_latency_max_seconds). That between regions is normal; a rise is not.',
      queries: [
        {
          expr: `max by (node_id) (crdb_node_peer_latency_max_seconds{${CHOSEN}})`,
          legend: 'n{{node_id}} longest',
        },
        {
          expr: `max by (node_id) (crdb_node_peer_latency_median_seconds{${CHOSEN}})`,
          legend: 'n{{node_id}} median',
        },
      ],
      unit: 's',
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
    graph('Changefeed output', {
      about: 'Bytes emitted per second (crdb_node_changefeed_emitted_bytes_total).',
      queries: rateBy('node_id', 'crdb_node_changefeed_emitted_bytes_total'),
      unit: 'Bps',
      legend: 'n{{node_id}}',
    }),
    graph('Changefeed retries', {
      about: 'Retries after an error, per second (crdb_node_changefeed_retries_total).',
      queries: rateBy('node_id', 'crdb_node_changefeed_retries_total'),
      unit: 'cps',
      legend: 'n{{node_id}}',
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
