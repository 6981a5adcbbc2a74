import type { ClusterApi, RangeRoute } from '../../cockroach/cluster-api.ts';
import { statusOf } from '../../cockroach/failures.ts';
import { assertWithin, MAX_NODE_REPLICAS, MAX_NODE_STORES } from '../../cockroach/limits.ts';
import { CollectError } from '../collector.ts';
import { rangeShape } from './range.ts';
import type { ScanContext } from './scan.ts';
import type { NodeTally } from './tally.ts';

/** Statuses of a server that does not know `remote_node_id`, or cannot reach that node's HTTP address. */
const NO_PROXY: ReadonlySet<unknown> = new Set([400, 404, 502]);

/** What each list of a scan is read with. */
interface Reading {
  readonly api: ClusterApi;
  readonly context: ScanContext;
  readonly createTally: (nodeId: number) => NodeTally;
}

/** One list of the replicas of a node. */
interface ListRequest {
  readonly nodeId: number;
  readonly route: RangeRoute;
  /** Index of the URL to begin with. */
  readonly firstUrl: number;
}

/** Makes what reads all ranges of one node, and rejects with a CollectError or like the API. */
export function createNodeReader(
  api: ClusterApi,
  context: ScanContext,
  createTally: (nodeId: number) => NodeTally,
): (nodeId: number, turn: number) => Promise<NodeTally> {
  const { options, state, urls } = context;
  const reading = { api, context, createTally };

  /** Undefined when the response cannot be trusted, so that the gateway has to be queried. */
  async function tryProxy(nodeId: number, firstUrl: number): Promise<NodeTally | undefined> {
    try {
      const tally = await readNode(reading, { nodeId, route: 'proxy', firstUrl });
      // A response that names no node proves nothing; an empty one is cheap to query again.
      if (tally.named > 0) return tally;
      if (tally.elements > 0) state.gatewayOnly = true;
    } catch (error) {
      if (error instanceof WrongNodeError) state.gatewayOnly = true;
      else if (!NO_PROXY.has(statusOf(error))) throw error;
    }
    return undefined;
  }

  return async (nodeId, turn) => {
    const firstUrl = turn % urls;
    const { route } = options;
    if (route !== 'auto') return readNode(reading, { nodeId, route, firstUrl });
    const tally = state.gatewayOnly ? undefined : await tryProxy(nodeId, firstUrl);
    return tally ?? readNode(reading, { nodeId, route: 'gateway', firstUrl });
  };
}

/** The response is not that of the node that was asked for, or names none of its replicas. */
class WrongNodeError extends CollectError {
  constructor(message: string, options?: ErrorOptions) {
    super('decode', message, options);
  }
}

/** Each replica of the node once: a list that is not like this is read again, in one response. */
async function readNode(reading: Reading, request: ListRequest): Promise<NodeTally> {
  const { api, context } = reading;
  const { state, options, warn } = context;
  const { nodeId } = request;
  const tally = await readList(
    reading,
    request,
    state.unpaged.has(nodeId) ? 0 : options.page_limit,
  );
  const { fault } = tally.order;
  if (fault === undefined) return tally;
  if (fault === 'order changed') state.unpaged.add(nodeId);
  if (fault === 'offset moved') api.decodeErrors('node_ranges', tally.order.repeated);
  const again = await readList(reading, request, 0);
  const { order } = again;
  if (order.fault === 'order changed') {
    const message = `${nameOf(nodeId)}: the response was cut, and the order of the stores changed before the rest: look for a proxy that limits it`;
    throw new CollectError('decode', message);
  }
  if (order.repeated === 0) return again;
  api.decodeErrors('node_ranges', order.repeated);
  warn(`${nameOf(nodeId)}: replicas come twice, also when it is read again; each counts once`);
  return again;
}

/** Reads one list; its end is missing when its pages are known to be of no use. */
async function readList(
  { api, context, createTally }: Reading,
  { nodeId, route, firstUrl }: ListRequest,
  limit: number,
): Promise<NodeTally> {
  const name = nameOf(nodeId);
  const tally = createTally(route === 'local' ? 0 : nodeId);
  const orderChanged = new Error('the order of the stores changed');
  try {
    await api.nodeRanges(context, {
      nodeId,
      route,
      limit,
      headersMs: context.options.node_timeout * 1000,
      firstUrl,
      shape: rangeShape,
      onRange(range) {
        // Thrown through the API, so that the rest of a wrong response is not read.
        if (!tally.count(range)) throw new Error('ranges of another node');
        assertWithin(context, name, 'replicas', tally.elements, MAX_NODE_REPLICAS);
        assertWithin(context, name, 'stores', tally.stores.size, MAX_NODE_STORES);
      },
      async onPageEnd() {
        if (tally.order.fault === 'order changed') throw orderChanged;
        tally.order.endPage();
      },
    });
  } catch (error) {
    if (error === orderChanged) return tally;
    if (tally.unexpectedNodeId === undefined) throw error;
    const message = `${name}: the response holds ranges of node ${tally.unexpectedNodeId}`;
    throw new WrongNodeError(message, { cause: error });
  }
  if (tally.elements === 0 || tally.node.stores.size > 0) return tally;
  throw new WrongNodeError(`${name}: none of ${tally.elements} elements names its range and store`);
}

function nameOf(nodeId: number): string {
  return `ranges of node ${nodeId === 0 ? 'local' : nodeId}`;
}
