import type { Reply } from '../http/answer.ts';
import type { Faults } from '../http/faults.ts';
import type { RequestRecorder } from '../http/request-log.ts';
import type { Arrival, Service } from '../http/serve.ts';
import { nodeOf } from '../world/state.ts';
import { answerCluster } from './proxy.ts';
import type { ClusterServer } from './request.ts';
import { matchRoute } from './routes.ts';

/** The cluster API as one node's address serves it. */
export function clusterService(
  server: ClusterServer,
  nodeId: number,
  log: RequestRecorder,
  faults: Faults,
): Service {
  return {
    api: 'cluster',
    gateway: nodeId,
    log,
    faults,
    targetOf: (arrival) => targetOf(arrival, nodeId),
    now: server.world.state.now,
    endpointOf: (arrival) => matchRoute(arrival.url.pathname).endpoint,
    compresses: () => server.quirks.gzip,
    headers: (): Record<string, string> =>
      server.quirks.hsts ? { 'Strict-Transport-Security': 'max-age=31536000' } : {},
    answer: (arrival) => answerAt(server, nodeId, arrival),
  };
}

function targetOf(arrival: Arrival, gateway: number): number {
  const { endpoint, parts } = matchRoute(arrival.url.pathname);
  const inPath = endpoint === 'node_ranges' ? Number(parts[0]) : Number.NaN;
  const target = inPath || Number(arrival.url.searchParams.get('remote_node_id'));
  return Number.isInteger(target) && target > 0 ? target : gateway;
}

async function answerAt(server: ClusterServer, nodeId: number, arrival: Arrival): Promise<Reply> {
  const node = nodeOf(server.world.state, nodeId);
  // Nobody listens on the address of a process that is gone.
  if (node.process === 'down') return 'reset';
  if (node.process === 'frozen') return 'silence';
  const path = arrival.url.pathname;
  if (server.quirks.redirectToHttps && path !== '/health') return redirectToHttps(arrival);
  return answerCluster(server, {
    method: arrival.method,
    path,
    query: arrival.url.searchParams,
    headers: arrival.headers,
    body: arrival.body,
    node,
  });
}

/** What a secure cluster says to plain http. */
function redirectToHttps(arrival: Arrival): Reply {
  const host = arrival.headers['host'];
  const target = `https://${typeof host === 'string' ? host : ''}${arrival.url.pathname}${arrival.url.search}`;
  return {
    status: 307,
    headers: { Location: target, 'Content-Type': 'text/html; charset=utf-8' },
    body: `<a href="${target}">Temporary Redirect</a>.\n\n`,
  };
}

/** The plain side of a port that speaks https. */
export function plainService(service: Service): Service {
  return {
    ...service,
    answer: (arrival) =>
      arrival.url.pathname === '/health'
        ? service.answer(arrival)
        : Promise.resolve(redirectToHttps(arrival)),
  };
}
