import {
  textAnswer,
  unknownPath,
  jsonAnswer,
  internalError,
  type Answer,
  type Reply,
} from '../http/answer.ts';
import type { Account } from '../options.ts';
import { leadersOf } from '../world/leadership.ts';
import { isNeededByAll } from '../world/ranges.ts';
import { describeTable, listUsers } from './catalog.ts';
import { describeConnections } from './connectivity.ts';
import { listJobs } from './jobs.ts';
import { login, logout } from './login.ts';
import { health, ready, statusVars, listNodes } from './nodes.ts';
import { describeRanges } from './range-descriptors.ts';
import { listNodeRanges } from './ranges.ts';
import {
  callerOf,
  cookieOf,
  headerOf,
  isRefusal,
  refuseUnprivileged,
  type ClusterRequest,
  type ClusterServer,
} from './request.ts';
import { listSessions } from './sessions.ts';
import { executeSql } from './sql.ts';
import { listTables } from './table-metadata.ts';
import { describeThrottling } from './throttling.ts';

/** Every route ends in a slash, except those of the old mux. */
const ROUTES = [
  { endpoint: 'login', pattern: /^\/api\/v2\/login\/$/ },
  { endpoint: 'logout', pattern: /^\/api\/v2\/logout\/$/ },
  { endpoint: 'nodes', pattern: /^\/api\/v2\/nodes\/$/ },
  { endpoint: 'node_ranges', pattern: /^\/api\/v2\/nodes\/([^/]+)\/ranges\/$/ },
  { endpoint: 'sessions', pattern: /^\/api\/v2\/sessions\/$/ },
  { endpoint: 'users', pattern: /^\/api\/v2\/users\/$/ },
  { endpoint: 'table', pattern: /^\/api\/v2\/databases\/([^/]+)\/tables\/([^/]+)\/$/ },
  { endpoint: 'table_metadata', pattern: /^\/api\/v2\/table_metadata\/$/ },
  { endpoint: 'sql', pattern: /^\/api\/v2\/sql\/$/ },
  { endpoint: 'health', pattern: /^\/(?:health|api\/v2\/health\/)$/ },
  { endpoint: 'range_descriptors', pattern: /^\/_status\/ranges\/([^/]+)$/ },
  { endpoint: 'connectivity', pattern: /^\/_status\/connectivity$/ },
  { endpoint: 'jobs', pattern: /^\/_admin\/v1\/jobs$/ },
  { endpoint: 'throttling', pattern: /^\/_status\/throttling$/ },
  { endpoint: 'vars', pattern: /^\/_status\/vars$/ },
] as const;

export type ClusterEndpoint = (typeof ROUTES)[number]['endpoint'] | 'other';

/** The endpoint of a path, and the path's parameters. */
export function matchRoute(path: string): { endpoint: ClusterEndpoint; parts: readonly string[] } {
  for (const { endpoint, pattern } of ROUTES) {
    const match = pattern.exec(path);
    if (match !== null) return { endpoint, parts: match.slice(1) };
  }
  return { endpoint: 'other', parts: [] };
}

/** The response of the node that received the request, directly or by proxy. */
export async function answerLocally(
  server: ClusterServer,
  request: ClusterRequest,
): Promise<Reply> {
  const { endpoint, parts } = matchRoute(request.path);
  const isSystem = isForSystem(server, request);
  if (endpoint === 'health') {
    if (request.path === '/health') return health();
    return isSystem ? ready(request) : notOnTenants();
  }
  if (endpoint === 'vars') return statusVars(server, request);
  if (endpoint === 'other') return unknownPath();
  if (isWithoutSystemRanges(server)) {
    if (!server.options.insecure) return 'silence';
    if (endpoint === 'nodes') return internalError();
  }
  const refusal = isSystem ? refuseTenant(server, endpoint) : refuseVirtual(endpoint);
  if (refusal !== undefined) return refusal;
  if (endpoint === 'login') return login(server, request);
  if (endpoint === 'logout') return logout(server, request);
  if (endpoint === 'range_descriptors') return describeRanges(server, request, parts[0] ?? '');
  if (endpoint === 'connectivity') return describeConnections(server, request);
  if (endpoint === 'jobs') return listJobs(server, request);
  if (endpoint === 'throttling') return describeThrottling(server, request);
  return answerAuthenticated(server, request, endpoint, parts);
}

/** Whether a range that every request needs has no majority that reach each other. */
function isWithoutSystemRanges({ world: { state }, quirks }: ClusterServer): boolean {
  if (quirks.systemRangesLost === 'works') return false;
  for (const range of state.ranges.values()) {
    if (isNeededByAll(range) && leadersOf(state, range).length === 0) return true;
  }
  return false;
}

/** Whether the system's virtual cluster answers the request; on clusters without virtual ones it answers all. */
function isForSystem(server: ClusterServer, request: ClusterRequest): boolean {
  if (server.options.virtualCluster === undefined) return true;
  const chosen =
    request.query.get('cluster') ||
    headerOf(request, 'x-cockroach-tenant') ||
    cookieOf(request, 'tenant') ||
    server.quirks.defaultVirtualCluster;
  return chosen === 'system';
}

/** The response of a virtual cluster other than the system's, which does not know the sessions of the system. */
function refuseVirtual(endpoint: ClusterEndpoint): Answer {
  if (endpoint !== 'table_metadata') return notOnTenants();
  return textAnswer(401, 'the provided authentication session could not be validated');
}

function notOnTenants(): Answer {
  return textAnswer(501, 'Not Available on Tenants');
}

/** A virtual cluster has none of these endpoints but the list of tables. */
function refuseTenant(server: ClusterServer, endpoint: ClusterEndpoint): Answer | undefined {
  const { tenant } = server.quirks;
  if (tenant === 'no' || endpoint === 'table_metadata') return undefined;
  const isOld = tenant === 'null' && (endpoint === 'nodes' || endpoint === 'node_ranges');
  return isOld ? jsonAnswer(501, 'null') : notOnTenants();
}

async function answerAuthenticated(
  server: ClusterServer,
  request: ClusterRequest,
  endpoint: ClusterEndpoint,
  parts: readonly string[],
): Promise<Reply> {
  const anonymous: Account = { name: '', admin: true };
  const isOpen = endpoint === 'users' && !server.quirks.usersNeedSession;
  const caller = isOpen ? anonymous : callerOf(server, request);
  if (isRefusal(caller)) return caller;
  const [first = '', second = ''] = parts;
  if (endpoint === 'users') return listUsers(server, request, caller);
  if (endpoint === 'table') return describeTable(server, first, second);
  if (endpoint === 'table_metadata') return listTables(server, request, caller);
  if (endpoint === 'sql') return executeSql(server, request, caller);
  const refusal = refuseUnprivileged(server, caller);
  if (refusal !== undefined) return refusal;
  if (endpoint === 'nodes') return listNodes(server, request);
  if (endpoint === 'node_ranges') return listNodeRanges(server, request, first);
  return listSessions(server, request, caller);
}
