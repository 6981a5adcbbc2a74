import { isIP } from 'node:net';
import * as v from 'valibot';
import { findUrlFault } from '#base';
import { clusterCollectors, type CollectorOptions } from './collector-schema.ts';
import { findSecretFault, Secret } from './files.ts';
import {
  anyText,
  boolean,
  bytes,
  duration,
  filePath,
  filledList,
  integer,
  invalid,
  key,
  MIN_TIMEOUT_SECONDS,
  NOT_TEXT,
  rejectIf,
  section,
  showUrl,
  text,
  textLike,
} from './values.ts';

/** A URL without a slash at the end, to which `end` is added when missing. */
function apiUrl(example: string, end = '') {
  return v.pipe(
    text(),
    rejectIf((url) => {
      const fault = findUrlFault(url, example);
      return fault && `${showUrl(url)} ${fault}`;
    }),
    // Editors know the pattern and not the check.
    v.metadata({ valueType: 'url', pattern: String.raw`^https?://[^@?#\s'{}]+$` }),
    v.transform((url) => {
      const { origin, pathname } = new URL(url);
      // A lookbehind keeps the time linear in a path of many slashes.
      const base = `${origin}${pathname}`.replace(/(?<!\/)\/+$/, '');
      return base.endsWith(end) ? base : `${base}${end}`;
    }),
  );
}

/** The bases of the cluster API of the nodes of one cluster. */
const clusterUrls = v.pipe(
  filledList(apiUrl('https://crdb-1:8080', '/api/v2')),
  rejectIf<readonly string[]>(findUrlConflict),
  v.metadata({ uniqueItems: true, anyOf: ['^https:', '^http:'].map(itemsLike) }),
);

function itemsLike(pattern: string) {
  return { items: { pattern } };
}

/** Returns the fault of the URLs of one cluster together, or undefined. */
function findUrlConflict(urls: readonly string[]): string | undefined {
  if (new Set(urls).size < urls.length) return 'a URL is listed twice: remove one';
  const isMixed = new Set(urls.map((url) => new URL(url).protocol)).size > 1;
  return isMixed ? 'http:// and https:// are mixed: use one of them for all nodes' : undefined;
}

/** As a certificate has it: with a port, no certificate would match. */
const serverName = v.pipe(
  text('host'),
  v.check(
    (name) => /^[\w.-]{1,253}$/.test(name) || isIP(name) !== 0,
    invalid('is not the name of a host: write it as crdb.example.org, without a port'),
  ),
  v.metadata({ pattern: String.raw`^[\w.-]{1,253}$|^[\da-fA-F.]*:[\da-fA-F.]*:[\da-fA-F:.]*$` }),
);

const TLS_KEYS = section({
  ca_file: key(v.optional(filePath), {
    flag: 'cluster.ca-file',
    help: 'CA certificates that verify the nodes, instead of those of the operating system and of Node.js.',
  }),
  cert_file: key(v.optional(filePath), {
    flag: 'cluster.cert-file',
    help: 'Client certificate; needs the key file.',
  }),
  key_file: key(v.optional(filePath), {
    flag: 'cluster.key-file',
    help: 'Key of the client certificate.',
  }),
  server_name: key(v.optional(serverName), {
    help: 'Name expected in the certificates of the nodes; default: the host of the URL.',
  }),
  insecure_skip_verify: key(v.optional(boolean, false), {
    help: 'Accept any certificate of a node. For tests only.',
  }),
});

const TLS = v.pipe(
  TLS_KEYS,
  v.metadata({ dependencies: { cert_file: ['key_file'], key_file: ['cert_file'] } }),
);

/** A password or token itself. Its messages never show it. */
const secretText = v.pipe(
  v.string(invalid(NOT_TEXT, 'the secret')),
  v.nonEmpty('the secret is empty'),
  rejectIf((secret) => {
    const fault = findSecretFault(secret);
    return fault && `the secret ${fault}`;
  }),
  v.transform((secret) => new Secret(secret)),
  v.metadata({ valueType: 'secret' }),
);

const LOGIN_KEYS = {
  username: key(v.optional(text('user')), {
    flag: 'cluster.username',
    help: 'SQL user to log in as; without user and token, the cluster must be insecure.',
  }),
  password: key(v.optional(secretText), {
    variable: 'CRDB_EXPORTER_CLUSTER_PASSWORD',
    help: 'Password of the user; better kept in a file.',
  }),
  password_file: key(v.optional(filePath), {
    flag: 'cluster.password-file',
    help: 'File with the password, read at every login.',
  }),
  password_env: key(v.optional(text('variable')), {
    help: 'Environment variable with the password.',
  }),
  token: key(v.optional(secretText), {
    variable: 'CRDB_EXPORTER_CLUSTER_TOKEN',
    help: 'Session token instead of user and password; better kept in a file.',
  }),
  token_file: key(v.optional(filePath), {
    flag: 'cluster.token-file',
    help: 'File with a session token.',
  }),
  token_env: key(v.optional(text('variable')), {
    help: 'Environment variable with a session token.',
  }),
};

// What follows on keys that need or exclude each other is for editors and Helm: `checkKeys` reports them for the exporter.

const PASSWORDS = ['password', 'password_file', 'password_env'];
const TOKENS = ['token', 'token_file', 'token_env'];

const LOGIN_RULES = {
  username: { ...oneOfThese(PASSWORDS), ...noneOf(TOKENS) },
  ...exclusive(PASSWORDS, { required: ['username'] }),
  ...exclusive(TOKENS),
};

