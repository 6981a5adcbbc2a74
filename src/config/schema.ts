import * as v from 'valibot';
import type { OptionSpecs } from '../collector-options.ts';
import { listenAddress } from './addresses.ts';
import { LINK_SECTION, THRESHOLD_SECTION } from './alert-settings.ts';
import {
  type CollectorConfig,
  type CollectorOptions,
  collectorSections,
  clusterSection,
} from './cluster-schema.ts';
import { show } from './issues.ts';
import type { Secret } from './secret.ts';
import {
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
} from './values.ts';

// Every key of the configuration file, once: its type, default, flag, variable, help and examples. The type of the
// configuration, the command line, the schema for editors and docs/configuration.md follow from it. Defaults are written
// as in the file. The keys of a cluster and of the collectors are in
// cluster-schema.ts.

function webSection(folder: string) {
  const telemetryPath = textLike(
    // Everything else is taken by the other pages.
    /^\/(?!-\/|sd\/|(?:probe|config|api\/status)$)[\w.~-]+(?:\/[\w.~-]+)*$/,
    'a free path: write it as /metrics; /probe, /sd/, /api/status, /config and /-/ are taken',
    'path',
  );
  return section({
    listen_address: key(v.optional(filledList(listenAddress(folder)), [':10137']), {
      flag: 'web.listen-address',
      help: 'Addresses to listen on: host:port, :port for all interfaces, [::1]:port or unix:/path.',
    }),
    external_url: key(v.optional(externalUrl, ''), {
      flag: 'web.external-url',
      help: 'URL by which users reach the exporter; pages are then refused under other names than its host, localhost, the host name and addresses.',
      examples: ['https://crdb-exporter.example.com'],
    }),
    telemetry_path: key(v.optional(telemetryPath, '/metrics'), {
      flag: 'web.telemetry-path',
      help: 'Path of the metrics.',
    }),
    config_file: key(v.optional(optionalFilePath(folder)), {
      flag: 'web.config.file',
      help: 'File with TLS, users, headers and rate limit, in the format of the Prometheus exporter toolkit.',
      examples: ['/etc/crdb-exporter/web-config.yml'],
    }),
    enable_lifecycle: key(v.optional(boolean, false), {
      flag: 'web.enable-lifecycle',
      help: 'Allow reloads by a POST to /-/reload; SIGHUP always reloads.',
    }),
    max_requests: key(v.optional(integer(0), 40), {
      flag: 'web.max-requests',
      help: 'Maximum concurrent scrapes of the metrics; excess requests get 503. 0: no limit.',
    }),
    max_probes: key(v.optional(integer(0), 10), {
      flag: 'web.max-probes',
      help: 'Maximum different waits of /probe for each cluster; excess requests get 503, those for the same collectors share one. 0: no limit.',
    }),
    protect_probes: key(v.optional(boolean, false), {
      flag: 'web.protect-probes',
      help: 'Require a password for /-/healthy and /-/ready too, and count them towards the rate limit.',
    }),
    systemd_socket: key(v.optional(boolean, false), {
      flag: 'web.systemd-socket',
      help: 'Require sockets from systemd, which replace the addresses whenever there are any.',
    }),
  });
}

/** An empty text counts as not set. */
const externalUrl = v.pipe(
  anyText,
  v.check(
    (text) => text === '' || (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)),
    invalid('is not a URL: write it as https://crdb-exporter.example.com'),
  ),
  v.metadata({ valueType: 'url' }),
);

const LOG = section({
  level: key(v.optional(choice(['debug', 'info', 'warn', 'error']), 'info'), {
    flag: 'log.level',
    help: 'Minimum log level.',
  }),
  format: key(v.optional(choice(['logfmt', 'json']), 'logfmt'), {
    flag: 'log.format',
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
    flag: 'shard.index',
    help: 'Number of this shard, counted from 0. Only shard 0 runs collectors other than ranges.',
  }),
  count: key(v.optional(integer(1), 1), {
    flag: 'shard.count',
    help: 'Number of processes that share the range scans of each cluster.',
  }),
  name: key(v.optional(shardName), {
    flag: 'shard.name',
    help: 'Value of the label shard of ranges with `route: local`; default: the host name.',
    examples: ['crdb-1'],
  }),
});

const RELOAD = section({
  auto_reload: key(v.optional(boolean, false), {
    flag: 'config.auto-reload',
    help: 'Reload the configuration file when its content changes.',
  }),
});

const NO_CLUSTER =
  'no cluster is configured: list one under clusters, or give --cluster.url; `crdb-exporter demo` needs neither';

/** The configuration file; relative paths in it are relative to the folder, or else to the working folder. */
export function configSchema(collectors: readonly CollectorOptions[], folder = '') {
  const collectorBlock = collectorSections(collectors);
  const clusters = v.pipe(
    v.array(
      clusterSection(folder, collectorBlock),
      ({ input }) => `${show(input)} is not a list of clusters: begin each with "- name:"`,
    ),
    v.minLength(1, NO_CLUSTER),
  );
  const entries = {
    web: v.nullish(webSection(folder), {}),
    log: v.nullish(LOG, {}),
    shard: v.nullish(SHARD, {}),
    config: v.nullish(RELOAD, {}),
    thresholds: v.nullish(THRESHOLD_SECTION, {}),
    links: v.nullish(LINK_SECTION, {}),
    clusters: v.nullish(clusters, []),
    collectors: v.nullish(collectorBlock, {}),
  };
  return section(entries, {
    max_series:
      'in 0.1.0: each collector has a limit of its own, 250000 by default; remove the key, or set collectors.nodes.max_series',
  });
}

/** A file after its validation by the schema. */
export type FileConfig = v.InferOutput<ReturnType<typeof configSchema>>;
export type FileCluster = FileConfig['clusters'][number];

/** A password needs a username, and a token excludes it. */
export type ClusterApiConfig = Omit<
  NonNullable<FileCluster['cluster_api']>,
  'password_file' | 'password_env' | 'token_file' | 'token_env'
>;
export type CloudApiConfig = Omit<
  NonNullable<FileCluster['cloud_api']>,
  'token' | 'token_file' | 'token_env'
> & { readonly token: Secret };
/** Files are absolute paths and could be read when the configuration was. */
export type TlsConfig = ClusterApiConfig['tls'];

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

/** The options of a collector in a cluster, of the types that the collector declares. */
export function collectorOptions<Options>(
  { collectors }: Pick<ClusterConfig, 'collectors'>,
  collector: {
    readonly name: string;
    readonly options: OptionSpecs;
    isLocal?(options: Options): boolean;
  },
): Options {
  const settings: Readonly<Record<string, unknown>> = collectors[collector.name] ?? {};
  const names = Object.keys(collector.options);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- their schema was made of what the collector declares
  return Object.fromEntries(names.map((name) => [name, settings[name]])) as Options;
}

/** The whole running configuration: validated, complete and frozen. Times are seconds, sizes bytes. */
export interface Config extends Omit<FileConfig, 'clusters' | 'collectors' | 'shard'> {
  readonly shard: FileConfig['shard'] & { readonly name: string };
  /** At least one, with different names. */
  readonly clusters: readonly ClusterConfig[];
}
