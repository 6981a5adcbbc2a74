import * as v from 'valibot';
import type { OptionSpec, OptionSpecs, OptionValues } from '../collector-options.ts';
import { apiUrl, clusterUrls } from './addresses.ts';
import { quote } from './issues.ts';
import { secretText } from './secret.ts';
import {
  autoOrBoolean,
  anyText,
  boolean,
  bytes,
  choice,
  duration,
  filePath,
  writeDuration,
  integer,
  invalid,
  key,
  list,
  section,
  share,
  text,
  textLike,
  rejectIf,
} from './values.ts';

// The keys of a cluster and of the collectors: see schema.ts.

/** The shortest timeout of a poll or a request. */
const MIN_TIMEOUT_SECONDS = 0.1;

function tlsSection(folder: string) {
  return section({
    ca_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.ca-file',
      help: 'CA certificates that verify the nodes, instead of those of the operating system and of Node.js.',
      examples: ['/etc/crdb/ca.crt'],
    }),
    cert_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.cert-file',
      help: 'Client certificate; needs the key file.',
    }),
    key_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.key-file',
      help: 'Key of the client certificate.',
    }),
    server_name: key(v.optional(text('host')), {
      help: 'Name expected in the certificates of the nodes; default: the host of the URL.',
    }),
    insecure_skip_verify: key(v.optional(boolean, false), {
      help: 'Accept any certificate of a node. For tests only.',
    }),
  });
}

function loginKeys(folder: string) {
  return {
    username: key(v.optional(text('user')), {
      flag: 'cluster.username',
      help: 'SQL user to log in as; without user and token, the cluster must be insecure.',
      examples: ['exporter'],
    }),
    password: key(v.optional(secretText), {
      variable: 'CRDB_EXPORTER_CLUSTER_PASSWORD',
      help: 'Password of the user; better kept in a file.',
    }),
    password_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.password-file',
      help: 'File with the password, read at every login.',
      examples: ['/run/secrets/crdb'],
    }),
    password_env: key(v.optional(text('variable')), {
      help: 'Environment variable with the password.',
    }),
    token: key(v.optional(secretText), {
      variable: 'CRDB_EXPORTER_CLUSTER_TOKEN',
      help: 'Session token instead of user and password; better kept in a file.',
    }),
    token_file: key(v.optional(filePath(folder)), {
      flag: 'cluster.token-file',
      help: 'File with a session token.',
    }),
    token_env: key(v.optional(text('variable')), {
      help: 'Environment variable with a session token.',
    }),
  };
}

/** A name, or nothing. */
const virtualCluster = v.pipe(
  anyText,
  v.regex(/^(?:[a-z0-9][a-z0-9-]{0,99})?$/, invalid('is not the name of a virtual cluster')),
  v.metadata({ valueType: 'name' }),
);

function clusterApiSection(folder: string) {
  const entries = {
    urls: key(clusterUrls, {
      flag: 'cluster.url',
      help: 'URLs of nodes of the cluster; the next one is used when one fails. /api/v2 is added when missing.',
      examples: [['https://crdb-1:8080', 'https://crdb-2:8080']],
    }),
    ...loginKeys(folder),
    virtual_cluster: key(v.optional(virtualCluster, 'system'), {
      flag: 'cluster.virtual-cluster',
      help: 'Virtual cluster that answers (header X-Cockroach-Tenant): only system has nodes and ranges; "" sends none.',
    }),
    tls: v.nullish(tlsSection(folder), {}),
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
  };
  return section(entries, {
    session_headers:
      'in 0.1.0: the token is sent in X-Cockroach-API-Session and X-Service-API-Session; remove the key',
  });
}

function cloudApiSection(folder: string) {
  const idForm = 'the id of a cluster, as 35c4abb2-bb66-46d7-afed-25ebef5ed2aa';
  const id = textLike(/^[\w-]+$/, idForm, 'id');
  const versionForm = 'a version of the Cloud API: write it as 2024-09-16';
  const version = textLike(/^\d{4}-\d{2}-\d{2}$/, versionForm, 'date');
  return section({
    url: key(v.optional(apiUrl('https://cockroachlabs.cloud'), 'https://cockroachlabs.cloud'), {
      flag: 'cloud.url',
      help: 'Base URL of the Cloud API.',
    }),
    cluster_id: key(id, {
      flag: 'cloud.cluster-id',
      help: 'Id of the cluster in CockroachDB Cloud.',
      examples: ['35c4abb2-bb66-46d7-afed-25ebef5ed2aa'],
    }),
    token: key(v.optional(secretText), {
      variable: 'CRDB_EXPORTER_CLOUD_TOKEN',
      help: 'API key of a service account; better kept in a file.',
    }),
    token_file: key(v.optional(filePath(folder)), {
      flag: 'cloud.token-file',
      help: 'File with the API key of a service account.',
      examples: ['/run/secrets/cloud'],
    }),
    token_env: key(v.optional(text('variable')), {
      help: 'Environment variable with the API key.',
    }),
    api_version: key(v.optional(version, '2024-09-16'), {
      help: 'Version of the Cloud API, sent in the header Cc-Version.',
    }),
  });
}

