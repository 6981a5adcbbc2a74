import type { Api } from '#base';
import { JsonEndError } from '#json';
import { CachedResponseError } from '../cached-responses.ts';
import { readNotFound } from '../cloud-api.ts';
import { isRedirect, NOT_MODIFIED } from '../http/errors.ts';
import { MessageEndError, ProtobufError } from '../protobuf/index.ts';
import { adviseRateLimit, CONNECTION_RULES } from './connection-rules.ts';
import type { Failure, Rule } from './failure.ts';
import { SQL_RULES } from './sql-rules.ts';

const CLUSTER_ID =
  'check cloud_api.cluster_id (--cloud.cluster-id): it is the last part of the URL of the cluster in the Cloud Console';

const NOT_THIS_API =
  'the response is not from this API: a proxy or another server listens there, or the server could not encode its response (see its log)';

const NOT_A_NODE = 'check that the URL is that of a CockroachDB node, and any proxy in between';

const NOT_CLOUD_API =
  'the response is not from the Cloud API: check cloud_api.url (--cloud.url) and any proxy in between';

/** The rule for a failure whose remedy only the place that fails knows: another remedy is another cause. */
const OWN_REMEDY: Rule = [
  ownRemedyOf,
  { when: ({ error }) => error.remedy !== undefined },
  ownRemedyOf,
];

/** The gateway of the Cloud answers so to a path that it does not know. */
const BARE_NOT_FOUND = /^\s*\{[^{}]*"message"\s*:\s*"Not Found"[^{}]*\}\s*$/i;

