import { integer, object } from '../json/shape.ts';
import type { LivenessStatus } from '../vocabulary.ts';
import type { ClusterApi, PollStats } from './cluster-api.ts';
import { livenessOf } from './liveness.ts';

/** The records are large and only two numbers of them are read, but the server prepares them in full. */
const PAGE_LIMIT = 200;
/** A request to any other node fails after seconds, or never ends. */
export const REACHABLE: ReadonlySet<LivenessStatus> = new Set([
  'live',
  'draining',
  'decommissioning',
]);

const nodeShape = object({ node_id: integer(), liveness_status: integer() });

/** Nodes that belong to the cluster, ascending. */
export interface NodeList {
  readonly toScan: readonly number[];
  readonly toSkip: readonly number[];
}

/** Lists the nodes, ids and liveness only. Rejects like the API. */
export async function listNodes(api: ClusterApi, stats: PollStats): Promise<NodeList> {
  const statuses = new Map<number, LivenessStatus>();
  await api.nodes(stats, {
    limit: PAGE_LIMIT,
    shape: nodeShape,
    onNode({ node_id, liveness_status: livenessCode }) {
      if (isId(node_id)) statuses.set(node_id, livenessOf({ livenessCode }));
    },
  });
  const toScan: number[] = [];
  const toSkip: number[] = [];
  for (const [nodeId, status] of [...statuses].toSorted(([a], [b]) => a - b)) {
    if (status === 'decommissioned') continue;
    (REACHABLE.has(status) ? toScan : toSkip).push(nodeId);
  }
  return { toScan, toSkip };
}

/** Ids of ranges, stores and nodes begin at 1; above 2^53 two of them could look alike. */
export function isId(id: number | undefined): id is number {
  return id !== undefined && id > 0 && Number.isSafeInteger(id);
}
