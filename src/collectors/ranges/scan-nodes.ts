import {
  addWarning,
  assertWithin,
  type ClusterApi,
  failureOf,
  type RangeRoute,
  RequestError,
} from '#cockroach';
import type { Infer, ObjectShape, RecordBatch } from '#json';
import { mostFrequent } from '../collector.ts';
import { nameList, NodeReplicas, WrongNodeError } from './node-replicas.ts';
import type { FailedNode, ScannedNode } from './scan-result.ts';
import type { ScanContext } from './scan-state.ts';

/** The nodes that were read and those that were not, by id. */
export interface ScannedNodes {
  readonly nodes: readonly ScannedNode[];
  readonly failed: readonly FailedNode[];
  /** Whether the deadline ended the scan. */
  readonly timedOut: boolean;
}

/**
 * Reads the nodes, whose ids ascend, until all are done or the signal aborts; the failure of one does not end the scan.
 * `firstUrl` differs between consecutive nodes and between consecutive scans of a node, so that a URL that is down does not
 * always fail the same ones.
 */
export async function scanNodes(
  context: ScanContext,
  nodeIds: readonly number[],
  readAndCommit: (nodeId: number, firstUrl: number) => Promise<ScannedNode>,
): Promise<ScannedNodes> {
  const { state, signal, options, urls, scanProgress } = context;
  const { firstNodeId } = state;
  const order = [
    ...nodeIds.filter((nodeId) => nodeId >= firstNodeId),
    ...nodeIds.filter((nodeId) => nodeId < firstNodeId),
  ];
  const nodes: ScannedNode[] = [];
  const failed: FailedNode[] = [];
  const interrupted: number[] = [];
  let begun = 0;

  async function readOneByOne(): Promise<void> {
    for (;;) {
      const nodeId = order[begun];
      if (nodeId === undefined || signal.aborted) return;
      // Nodes of neighbouring ids, and scans that follow each other, begin at different URLs.
      const firstUrl = (nodeId + state.scans) % urls;
      begun += 1;
      try {
        nodes.push(await readAndCommit(nodeId, firstUrl));
      } catch (error) {
        if (signal.aborted) interrupted.push(nodeId);
        else failed.push({ nodeId, wasQueried: true, failure: failureOf(error) });
      }
      scanProgress(nodes.length + failed.length, order.length);
    }
  }

  scanProgress(0, order.length);
  await Promise.all(Array.from({ length: options.concurrency }, readOneByOne));
  const unfinished = new Set([...interrupted, ...order.slice(begun)]);
  for (const nodeId of unfinished) {
    const message = `ranges of node ${nodeId}: the scan ran out of time`;
    const failure = new RequestError('timeout', message, { cause: signal.reason, late: 'poll' });
    failed.push({ nodeId, wasQueried: interrupted.includes(nodeId), failure });
  }
  state.scans += 1;
  state.firstNodeId = nextFirst(order, unfinished, options.concurrency);
  return {
    // They are sorted by id, not by arrival: what exceeds a budget then always misses the same nodes.
    nodes: nodes.toSorted(byId),
    failed: failed.toSorted(byId),
    timedOut: unfinished.size > 0,
  };
}

function byId(a: { readonly nodeId: number }, b: { readonly nodeId: number }): number {
  return a.nodeId - b.nodeId;
}

/**
 * Each scan begins one node further. After a timeout it begins with the first unfinished node, except those that had the
 * whole scan to themselves: they would use up the next one, too. Example: of the nodes 1 to 9, read two at a time, 1 is
 * silent until the end and 8 and 9 were not begun: the next scan begins with 8.
 */
function nextFirst(
  order: readonly number[],
  unfinished: ReadonlySet<number>,
  concurrency: number,
): number {
  const next = order.find((nodeId, index) => index >= concurrency && unfinished.has(nodeId));
  return next ?? order[1] ?? 0;
}

/** Why too little was read to publish it: fewer than half of the nodes. */
export function scanFailure({ nodes, failed }: ScannedNodes): RequestError | undefined {
  const planned = nodes.length + failed.length;
  if (nodes.length * 2 >= planned) return undefined;
  const cause = mostFrequent(failed.map(({ failure }) => failure));
  const message = `ranges: ${failed.length} of ${planned} nodes were not read; ${cause?.message}`;
  return new RequestError(cause?.reason ?? 'other', message, { cause });
}

