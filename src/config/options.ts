import { CLOUD_API, CLUSTER, CLUSTER_API, TLS } from './cluster-options.ts';
import { listCollectorRows, MIN_SERIES } from './collector-options.ts';
import type { CollectorOptions } from './collector-options.ts';
import type { Config } from './config.ts';
import { listOf } from './kind.ts';
import { boolean, choice, filePathOrNothing, integer, text } from './kinds.ts';
import { listenAddress } from './listen-address.ts';
import type { Option, Rows } from './section.ts';

// The one table of settings. A row says all there is to say of a setting: its key in the file, what its value may be,
// default, flag and help. The reader, the command line, the schema for editors and the documentation follow from it.
// The rows of a cluster stand in cluster-options.ts; those of the collectors come from the collectors: collector-options.ts.

const telemetryPath = text({
  name: 'path',
  // Everything else is taken by the other pages.
  pattern: /^\/(?!-\/|sd\/|(?:probe|config|api\/status)$)[\w.~-]+(?:\/[\w.~-]+)*$/,
  expects:
    'a free path: write it as /metrics; /probe, /sd/, /api/status, /config and /-/ are taken',
});

export const WEB = {
  listenAddress: {
    path: 'web.listen_address',
    kind: listOf(listenAddress, { mayBeEmpty: false }),
    default: [{ port: 10_137 }],
    flag: 'web.listen-address',
    help: 'Addresses to serve on: host:port, :port for all interfaces, [::1]:port or unix:/path.',
  },
  telemetryPath: {
    path: 'web.telemetry_path',
    kind: telemetryPath,
    default: '/metrics',
    flag: 'web.telemetry-path',
    help: 'Path of the metrics.',
  },
  configFile: {
    path: 'web.config_file',
    kind: filePathOrNothing,
    flag: 'web.config.file',
    help: 'File with TLS, users, headers and rate limit, in the format of the Prometheus exporter toolkit.',
    example: '/etc/crdb-exporter/web-config.yml',
  },
  enableLifecycle: {
    path: 'web.enable_lifecycle',
    kind: boolean,
    default: false,
    flag: 'web.enable-lifecycle',
    help: 'Let a POST to /-/reload read the configuration anew; SIGHUP always does.',
  },
  maxRequests: {
    path: 'web.max_requests',
    kind: integer({ min: 0 }),
    default: 40,
    flag: 'web.max-requests',
    help: 'Maximum concurrent scrapes of the metrics; excess requests get 503. 0: no limit.',
  },
  maxProbes: {
    path: 'web.max_probes',
    kind: integer({ min: 0 }),
    default: 10,
    flag: 'web.max-probes',
    help: 'Maximum concurrent requests to /probe; excess requests get 503. 0: no limit.',
  },
  protectProbes: {
    path: 'web.protect_probes',
    kind: boolean,
    default: false,
    flag: 'web.protect-probes',
    help: 'Ask for a password at /-/healthy and /-/ready too, and count them for the rate limit.',
  },
} satisfies Rows;

export const LOG = {
  level: {
    path: 'log.level',
    kind: choice('debug', 'info', 'warn', 'error'),
    default: 'info',
    flag: 'log.level',
    help: 'The least important messages to log.',
  } satisfies Option<Config['log']['level']>,
  format: {
    path: 'log.format',
    kind: choice('logfmt', 'json'),
    default: 'logfmt',
    flag: 'log.format',
    help: 'How log lines are written.',
  } satisfies Option<Config['log']['format']>,
} satisfies Rows;

export const SHARD = {
  index: {
    path: 'shard.index',
    kind: integer({ min: 0 }),
    default: 0,
    flag: 'shard.index',
    help: 'Which shard this process is, counted from 0. Shard 0 alone runs the collectors other than ranges.',
  },
  count: {
    path: 'shard.count',
    kind: integer({ min: 1 }),
    default: 1,
    flag: 'shard.count',
    help: 'How many processes share the range scans of each cluster.',
  },
} satisfies Rows;

export const CONFIG = {
  autoReload: {
    path: 'config.auto_reload',
    kind: boolean,
    default: false,
    flag: 'config.auto-reload',
    help: 'Read the configuration file anew when its content changes.',
  },
} satisfies Rows;

export const ROOT = {
  maxSeries: {
    path: 'max_series',
    kind: integer({ min: MIN_SERIES }),
    default: 250_000,
    help: 'Maximum series of one cluster; the least important ones above it are dropped and counted.',
  },
} satisfies Rows;

/** Every row but those of the collectors, in the order of the file. */
export const OPTIONS: readonly Option<unknown>[] = [
  WEB,
  LOG,
  SHARD,
  CONFIG,
  CLUSTER,
  CLUSTER_API,
  TLS,
  CLOUD_API,
  ROOT,
].flatMap((rows: Rows) => Object.values(rows));

/** Every row there is, those of the collectors included. */
export function listOptions(collectors: readonly CollectorOptions[]): readonly Option<unknown>[] {
  return [...OPTIONS, ...collectors.flatMap(listCollectorRows)];
}

/** The keys that the map at a path may have: `clusters[].cluster_api` has `urls`, `tls` and so on. */
export function keysAt(path: string, options: readonly Option<unknown>[] = OPTIONS): string[] {
  const prefix = path === '' ? '' : `${path}.`;
  const below = options.filter((option) => option.path.startsWith(prefix));
  const keys = below.map((option) => option.path.slice(prefix.length).split(/\.|\[\]/)[0] ?? '');
  return [...new Set(keys)];
}
