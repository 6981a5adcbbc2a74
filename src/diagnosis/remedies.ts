import { CachedResponseError } from '../cockroach/cached-responses.ts';
import { readNotFound } from '../cockroach/cloud-api.ts';
import { SeveralClustersError } from '../cockroach/identity.ts';
import { exceededPoll, NOT_HTTP, wasNotSent } from '../http/errors.ts';
import { pauseSeconds } from '../http/policy.ts';
import type { Api } from '../vocabulary.ts';
import type { Failure, Rule } from './failure.ts';
import { SQL_RULES } from './sql-rules.ts';

const CLUSTER_ID =
  'check cloud_api.cluster_id (--cloud.cluster-id): it is the last part of the URL of the cluster in the Cloud Console';

const SQL_PORT = '26257';
const HTTP_PORT = 'use the port of the DB Console (8080 by default), not that of SQL (26257)';

const NOT_THIS_API =
  'the response is not from this API: a proxy or another server listens there, or the server could not encode its response (see its log)';

const NOT_CLOUD_API =
  'the response is not from the Cloud API: check cloud_api.url (--cloud.url) and any proxy in between';

/** The server, or something in between, ended the connection. */
const CLOSED = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** The gateway of the Cloud answers so to a path that it does not know. */
const BARE_NOT_FOUND = /^\s*\{[^{}]*"message"\s*:\s*"Not Found"[^{}]*\}\s*$/i;

/** Whether the host would match a name like `*.cockroachdb`, which Go accepts and Node.js does not. */
function isOfShortWildcard({ error }: Failure): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (!('host' in cause && 'cert' in cause)) continue;
    const [, parent] = /^[^.]+\.([^.]+)$/.exec(String(cause.host)) ?? [];
    const { cert } = cause;
    const names =
      typeof cert === 'object' && cert && 'subjectaltname' in cert && cert.subjectaltname;
    return parent !== undefined && String(names).split(', ').includes(`DNS:*.${parent}`);
  }
  return false;
}

