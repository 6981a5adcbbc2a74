import { NOT_HTTP } from '../http/errors.ts';
import type { Rule } from './failure.ts';

const HTTP_PORT = 'use the port of the DB Console (8080 by default), not that of SQL (26257)';

/** Failures before there is a response, and responses that any server may give. */
export const CONNECTION_RULES: readonly Rule[] = [
  [{ codes: ['ENOTFOUND'] }, 'correct the host name in the URL, or add it to DNS'],
  [
    { codes: ['EAI_AGAIN'] },
    'the DNS server did not answer: try again, or use the IP address in the URL',
  ],
  [
    { reasons: ['network', 'tls', 'timeout'], when: ({ operation }) => operation.api === 'cloud' },
    'check cloud_api.url (--cloud.url) and any proxy or firewall in between',
  ],
  [
    { reasons: ['network', 'tls', 'timeout'], message: /:26257\b/ },
    `26257 is the SQL port: ${HTTP_PORT}`,
  ],
  [
    { codes: ['ECONNREFUSED'] },
    `nothing listens there: ${HTTP_PORT}, and check that the node is up`,
  ],
  [
    { codes: ['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'] },
    'the host is unreachable: check its address, the network and the firewall',
  ],
  [
    {
      codes: [
        'DEPTH_ZERO_SELF_SIGNED_CERT',
        'SELF_SIGNED_CERT_IN_CHAIN',
        'UNABLE_TO_GET_ISSUER_CERT',
        'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'INVALID_CA',
      ],
    },
    ({ login }) =>
      login?.tls.ca_file === undefined
        ? "the certificate is signed by an unknown CA: set cluster_api.tls.ca_file (--cluster.ca-file) to the cluster's ca.crt, or add that to the certificates of the operating system"
        : "the certificate is signed by another CA than those of cluster_api.tls.ca_file (--cluster.ca-file): use the cluster's ca.crt",
  ],
  [
    { codes: ['CERT_HAS_EXPIRED'] },
    "the server's certificate has expired: renew it with `cockroach cert create-node` and send the node SIGHUP",
  ],
  [
    { codes: ['CERT_NOT_YET_VALID'] },
    "the server's certificate is not valid yet: compare the clocks of both machines",
  ],
  [
    { codes: ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'] },
    'the certificate is for other names: use one of them in the URL, or set cluster_api.tls.server_name to one',
  ],
  [
    { codes: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'] },
    `that port does not speak TLS: write http:// in the URL for an insecure cluster; ${HTTP_PORT}`,
  ],
  [
    { codes: ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'] },
    `that port speaks TLS but not HTTP: ${HTTP_PORT}`,
  ],
  [
    { reasons: ['tls'] },
    'if the server requires a client certificate, set cluster_api.tls.cert_file and key_file',
  ],
  [
    { codes: ['UND_ERR_CONNECT_TIMEOUT'] },
    'the connection timed out: check the address, the port and the firewall',
  ],
  [
    { reasons: ['timeout'], message: /the time for this poll is up/ },
    ({ operation }) =>
      `the poll took longer than collectors.${operation.name}.timeout: raise it, or check the nodes for overload`,
  ],
  [
    { reasons: ['timeout'], message: /\b(?:node_ranges|sessions)\b/ },
    'a node may be frozen, or its list very long: check `crdb-exporter nodes`, and raise cluster_api.timeout if the server is only slow',
  ],
  [
    { reasons: ['timeout'] },
    'the server accepted the connection but did not answer in time: check it for overload, or raise cluster_api.timeout',
  ],
  // With TLS 1.3, a client learns that its certificate is missing only from the end of the connection.
  [
    {
      codes: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
      when: ({ login }) => login?.urls.every((url) => url.startsWith('https:')) === true,
    },
    ({ login }) =>
      login?.tls.cert_file === undefined
        ? `the server closed the connection: if it requires a client certificate, set cluster_api.tls.cert_file and key_file; ${HTTP_PORT}; otherwise check the server and any proxy in between`
        : `the server closed the connection: check that it trusts the client certificate of cluster_api.tls.cert_file; ${HTTP_PORT}; otherwise check any proxy in between`,
  ],
  [
    { codes: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'] },
    `the server closed the connection: write https:// in the URL if it requires TLS; ${HTTP_PORT}; otherwise check the server and any proxy in between`,
  ],
  [
    { codes: [NOT_HTTP] },
    `no HTTP server listens there: ${HTTP_PORT}; a port that speaks TLS needs https:// in the URL`,
  ],
  [
    { reasons: ['network'] },
    'check that the server is up and that no proxy or firewall closes its connections',
  ],
  [
    { when: ({ error: { status = 0 } }) => status >= 300 && status < 400 },
    'a secure cluster redirects plain http: write https:// in the URL',
  ],
  [
    { statuses: [429] },
    ({ error: { retryAfterSeconds = 1 } }) =>
      `the service limits the rate of requests: try again in ${Math.ceil(retryAfterSeconds)} s`,
  ],
  [
    { statuses: [502, 503, 504] },
    'a proxy or load balancer answers, but no server behind it: check those servers, or use their own URLs',
  ],
  [
    { reasons: ['breaker_open'] },
    'all URLs, or this endpoint or node, failed several times in a row: fix the earlier failures; requests resume automatically',
  ],
];
