import type { Answer } from '../http/answer.ts';
import { unknownPath } from '../http/answer.ts';
import type { Arrival } from '../http/serve.ts';
import { cloudError } from './answers.ts';
import { answerAssistant } from './assistant.ts';
import { answerCertificate } from './certificate.ts';
import { answerDatabase } from './databases.ts';
import type { CloudRole, CloudServer } from './service.ts';

export type CloudEndpoint = 'assistant' | 'ca_cert' | 'database' | 'other';

const ADMINS: readonly CloudRole[] = ['ORG_ADMIN', 'CLUSTER_ADMIN'];

/** Who may do what, by endpoint and method. */
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
export function matchCloudRoute(path: string): {
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

/** Token, version, role and cluster are checked in this order, then the operation answers. */
export function answerCloud(server: CloudServer, arrival: Arrival): Answer {
  const { endpoint, clusterId, database } = matchCloudRoute(arrival.url.pathname);
  const allowed = ROLES[`${arrival.method} ${endpoint}`];
  if (endpoint === 'other') return unknownPath();
  const roles = server.rolesOf(bearerOf(arrival));
  if (roles === undefined) return cloudError('unauthenticated', 'invalid or missing bearer token');
  if (!isVersion(arrival)) return cloudError('invalid', 'invalid Cc-Version.');
  if (allowed === undefined) return methodNotAllowed();
  if (!roles.some((role) => allowed.includes(role))) {
    return cloudError('forbidden', 'the service account lacks the role for this operation');
  }
  if (clusterId !== server.world.state.assistant.clusterId) {
    return cloudError('notFound', `internal call failed: cluster '${clusterId}' not found`);
  }
  if (endpoint === 'assistant') return answerAssistant(server, arrival);
  if (endpoint === 'ca_cert') return answerCertificate(server, arrival);
  return answerDatabase(server, arrival, database);
}

function bearerOf(arrival: Arrival): string {
  const header = arrival.headers['authorization'];
  return typeof header === 'string' && header.startsWith('Bearer ') ? header.slice(7) : '';
}

/** Without the header the newest version is meant. */
export function versionOf(arrival: Arrival): string | undefined {
  const header = arrival.headers['cc-version'];
  return typeof header === 'string' ? header : undefined;
}

function isVersion(arrival: Arrival): boolean {
  const version = versionOf(arrival);
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
