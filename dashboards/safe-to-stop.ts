import type { Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, toBoard } from './lib/links.ts';
import { stat } from './lib/panels.ts';
import { YES_NO } from './lib/style.ts';
import { table } from './lib/table.ts';
import { S } from './lib/variables.ts';

const NODES = `crdb_node_dependent_ranges{${S}`;
const SAFE = `crdb_cluster_node_id:crdb_safe_to_stop:bool{crdb_cluster="$cluster"`;
const LOCALITIES = `crdb_locality_dependent_ranges{${S}`;

/** Ranges by node, the nodes with most. */
function dependent(effect: string): string {
  return `topk(100, max by (node_id) (${NODES}, effect="${effect}", node_id=~"$node"}))`;
}

/** Which nodes may stop, and what would be lost with a locality. */
export const safeToStop: Row = {
  title: 'Safe to stop',
  panels: [
    stat('Nodes that may stop', {
      about:
        'Live nodes of which one may stop now (recorded by rules.yml). 0: a range has lost its quorum or all its live replicas already, a node is draining, or ranges depend on each node. Not known: no exporter has read all nodes lately, scans disagree with the nodes, or a node is down that none has read; the status page says why.',
      queries: `count(max by (node_id) (${SAFE}}) == 1) or 0 * max(${SAFE}})`,
      unit: 'short',
      steps: ['red', [1, 'green']],
      empty: 'not known',
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
        'Whether the node may stop now (recorded by rules.yml; empty: not known), and the ranges that would lose their quorum or their last live replica, or have no quorum now (crdb_node_dependent_ranges). Lower bounds while crdb_ranges_of_unknown_voters with scope node is not 0.',
      labels: {
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
      },
      values: [
        {
          title: 'may stop',
          states: YES_NO,
          expr: `max by (node_id) (${SAFE}, node_id=~"$node"}) and on (node_id) ${dependent('quorum')}`,
        },
        { title: 'lose quorum', steps: ['text', [1, 'red']], expr: dependent('quorum') },
        {
          title: 'lose last replica',
          steps: ['text', [1, 'red']],
          expr: dependent('all_replicas'),
        },
        { title: 'no quorum now', steps: ['text', [1, 'red']], expr: dependent('without_quorum') },
      ],
      join: 'node_id',
      sortBy: 'lose quorum',
      width: 8,
    }),
    table('Dependent ranges by locality', {
      about:
        'Ranges that would lose their quorum, or their last live replica, if all nodes of the locality stopped now (crdb_locality_dependent_ranges). Small numbers above 0: see CrdbQuorumAtRisk. Lower bounds while crdb_ranges_of_unknown_voters with scope locality is not 0.',
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
