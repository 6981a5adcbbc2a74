import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import {
  assertWithin,
  MAX_NODE_REPLICAS,
  MAX_NODE_STORES,
  type RangeRoute,
  statusOf,
} from '../../cockroach/listings.ts';
import { CollectError } from '../collector.ts';
import type { NodeTally } from './node-tally.ts';
import type { NodesContext } from './read-nodes.ts';
import { replicaShape } from './replica.ts';

/** Statuses of a server that does not know `remote_node_id`, or cannot reach that node's HTTP address. */
const NO_PROXY: ReadonlySet<unknown> = new Set([400, 404, 502]);

/** One list of the replicas of a node. */
interface ListRequest {
  readonly nodeId: number;
  readonly route: RangeRoute;
  /** Index of the URL to begin with. */
  readonly firstUrl: number;
}

/** The response is not that of the node that was requested, or names none of its replicas. */
class WrongNodeError extends CollectError {
  constructor(message: string, options?: ErrorOptions) {
    super('decode', message, options);
  }
}

/** Reads all ranges of one node; rejects with a CollectError or like the API. */
export class NodeReader {
  readonly #api: ClusterApi;
  readonly #context: NodesContext;
  readonly #createTally: (nodeId: number) => NodeTally;

  constructor(api: ClusterApi, context: NodesContext, createTally: (nodeId: number) => NodeTally) {
    this.#api = api;
    this.#context = context;
    this.#createTally = createTally;
  }

  async read(nodeId: number, firstUrl: number): Promise<NodeTally> {
    const { options, state } = this.#context;
    const { route } = options;
    if (route !== 'auto') return this.#readNode({ nodeId, route, firstUrl });
    const tally = state.gatewayOnly ? undefined : await this.#tryProxy(nodeId, firstUrl);
    return tally ?? this.#readNode({ nodeId, route: 'gateway', firstUrl });
  }

  /** Undefined when the response cannot be trusted, so that the gateway has to be queried. */
  async #tryProxy(nodeId: number, firstUrl: number): Promise<NodeTally | undefined> {
    const { state } = this.#context;
    try {
      const tally = await this.#readNode({ nodeId, route: 'proxy', firstUrl });
      // A response that names no node proves nothing; an empty one is cheap to query again.
      if (tally.named > 0) return tally;
      if (tally.elements > 0) state.gatewayOnly = true;
    } catch (error) {
      if (error instanceof WrongNodeError) state.gatewayOnly = true;
      else if (!NO_PROXY.has(statusOf(error))) throw error;
    }
    return undefined;
  }

  /** Reads each replica of the node once: a list that repeats or loses some is read again, in one response. */
  async #readNode(request: ListRequest): Promise<NodeTally> {
    const { state, options, warn } = this.#context;
    const { nodeId } = request;
    const isPaged = !state.unpaged.has(nodeId);
    const tally = await this.#readList(request, isPaged ? options.page_limit : 0);
    const { fault } = tally.order;
    if (fault === undefined) return tally;
    if (fault === 'order changed') state.unpaged.add(nodeId);
    if (fault === 'offset moved') this.#api.decodeErrors('node_ranges', tally.order.repeated);
    const complete = await this.#readList(request, 0);
    const { order } = complete;
    if (order.fault === 'order changed') {
      const message = `${nameOf(nodeId)}: the response was cut, and the order of the stores changed before the rest: look for a proxy that limits it`;
      throw new CollectError('decode', message);
    }
    if (order.repeated === 0) return complete;
    this.#api.decodeErrors('node_ranges', order.repeated);
    warn(`${nameOf(nodeId)}: replicas come twice, also when it is read again; each counts once`);
    return complete;
  }

  /** Reads one list, but not its end when its pages are known to be of no use. */
  async #readList({ nodeId, route, firstUrl }: ListRequest, limit: number): Promise<NodeTally> {
    const context = this.#context;
    const name = nameOf(nodeId);
    const tally = this.#createTally(nodeId);
    const orderChanged = new Error('the order of the stores changed');
    try {
      await this.#api.nodeRanges(context, {
        nodeId,
        route,
        limit,
        headersMs: context.options.node_timeout * 1000,
        firstUrl,
        shape: replicaShape,
        onRange(replica) {
          // The error is thrown through the API, so that the rest of a wrong response is not read.
          if (!tally.count(replica)) throw new Error('ranges of another node');
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
    if (tally.elements === 0 || tally.stores.size > 0) return tally;
    throw new WrongNodeError(
      `${name}: none of ${tally.elements} elements names its range and store`,
    );
  }
}

function nameOf(nodeId: number): string {
  return `ranges of node ${nodeId === 0 ? 'local' : nodeId}`;
}
