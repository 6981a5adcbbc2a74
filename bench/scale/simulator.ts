import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorInForm, protobufAnswer, sendsProtobuf } from '../../simulator/cluster/forms.ts';
import { login } from '../../simulator/cluster/login.ts';
import { goInteger } from '../../simulator/cluster/page.ts';
import {
  callerOf,
  callerOfCookie,
  isRefusal,
  type ClusterRequest,
  type ClusterServer,
} from '../../simulator/cluster/request.ts';
import { matchRoute } from '../../simulator/cluster/routes.ts';
import { createStoreOrder } from '../../simulator/cluster/store-order.ts';
import { createTokens } from '../../simulator/cluster/tokens.ts';
import {
  internalError,
  jsonAnswer,
  unknownPath,
  type Answer,
} from '../../simulator/http/answer.ts';
import { openListener } from '../../simulator/http/listener.ts';
import { sendAnswer } from '../../simulator/http/send.ts';
import { readBody } from '../../simulator/http/serve.ts';
import { resolveOptions, type Listen } from '../../simulator/options.ts';
import { quirksOf } from '../../simulator/quirks.ts';
import type { ClusterNode } from '../../simulator/world/nodes.ts';
import { createWorld, type World } from '../../simulator/world/world.ts';
import { describeAsJson, describeAsMessage } from '../described-ranges.ts';
import { type Block, makeBlock } from './blocks.ts';
import { describedRanges } from './descriptors.ts';
import {
  FIRST_NODE_ID,
  layoutOf,
  type Layout,
  positionOf,
  REPLICATION,
  type ScaleOptions,
} from './layout.ts';
import { createNodeList, type NodeList } from './node-list.ts';
import { elementsOf, type ListedCluster } from './range-pages.ts';
import { scaleTruth, type ScaleTruth } from './scale-truth.ts';
import { createSessionList, type SessionList } from './session-list.ts';