/** Failures before there is a response, and responses that any server may give. */
const CONNECTION_RULES: readonly Rule[] = [
  ['unknown host', { codes: ['ENOTFOUND'] }, 'correct the host name in the URL, or add it to DNS'],
  [
    'no DNS response',
    { codes: ['EAI_AGAIN'] },
    'the DNS server did not respond: try again, or use the IP address in the URL',
  ],
  [
    'Cloud API unreachable',
    { reasons: ['network', 'tls', 'timeout'], when: ({ operation }) => operation.api === 'cloud' },
    'check cloud_api.url (--cloud.url) and any proxy or firewall in between',
  ],
  [
    'SQL port',
    {
      reasons: ['network', 'tls', 'timeout'],
      when: (failure) => !failure.hasWorked && isSqlPort(failure),
    },
    `26257 is the SQL port: ${HTTP_PORT}`,
  ],
  [
    'nothing listens any more',
    { codes: ['ECONNREFUSED'], when: ({ hasWorked }) => hasWorked },
    'nothing listens there any more: check that the node is up',
  ],
  [
    'nothing listens',
    { codes: ['ECONNREFUSED'] },
    `nothing listens there: ${HTTP_PORT}, and check that the node is up`,
  ],
  [
    'host unreachable',
    { codes: ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'] },
    'the host is unreachable: check its address, the network and the firewall',
  ],
  [
    'unknown CA',
    {
      codes: [
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'SELF_SIGNED_CERT_IN_CHAIN',
        'UNABLE_TO_GET_ISSUER_CERT',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        // Every CA that cockroach creates has the same name.
        'CERT_SIGNATURE_FAILURE',
        'INVALID_CA',
      ],
    },
    ({ login }) =>
      login?.tls.ca_file === undefined
        ? "the certificate is signed by an unknown CA: set cluster_api.tls.ca_file (--cluster.ca-file) to the cluster's ca.crt, or add that to the certificates of the operating system"
        : "the certificate is signed by another CA than those of cluster_api.tls.ca_file (--cluster.ca-file): use the cluster's ca.crt",
  ],
  [
    'certificate expired',
    { codes: ['CERT_HAS_EXPIRED'] },
    "the server's certificate has expired: renew it with `cockroach cert create-node` and send the node SIGHUP",
  ],
  [
    'certificate not valid yet',
    { codes: ['CERT_NOT_YET_VALID'] },
    "the server's certificate is not valid yet: compare the clocks of both machines",
  ],
  [
    'wildcard with a single dot',
    { codes: ['ERR_TLS_CERT_ALTNAME_INVALID'], when: isOfShortWildcard },
    'the certificate has a wildcard with a single dot, such as *.cockroachdb, which Node.js does not accept: use the full name of the host in the URL, such as cockroachdb-0.cockroachdb.default.svc.cluster.local, or set cluster_api.tls.server_name to a name of the certificate without a wildcard',
  ],
  [
    'certificate for other names',
    { codes: ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'] },
    'the certificate is for other names: use one of them in the URL, or set cluster_api.tls.server_name to one',
  ],
  [
    'no TLS',
    { codes: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'] },
    `that port does not speak TLS: write http:// in the URL for an insecure cluster; ${HTTP_PORT}`,
  ],
  [
    'TLS without HTTP',
    { codes: ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'] },
    `that port speaks TLS but not HTTP: ${HTTP_PORT}`,
  ],
  [
    'TLS',
    { reasons: ['tls'] },
    'if the server requires a client certificate, set cluster_api.tls.cert_file and key_file',
  ],
  [
    'connection timed out',
    { codes: ['UND_ERR_CONNECT_TIMEOUT'] },
    'the connection timed out: check the address, the port and the firewall',
  ],
  [
    'login',
    // A login needs system tables.
    { reasons: ['timeout'], endpoints: ['login'] },
    'no login is answered: run a SQL query; if it hangs, too, system ranges may have no quorum: start the nodes that are down; else check the server for overload',
  ],
  [
    ({ operation }) => `timeout of ${operation.name}`,
    { reasons: ['timeout'], when: ({ error }) => exceededPoll(error) },
    ({ operation }) =>
      `the poll took longer than collectors.${operation.name}.timeout: check the nodes for overload; raise it only if other polls succeed`,
  ],
  [
    'slow list',
    { reasons: ['timeout'], endpoints: ['node_ranges', 'sessions'] },
    'a node may be frozen, or its list very long: check `crdb-exporter nodes`, and raise cluster_api.timeout if the server is only slow',
  ],
  [
    'no response',
    { reasons: ['timeout'] },
    'the server accepted the connection but did not respond in time: check it for overload; raise cluster_api.timeout only if other requests succeed',
  ],
  [
    'connection closed since',
    { codes: CLOSED, when: ({ hasWorked }) => hasWorked },
    'the server closed the connection: check that the node is up, and any proxy in between',
  ],
  ['connection closed', { codes: CLOSED }, explainClosed],
  [
    'no HTTP',
    { codes: [NOT_HTTP] },
    `no HTTP server listens there: ${HTTP_PORT}; a port that speaks TLS needs https:// in the URL`,
  ],
  [
    'network',
    { reasons: ['network'] },
    'check that the server is up and that no proxy or firewall closes its connections',
  ],
  [
    'proxy without https',
    {
      when: ({ error: { status = 0, url = '' } }) =>
        status >= 300 && status < 400 && url.startsWith('https:'),
    },
    'the proxy in front of the cluster speaks plain http to a secure node, which redirects to https: set the protocol of its backend to HTTPS',
  ],
  [
    'redirect to https',
    { when: ({ error: { status = 0 } }) => status >= 300 && status < 400 },
    'a secure cluster redirects plain http: write https:// in the URL',
  ],
  [
    'rate limit',
    { statuses: [429] },
    ({ error }) =>
      `the service limits the rate of requests: try again in ${Math.ceil(pauseSeconds(error) ?? 1)} s`,
  ],
  [
    'no server behind a proxy',
    { statuses: [502, 503, 504] },
    'a proxy or load balancer answers, but no server behind it: check those servers, or use their own URLs',
  ],
  [
    'circuit breaker',
    { reasons: ['breaker_open'] },
    'all URLs, or this endpoint or node, failed several times in a row: fix the earlier failures; requests resume automatically',
  ],
];

/** By the API that failed; the first rule that holds decides. */
export const RULES: Readonly<Record<Api, readonly Rule[]>> = {
  cloud: [
    [
      'unknown change',
      { when: isUnknownChange },
      ({ operation }) =>
        `the service may have made the change: check ${operation.verification} before anything else`,
    ],
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
    [
      'service problem',
      { when: ({ error: { status = 0 } }) => status >= 500 },
      'the service has an internal problem: see https://status.cockroachlabs.cloud and try again later',
    ],
    ...CONNECTION_RULES,
  ],
  cluster: [
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
      'user or password',
      { reasons: ['auth'], endpoints: ['login'] },
      (failure) =>
        `user and password were refused: check cluster_api.username and the password; ALTER USER ${grantee(failure.login)} WITH PASSWORD … sets one`,
    ],
    [
      'login required',
      { reasons: ['auth'], when: ({ login }) => (login?.username ?? login?.token) === undefined },
      'the cluster requires a login: set cluster_api.username and password_file (--cluster.username and --cluster.password-file)',
    ],
    [
      'refused session',
      { reasons: ['auth'] },
      (failure) =>
        `the session is refused: it was revoked, or the user or the password was changed: check cluster_api.username and the password; ALTER USER ${grantee(failure.login)} WITH PASSWORD … sets one; else check that all URLs are nodes of the same cluster`,
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
      { statuses: [500], when: ({ operation }) => operation.privilege.startsWith('GRANT SELECT') },
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
      { when: ({ error }) => error instanceof CachedResponseError },
      'make proxies and load balancers in front of the cluster pass /api/v2/ and /_status/ on without caching',
    ],
    [
      'several clusters',
      { when: ({ error }) => error instanceof SeveralClustersError },
      'configure the other cluster as one of its own',
    ],
    ['not this API', { reasons: ['decode'] }, NOT_THIS_API],
    [
      'response too large',
      { reasons: ['limit'] },
      'the response is larger or longer than allowed: check that the URL is that of a CockroachDB node, and any proxy in between; raise cluster_api.max_response_bytes if the cluster is that large',
    ],
    ...CONNECTION_RULES,
  ],
};

/** With TLS 1.3, a client learns that its certificate is missing only from the end of the connection. */
function explainClosed({ login }: Failure): string {
  const isTls = login?.urls.every((url) => url.startsWith('https:')) === true;
  const first = !isTls
    ? 'write https:// in the URL if it requires TLS'
    : login.tls.cert_file === undefined
      ? 'if it requires a client certificate, set cluster_api.tls.cert_file and key_file'
      : 'check that it trusts the client certificate of cluster_api.tls.cert_file';
  return `the server closed the connection: ${first}; ${HTTP_PORT}; otherwise check the server and any proxy in between`;
}

/** Whether the URL has the port of SQL, where no server speaks HTTP. */
function isSqlPort({ error: { url } }: Failure): boolean {
  return url !== undefined && new URL(url).port === SQL_PORT;
}

/** Whether a change may have been made although the operation failed. */
function isUnknownChange({ operation, error, mayHaveChanged }: Failure): boolean {
  if (!mayHaveChanged || operation.verification === undefined) return false;
  const { status } = error;
  if (status !== undefined) return status === 408 || (status >= 499 && status !== 501);
  return !wasNotSent(error);
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
