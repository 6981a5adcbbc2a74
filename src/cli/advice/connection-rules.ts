import { NOT_HTTP } from '../../http/errors.ts';
import type { Failure, Rule } from '../advice.ts';

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'INVALID_CA',
]);
const OTHER_NAME = new Set(['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH']);
const NO_TLS = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);

/** Failures before there is an answer, and answers that any server may give. */
export const CONNECTION_RULES: readonly Rule[] = [
  {
    when: ({ code }) => code === 'ENOTFOUND',
    remedy: 'correct the host name in the URL, or make it known to the name server',
  },
  {
    when: ({ code }) => code === 'EAI_AGAIN',
    remedy: 'the name server did not answer: try again, or write the address in place of the name',
  },
  {
    when: ({ code }) => code === 'ECONNREFUSED',
    remedy:
      'nothing listens there: the API has the port of the DB Console (8080 by default), not that of SQL (26257), and the node must be up',
  },
  {
    when: ({ code }) => /^E(?:HOST|NET)(?:UNREACH|DOWN)$/.test(code),
    remedy:
      'there is no way to the host from here: check the network, the firewall and the address',
  },
  {
    when: ({ code }) => UNTRUSTED.has(code),
    remedy:
      "the certificate is signed by a CA that is not known here: give the cluster's ca.crt with --cluster.ca-file (cluster_api.tls.ca_file)",
  },
  {
    when: ({ code }) => code === 'CERT_HAS_EXPIRED',
    remedy:
      "the server's certificate has expired: renew it with `cockroach cert create-node` and send the node SIGHUP",
  },
  {
    when: ({ code }) => code === 'CERT_NOT_YET_VALID',
    remedy:
      "the server's certificate begins to hold in the future: compare the clocks of both machines",
  },
  {
    when: ({ code }) => OTHER_NAME.has(code),
    remedy:
      'the certificate is for other names: use one of them in the URL, or set cluster_api.tls.server_name to one',
  },
  {
    when: ({ code }) => NO_TLS.has(code),
    remedy:
      'that port does not speak TLS: write http:// in the URL for an insecure cluster, and the HTTP port, not that of SQL',
  },
  {
    when: ({ error }) => error.reason === 'tls',
    remedy: 'if the server wants a client certificate, set cluster_api.tls.cert_file and key_file',
  },
  {
    when: ({ code, error }) => error.reason === 'timeout' && code === 'UND_ERR_CONNECT_TIMEOUT',
    remedy: 'no connection came about: check the address, the port and the firewall between',
  },
  {
    when: ({ error }) => error.reason === 'timeout',
    remedy: (failure) => writeTimeoutRemedy(failure),
  },
  {
    when: ({ code }) => code === 'ECONNRESET' || code === 'UND_ERR_SOCKET',
    remedy:
      'the connection was cut: if the server speaks TLS only, write https:// in the URL; else a proxy or the server ended it',
  },
  {
    when: ({ code }) => code === NOT_HTTP,
    remedy:
      'no HTTP server listens there: the API has the port of the DB Console (8080 by default), not that of SQL (26257); a port that speaks TLS needs https:// in the URL',
  },
  {
    when: ({ error }) => error.reason === 'network',
    remedy: 'check that the server is up and that nothing between ends its connections',
  },
  {
    when: ({ error: { status = 0 } }) => status >= 300 && status < 400,
    remedy: 'this is how a secure cluster answers plain http: write https:// in the URL',
  },
  {
    when: ({ error }) => error.status === 429,
    remedy: ({ error }) =>
      `the service is asked too often: try again in ${Math.ceil(error.retryAfterSeconds ?? 1)} s`,
  },
  {
    when: ({ error: { status = 0 } }) => status === 502 || status === 503 || status === 504,
    remedy:
      'a proxy or load balancer answers, but nothing behind it: look at the servers behind it, or use their own URLs',
  },
  {
    when: ({ error }) => error.reason === 'breaker_open',
    remedy:
      'all URLs, or this endpoint or node, failed several times: fix what they failed with, then try again',
  },
];

function writeTimeoutRemedy({ operation }: Failure): string {
  if (operation === 'sessions' || operation === 'ranges') {
    return 'a node may be frozen, or its list very long: look at `nodes`, and raise cluster_api.timeout if the server is only slow';
  }
  return 'the server accepted the connection and said nothing: see whether it is overloaded, or raise cluster_api.timeout';
}
