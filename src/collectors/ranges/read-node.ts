import type { ClusterApi, RangeRoute, Reading } from '../../cluster/api.ts';
import { rangeShape } from './range.ts';
import { count, type NodeTally } from './tally.ts';

/** Whose answer is not what was asked for; counts as `decode`. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

export interface NodeQuestion {
  readonly nodeId: number;
  readonly route: RangeRoute | 'auto';
  readonly pageLimit: number;
  readonly firstUrl: number;
  /** Remembers that this cluster's servers ignore `remote_node_id`. */
  readonly routeMemory: RouteMemory;
  readonly startTally: (nodeId: number) => NodeTally;
}

export interface RouteMemory {
  gatewayOnly: boolean;
}

/** Statuses of a server that does not know `remote_node_id`, or cannot reach that node's HTTP address. */
const NO_PROXY: ReadonlySet<unknown> = new Set([400, 404, 502]);

/** Reads all ranges of one node; rejects with an AnswerError or like the API. */
export async function readNode(
  api: ClusterApi,
  reading: Reading,
  question: NodeQuestion,
): Promise<NodeTally> {
  const { route, nodeId } = question;
  if (route !== 'auto') return read(api, reading, { ...question, route });
  if (!question.routeMemory.gatewayOnly) {
    const tally = await tryProxy(api, reading, question);
    if (tally !== undefined) return tally;
  }
  return read(api, reading, { ...question, nodeId, route: 'gateway' });
}

type RoutedQuestion = NodeQuestion & { readonly route: RangeRoute };

async function read(
  api: ClusterApi,
  reading: Reading,
  question: RoutedQuestion,
): Promise<NodeTally> {
  const { nodeId, route } = question;
  const tally = question.startTally(route === 'local' ? 0 : nodeId);
  try {
    await readPages(api, reading, { question, tally });
  } catch (error) {
    if (tally.stranger === undefined) throw error;
    throw new AnswerError(
      `ranges of node ${nodeId === 0 ? 'local' : nodeId}: the answer holds ranges of node ${tally.stranger}`,
      { cause: error },
    );
  }
  if (tally.elements > 0 && tally.figures.stores.size === 0) {
    throw new AnswerError(
      `ranges of node ${nodeId === 0 ? 'local' : nodeId}: none of ${tally.elements} elements names its range and store`,
    );
  }
  return tally;
}

/** Undefined when the answer must not be trusted, so that the node is to be asked by gateway. */
async function tryProxy(
  api: ClusterApi,
  reading: Reading,
  question: NodeQuestion,
): Promise<NodeTally | undefined> {
  try {
    const tally = await read(api, reading, { ...question, route: 'proxy' });
    // An answer that names no node proves nothing; an empty one is cheap to ask for again.
    if (tally.named > 0) return tally;
    if (tally.elements > 0) question.routeMemory.gatewayOnly = true;
  } catch (error) {
    if (error instanceof AnswerError) question.routeMemory.gatewayOnly = true;
    else if (!NO_PROXY.has(statusOf(error))) throw error;
  }
  return undefined;
}

async function readPages(
  api: ClusterApi,
  reading: Reading,
  { question, tally }: { readonly question: RoutedQuestion; readonly tally: NodeTally },
): Promise<void> {
  await api.nodeRanges(reading, {
    nodeId: question.nodeId,
    route: question.route,
    limit: question.pageLimit,
    firstUrl: question.route === 'local' ? 0 : question.firstUrl,
    shape: rangeShape,
    onRange(range) {
      // Thrown through the API, so that the rest of a wrong answer is not even read.
      if (!count(tally, range)) throw new AnswerError('ranges of another node');
    },
  });
}

function statusOf(error: unknown): unknown {
  return error instanceof Error && 'status' in error ? error.status : undefined;
}
