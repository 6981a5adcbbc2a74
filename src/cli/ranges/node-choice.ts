import type { RangeRoute } from '../../cluster/api.ts';
import { listNodes, type NodeList } from '../../collectors/ranges/node-list.ts';
import { CommandError } from '../exit.ts';
import { clusterApiOf, type Target } from '../target.ts';

/** As configured for the collector; what it finds out about proxying is not worth a command's while. */
export function routeOf({ config }: Target): RangeRoute {
  const route = config.collectors['ranges']?.['route'];
  return route === 'proxy' || route === 'local' ? route : 'gateway';
}

/**
 * The nodes to read: all, or the one with the id. Those that do not live are not asked: the call would fail
 * after seconds, or never end. Rejects like the API, or with a CommandError for a node that cannot be read.
 */
export async function chooseNodes(target: Target, nodeId: number | undefined): Promise<NodeList> {
  // The node beside this process, whichever it is.
  if (routeOf(target) === 'local' && nodeId === undefined) return { toAsk: [0], toSkip: [] };
  const nodes = await listNodes(clusterApiOf(target), target.reading);
  if (nodeId === undefined) return nodes;
  if (nodes.toAsk.includes(nodeId)) return { toAsk: [nodeId], toSkip: [] };
  if (nodes.toSkip.includes(nodeId)) {
    throw new CommandError(
      `node ${nodeId} is not live, so its ranges cannot be read; see \`nodes\``,
    );
  }
  const known = [...nodes.toAsk, ...nodes.toSkip].toSorted((a, b) => a - b);
  throw new CommandError(`there is no node ${nodeId}: the cluster has ${known.join(', ')}`);
}
