import { array, integer, object, nameText } from '../json/shape.ts';
import { cleanLabelValue } from '../metrics/sample-text.ts';
import type { LivenessStatus } from '../vocabulary.ts';
import type { ClusterApi, PollStats } from './cluster-api.ts';
import { divideNodes, isId, livenessOf, type NodeList, type Tier } from './node.ts';

/** The records are large and little of them is read, but the server prepares them in full. */
const PAGE_LIMIT = 200;

/** Real clusters have two or three; every range is counted for each. */
const MAX_TIERS = 8;

const nodeShape = object({
  node_id: integer(),
  liveness_status: integer(),
  locality: object({ tiers: array(object({ key: nameText(), value: nameText() })) }),
});

/** Lists the nodes, by ids, liveness and locality only. Rejects like the API. */
export async function listNodes(api: ClusterApi, stats: PollStats): Promise<NodeList> {
  const statuses = new Map<number, LivenessStatus>();
  const localities = new Map<number, readonly Tier[]>();
  await api.nodes(stats, {
    limit: PAGE_LIMIT,
    shape: nodeShape,
    onNode({ node_id, liveness_status: livenessCode, locality: { tiers } }) {
      if (!isId(node_id)) return;
      statuses.set(node_id, livenessOf({ livenessCode }));
      localities.set(
        node_id,
        tiers.slice(0, MAX_TIERS).map(({ key = '', value = '' }) => ({
          key: cleanLabelValue(key),
          value: cleanLabelValue(value),
        })),
      );
    },
  });
  return { ...divideNodes(statuses), localities };
}
