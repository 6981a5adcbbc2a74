import * as v from 'valibot';
import { link, LINK_SECTION, THRESHOLD_SECTION } from './alert-sections.ts';
import { clusterSection } from './cluster-schema.ts';
import {
  type CollectorConfig,
  type CollectorOptions,
  commonCollectors,
} from './collector-schema.ts';
import { Secret } from './files.ts';
import { show } from './issues.ts';
import {
  type AnySchema,
  key,
  anyText,
  boolean,
  choice,
  filledList,
  integer,
  optionalFilePath,
  invalid,
  section,
  textLike,
  unwrap,
} from './values.ts';

// The keys of the configuration file, each once: its type, default, flag, variable and help. The type of the
// configuration, the command line, the schema for editors and docs/configuration.md follow from it. Defaults are written
// as in the file. The keys of a cluster are in cluster-schema.ts, those of collectors in collector-schema.ts, and those of
// thresholds and links in alert-sections.ts.

/** Where to listen, in the form that `server.listen()` takes. Without a host: all interfaces. */
type ListenAddress =
  | { readonly host?: string | undefined; readonly port: number }
  | { readonly path: string };

const ADDRESS = /^(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:/[\]]*)):(\d{1,5})$|^unix:(.+)$/;

/** `:10137`, `127.0.0.1:10137`, `[::1]:10137` or `unix:/run/crdb-exporter.sock`. */
const listenAddress = v.pipe(
  anyText,
  v.regex(
    ADDRESS,
    invalid('is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path'),
  ),
  v.check(
    (address) => Number(ADDRESS.exec(address)?.[3] ?? 0) <= 65_535,
    invalid('has a port that is too large: at most 65535'),
  ),
  v.transform(parseAddress),
  v.metadata({ valueType: 'address', format: formatListenAddress }),
);

function parseAddress(address: string): ListenAddress {
  const [, six, host, port, socket] = ADDRESS.exec(address) ?? [];
  if (socket !== undefined) return { path: socket };
  return { host: six ?? (host === '' ? undefined : host), port: Number(port) };
}

