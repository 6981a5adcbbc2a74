import * as v from 'valibot';
import { cloudUrl, clusterUrl, findUrlConflict } from './addresses.ts';
import type { collectorSections } from './collector-schema.ts';
import { key } from './keys.ts';
import {
  boolean,
  bytes,
  duration,
  filePath,
  filledList,
  integer,
  secretText,
  section,
  text,
  textLike,
} from './values.ts';

// The keys of a cluster: see schema.ts.

/** Of a request, in seconds. */
const MIN_TIMEOUT = 0.1;

function tlsSection(folder: string) {
  return section({
    ca_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.ca-file',
      help: 'CA certificate that verifies the nodes, instead of those of the operating system.',
      example: '/etc/crdb/ca.crt',
    }),
    cert_file: key(v.optional(filePath(folder)), { help: 'Client certificate; needs key_file.' }),
    key_file: key(v.optional(filePath(folder)), { help: 'Key of the client certificate.' }),
    server_name: key(v.optional(text('host')), {
      help: 'Name to expect in the certificate of a node, when it is not the host of the URL.',
    }),
    insecure_skip_verify: key(v.optional(boolean, false), {
      help: 'Accept any certificate. For tests only.',
    }),
  });
}

function loginKeys(folder: string) {
  return {
    username: key(v.optional(text('user')), {
      flag: 'cluster.username',
      help: 'SQL user to log in as; without user and token the cluster must be insecure.',
      example: 'exporter',
    }),
    password: key(v.optional(secretText), {
      variable: 'CRDB_EXPORTER_CLUSTER_PASSWORD',
      help: 'Password of the user; better kept in a file.',
    }),
    password_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.password-file',
      help: 'File that holds the password, read again at every login.',
      example: '/run/secrets/crdb',
    }),
    password_env: key(v.optional(text('variable')), {
      help: 'Environment variable that holds the password.',
    }),
    token: key(v.optional(secretText), {
      variable: 'CRDB_EXPORTER_CLUSTER_TOKEN',
      help: 'Session token instead of user and password; better kept in a file.',
    }),
    token_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.token-file',
      help: 'File that holds a session token.',
    }),
    token_env: key(v.optional(text('variable')), {
      help: 'Environment variable that holds a session token.',
    }),
  };
}

function clusterApiSection(folder: string) {
  const urls = v.pipe(
    filledList(clusterUrl),
    v.check(
      (all) => findUrlConflict(all) === undefined,
      ({ input }) => findUrlConflict(input) ?? '',
    ),
  );
  const headerName = textLike({
    name: 'header',
    pattern: /^[\w!#$%&'*+.^`|~-]+$/,
    expects: 'the name of an HTTP header',
  });
  return section({
    urls: key(urls, {
      flag: 'cluster.url',
      help: 'URLs of nodes of the cluster; the next one is used when one fails. /api/v2 is added when missing.',
      example: ['https://crdb-1:8080', 'https://crdb-2:8080'],
    }),
    ...loginKeys(folder),
    session_headers: key(
      v.optional(filledList(headerName), ['X-Cockroach-API-Session', 'X-Service-API-Session']),
      {
        help: 'Headers that may carry the session token; the next is tried when a fresh token is refused.',
      },
    ),
    tls: v.nullish(tlsSection(folder), {}),
    timeout: key(v.optional(duration({ min: MIN_TIMEOUT }), '30s'), {
      help: 'Maximum time until the headers of a response.',
    }),
    max_concurrent_requests: key(v.optional(integer({ min: 1 }), 4), {
      help: 'Maximum concurrent requests to this cluster.',
    }),
    max_response_bytes: key(v.optional(bytes({ min: 1 }), '2GiB'), {
      help: 'Maximum size of a response, after decompression.',
    }),
    min_rate: key(v.optional(bytes({ min: 0 }), '16KiB'), {
      help: 'Minimum average transfer rate per second, enforced after 15s.',
    }),
    compression: key(v.optional(boolean, false), {
      help: 'Request gzip: saves network, costs the database node CPU.',
    }),
  });
}

function cloudApiSection(folder: string) {
  const id = textLike({
    name: 'id',
    pattern: /^[\w-]+$/,
    expects: 'the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa',
  });
  const version = textLike({
    name: 'date',
    pattern: /^\d{4}-\d{2}-\d{2}$/,
    expects: 'a version of the Cloud API: write it as 2024-09-16',
  });
  return section({
    url: key(v.optional(cloudUrl, 'https://cockroachlabs.cloud'), {
      flag: 'cloud.url',
      help: 'Base URL of the Cloud API.',
    }),
    cluster_id: key(id, {
      flag: 'cloud.cluster-id',
      help: 'Id of the cluster in CockroachDB Cloud.',
      example: '35c4abb2-bb66-46d7-afed-25ebef5ed2aa',
    }),
    token: key(v.optional(secretText), {
      variable: 'CRDB_EXPORTER_CLOUD_TOKEN',
      help: 'API key of a service account; better kept in a file.',
    }),
    token_file: key(v.optional(filePath(folder)), {
      flag: 'cloud.token-file',
      help: 'File that holds the API key of a service account.',
      example: '/run/secrets/cloud',
    }),
    token_env: key(v.optional(text('variable')), {
      help: 'Environment variable that holds the API key.',
    }),
    api_version: key(v.optional(version, '2024-09-16'), {
      help: 'Version of the Cloud API to request (the header Cc-Version).',
    }),
  });
}

/** One member of the list `clusters`. */
export function clusterSection(folder: string, collectors: ReturnType<typeof collectorSections>) {
  const name = textLike({
    name: 'name',
    pattern: /^[^\p{C}\p{Z}](?:[^\p{C}]{0,126}[^\p{C}\p{Z}])?$/u,
    expects: 'a name of at most 128 printable characters without a space at either end',
  });
  return section({
    name: key(name, {
      flag: 'cluster.name',
      help: 'Value of the label crdb_cluster; "default" when the cluster is given by flags.',
      example: 'prod',
    }),
    poll: key(v.optional(boolean, true), {
      help: 'Poll this cluster at intervals; false leaves it to /probe.',
    }),
    cluster_api: v.optional(clusterApiSection(folder)),
    cloud_api: v.optional(cloudApiSection(folder)),
    collectors: v.nullish(collectors, {}),
  });
}
