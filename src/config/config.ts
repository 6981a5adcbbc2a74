import type { OptionValue } from './collector-options.ts';
import type { ListenAddress } from './listen-address.ts';
import type { ProxyConfig } from './proxy.ts';
import type { Secret } from './secret.ts';

/** The whole running configuration: checked, complete and frozen. Times are seconds, sizes bytes. */
export interface Config {
  readonly web: {
    readonly listenAddresses: readonly ListenAddress[];
    readonly telemetryPath: string;
    /** POST /-/reload is allowed. */
    readonly enableLifecycle: boolean;
    /** In the format of the exporter toolkit; it could be used when the configuration was read. */
    readonly configFile?: string | undefined;
    /** Scrapes at a time; 0 for any number. */
    readonly maxRequests: number;
    readonly maxProbes: number;
    readonly protectProbes: boolean;
  };
  readonly log: {
    readonly level: 'debug' | 'info' | 'warn' | 'error';
    readonly format: 'logfmt' | 'json';
  };
  readonly shard: { readonly index: number; readonly count: number };
  /** The file is read anew when its content changes. */
  readonly autoReload: boolean;
  readonly maxSeries: number;
  /** At least one, with different names. */
  readonly clusters: readonly ClusterConfig[];
}

/** A configured target; it has one API at least. */
export interface ClusterConfig {
  readonly name: string;
  readonly clusterApi?: ClusterApiConfig | undefined;
  readonly cloudApi?: CloudApiConfig | undefined;
  /** From the environment. */
  readonly proxy: ProxyConfig;
  /** False: only /probe asks this cluster. */
  readonly poll: boolean;
  /** Every known collector by its name. */
  readonly collectors: Readonly<Record<string, CollectorConfig>>;
}

export interface ClusterApiConfig {
  /** At least one, each ending in `/api/v2` without a slash behind it. */
  readonly urls: readonly string[];
  /** With a username there is a password and no token. */
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  readonly token?: Secret | undefined;
  /** At least one. */
  readonly sessionHeaders: readonly string[];
  readonly tls: TlsConfig;
  readonly timeoutSeconds: number;
  readonly maxConcurrentRequests: number;
  readonly maxResponseBytes: number;
  /** Bytes per second, on the average of an answer; 0 for any. */
  readonly minRate: number;
  readonly compression: boolean;
}

/** Files are absolute paths and could be read when the configuration was. */
export interface TlsConfig {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecureSkipVerify: boolean;
}

export interface CloudApiConfig {
  /** Without a slash at the end. */
  readonly url: string;
  readonly clusterId: string;
  readonly token: Secret;
  readonly apiVersion: string;
}

export interface CollectorConfig {
  /** True only when the cluster has the API that the collector asks. */
  readonly enabled: boolean;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly maxAgeSeconds?: number | undefined;
  readonly maxDuty: number;
  readonly maxSeries?: number | undefined;
  /** The collector's own options by their keys in the file. */
  readonly options: Readonly<Record<string, OptionValue>>;
}