/** One member of the list `clusters`. */
export function clusterSection(folder: string, collectors: ReturnType<typeof collectorSections>) {
  const name = textLike(
    /^[^\p{C}\p{Z}](?:[^\p{C}]{0,126}[^\p{C}\p{Z}])?$/u,
    'a name of at most 128 printable characters without a space at either end',
    'name',
  );
  return section({
    name: key(name, {
      flag: 'cluster.name',
      help: 'Value of the label crdb_cluster; "default" for a cluster that flags describe.',
      examples: ['prod'],
    }),
    console_url: key(v.optional(apiUrl('https://crdb-1:8080')), {
      help: 'Address of the DB Console, for links from dashboards (crdb_cluster_info).',
      examples: ['https://crdb.example.com:8080'],
    }),
    poll: key(v.optional(boolean, true), {
      help: 'Poll this cluster at intervals; if false, only /probe queries it.',
    }),
    cluster_api: v.optional(clusterApiSection(folder)),
    cloud_api: v.optional(cloudApiSection(folder)),
    collectors: v.nullish(collectors, {}),
  });
}

/** The part of a collector that the configuration needs. */
export interface CollectorOptions {
  readonly name: string;
  readonly api: 'cluster' | 'cloud';
  readonly enabledByDefault: boolean;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly maxDuty: number;
  readonly options: OptionSpecs;
}

const MIN_INTERVAL_SECONDS = 1;
/** Below this, not even the series of the whole cluster would fit. */
const MIN_SERIES = 500;

/** The keys that every collector has. */
function commonKeys(collector: CollectorOptions) {
  const { name, enabledByDefault, intervalSeconds, timeoutSeconds, maxDuty } = collector;
  const interval = duration(MIN_INTERVAL_SECONDS);
  const timeout = duration(MIN_TIMEOUT_SECONDS);
  return {
    enabled: key(v.optional(boolean, enabledByDefault), {
      flag: `collector.${name}`,
      help: `Poll ${name}.`,
    }),
    interval: key(v.optional(interval, writeDuration(intervalSeconds)), {
      help: `Interval between the starts of two polls of ${name}.`,
    }),
    timeout: key(v.optional(timeout, writeDuration(timeoutSeconds)), {
      help: `Maximum duration of one poll of ${name}.`,
    }),
    max_age: key(v.optional(interval), {
      help: 'Age at which data is no longer exported; default: min(3 × interval, interval + 10m).',
    }),
    max_duty: key(v.optional(share, maxDuty), {
      help: `Largest share of the time that responses to polls of ${name} may take; beyond it the interval gets longer. Timeouts do not count.`,
    }),
    max_series: key(v.optional(integer(MIN_SERIES), 250_000), {
      help: `Maximum series of ${name} per cluster; above it the least important ones are dropped and counted.`,
    }),
  };
}

/** The settings of one collector: those that every collector has, and its own options. */
export type CollectorConfig = Readonly<
  v.InferOutput<v.StrictObjectSchema<ReturnType<typeof commonKeys>, undefined>>
> &
  Readonly<Partial<OptionValues<OptionSpecs>>>;

/** The block `collectors`, of a cluster or for all. */
export function collectorSections(
  collectors: readonly CollectorOptions[],
): v.GenericSchema<Record<string, unknown>, Record<string, CollectorConfig>> {
  const sections = collectors.map((collector) => {
    const options = Object.entries(collector.options).map(([name, spec]) => {
      return [name, key(v.optional(optionSchema(spec), defaultOf(spec)), { help: spec.help })];
    });
    const entries = section({ ...commonKeys(collector), ...Object.fromEntries(options) });
    return [collector.name, v.nullish(entries, {})];
  });
  return section(Object.fromEntries(sections));
}

/** The default as it is written in a file. */
function defaultOf(spec: OptionSpec): unknown {
  return spec.kind === 'duration' ? writeDuration(spec.default) : spec.default;
}

function optionSchema(spec: OptionSpec): v.GenericSchema {
  switch (spec.kind) {
    case 'duration':
      return duration(spec.min);
    case 'integer':
      return integer(spec.min, spec.max);
    case 'boolean':
      return boolean;
    case 'auto':
      return autoOrBoolean;
    case 'enum':
      return choice(spec.values);
    case 'strings':
      return list(textLike(spec.pattern, spec.expects));
    default:
      return rewrites(spec.check);
  }
}

/** A list of `{ regex, replacement }`, each regex checked by the engine that will run it. */
function rewrites(check: (regex: string) => string | undefined) {
  const syntax = 'the syntax is that of RE2, without lookaround and backreferences';
  const regex = v.pipe(
    text('regex'),
    rejectIf((value) => {
      const fault = check(value);
      return fault && `${quote(value)} cannot be used: ${fault}; ${syntax}`;
    }),
  );
  // An empty replacement removes the match.
  return list(section({ regex, replacement: anyText }), 'is not a list of { regex, replacement }');
}
