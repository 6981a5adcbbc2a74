import { cloudUrl, clusterUrl } from './api-url.ts';
import { listOf } from './kind.ts';
import { boolean, bytes, duration, filePath, integer, secretText, text } from './kinds.ts';
import type { Rows } from './section.ts';

const GIBIBYTE = 1024 ** 3;
/** Of a request to a cluster. */
const SHORTEST_TIMEOUT_SECONDS = 0.1;

const headerName = text({
  name: 'header',
  pattern: /^[\w!#$%&'*+.^`|~-]+$/,
  expects: 'the name of an HTTP header',
});
const clusterName = text({
  name: 'name',
  pattern: /^[^\p{C}\p{Z}](?:[^\p{C}]{0,126}[^\p{C}\p{Z}])?$/u,
  expects: 'a name of at most 128 printable characters without a space at either end',
});
const clusterId = text({
  name: 'id',
  pattern: /^[\w-]+$/,
  expects: 'the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa',
});
const apiVersion = text({
  name: 'date',
  pattern: /^\d{4}-\d{2}-\d{2}$/,
  expects: 'a version of the Cloud API: write it as 2024-09-16',
});
const variableName = text({ name: 'variable' });

export const CLUSTER = {
  name: {
    path: 'clusters[].name',
    kind: clusterName,
    flag: 'cluster.name',
    help: 'Value of the label crdb_cluster; "default" when the cluster is given by flags.',
    example: 'prod',
  },
  poll: {
    path: 'clusters[].poll',
    kind: boolean,
    default: true,
    help: 'Ask this cluster at intervals; false leaves it to /probe.',
  },
} satisfies Rows;

export const CLUSTER_API = {
  urls: {
    path: 'clusters[].cluster_api.urls',
    kind: listOf(clusterUrl, { mayBeEmpty: false }),
    flag: 'cluster.url',
    help: 'URLs of nodes of the cluster; the next one is used when one fails. /api/v2 is added when missing.',
    example: ['https://crdb-1:8080', 'https://crdb-2:8080'],
  },
  username: {
    path: 'clusters[].cluster_api.username',
    kind: text({ name: 'user' }),
    flag: 'cluster.username',
    help: 'SQL user to log in as; without user and token the cluster must be insecure.',
    example: 'exporter',
  },
  password: {
    path: 'clusters[].cluster_api.password',
    kind: secretText,
    variable: 'CRDB_EXPORTER_CLUSTER_PASSWORD',
    help: 'Password of the user; better kept in a file.',
  },
  passwordFile: {
    path: 'clusters[].cluster_api.password_file',
    kind: filePath,
    flag: 'cluster.password-file',
    help: 'File that holds the password, read again at every log-in.',
    example: '/run/secrets/crdb',
  },
  passwordEnv: {
    path: 'clusters[].cluster_api.password_env',
    kind: variableName,
    help: 'Environment variable that holds the password.',
  },
  token: {
    path: 'clusters[].cluster_api.token',
    kind: secretText,
    variable: 'CRDB_EXPORTER_CLUSTER_TOKEN',
    help: 'A ready session token instead of user and password; better kept in a file.',
  },
  tokenFile: {
    path: 'clusters[].cluster_api.token_file',
    kind: filePath,
    flag: 'cluster.token-file',
    help: 'File that holds a ready session token.',
  },
  tokenEnv: {
    path: 'clusters[].cluster_api.token_env',
    kind: variableName,
    help: 'Environment variable that holds a ready session token.',
  },
  sessionHeaders: {
    path: 'clusters[].cluster_api.session_headers',
    kind: listOf(headerName, { mayBeEmpty: false }),
    default: ['X-Cockroach-API-Session', 'X-Service-API-Session'],
    help: 'Headers that may carry the session token; the next is tried when a fresh token is refused.',
  },
  timeout: {
    path: 'clusters[].cluster_api.timeout',
    kind: duration({ min: SHORTEST_TIMEOUT_SECONDS }),
    default: 30,
    help: 'Longest wait for the headers of an answer.',
  },
  maxConcurrentRequests: {
    path: 'clusters[].cluster_api.max_concurrent_requests',
    kind: integer({ min: 1 }),
    default: 4,
    help: 'Most requests under way to this cluster at a time.',
  },
  maxResponseBytes: {
    path: 'clusters[].cluster_api.max_response_bytes',
    kind: bytes({ min: 1 }),
    default: 2 * GIBIBYTE,
    help: 'Largest answer that is read, after decompression.',
  },
  minRate: {
    path: 'clusters[].cluster_api.min_rate',
    kind: bytes({ min: 0 }),
    default: 16 * 1024,
    help: 'Bytes per second that an answer must bring on the average once 15s have passed.',
  },
  compression: {
    path: 'clusters[].cluster_api.compression',
    kind: boolean,
    default: false,
    help: 'Ask for gzip: saves network, costs the database node CPU.',
  },
} satisfies Rows;

export const TLS = {
  caFile: {
    path: 'clusters[].cluster_api.tls.ca_file',
    kind: filePath,
    flag: 'cluster.ca-file',
    help: 'CA certificate that the nodes are checked against, instead of the usual ones.',
    example: '/etc/crdb/ca.crt',
  },
  certFile: {
    path: 'clusters[].cluster_api.tls.cert_file',
    kind: filePath,
    help: 'Client certificate; needs key_file.',
  },
  keyFile: {
    path: 'clusters[].cluster_api.tls.key_file',
    kind: filePath,
    help: 'Key of the client certificate.',
  },
  serverName: {
    path: 'clusters[].cluster_api.tls.server_name',
    kind: text({ name: 'host' }),
    help: 'Name to expect in the certificate of a node, when it is not the host of the URL.',
  },
  insecureSkipVerify: {
    path: 'clusters[].cluster_api.tls.insecure_skip_verify',
    kind: boolean,
    default: false,
    help: 'Accept any certificate. For tests only.',
  },
} satisfies Rows;

export const CLOUD_API = {
  url: {
    path: 'clusters[].cloud_api.url',
    kind: cloudUrl,
    default: 'https://cockroachlabs.cloud',
    flag: 'cloud.url',
    help: 'Base URL of the Cloud API.',
  },
  clusterId: {
    path: 'clusters[].cloud_api.cluster_id',
    kind: clusterId,
    flag: 'cloud.cluster-id',
    help: 'Id of the cluster in CockroachDB Cloud.',
    example: '35c4abb2-bb66-46d7-afed-25ebef5ed2aa',
  },
  token: {
    path: 'clusters[].cloud_api.token',
    kind: secretText,
    variable: 'CRDB_EXPORTER_CLOUD_TOKEN',
    help: 'API key of a service account; better kept in a file.',
  },
  tokenFile: {
    path: 'clusters[].cloud_api.token_file',
    kind: filePath,
    flag: 'cloud.token-file',
    help: 'File that holds the API key of a service account.',
    example: '/run/secrets/cloud',
  },
  tokenEnv: {
    path: 'clusters[].cloud_api.token_env',
    kind: variableName,
    help: 'Environment variable that holds the API key.',
  },
  apiVersion: {
    path: 'clusters[].cloud_api.api_version',
    kind: apiVersion,
    default: '2024-09-16',
    help: 'Version of the Cloud API to ask for (the header Cc-Version).',
  },
} satisfies Rows;