/** A scan that publishes is a success; what it lacks is logged and counted in crdb_range_scan_nodes. */
export function logFailures(
  context: Pick<ScanContext, 'warnings'>,
  { failed, timedOut }: ScannedNodes,
): void {
  for (const { nodeId, wasQueried, failure } of failed) {
    const isSilent = failure.reason === 'timeout';
    if (!wasQueried || (timedOut && isSilent)) continue;
    // Its message may name the duration of the node's pause.
    addWarning(context, {
      about: nameList(nodeId),
      endpoint: 'node_ranges',
      error: isSilent
        ? new RequestError('timeout', 'the node does not respond', { cause: failure })
        : failure,
    });
  }
  if (!timedOut) return;
  const text = 'the scan exceeded its timeout, the next one continues where it stopped';
  const remedy = 'raise collectors.ranges.timeout or concurrency, or divide the nodes among shards';
  const error = new RequestError('timeout', text, { remedy });
  addWarning(context, { about: 'the scan', endpoint: 'node_ranges', error });
}

/** Statuses of a server that does not know `remote_node_id`, or cannot reach that node's HTTP address. */
const NO_PROXY: ReadonlySet<unknown> = new Set([400, 404, 502]);

/** How the elements of a list are read: a command shows more of them than a scan keeps. */
interface ElementReader<S extends ObjectShape> {
  readonly shape: S;
  /**
   * Adds the element to the node, which may throw, and takes over what it needs of it: the element is reused. Without this
   * method the node adds whole batches of `replicaShape`.
   */
  readonly add?: (node: NodeReplicas, element: Infer<S>) => void;
  /** The only ranges to read, which are ready at once; default: all. */
  readonly rangeIds?: readonly number[] | undefined;
  /** Waited for between pages, when no response is being read. */
  readonly onPageEnd?: (() => Promise<void>) | undefined;
}

/** One node, and how to read it. */
interface NodeRequest {
  readonly api: ClusterApi;
  readonly context: ScanContext;
  readonly nodeId: number;
  /** Index of the URL to begin with. */
  readonly firstUrl: number;
  /** Whether this exporter scans that other node, too. */
  readonly isAssigned: (nodeId: number) => boolean;
}

/** Reads ranges of one node. Rejects like the API. */
export async function readNodeRanges<S extends ObjectShape>(
  request: NodeRequest,
  reader: ElementReader<S>,
): Promise<NodeReplicas> {
  const { options, state } = request.context;
  if (options.route !== 'auto') return readByRoute(request, options.route, reader);
  // Of a few ranges most nodes hold none, and an empty response would prove nothing of the proxy.
  if (!state.gatewayOnly && reader.rangeIds === undefined) {
    try {
      const node = await readByRoute(request, 'proxy', reader);
      // An empty response may be of another node; the gateway's own is not.
      if (node.stores > 0) return node;
    } catch (error) {
      if (error instanceof WrongNodeError) state.gatewayOnly = true;
      else if (!(error instanceof RequestError) || !NO_PROXY.has(error.status)) throw error;
    }
  }
  return readByRoute(request, 'gateway', reader);
}

/** Reads one list. Rejects when its pages do not fit together, and when a replica is listed twice. */
async function readByRoute<S extends ObjectShape>(
  { api, context, nodeId, firstUrl, isAssigned }: NodeRequest,
  route: RangeRoute,
  { shape, add, rangeIds, onPageEnd }: ElementReader<S>,
): Promise<NodeReplicas> {
  const name = nameList(nodeId);
  const { page_limit: limit, node_timeout: timeout } = context.options;
  const node = new NodeReplicas(nodeId, route === 'local', isAssigned);
  let pages = 0;
  const assertSize = (): void => {
    assertWithin(context, name, 'replicas', node.elements, 'replicasOfNode');
    assertWithin(context, name, 'stores', node.stores, 'storesOfNode');
  };
  await api.nodeRanges(context, {
    nodeId,
    route,
    limit,
    headersMs: rangeIds === undefined ? timeout * 1000 : undefined,
    rangeIds,
    firstUrl,
    shape,
    ...(add === undefined
      ? {
          onBatch: (batch: RecordBatch) => {
            node.addBatch(batch);
            assertSize();
          },
        }
      : {
          onRange: (element: Infer<S>) => {
            add(node, element);
            assertSize();
          },
        }),
    async onPageEnd() {
      pages += 1;
      await onPageEnd?.();
    },
  });
  if (node.elements > 0 && node.stores === 0) {
    const message = `${name}: none of ${node.elements} elements names its node, store and range`;
    throw new RequestError('decode', message);
  }
  if (pages > 1 && !node.isInOrder) {
    const message =
      'the pages do not fit together: stores come in another order each time, and replicas come and go';
    const remedy =
      limit > 0 ? 'set collectors.ranges.page_limit to 0' : 'look for a proxy that cuts responses';
    throw new RequestError('decode', `${name}: ${message}`, { remedy });
  }
  if (node.hasRepeated) {
    const remedy = 'look for a proxy that repeats parts of responses';
    throw new RequestError('decode', `${name}: a replica is listed twice`, { remedy });
  }
  return node;
}
