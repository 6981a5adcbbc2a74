import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { allNodesRow } from './all-nodes.ts';
import { hardwareRow } from './hardware.ts';
import { buildBoard } from './lib/board.ts';
import type { Limit } from './lib/style.ts';
import { nodeVariable, query, S } from './lib/variables.ts';
import { replicationRow } from './replication.ts';
import { storageRow } from './stores.ts';
import { chosenMetrics, sqlRow } from './workload.ts';

export function nodes(limit: Limit): Dashboard {
  const tiers = `label_values(crdb_node_locality_info{${S}}, tier)`;
  return buildBoard({
    uid: 'crdb-nodes',
    title: 'Nodes',
    question: 'Which node differs from the others?',
    variables: [query('tier', 'Locality tier', tiers), nodeVariable()],
    rows: [
      allNodesRow(limit),
      hardwareRow(limit),
      sqlRow(limit),
      storageRow(limit),
      replicationRow(limit),
      chosenMetrics,
    ],
  });
}
