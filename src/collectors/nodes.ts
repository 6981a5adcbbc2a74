import type { Sheet } from '../metrics/sheet.ts';
import { Slice } from '../metrics/slice.ts';
import { clusterCollector } from './collector.ts';
import { chooseKeys, type ChosenKeys } from './nodes/choice.ts';
import * as families from './nodes/families.ts';
import { freshnessOf } from './nodes/liveness.ts';
import { publishCluster, publishMetrics, publishNode } from './nodes/publish.ts';
import { NODE_READINGS, STORE_READINGS } from './nodes/readings.ts';
import { copyNode, MAX_TIERS, type NodeRecord, nodeShape } from './nodes/record.ts';

/** GET /nodes/: what the nodes are, whether they live, and the most telling of their own metrics. */
export const nodes = clusterCollector({
  name: 'nodes',
  help: 'Liveness, version, locality, load and stores of the nodes.',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  intervalSeconds: 30,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: [
    ...Object.values(families),
    ...NODE_READINGS.map(({ family }) => family),
    ...STORE_READINGS.map(({ family }) => family),
  ],
  options: {
    page_limit: {
      kind: 'integer',
      default: 200,
      min: 1,
      help: 'Nodes per request; a record of a node is some 150 kB.',
    },
    metrics: {
      kind: 'strings',
      default: [],
      pattern: /^[^*]*\*?$/,
      expects: 'a key, or the beginning of keys and a *, as sql.mem.*',
      help: 'Keys of the metrics of nodes and stores to show as crdb_node_metric and crdb_store_metric, exact or with a trailing *.',
    },
  },
  createMemory: () => undefined,

  async collect(api, sheet, context) {
    const chosen = chooseKeys(context.options.metrics);
    // By id: a node that moves between two pages is listed twice.
    const byId = new Map<number, NodeRecord>();
    const { dateMs } = await api.nodes(context, {
      limit: context.options.page_limit,
      shape: nodeShape(chosen),
      onNode(element) {
        const node = copyNode(element);
        if (node !== undefined) byId.set(node.id, node);
      },
    });
    const listed = [...byId.values()].toSorted((a, b) => a.id - b.id);
    await publish(sheet, listed, { chosen, isFresh: freshnessOf(listed, dateMs) });
    const crowded = listed.find(({ hasMoreTiers }) => hasMoreTiers);
    if (crowded !== undefined) {
      context.limits.add('items');
      context.notice(describeCrowded(crowded));
    }
    return undefined;
  },
});

function describeCrowded({ id }: NodeRecord): string {
  return `nodes: node ${id} has more than ${MAX_TIERS} locality tiers, the first ${MAX_TIERS} are shown; see --locality of its start command`;
}

/** In slices: of thousands of nodes it takes longer than a scrape may wait. */
async function publish(
  sheet: Sheet,
  listed: readonly NodeRecord[],
  {
    chosen,
    isFresh,
  }: { readonly chosen: ChosenKeys; readonly isFresh: (node: NodeRecord) => boolean },
): Promise<void> {
  const slice = new Slice();
  publishCluster(sheet, listed);
  for (const node of listed) {
    publishNode(sheet, node);
    if (isFresh(node)) publishMetrics(sheet, node, chosen);
    await slice.pauseWhenOver();
  }
}
