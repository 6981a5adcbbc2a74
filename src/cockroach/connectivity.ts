import { object, record, type Shape } from '../json/index.ts';
import { isId } from './node.ts';
import type { PageRequest } from './read-page.ts';

/** How the connections between nodes are listed. */
export interface ConnectivityRequest<Peer> {
  /** Asks this node alone. */
  readonly nodeId?: number;
  /** To the headers: the server waits for every node, without a limit of its own. */
  readonly headersMs: number;
  /** A connection of a node. */
  readonly peer: Shape<Peer, unknown>;
  /** Called for each node that was asked, with its connections by the id of the peer. */
  readonly onNode: (nodeId: number, peers: ReadonlyMap<number, Peer>) => void;
}

/**
 * The request of the list, or of one node's part. One silent node keeps the whole list back. The texts of the nodes that could
 * not be asked are not read.
 */
export function connectivityPage<Peer>({
  nodeId,
  headersMs,
  peer,
  onNode,
}: ConnectivityRequest<Peer>) {
  const element = object({ peers: record(peer) });
  return {
    endpoint: 'connectivity',
    path: `/_status/connectivity${nodeId === undefined ? '' : `?node_id=${nodeId}`}`,
    isBesideApi: true,
    sendsCookie: true,
    isPart: true,
    waitsForNodes: true,
    headersMs,
    list: 'connections',
    isMap: true,
    element,
    envelope: object({}),
    onElement({ peers }, key) {
      if (!isId(Number(key))) return;
      const entries = Array.from(peers, ([id, connection]) => [Number(id), connection] as const);
      onNode(Number(key), new Map(entries.filter(([id]) => isId(id))));
    },
  } satisfies PageRequest<typeof element, ReturnType<typeof object>>;
}
