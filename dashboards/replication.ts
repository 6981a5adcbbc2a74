import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import type { Limit } from './lib/style.ts';
import { S } from './lib/variables.ts';
import { CHOSEN, ofNode, perNode, perStore, rateBy, STORE } from './node-graphs.ts';

/** Heartbeats, connections between the nodes, replicas and leases of the selected nodes. */
export const replicationRow = (limit: Limit): Row => ({
  title: 'Replication',
  collapsed: true,
  panels: [
    ofNode('Heartbeat latency p99', {
      about:
        'Latency of recent liveness heartbeats (crdb_node_liveness_heartbeat_p99_seconds). Orange or red: CrdbHeartbeatSlow; the node may lose its leases.',
      expr: perNode('crdb_node_liveness_heartbeat_p99_seconds'),
      unit: 's',
      steps: ['green', [limit('heartbeat'), 'orange'], [limit('heartbeat_critical'), 'red']],
    }),
    ofNode('Missed heartbeats', {
      about:
        'Failed liveness heartbeats (crdb_node_liveness_heartbeat_failures_total). Check disk, CPU and network.',
      expr: rateBy('node_id', 'crdb_node_liveness_heartbeat_failures_total'),
      unit: 'cps',
    }),
    ofNode('Unhealthy RPC connections', {
      about:
        'Connections to peers that fail (crdb_node_rpc_connections). On some nodes only, while all are live: CrdbPartitionSuspected. 0 says nothing where nodes talk by DRPC.',
      expr: `max by (node_id) (crdb_node_rpc_connections{${CHOSEN}, state="unhealthy"})`,
      unit: 'short',
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
        { expr: perNode('crdb_node_peer_latency_max_seconds'), legend: 'n{{node_id}} longest' },
        { expr: perNode('crdb_node_peer_latency_median_seconds'), legend: 'n{{node_id}} median' },
      ],
      unit: 's',
    }),
    ofNode('Stuck requests of gateway', {
      about:
        'Requests to ranges that do not respond (crdb_node_slow_requests). Above the dashed line: CrdbRequestsStuck; check the problem ranges.',
      expr: perNode('crdb_node_slow_requests'),
      unit: 'short',
      steps: ['green', [1, 'orange']],
    }),
    graph('Stuck requests of stores', {
      about:
        'Requests that have waited long for a latch, a lease or raft (crdb_store_slow_requests). Above the dashed line: CrdbRequestsStuck.',
      queries: `sum by (node_id, kind) (max by (node_id, store_id, kind) (crdb_store_slow_requests{${CHOSEN}}))`,
      unit: 'short',
      legend: 'n{{node_id}} {{kind}}',
      steps: ['green', [1, 'orange']],
    }),
    graph('Replicas and leases', {
      about:
        'Replicas and leases of each store (crdb_range_replicas, crdb_range_leases). Falling replicas: the node is being decommissioned or rebalanced.',
      queries: [
        { expr: perStore(`crdb_range_replicas{${CHOSEN}}`), legend: `${STORE} replicas` },
        { expr: perStore(`crdb_range_leases{${CHOSEN}}`), legend: `${STORE} leases` },
      ],
      unit: 'short',
    }),
    graph('Leases counted by stores', {
      about:
        'Leases as the stores count them (crdb_store_leaseholders), every 10 s and without a range scan. Zero on one store only: its node does not get leases.',
      queries: perStore(`crdb_store_leaseholders{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
    }),
    graph('Problem ranges counted by stores', {
      about:
        'Ranges as the leaseholders count them, without a range scan (crdb_store_unavailable_ranges, crdb_store_underreplicated_ranges). Other numbers than the range scans: CrdbScanDisagrees.',
      queries: ['unavailable', 'underreplicated'].map((problem) => ({
        expr: `sum(${perStore(`crdb_store_${problem}_ranges{${CHOSEN}}`)})`,
        legend: problem,
      })),
      unit: 'short',
    }),
    graph('Replicate queue', {
      about:
        'Replicas to place (crdb_store_replicate_queue). In purgatory no store satisfies their constraints: CrdbPurgatory.',
      queries: `sum by (state) (max by (node_id, store_id, state) (crdb_store_replicate_queue{${CHOSEN}}))`,
      unit: 'short',
      legend: '{{state}}',
    }),
    graph('Ranges to move', {
      about:
        'Ranges with a replica on a decommissioning node (crdb_store_decommissioning_ranges), and leases against the preferences (crdb_store_lease_preference_violations).',
      queries: [
        {
          expr: `sum(${perStore(`crdb_store_decommissioning_ranges{${CHOSEN}}`)})`,
          legend: 'decommissioning',
        },
        {
          expr: `sum(${perStore(`crdb_store_lease_preference_violations{${CHOSEN}}`)})`,
          legend: 'lease preference',
        },
      ],
      unit: 'short',
    }),
    graph('Lease transfers', {
      about: 'Lease transfers per second (crdb_store_lease_transfers_total).',
      queries: rateBy('node_id, store_id', 'crdb_store_lease_transfers_total'),
      unit: 'cps',
      legend: STORE,
    }),
    graph('Raft log behind', {
      about: 'Log entries that followers are behind (crdb_store_raft_log_behind).',
      queries: perStore(`crdb_store_raft_log_behind{${CHOSEN}}`),
      unit: 'short',
      legend: STORE,
    }),
    graph('Snapshots received', {
      about: 'Bytes of range snapshots per second (crdb_store_snapshot_received_bytes_total).',
      queries: rateBy('node_id, store_id', 'crdb_store_snapshot_received_bytes_total'),
      unit: 'Bps',
      legend: STORE,
    }),
  ],
});