/** A cluster of hundreds of nodes and millions of replicas, served from rendered bytes. */
export interface ScaleSimulator extends AsyncDisposable {
  readonly clusterUrl: string;
  readonly username: string;
  readonly password: string;
  /** The correct values while all nodes are live. */
  readonly truth: ScaleTruth;
  readonly changes: ScaleChanges;
  /** Responses started, by endpoint. */
  readonly answers: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** What may change while it runs. */
interface ScaleChanges {
  /** The dead nodes, from 0. */
  readonly dead: Set<number>;
  /** How long a server takes until it sends descriptors. */
  descriptorMs: number;
}

interface Parts extends ListedCluster {
  readonly server: ClusterServer;
  readonly model: ClusterNode;
  readonly changes: ScaleChanges;
  readonly nodeList: NodeList;
  readonly sessionList: SessionList;
  readonly answers: Map<string, number>;
}

/**
 * Serves login, nodes, ranges of nodes, descriptors and sessions. Only the times of the node records change, what `changes`
 * says, and little is computed, so that benchmarks measure the client.
 */
export async function startScaleSimulator(
  given: Partial<ScaleOptions> & { readonly listen?: Listen } = {},
): Promise<ScaleSimulator> {
  const { listen = { host: '127.0.0.1', port: 0 }, ...sizes } = given;
  const parts = createParts(layoutOf(sizes));
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    answer(parts, request, response).catch(() => response.destroy());
  };
  const listener = await openListener(listen, undefined, handle, handle);
  const close = (): Promise<void> => listener.close();
  return {
    clusterUrl: listener.url,
    username: parts.server.options.username,
    password: parts.server.options.password,
    truth: scaleTruth(parts.layout, parts.blocks),
    changes: parts.changes,
    answers: parts.answers,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createParts(layout: Layout): Parts {
  const options = resolveOptions({
    nodes: 1,
    ranges: 8,
    storesPerNode: 1,
    sessions: layout.sessionsPerNode,
    metricKeys: layout.metricKeys,
    faultyNodes: false,
    frozen: true,
  });
  const world = createWorld(options);
  const quirks = quirksOf('real', {});
  const tokens = createTokens(options.seed, options.sessionTimeoutMs, options.now);
  const model = modelNode(world);
  const three = { ...world.state, nodes: threeNodes(model) };
  const { tablePerRange } = layout;
  const turns = Array.from({ length: REPLICATION }, (_, turn) => turn);
  const blocks = (troubled: boolean): Block[] =>
    turns.map((turn) => makeBlock(three, quirks, { turn, troubled, tablePerRange }));
  const changes: ScaleChanges = { dead: new Set(), descriptorMs: 0 };
  return {
    layout,
    dead: changes.dead,
    changes,
    server: { options, world, quirks, tokens, storeOrder: createStoreOrder(options.seed) },
    model,
    blocks: {
      troubled: blocks(layout.hasProblems),
      healthy: blocks(false),
    },
    nodeList: createNodeList(layout, world.state, quirks, model),
    sessionList: createSessionList(layout, world.state, quirks),
    answers: new Map(),
  };
}

function modelNode(world: World): ClusterNode {
  const [node] = world.state.nodes.values();
  if (node === undefined) throw new RangeError('a cluster without nodes');
  return node;
}

function threeNodes(model: ClusterNode): Map<number, ClusterNode> {
  const ids = Array.from({ length: REPLICATION }, (_, turn) => FIRST_NODE_ID + turn);
  return new Map(ids.map((id) => [id, { ...model, id }]));
}

async function answer(
  parts: Parts,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(`http://simulated${incoming.url ?? '/'}`);
  const { endpoint, parts: pathParts } = matchRoute(url.pathname);
  const counted = url.searchParams.has('ranges') ? 'single_ranges' : endpoint;
  parts.answers.set(counted, (parts.answers.get(counted) ?? 0) + 1);
  const request: ClusterRequest = {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    body: await readBody(incoming),
    node: parts.model,
  };
  if (endpoint === 'login') return refuse(response, login(parts.server, request));
  if (endpoint === 'range_descriptors') return sendDescriptors(parts, request, response, pathParts);
  const caller = callerOf(parts.server, request);
  if (isRefusal(caller)) return refuse(response, caller);
  if (endpoint === 'nodes') return sendPieces(response, nodesBody(parts, request));
  if (endpoint === 'sessions') return sendPieces(response, sessionsBody(parts, request));
  if (endpoint !== 'node_ranges') return refuse(response, unknownPath());
  const node = targetOf(request, pathParts[0] ?? '') - FIRST_NODE_ID;
  if (!isServing(parts, node)) return refuse(response, internalError());
  return sendPieces(response, rangesBody(parts, request, node));
}

async function sendDescriptors(
  parts: Parts,
  request: ClusterRequest,
  response: ServerResponse,
  [nodeId = '']: readonly string[],
): Promise<void> {
  const caller = callerOfCookie(parts.server, request);
  if (isRefusal(caller)) return refuse(response, caller);
  const node = Number(nodeId) - FIRST_NODE_ID;
  if (!isServing(parts, node)) {
    return refuse(response, errorInForm(parts.server, request, internalError()));
  }
  const sendAtMs = performance.now() + parts.changes.descriptorMs;
  const rangeIds = request.query.getAll('range_ids').map(Number);
  const ranges = describedRanges(parts, node, rangeIds);
  const reply = sendsProtobuf(parts.server, request)
    ? protobufAnswer(200, [describeAsMessage(ranges)])
    : jsonAnswer(200, describeAsJson(ranges));
  await sleep(Math.max(0, sendAtMs - performance.now()));
  return sendAnswer(response, reply, { gzip: false });
}

function isServing({ layout, dead }: Parts, node: number): boolean {
  return node >= 0 && node < layout.nodes && !dead.has(node);
}

function refuse(response: ServerResponse, reply: Answer): Promise<void> {
  return sendAnswer(response, reply, { gzip: false });
}

/** One address serves all nodes; `local` is the first. */
function targetOf(request: ClusterRequest, inPath: string): number {
  if (inPath !== 'local') return goInteger(inPath) ?? Number.NaN;
  return goInteger(request.query.get('remote_node_id')) ?? FIRST_NODE_ID;
}

/** limit and offset as start and end in a list. */
function span(request: ClusterRequest, length: number): { from: number; to: number } {
  const limit = goInteger(request.query.get('limit')) ?? 0;
  if (limit <= 0) return { from: 0, to: length };
  const from = Math.min(Math.max(goInteger(request.query.get('offset')) ?? 0, 0), length);
  return { from, to: Math.min(from + limit, length) };
}

function* nodesBody(parts: Parts, request: ClusterRequest): Generator<Buffer> {
  const { from, to } = span(request, parts.layout.nodes);
  yield Buffer.from('{"nodes":[');
  yield* parts.nodeList.elements(from, to, Date.now(), parts.dead);
  yield Buffer.from(to === parts.layout.nodes ? ']}' : `],"next":${to}}`);
}

function* rangesBody(parts: Parts, request: ClusterRequest, node: number): Generator<Buffer> {
  const { layout } = parts;
  const { from, to } = span(request, layout.replicasPerNode);
  const chosen = request.query.get('ranges');
  const spans = chosen === null ? [{ from, to }] : chosenSpans(parts, node, chosen);
  yield Buffer.from('{"ranges":[');
  for (const [index, each] of spans.entries()) {
    if (index > 0) yield Buffer.from(',');
    yield* elementsOf(parts, node, each, (size) => Buffer.allocUnsafe(size));
  }
  yield Buffer.from(to === layout.replicasPerNode ? ']}' : `],"next":${to}}`);
}

/** The positions of ranges that a request names: `1000001,1000007`. */
function chosenSpans({ layout }: Parts, node: number, chosen: string) {
  const positions = chosen.split(',').flatMap((id) => positionOf(layout, node, Number(id)) ?? []);
  return positions.map((position) => ({ from: position, to: position + 1 }));
}

function sessionsBody(parts: Parts, request: ClusterRequest): Generator<Buffer> {
  const limit = goInteger(request.query.get('limit')) ?? 0;
  return parts.sessionList.body(limit, request.query.get('start') ?? '');
}

/** Writes no faster than the client reads. */
async function sendPieces(response: ServerResponse, pieces: Iterable<Buffer>): Promise<void> {
  response.setHeader('Content-Type', 'application/json');
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  for (const piece of pieces) {
    if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal });
  }
  response.end();
}
