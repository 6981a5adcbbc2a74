import { type Reply, textAnswer, type Answer } from '../http/answer.ts';
import type { Faults } from '../http/faults.ts';
import type { RequestRecorder } from '../http/request-log.ts';
import type { ReceivedRequest, Service } from '../http/serve.ts';
import { nodeOf } from '../world/state.ts';
import { reach } from './ranges.ts';
import { type ClusterServer, cookieOf, type ClusterRequest } from './request.ts';
import { matchRoute, answerLocally } from './routes.ts';

/** The cluster API on one node's address. */
export function clusterService(
  server: ClusterServer,
  nodeId: number,
  log: RequestRecorder,
  faults: Faults,
): Service {
  const { options } = server.world.state;
  return {
    api: 'cluster',
    gateway: nodeId,
    log,
    faults,
    targetOf: (received) => targetOf(received, nodeId),
    now: options.now,
    // A server's clock goes on although its data is frozen: a Date that stands still is that of a cache.
    headerNow: options.headerNow ?? options.now,
    endpointOf: (received) => matchRoute(received.url.pathname).endpoint,
    compresses: () => server.quirks.gzip,
    headers: (): Record<string, string> =>
      server.quirks.hsts ? { 'Strict-Transport-Security': 'max-age=31536000' } : {},
    answer: (received) => answerAt(server, nodeId, received),
  };
}

function targetOf(received: ReceivedRequest, gateway: number): number {
  const { endpoint, parts } = matchRoute(received.url.pathname);
  const inPath =
    endpoint === 'node_ranges' || endpoint === 'range_descriptors' ? Number(parts[0]) : Number.NaN;
  const { searchParams } = received.url;
  const inQuery = endpoint === 'connectivity' ? 'node_id' : 'remote_node_id';
  const target = inPath || Number(searchParams.get(inQuery));
  return Number.isInteger(target) && target > 0 ? target : gateway;
}

async function answerAt(
  server: ClusterServer,
  nodeId: number,
  received: ReceivedRequest,
): Promise<Reply> {
  const node = nodeOf(server.world.state, nodeId);
  // A stopped process does not listen.
  if (node.process === 'down') return 'reset';
  if (node.process === 'frozen') return 'silence';
  const path = received.url.pathname;
  if (server.quirks.redirectToHttps && path !== '/health') return redirectToHttps(received);
  return answerCluster(server, {
    method: received.method,
    path,
    query: received.url.searchParams,
    headers: received.headers,
    body: received.body,
    node,
  });
}

/** The response of a secure cluster to plain http. */
function redirectToHttps(received: ReceivedRequest): Reply {
  const host = received.headers['host'];
  const target = `https://${typeof host === 'string' ? host : ''}${received.url.pathname}${received.url.search}`;
  return {
    status: 307,
    headers: { Location: target, 'Content-Type': 'text/html; charset=utf-8' },
    body: `<a href="${target}">Temporary Redirect</a>.\n\n`,
  };
}

/** Plain http on a port for https. */
export function plainService(service: Service): Service {
  return {
    ...service,
    answer: (received) =>
      received.url.pathname === '/health'
        ? service.answer(received)
        : Promise.resolve(redirectToHttps(received)),
  };
}

/** remote_node_id, as parameter or cookie, proxies the request to another node. */
async function answerCluster(server: ClusterServer, request: ClusterRequest): Promise<Reply> {
  const target = request.query.get('remote_node_id') || cookieOf(request, 'remote_node_id');
  if (
    target === undefined ||
    target === '' ||
    target === 'local' ||
    server.quirks.ignoreRemoteNode
  ) {
    return answerLocally(server, request);
  }
  if (!/^\d{1,9}$/.test(target)) {
    return textAnswer(400, `server: error parsing nodeID from request: ${target}: invalid node ID`);
  }
  const node = server.world.state.nodes.get(Number(target));
  if (node === undefined || !node.hasRecord) {
    return textAnswer(
      400,
      `unable to get address for nodeID: ${target}: unable to look up descriptor for n${target}`,
    );
  }
  const failure = await reach(server, request.node, node);
  if (failure === undefined) return answerLocally(server, { ...request, node });
  return failure === 'silence' ? failure : badGateway();
}

/** The response of Go's reverse proxy when it cannot connect: only the status. */
function badGateway(): Answer {
  return { status: 502, headers: {}, body: '' };
}
