import type { ClusterApi, Reading } from '../../cluster/api.ts';
import { integer, object } from '../../json/shape.ts';
import { isId } from './range.ts';

/** Of the nodes' records, which are large, only two numbers are wanted; the server makes them all the same. */
const PAGE_LIMIT = 200;

const DRAINING = 6;
const LIVE = 3;
const DECOMMISSIONING = 4;
const DECOMMISSIONED = 5;
/** Others are not asked: a call to them fails after seconds, or never ends. */
const ASKED: ReadonlySet<number> = new Set([LIVE, DRAINING, DECOMMISSIONING]);

const nodeShape = object({ node_id: integer(), liveness_status: integer() });

/** The nodes of the cluster that still belong to it, ascending. */
export interface NodeList {
  readonly toAsk: readonly number[];
  readonly toSkip: readonly number[];
}

/** Lists the nodes, ids and liveness only. Rejects like the API. */
export async function listNodes(api: ClusterApi, reading: Reading): Promise<NodeList> {
  const statuses = new Map<number, number>();
  await api.nodes(reading, {
    limit: PAGE_LIMIT,
    shape: nodeShape,
    onNode({ node_id, liveness_status }) {
      if (isId(node_id)) statuses.set(node_id, liveness_status ?? 0);
    },
  });
  const toAsk: number[] = [];
  const toSkip: number[] = [];
  for (const [nodeId, status] of [...statuses].toSorted(([a], [b]) => a - b)) {
    if (status === DECOMMISSIONED) continue;
    (ASKED.has(status) ? toAsk : toSkip).push(nodeId);
  }
  return { toAsk, toSkip };
}
