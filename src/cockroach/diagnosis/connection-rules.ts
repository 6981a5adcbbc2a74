import type { X509Certificate } from 'node:crypto';
import { BROKEN_HTTP, isRedirect, NOT_HTTP } from '../http/errors.ts';
import {
  PROXY_LOGIN,
  PROXY_REFUSED,
  PROXY_SILENT,
  PROXY_UNREACHABLE,
} from '../http/proxy-agent.ts';
import { pauseSeconds } from '../http/retry-policy.ts';
import type { Failure, Rule } from './failure.ts';

const SQL_PORT = '26257';
const HTTP_PORT = 'use the port of the DB Console (8080 by default), not the SQL port (26257)';

/** The server, or something in between, ended the connection. */
const CLOSED = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'];

/** The requested host, and the names in the certificate that was refused for it; undefined for another failure. */
function findRefusedNames({
  error,
}: Failure): { readonly host: string; readonly names: string } | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (!('host' in cause && 'cert' in cause)) continue;
    const { host, cert } = cause;
    if (typeof cert !== 'object' || cert === null) return undefined;
    const names = 'subjectaltname' in cert ? cert.subjectaltname : undefined;
    return { host: String(host), names: typeof names === 'string' ? names : '' };
  }
  return undefined;
}

/** Whether the host would match a name like `*.cockroachdb`, which Go accepts and Node.js does not. */
function isOfShortWildcard(failure: Failure): boolean {
  const refused = findRefusedNames(failure);
  const [, parent] = /^[^.]+\.([^.]+)$/.exec(refused?.host ?? '') ?? [];
  return refused !== undefined && refused.names.split(', ').includes(`DNS:*.${parent}`);
}

/** What to set where the certificate on the HTTP port is none for servers: the operator of Cockroach Labs mounts what it is told to. */
const NODE_CERTIFICATE =
  'with the operator of Cockroach Labs set httpSecretName to the secret of the node certificate (RELEASE-node-secret); else install the node certificate there, without a ui.crt, or one with the names of the host';
const FOR_CLIENTS = `the server presents a certificate for clients on its HTTP port: ${NODE_CERTIFICATE}`;
const WITHOUT_NAMES = `the certificate on the HTTP port names no host: ${NODE_CERTIFICATE}; until then cluster_api.tls.server_name may be its common name (root for the certificate of a client)`;

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const ANY_USAGE = '2.5.29.37.0';

/** What is wrong with a certificate for a server, and what to set; undefined where nothing is. */
export function findServerFault({
  keyUsage,
  subjectAltName,
}: Pick<X509Certificate, 'keyUsage' | 'subjectAltName'>): string | undefined {
  // `keyUsage` has the extended usages; without any every use is allowed.
  const usages: readonly string[] = keyUsage ?? [];
  const isForServers = usages.includes(SERVER_AUTH) || usages.includes(ANY_USAGE);
  if (usages.includes(CLIENT_AUTH) && !isForServers) return FOR_CLIENTS;
  return subjectAltName === undefined ? WITHOUT_NAMES : undefined;
}

export function adviseRateLimit({ error }: Failure): string {
  return `the service limits the rate of requests: try again in ${Math.ceil(pauseSeconds(error) ?? 1)} s`;
}

function adviseUnavailable({ error }: Failure): string {
  const pause = pauseSeconds(error);
  const wait =
    pause === undefined ? '' : `; by its Retry-After requests go on within ${Math.ceil(pause)} s`;
  return `a proxy or load balancer answers, but no server behind it: check those servers, or use their own URLs${wait}`;
}

const PROXY = 'the proxy of the environment (https_proxy, http_proxy or all_proxy)';

/** Failures before there is a response, and responses that any server may give. */
export const CONNECTION_RULES: readonly Rule[] = [
  [
    'proxy without login',
    { codes: [PROXY_LOGIN] },
    `${PROXY} requires a login: write it into its URL, as in http://user:password@proxy:3128, or list the host in no_proxy`,
  ],
  [
    'proxy refuses',
    { codes: [PROXY_REFUSED] },
    `${PROXY} does not connect to this host: check that it may and that the server is up, or list the host in no_proxy`,
  ],
  [
    'proxy fails',
    { codes: [PROXY_SILENT, PROXY_UNREACHABLE] },
    `correct the address of ${PROXY}, check that it works, or list the host in no_proxy`,
  ],
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
  ['certificate for clients', { codes: ['INVALID_PURPOSE'] }, FOR_CLIENTS],
  [
    'certificate without names',
    {
      codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
      when: (failure) => findRefusedNames(failure)?.names === '',
    },
    WITHOUT_NAMES,
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
    { reasons: ['timeout'], when: ({ error }) => error.late === 'poll' },
    ({ operation }) =>
      `the poll took longer than collectors.${operation.name}.timeout: check the nodes for overload; raise it only if other polls succeed`,
  ],
  [
    'silence within a response',
    { reasons: ['timeout'], when: ({ error }) => error.late === 'chunk' },
    'the server began its response and then sent nothing for 15 s: check the nodes for overload, and any proxy in between',
  ],
  [
    'slow response',
    { reasons: ['timeout'], when: ({ error }) => error.late === 'body' },
    'the response is slower than cluster_api.min_rate: check the network and the nodes for overload; lower min_rate only if the connection is that slow',
  ],
  [
    'list of ranges',
    { reasons: ['timeout'], endpoints: ['node_ranges'] },
    'the node may be frozen, or its list very long: check `crdb-exporter nodes`; raise collectors.ranges.node_timeout only if the node is just slow',
  ],
  [
    'list of sessions',
    { reasons: ['timeout'], endpoints: ['sessions'] },
    'a node may be frozen: check `crdb-exporter nodes`; raise cluster_api.timeout only if the server is just slow',
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
    { codes: [NOT_HTTP], when: ({ hasWorked }) => !hasWorked },
    `no HTTP server listens there: ${HTTP_PORT}; a port that speaks TLS needs https:// in the URL`,
  ],
  [
    'broken HTTP',
    { codes: [NOT_HTTP, BROKEN_HTTP] },
    'the response breaks the rules of HTTP: look for a proxy that changes responses, or use the URLs of the nodes',
  ],
  [
    'network',
    { reasons: ['network'] },
    'check that the server is up and that no proxy or firewall closes its connections',
  ],
  [
    'proxy without https',
    { when: ({ error }) => error.leadsToHttps && error.url?.startsWith('https:') === true },
    'the proxy in front of the cluster speaks plain http to a secure node, which redirects to https: set the protocol of its backend to HTTPS',
  ],
  [
    'redirect to https',
    { when: ({ error }) => error.leadsToHttps },
    'a secure cluster redirects plain http: write https:// in the URL',
  ],
  [
    'redirect by a proxy',
    { when: ({ error }) => isRedirect(error.status) },
    'a proxy answers this path with a redirect, such as to its login page: let it pass the requests of the exporter on, or use the URLs of the nodes',
  ],
  ['rate limit', { statuses: [429] }, adviseRateLimit],
  ['no server behind a proxy', { statuses: [502, 503, 504] }, adviseUnavailable],
  [
    'circuit breaker',
    { reasons: ['breaker_open'] },
    'all URLs, or this endpoint or node, failed several times in a row: fix the earlier failures; requests resume automatically',
  ],
];

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