/** By the API that failed; the first rule that holds decides. */
export const RULES: Readonly<Record<Api, readonly Rule[]>> = {
  cloud: [
    [
      'unknown change',
      { when: isUnknownChange },
      ({ operation }) =>
        `the service may have made the change: check ${operation.verification} before anything else`,
    ],
    OWN_REMEDY,
    ['rate limit', { when: isRateLimit }, adviseRateLimit],
    [
      privilegeOf,
      { reasons: ['forbidden'] },
      ({ operation }) => `the service account needs ${operation.privilege}`,
    ],
    [
      'API key',
      { statuses: [401] },
      'the API key is wrong, expired or revoked: put the secret key of a service account into cloud_api.token_file (--cloud.token-file)',
    ],
    [
      'API version',
      { statuses: [400], serverText: /Cc-Version/i },
      'set cloud_api.api_version to a version that the service supports, such as 2024-09-16',
    ],
    [
      'not found by another server',
      { statuses: [404], when: ({ error }) => readNotFound(error.serverText) === undefined },
      NOT_CLOUD_API,
    ],
    ['cluster id', { serverText: /internal call failed|cluster '/i, statuses: [404] }, CLUSTER_ID],
    [
      'unknown path',
      { serverText: BARE_NOT_FOUND, statuses: [404] },
      'the Cloud API does not know this path: check cloud_api.url, and set cloud_api.api_version to a version that has it',
    ],
    [
      ({ operation, error }) => `${operation.name} ${error.status}`,
      { when: ({ operation, error }) => operation.remedies?.[error.status ?? 0] !== undefined },
      ({ operation, error }) => operation.remedies?.[error.status ?? 0] ?? '',
    ],
    ['cluster id', { statuses: [404] }, CLUSTER_ID],
    ['bad request', { statuses: [400] }, 'correct what the service names, then try again'],
    [
      'not offered',
      { statuses: [501] },
      'the service does not offer this for the cluster: migration assistants exist for dedicated clusters only',
    ],
    ['not the Cloud API', { reasons: ['decode', 'limit'] }, NOT_CLOUD_API],
    ['not the Cloud API', { when: ({ error }) => isRedirect(error.status) }, NOT_CLOUD_API],
    [
      'service problem',
      { when: ({ error: { status = 0 } }) => status >= 500 },
      'the service has an internal problem: see https://status.cockroachlabs.cloud and try again later',
    ],
    ...CONNECTION_RULES,
  ],
  cluster: [
    OWN_REMEDY,
    [
      'health without login',
      { statuses: [401, 403], endpoints: ['other'] },
      'GET /health/ needs no login: a proxy in between, or another server, rejects the request: check the URL',
    ],
    [
      'login through a proxy',
      { statuses: [403], endpoints: ['login'] },
      'nodes refuse logins with 401, never with 403: a proxy in between, or another server, rejects the login: check the URL',
    ],
    [
      'page of a proxy',
      { statuses: [400, 403, 405], when: ({ error }) => error.isPage },
      'the response is a page of HTML, which nodes do not send: a proxy or firewall in between refuses the request, or replaces the response of the node: let it pass both on, or use the URLs of the nodes',
    ],
    ...SQL_RULES,
    [privilegeOf, { reasons: ['forbidden'] }, grant],
    [
      'root without password',
      { reasons: ['auth'], endpoints: ['login'], when: ({ login }) => login?.username === 'root' },
      'root has no password by default: create a user for monitoring with CREATE USER … WITH PASSWORD …',
    ],
    [
      'session token',
      { reasons: ['auth'], when: ({ login }) => login?.token !== undefined },
      'the session token is invalid or expired: create a new one with `cockroach auth-session login USER`',
    ],
    [
      'login required',
      { reasons: ['auth'], when: ({ login }) => (login?.username ?? login?.token) === undefined },
      'the cluster requires a login: set cluster_api.username and password_file (--cluster.username and --cluster.password-file)',
    ],
    [
      'session refused',
      { reasons: ['auth'], when: ({ error: { endpoint = 'login' } }) => endpoint !== 'login' },
      'the login worked, but its session was refused here: check that any proxy passes the headers Cookie and X-Cockroach-API-Session on this path, and that all servers behind the URLs are nodes of one cluster with the right time; a session that was revoked or has expired is replaced within a minute',
    ],
    [
      'expired password',
      { reasons: ['auth'], serverText: /password has expired/ },
      ({ login }) =>
        `the password has expired: ALTER USER ${grantee(login)} VALID UNTIL … with a later time, or 'infinity', extends it`,
    ],
    [
      'user or password',
      { reasons: ['auth'] },
      (failure) =>
        `user and password were refused: check cluster_api.username and the password; ALTER USER ${grantee(failure.login)} WITH PASSWORD … sets one, of 14 characters at least: FIPS-ready builds from 26.1 on may refuse shorter ones after an upgrade; else check that all URLs are nodes of the same cluster`,
    ],
    [
      'virtual cluster',
      { statuses: [501] },
      'a virtual cluster answered, which does not offer it: set cluster_api.virtual_cluster (--cluster.virtual-cluster) to system and let proxies forward X-Cockroach-Tenant; Cloud Basic and Standard have only the Cloud API',
    ],
    [
      'unknown table',
      { statuses: [404], endpoints: ['table'], serverText: /database or table not found/ },
      'check the names of database, schema and table; the default schema is public',
    ],
    [
      'quoted name',
      { statuses: [404], endpoints: ['table'] },
      'the API cannot address names that need quotes: only letters, digits, _ and . are possible',
    ],
    [
      'no list of tables',
      { reasons: ['not_available'], endpoints: ['table_metadata'] },
      'servers list their tables from version 24.3 on: until then `table DATABASE TABLE` shows one of them, and collectors.tables.discover must not be true',
    ],
    [
      'no node',
      { reasons: ['not_available'] },
      'the URL is not that of a CockroachDB node: it needs scheme, host and HTTP port, such as https://crdb-1:8080',
    ],
    // Servers answer 500 where the user may not read a table.
    [
      privilegeOf,
      { statuses: [500], when: isOfTable },
      (failure) =>
        `if the user lacks the privilege, ${grant(failure)} otherwise see the log of the node`,
    ],
    [
      'internal error',
      { statuses: [500] },
      'the reason is only in the log of the node that answered: check it for HTTP API errors',
    ],
    [
      'cached response',
      {
        when: ({ error }) => error instanceof CachedResponseError || error.status === NOT_MODIFIED,
      },
      'make proxies and load balancers in front of the cluster pass /api/v2/ and /_status/ on without caching',
    ],
    [
      'form refused',
      { statuses: [406, 415], when: isBehindLogin },
      'a proxy refuses requests for application/x-protobuf: let them pass, or set cluster_api.protobuf: false',
    ],
    [
      'cut response',
      {
        when: ({ error: { cause } }) =>
          cause instanceof JsonEndError || cause instanceof MessageEndError,
      },
      'the response ends in the middle: let proxies and load balancers pass responses of any size and duration, or use the URLs of the nodes',
    ],
    [
      'not this message',
      { reasons: ['decode'], when: ({ error }) => error.cause instanceof ProtobufError },
      'the server sends another message than is known, or a proxy changes it: set cluster_api.protobuf: false, which reads JSON',
    ],
    ['not this API', { reasons: ['decode'] }, NOT_THIS_API],
    [
      'response too large',
      { reasons: ['limit'], when: ({ error }) => error.limit === 'bytes' },
      `the response is larger than allowed: ${NOT_A_NODE}; raise cluster_api.max_response_bytes if the cluster is that large`,
    ],
    [
      'response too long',
      { reasons: ['limit'] },
      `the response is longer than that of any cluster: ${NOT_A_NODE}`,
    ],
    ...CONNECTION_RULES,
  ],
};

/** Whether a change may have been made although the operation failed. */
function isUnknownChange({ operation, error, mayHaveChanged }: Failure): boolean {
  if (!mayHaveChanged || operation.verification === undefined) return false;
  const { status } = error;
  if (status !== undefined) return status === 408 || (status >= 499 && status !== 501);
  return !error.wasNotSent;
}

/** The Cloud API sends its limit with other statuses than 429, too: with Retry-After, or with a text alone. */
function isRateLimit({ error: { status = 0, retryAfterSeconds, serverText } }: Failure): boolean {
  const hasPause = retryAfterSeconds !== undefined && (status === 400 || status === 500);
  return hasPause || /rate limit|too many requests/i.test(serverText);
}

/** Whether the request was what the operation is for, and not the login before it. */
function isBehindLogin({ error }: Failure): boolean {
  return error.endpoint !== 'login';
}

function isOfTable(failure: Failure): boolean {
  return isBehindLogin(failure) && failure.operation.privilege.startsWith('GRANT SELECT');
}

function ownRemedyOf({ error }: Failure): string {
  return error.remedy ?? '';
}

function privilegeOf({ operation }: Failure): string {
  return operation.privilege;
}

/** From what the operation declares: a new collector needs no rule. */
function grant({ operation: { privilege }, login }: Failure): string {
  const user = grantee(login);
  const admin = privilege.startsWith('GRANT SYSTEM')
    ? ` (before version 24.1: GRANT admin TO ${user};)`
    : '';
  return `run ${privilege} TO ${user};${admin}`;
}

/** The SQL user in a statement; the user of a ready token is not known here. */
export function grantee(login: Failure['login']): string {
  const name = login?.username ?? 'USER';
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