/** The JSON schema of keys that exclude each other: only one may be written. */
function exclusive(names: readonly string[], more: object = {}) {
  const rules = names.map((name) => [
    name,
    { ...more, ...noneOf(names.filter((other) => other !== name)) },
  ]);
  return Object.fromEntries(rules);
}

function noneOf(names: readonly string[]) {
  return { properties: Object.fromEntries(names.map((name) => [name, false])) };
}

function oneOfThese(names: readonly string[]) {
  return { anyOf: names.map((name) => ({ required: [name] })) };
}

/** A name, or nothing. */
const virtualCluster = v.pipe(
  anyText,
  v.regex(/^(?:[a-z0-9][a-z0-9-]{0,99})?$/, invalid('is not the name of a virtual cluster')),
  v.metadata({ valueType: 'name' }),
);

const CLUSTER_API_KEYS = section({
  urls: key(clusterUrls, {
    flag: 'cluster.url',
    help: 'URLs of nodes of the cluster; the next one is used when one fails. /api/v2 is added when missing.',
  }),
  ...LOGIN_KEYS,
  virtual_cluster: key(v.optional(virtualCluster, 'system'), {
    flag: 'cluster.virtual-cluster',
    help: 'Virtual cluster to query (header X-Cockroach-Tenant). Only system has nodes and ranges; with "" no header is sent.',
  }),
  tls: v.nullish(TLS, {}),
  timeout: key(v.optional(duration(MIN_TIMEOUT_SECONDS), '30s'), {
    help: 'Maximum time until the response headers.',
  }),
  max_concurrent_requests: key(v.optional(integer(1), 4), {
    help: 'Maximum concurrent requests to this cluster.',
  }),
  max_response_bytes: key(v.optional(bytes(1), '2GiB'), {
    help: 'Maximum size of a response, after decompression.',
  }),
  min_rate: key(v.optional(bytes(0), '16KiB'), {
    help: 'Minimum average transfer rate per second, enforced after 15s.',
  }),
  compression: key(v.optional(boolean, false), {
    help: 'Request gzip: saves network, costs the database node CPU.',
  }),
  protobuf: key(v.optional(boolean, true), {
    help: 'Read range descriptors and connections as protobuf where the server sends it, a fraction of the size of JSON.',
  }),
});

const CLUSTER_API = v.pipe(CLUSTER_API_KEYS, v.metadata({ dependencies: LOGIN_RULES }));

const CLOUD_ID = 'the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa';
const CLOUD_VERSION = 'a version of the Cloud API: write it as 2024-09-16';

const CLOUD_API_KEYS = section({
  url: key(v.optional(apiUrl('https://cockroachlabs.cloud'), 'https://cockroachlabs.cloud'), {
    flag: 'cloud.url',
    help: 'Base URL of the Cloud API.',
  }),
  cluster_id: key(textLike(/^[\w-]+$/, CLOUD_ID, 'id'), {
    flag: 'cloud.cluster-id',
    help: 'Id of the cluster in CockroachDB Cloud.',
  }),
  token: key(v.optional(secretText), {
    variable: 'CRDB_EXPORTER_CLOUD_TOKEN',
    help: 'API key of a service account; better kept in a file.',
  }),
  token_file: key(v.optional(filePath), {
    flag: 'cloud.token-file',
    help: 'File with the API key of a service account.',
  }),
  token_env: key(v.optional(text('variable')), {
    help: 'Environment variable with the API key.',
  }),
  api_version: key(
    v.optional(textLike(/^\d{4}-\d{2}-\d{2}$/, CLOUD_VERSION, 'date'), '2024-09-16'),
    {
      help: 'Version of the Cloud API, sent in the header Cc-Version.',
    },
  ),
});

const CLOUD_API = v.pipe(
  CLOUD_API_KEYS,
  v.metadata({ ...oneOfThese(TOKENS), dependencies: exclusive(TOKENS) }),
);

/** The maximum length of a name, as of a label value, in UTF-16 code units. */
const MAX_NAME_LENGTH = 128;
const CLUSTER_NAME = `a name of at most ${MAX_NAME_LENGTH} printable characters without quotes, backslashes or a space at either end`;

/** One member of the list `clusters`. */
export function clusterSection(collectors: readonly CollectorOptions[]) {
  const name = v.pipe(
    // Alerts, dashboards and commands have the name in quotes.
    textLike(
      /^[^\p{C}\p{Z}"'`\\](?:[^\p{C}\p{Zl}\p{Zp}"'`\\]*[^\p{C}\p{Z}"'`\\])?$/u,
      CLUSTER_NAME,
      'name',
    ),
    v.maxLength(MAX_NAME_LENGTH, invalid(`is not ${CLUSTER_NAME}`)),
  );
  const keys = section({
    name: key(name, {
      flag: 'cluster.name',
      help: 'Value of the label crdb_cluster; "default" for a cluster that flags describe.',
    }),
    console_url: key(v.optional(apiUrl('https://crdb-1:8080')), {
      help: 'Address of the DB Console, for links from dashboards (crdb_cluster_info).',
    }),
    poll: key(v.optional(boolean, true), {
      help: 'Poll this cluster at intervals; if false, only /probe queries it.',
    }),
    cluster_api: v.optional(CLUSTER_API),
    cloud_api: v.optional(CLOUD_API),
    collectors: v.nullish(clusterCollectors(collectors), {}),
  });
  return v.pipe(keys, v.metadata(oneOfThese(['cluster_api', 'cloud_api'])));
}
