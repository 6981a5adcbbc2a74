import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, toBoard } from './lib/links.ts';
import { stat } from './lib/panels.ts';
import { table } from './lib/table.ts';
import { S } from './lib/variables.ts';

const NODES = `crdb_node_dependent_ranges{${S}`;
const DOWN = `crdb_node_liveness{${S}, status=~"dead|unavailable|decommissioned"}`;
const LOCALITIES = `crdb_locality_dependent_ranges{${S}`;

/** Which nodes may stop, and what would be lost with a locality. */
export const safeToStop: Row = {
  title: 'Safe to stop',
  panels: [
    stat('Nodes that may stop', {
      about:
        'Live nodes without which no range loses its quorum, one at a time (crdb_node_dependent_ranges). No data: sharded, route local, a node could not be read, or one went down after the last scan.',
      queries: `(count(max by (node_id) (${NODES}, effect="quorum"}) == 0) or 0 * max(${NODES}})) unless on () (max by (node_id) (${NODES}}) and on (node_id) max by (node_id) (${DOWN}) == 1)`,
      unit: 'short',
      steps: ['red', [1, 'green']],
    }),
    stat('Lost ranges', {
      about:
        'Ranges known from earlier scans that no live node holds (crdb_ranges_without_live_replica). Red: see the runbook of CrdbRangesLost. No data: also while a node is down that was never read.',
      queries: `max(crdb_ranges_without_live_replica{${S}})`,
      unit: 'short',
      steps: ['green', [1, 'red']],
    }),
    table('Dependent ranges by node', {
      about:
        'Ranges that would lose their quorum, or their last live replica, if the node stopped now, the nodes with most (crdb_node_dependent_ranges). 0: the node may be restarted. When a node has just gone down, wait for the next scan.',
      labels: {
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
      },
      values: [
        {
          title: 'lose quorum',
          steps: ['green', [1, 'red']],
          expr: `topk(100, max by (node_id) (${NODES}, effect="quorum", node_id=~"$node"}))`,
        },
        {
          title: 'lose last replica',
          steps: ['green', [1, 'red']],
          expr: `topk(100, max by (node_id) (${NODES}, effect="all_replicas", node_id=~"$node"}))`,
        },
      ],
      join: 'node_id',
      sortBy: 'lose quorum',
      width: 8,
    }),
    table('Dependent ranges by locality', {
      about:
        'Ranges that would lose their quorum, or their last live replica, if all nodes of the locality stopped now (crdb_locality_dependent_ranges). Small numbers above 0: see CrdbQuorumAtRisk.',
      labels: { tier: 'tier', locality: 'locality' },
      values: [
        {
          title: 'lose quorum',
          steps: ['green', [1, 'orange']],
          expr: `max by (tier, locality) (${LOCALITIES}, effect="quorum"})`,
        },
        {
          title: 'lose last replica',
          steps: ['green', [1, 'orange']],
          expr: `max by (tier, locality) (${LOCALITIES}, effect="all_replicas"})`,
        },
      ],
      sortBy: 'lose quorum',
      empty: 'no node has a locality',
      evidence: [`crdb_node_dependent_ranges{${S}}`, 'tier'],
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
      width: 12,
    }),
  ],
};