/** The address as it is written in the file. */
function formatListenAddress(address: ListenAddress): string {
  if ('path' in address) return `unix:${address.path}`;
  const { host = '', port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const telemetryPath = textLike(
  // Everything else is taken by the other pages.
  /^\/(?!-\/|sd\/|runbooks\/|(?:probe|config|runbooks|api\/status)$)[\w.~-]+(?:\/[\w.~-]+)*$/,
  'a free path: write it as /metrics; /probe, /sd/, /api/status, /config, /runbooks/ and /-/ are taken',
  'url-path',
);

const WEB = section({
  listen_address: key(v.optional(filledList(listenAddress), [':10137']), {
    help: 'Addresses to listen on: host:port, :port for all interfaces, [::1]:port or unix:/path.',
  }),
  external_url: key(v.optional(link, ''), {
    help: 'URL by which users reach the exporter. With it, pages are sent only under the host of this URL, localhost, the host name or an IP address.',
  }),
  telemetry_path: key(v.optional(telemetryPath, '/metrics'), {
    help: 'Path of the metrics.',
  }),
  config_file: key(v.optional(optionalFilePath), {
    flag: 'web.config.file',
    help: 'File with TLS, users, headers and rate limit, in the format of the Prometheus exporter toolkit.',
  }),
  enable_lifecycle: key(v.optional(boolean, false), {
    help: 'Allow reloads by a POST to /-/reload; SIGHUP always reloads.',
  }),
  max_requests: key(v.optional(integer(0), 40), {
    help: 'Maximum concurrent scrapes of the metrics; excess requests get 503. 0: no limit.',
  }),
  max_probes: key(v.optional(integer(0), 10), {
    help: 'Maximum number of different sets of collectors that /probe polls at once, for each cluster; excess requests get 503. 0: no limit.',
  }),
  protect_probes: key(v.optional(boolean, false), {
    help: 'Require a password for /-/healthy and /-/ready too, and count them towards the rate limit.',
  }),
  systemd_socket: key(v.optional(boolean, false), {
    help: 'Fail unless systemd passes sockets. Sockets from systemd are always used in place of listen_address.',
  }),
});

const LOG = section({
  level: key(v.optional(choice(['debug', 'info', 'warn', 'error']), 'info'), {
    help: 'Minimum log level.',
  }),
  format: key(v.optional(choice(['logfmt', 'json']), 'logfmt'), {
    help: 'Format of log lines.',
  }),
});

/** A number would be taken for the index of a shard. An empty text counts as not set. */
const shardName = v.pipe(
  anyText,
  v.regex(
    /^$|^(?!\d+$)[\w.-]{1,63}$/,
    invalid('is not a shard name: write at most 63 letters, digits, ".", "_" or "-", not a number'),
  ),
  v.transform((name) => (name === '' ? undefined : name)),
  v.metadata({ valueType: 'name' }),
);

const SHARD = section({
  index: key(v.optional(integer(0), 0), {
    help: 'Number of this shard, counted from 0. Only shard 0 runs collectors other than ranges.',
  }),
  count: key(v.optional(integer(1), 1), {
    help: 'Number of processes that share the range scans of each cluster.',
  }),
  name: key(v.optional(shardName), {
    help: 'Value of the label shard of ranges with `route: local`; default: the host name.',
  }),
});

const RELOAD = section({
  auto_reload: key(v.optional(boolean, false), {
    help: 'Reload the configuration file when its content changes.',
  }),
});

const NO_CLUSTER =
  'no cluster is configured: list one under clusters in the file of --config.file, or give --cluster.url; `crdb-exporter demo` needs neither';

/** The configuration file. */
export function configSchema(collectors: readonly CollectorOptions[]) {
  const clusters = v.pipe(
    v.array(
      clusterSection(collectors),
      ({ input }) => `${show(input)} is not a list of clusters: begin each with "- name:"`,
    ),
    v.minLength(1, NO_CLUSTER),
  );
  const entries = {
    web: v.nullish(WEB, {}),
    log: v.nullish(LOG, {}),
    shard: v.nullish(SHARD, {}),
    config: v.nullish(RELOAD, {}),
    thresholds: v.nullish(THRESHOLD_SECTION, {}),
    links: v.nullish(LINK_SECTION, {}),
    clusters: v.nullish(clusters, []),
    collectors: v.nullish(commonCollectors(collectors), {}),
  };
  return section(entries);
}

/** The configuration file after its validation by the schema, with defaults. */
export interface FileConfig extends v.InferOutput<ReturnType<typeof configSchema>> {}
/** One cluster of the file. */
type FileCluster = FileConfig['clusters'][number];

/** `password` and `token` are what one of three keys gives. A password needs a username, and a token excludes it. */
export type ClusterApiConfig = NonNullable<FileCluster['cluster_api']>;
export type CloudApiConfig = NonNullable<FileCluster['cloud_api']> & { readonly token: Secret };

/** The proxies of the environment. */
export interface ProxyConfig {
  /** The proxy for `http://` URLs; may hold a password. */
  readonly http?: Secret | undefined;
  /** The proxy for `https://` URLs. */
  readonly https?: Secret | undefined;
  /** Hosts without proxy, separated by commas or spaces. */
  readonly noProxy: string;
}

/** One configured cluster; it has one API at least. */
export interface ClusterConfig extends Pick<FileCluster, 'name' | 'console_url' | 'poll'> {
  readonly cluster_api?: ClusterApiConfig | undefined;
  readonly cloud_api?: CloudApiConfig | undefined;
  /** The proxies of the environment. */
  readonly proxy: ProxyConfig;
  /** Every known collector by its name; `enabled` only when the cluster has the API that it polls. */
  readonly collectors: Readonly<Record<string, CollectorConfig>>;
}

/** The secrets of a cluster, those that it has not as undefined; the proxies' are apart. */
export function listSecrets({
  cluster_api,
  cloud_api,
}: ClusterConfig): readonly (Secret | undefined)[] {
  return [cluster_api?.password, cluster_api?.token, cloud_api?.token];
}

/** The whole running configuration: validated, complete and frozen. Times are seconds, sizes bytes. */
export interface Config extends Omit<FileConfig, 'clusters' | 'collectors' | 'shard'> {
  readonly shard: FileConfig['shard'] & { readonly name: string };
  /** At least one, with different names. */
  readonly clusters: readonly ClusterConfig[];
}

/**
 * The running configuration as a file would give it, every value written out and every secret text
 * as `<secret>`. The proxies of the environment, which have no key in the file, are added.
 */
export function describeConfig(
  { clusters, ...others }: Config,
  collectors: readonly CollectorOptions[],
): object {
  const schema = clusterSection(collectors);
  const described = clusters.map((cluster) => {
    const { http, https, noProxy } = cluster.proxy;
    const proxy = { http: http?.toJSON(), https: https?.toJSON(), no_proxy: noProxy };
    const isUsed = http !== undefined || https !== undefined;
    return { ...Object(describe(schema, cluster)), ...(isUsed && { proxy_of_environment: proxy }) };
  });
  return { ...Object(describe(configSchema(collectors), others)), clusters: described };
}

/** A value as it is written in a file; a section has the keys of its schema that have a value. */
function describe(schema: AnySchema, value: unknown): unknown {
  const { entries, item } = unwrap(schema);
  if (value instanceof Secret) return String(value);
  if (item !== undefined && Array.isArray(value)) {
    return value.map((member: unknown) => describe(item, member));
  }
  if (entries === undefined) {
    const { format } = v.getMetadata(unwrap(schema));
    return typeof format === 'function' ? format(value) : value;
  }
  const values = new Map<string, unknown>(Object.entries(Object(value)));
  const described = Object.entries(entries).flatMap(([name, entry]) => {
    const member = values.get(name);
    // A secret in a file or a variable is described by the key that names these.
    if (member === undefined || (member instanceof Secret && !member.isText)) return [];
    return [[name, describe(entry, member)]];
  });
  return Object.fromEntries(described);
}
