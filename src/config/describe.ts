import { CLOUD_API, CLUSTER, CLUSTER_API, TLS } from './cluster-options.ts';
import { type CollectorOptions, collectorRows } from './collector-options.ts';
import type { ClusterApiConfig, ClusterConfig, CollectorConfig, Config } from './config.ts';
import { CONFIG, LOG, ROOT, SHARD, WEB } from './options.ts';
import type { ProxyConfig } from './proxy.ts';
import { Secret } from './secret.ts';
import { keyOf, type Option, type Rows } from './section.ts';

type Described = Readonly<Record<string, unknown>>;

/**
 * The running configuration as a file would say it, every value written out and every secret as
 * `<secret>`. What the environment says of proxies has no key in the file and stands beside.
 */
export function describeConfig(config: Config, collectors: readonly CollectorOptions[]): Described {
  return {
    web: describe(WEB, { ...config.web, listenAddress: config.web.listenAddresses }),
    log: describe(LOG, config.log),
    shard: describe(SHARD, config.shard),
    config: describe(CONFIG, config),
    clusters: config.clusters.map((cluster) => describeCluster(cluster, collectors)),
    ...describe(ROOT, config),
  };
}

function describeCluster(
  cluster: ClusterConfig,
  collectors: readonly CollectorOptions[],
): Described {
  const { clusterApi, cloudApi, proxy } = cluster;
  const { name, poll } = describe(CLUSTER, cluster);
  return {
    name,
    ...(clusterApi && { cluster_api: describeClusterApi(clusterApi) }),
    ...(cloudApi && { cloud_api: describe(CLOUD_API, cloudApi) }),
    ...describeProxy(proxy),
    poll,
    collectors: Object.fromEntries(
      collectors.flatMap((collector) => {
        const settings = cluster.collectors[collector.name];
        return settings ? [[collector.name, describeCollector(collector, settings)]] : [];
      }),
    ),
  };
}

function describeClusterApi(api: ClusterApiConfig): Described {
  return {
    ...describe(CLUSTER_API, { ...api, timeout: api.timeoutSeconds }),
    tls: describe(TLS, api.tls),
  };
}

function describeCollector(collector: CollectorOptions, settings: CollectorConfig): Described {
  const { own, ...common } = collectorRows(collector);
  const { intervalSeconds, timeoutSeconds, maxAgeSeconds, options } = settings;
  return {
    ...describe(common, {
      ...settings,
      interval: intervalSeconds,
      timeout: timeoutSeconds,
      maxAge: maxAgeSeconds,
    }),
    ...Object.fromEntries(own.map((row) => [keyOf(row), write(row, options[keyOf(row)])])),
  };
}

function describeProxy({ http, https, noProxy }: ProxyConfig): Described {
  if (http === undefined && https === undefined) return {};
  return {
    proxy_of_environment: { http: http?.toJSON(), https: https?.toJSON(), no_proxy: noProxy },
  };
}

/** The keys of the file with what stands for them; without those for which nothing does. */
function describe(rows: Rows, values: object): Described {
  const byName = new Map(Object.entries(values));
  const entries = Object.entries(rows).flatMap(([name, row]) => {
    const value: unknown = byName.get(name);
    return value === undefined ? [] : [[keyOf(row), write(row, value)]];
  });
  return Object.fromEntries(entries);
}

function write(row: Option<unknown>, value: unknown): unknown {
  return value instanceof Secret ? value.toJSON() : row.kind.write(value);
}
