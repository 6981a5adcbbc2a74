import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, toBoard } from './lib/links.ts';
import { stat } from './lib/panels.ts';
import { MAY, type States } from './lib/style.ts';
import { table } from './lib/table.ts';
import { R, S } from './lib/variables.ts';

const NODES = `crdb_node_dependent_ranges{${S}`;
const SAFE = `crdb_cluster_node_id:crdb_safe_to_stop:bool{${R}`;
const LOCALITIES = `crdb_locality_dependent_ranges{${S}`;

/** Complete less twice a confirmed gap. */
const KEY_SPACE: States = {
  '-2': ['gap', 'red'],
  '-1': ['gap', 'red'],
  0: ['incomplete', '#808080'],
  1: ['complete', 'green'],
};

/** Ranges by node, the nodes with most. */
function dependent(effect: string): string {
  return `topk(100, max by (node_id) (${NODES}, effect="${effect}", node_id=~"$node"}))`;
}

/** Which nodes may stop, and what would be lost with a locality. */
export const safeToStop: Row = {
  title: 'Safe to stop',
  panels: [
    stat('Nodes that may stop', {
      width: 5,
      about:
        'Live nodes of which one may stop now (recorded by rules.yml). 0: ranges are without a quorum, lost or serve nothing, a node is draining, or ranges depend on each node. Not known: no exporter has read all nodes lately, ranges are not verified, keys are missing, or live nodes may not reach each other; the status page says why.',
      queries: `count(max by (node_id) (${SAFE}}) == 1) or 0 * max(${SAFE}})`,
      unit: 'short',
      empty: 'not known',
    }),
    stat('Lost ranges', {
      width: 5,
      about:
        'Ranges that no live node reports, and whose last known replicas are all on nodes that are not live (crdb_ranges_without_live_replica). Red: CrdbRangesLost. No data: keys are missing, and what a node held that is down is not known.',
      queries: `max(crdb_ranges_without_live_replica{${S}})`,
      unit: 'short',
      steps: ['green', [1, 'red']],
    }),
    stat('Key space', {
      width: 5,
      about:
        'Whether the ranges of the last scan join from the first key to the last (crdb_range_key_space_complete): then none is missing, whatever is down. A gap (crdb_range_key_space_gap): three scans in a row ended with the same one, see the runbook of CrdbRangesLost.',
      queries: `max(crdb_range_key_space_complete{${S}}) - 2 * max(crdb_range_key_space_gap{${S}})`,
      unit: 'short',
      states: KEY_SPACE,
      empty: 'not known',
    }),
    stat('Unverified ranges', {
      width: 5,
      about:
        'Ranges of the last scan whose replicas are not verified by their descriptors (crdb_ranges_unverified): while there are some, no node is said to be safe to stop. The number falls while descriptors are read, and stays where the server refuses them.',
      queries: `max(crdb_ranges_unverified{${S}})`,
      unit: 'short',
    }),
    stat('Ranges serving nothing', {
      about:
        'Ranges that serve nothing now, confirmed by a second question (crdb_ranges_serving_nothing): no Raft leader, no lease or an open circuit breaker. See the runbook of CrdbRangesWithoutLease.',
      queries: `max(crdb_ranges_serving_nothing{${S}})`,
      unit: 'short',
      steps: ['green', [1, 'red']],
    }),
    table('Dependent ranges by node', {
      about:
        'Whether the node may stop now (recorded by rules.yml; empty: not known), and the ranges that would lose their quorum or their last live replica, or have no quorum now (crdb_node_dependent_ranges; red: CrdbRangesUnavailable). Lower bounds while ranges are not verified.',
      labels: {
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
      },
      values: [
        {
          title: 'may stop',
          states: MAY,
          expr: `max by (node_id) (${SAFE}, node_id=~"$node"}) and on (node_id) ${dependent('quorum')}`,
        },
        { title: 'lose quorum', expr: dependent('quorum') },
        { title: 'lose last replica', expr: dependent('all_replicas') },
        { title: 'no quorum now', steps: ['text', [1, 'red']], expr: dependent('without_quorum') },
      ],
      join: 'node_id',
      sortBy: 'lose quorum',
      width: 8,
    }),
    table('Dependent ranges by locality', {
      about:
        'Ranges that would lose their quorum, or their last live replica, if all nodes of the locality stopped now (crdb_locality_dependent_ranges). At risk: those of a locality that few ranges depend on, which is not intended: CrdbQuorumAtRisk. Lower bounds while ranges are not verified.',
      labels: { tier: 'tier', locality: 'locality' },
      values: [
        {
          title: 'lose quorum',
          expr: `max by (tier, locality) (${LOCALITIES}, effect="quorum"})`,
        },
        {
          title: 'lose last replica',
          expr: `max by (tier, locality) (${LOCALITIES}, effect="all_replicas"})`,
        },
        {
          title: 'at risk',
          steps: ['text', [1, 'orange']],
          expr: `max by (tier, locality) (crdb_cluster_tier_locality:crdb_locality_dependent_ranges:at_risk{${R}})`,
        },
      ],
      sortBy: 'lose quorum',
      empty: 'no node has a locality',
      evidence: [`crdb_node_dependent_ranges{${S}}`, 'tier'],
      width: 8,
    }),
    table('Replicas on nodes that are down', {
      about:
        'Ranges whose last known descriptor names a member that is not live (crdb_node_down_replicas). Start the nodes that are down. From 5 minutes after a node died, the cluster replaces its replicas where enough nodes are live; add one only if it cannot come back and too few are live. 0 and may go: cockroach node decommission only removes the node from the list (recorded by rules.yml).',
      labels: {
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
      },
      values: [
        {
          title: 'ranges',
          expr: `topk(100, max by (node_id) (crdb_node_down_replicas{${S}}))`,
        },
        {
          title: 'may go',
          states: MAY,
          expr: `max by (node_id) (crdb_cluster_node_id:crdb_may_decommission:bool{${R}})`,
        },
      ],
      join: 'node_id',
      sortBy: 'ranges',
      empty: 'no node is down',
      evidence: [`crdb_node_dependent_ranges{${S}}`, 'node_id'],
      width: 8,
    }),
    graph('Dependent ranges over time', {
      about:
        'Ranges that would lose their quorum with the worst node, and with the worst locality of each tier (crdb_node_dependent_ranges, crdb_locality_dependent_ranges).',
      queries: [
        { expr: `max(${NODES}, effect="quorum"})`, legend: 'worst node' },
        { expr: `max by (tier) (${LOCALITIES}, effect="quorum"})`, legend: 'worst {{tier}}' },
      ],
      unit: 'short',
      width: 24,
    }),
  ],
};
