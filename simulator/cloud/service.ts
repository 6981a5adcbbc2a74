import { type Answer, unknownPath } from '../http/answer.ts';
import type { Faults } from '../http/faults.ts';
import type { RequestRecorder } from '../http/request-log.ts';
import type { Service, ReceivedRequest } from '../http/serve.ts';
import { answerAssistant, answerCertificate, answerDatabase } from './operations.ts';
import { type CloudServer, cloudError, type CloudRole } from './request.ts';

/** The cloud API on its address; responses repeat the requested version. */
export function cloudService(server: CloudServer, log: RequestRecorder, faults: Faults): Service {
  // Real time: the limit does not depend on the world's clock.
  const refusal = createRateLimit(() => performance.now());
  return {
    api: 'cloud',
    gateway: 0,
    targetOf: () => 0,
    log,
    faults,
    now: server.world.state.now,
    headerNow: server.world.state.options.now,
    endpointOf: (received) => matchCloudRoute(received.url.pathname).endpoint,
    compresses: () => true,
    headers: () => ({}),
    answer: (received) => {
      const tooFast = server.quirks.cloudRateLimit ? refusal() : undefined;
      const answer = tooFast ?? answerCloud(server, received);
      const version = versionOf(received);
      if (version === undefined) return Promise.resolve(answer);
      return Promise.resolve({ ...answer, headers: { ...answer.headers, 'Cc-Version': version } });
    },
  };
}

const REQUESTS_PER_SECOND = 10;

/** Counts the requests of the last second; refuses from the eleventh on. */
function createRateLimit(now: () => number): () => Answer | undefined {
  let recent: number[] = [];
  return () => {
    recent = recent.filter((ms) => ms > now() - 1000);
    if (recent.length >= REQUESTS_PER_SECOND) {
      const refusal = cloudError('throttled', 'rate limit exceeded');
      return { ...refusal, headers: { ...refusal.headers, 'Retry-After': '1' } };
    }
    recent.push(now());
    return undefined;
  };
}

type CloudEndpoint = 'assistant' | 'ca_cert' | 'database' | 'other';

const ADMINS: readonly CloudRole[] = ['ORG_ADMIN', 'CLUSTER_ADMIN'];

/** Allowed roles by method and endpoint. */
const ROLES: Readonly<Record<string, readonly CloudRole[]>> = {
  'GET assistant': [...ADMINS, 'CLUSTER_OPERATOR_WRITER'],
  'POST assistant': ADMINS,
  'DELETE assistant': ADMINS,
  'GET ca_cert': [...ADMINS, 'CLUSTER_OPERATOR_WRITER'],
  'PATCH ca_cert': ADMINS,
  'DELETE ca_cert': ADMINS,
  'PATCH database': ['CLUSTER_ADMIN', 'CLUSTER_OPERATOR_WRITER', 'CLUSTER_DATA_ACCESSOR'],
};
const OLDEST_VERSION = '2022-03-31';
const PATH = /^\/api\/v1\/clusters\/([^/]+)\/(.+)$/;

/** The endpoint of a path, the cluster's id, and the database when the path names one. */
function matchCloudRoute(path: string): {
  endpoint: CloudEndpoint;
  clusterId: string;
  database?: string;
} {
  const [, clusterId = '', rest = ''] = PATH.exec(path) ?? [];
  if (rest === 'migration-assistant') return { endpoint: 'assistant', clusterId };
  if (rest === 'migration-assistant/source-ca-cert') return { endpoint: 'ca_cert', clusterId };
  if (rest === 'databases') return { endpoint: 'database', clusterId };
  const [, database] = /^databases\/([^/]+)$/.exec(rest) ?? [];
  if (database === undefined) return { endpoint: 'other', clusterId };
  return { endpoint: 'database', clusterId, database };
}

/** Checks token, version, role and cluster in this order, then executes the operation. */
function answerCloud(server: CloudServer, received: ReceivedRequest): Answer {
  const { endpoint, clusterId, database } = matchCloudRoute(received.url.pathname);
  const allowed = ROLES[`${received.method} ${endpoint}`];
  if (endpoint === 'other') return unknownPath();
  const roles = server.rolesOf(bearerOf(received));
  if (roles === undefined) return cloudError('unauthenticated', 'invalid or missing bearer token');
  if (!isVersion(received)) return cloudError('invalid', 'invalid Cc-Version.');
  if (allowed === undefined) return methodNotAllowed();
  if (!roles.some((role) => allowed.includes(role))) {
    return cloudError('forbidden', 'the service account lacks the role for this operation');
  }
  if (clusterId !== server.world.state.assistant.clusterId) {
    return cloudError('notFound', `internal call failed: cluster '${clusterId}' not found`);
  }
  if (endpoint === 'assistant') return answerAssistant(server, received);
  if (endpoint === 'ca_cert') return answerCertificate(server, received);
  return answerDatabase(server, received, database);
}

function bearerOf(received: ReceivedRequest): string {
  const header = received.headers['authorization'];
  return typeof header === 'string' && header.startsWith('Bearer ') ? header.slice(7) : '';
}

/** Undefined for the newest version. */
function versionOf(received: ReceivedRequest): string | undefined {
  const header = received.headers['cc-version'];
  return typeof header === 'string' ? header : undefined;
}

function isVersion(received: ReceivedRequest): boolean {
  const version = versionOf(received);
  if (version === undefined) return true;
  const isDate = /^\d{4}-\d\d-\d\d$/.test(version) && !Number.isNaN(Date.parse(version));
  return isDate && version >= OLDEST_VERSION;
}

function methodNotAllowed(): Answer {
  return {
    status: 501,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code: 12, message: 'Method Not Allowed', details: [] }),
  };
}
