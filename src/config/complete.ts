import os from 'node:os';
import { type Environment, Secret } from './files.ts';
import type { ConfigIssues } from './issues.ts';
import type {
  CloudApiConfig,
  ClusterApiConfig,
  ClusterConfig,
  Config,
  FileCluster,
  FileConfig,
  ProxyConfig,
} from './schema.ts';
import type { WrittenSources } from './sources.ts';
import type { Section } from './validate.ts';
import { isLoopback } from './values.ts';

/** The configuration with the secrets, proxies and collectors of each cluster. */
export function completeConfig(
  { collectors: common, ...values }: FileConfig,
  root: Section<FileConfig>,
  { env, collectors }: WrittenSources,
  issues: ConfigIssues,
): Config {
  const shard = { ...values.shard, name: values.shard.name ?? shardNameOf(os.hostname()) };
  const isSwitched = (name: string): boolean =>
    root.member('collectors').member(name).has('enabled');
  const clusters = values.clusters.map((cluster): ClusterConfig => {
    const { cluster_api, cloud_api } = cluster;
    const apis = { cluster: cluster_api !== undefined, cloud: cloud_api !== undefined };
    const isLocal = isRouteLocal(common, cluster.collectors);
    const entries = collectors.flatMap(({ name, api }) => {
      const settings = common[name];
      if (settings === undefined) return [];
      const own = cluster.collectors[name] ?? {};
      const merged = { ...settings, ...own };
      // An exporter beside each node reads only the ranges of that node, unless more is enabled explicitly.
      const isChosen =
        !isLocal || name === 'ranges' || own.enabled !== undefined || isSwitched(name);
      return [[name, { ...merged, enabled: merged.enabled && apis[api] && isChosen }] as const];
    });
    return {
      ...cluster,
      cluster_api: cluster_api && completeClusterApi(cluster_api),
      cloud_api: cloud_api && completeCloudApi(cloud_api),
      proxy: readProxies([...(cluster_api?.urls ?? []), cloud_api?.url ?? ''], env, issues),
      collectors: Object.fromEntries(entries),
    };
  });
  return { ...values, shard, clusters };
}

/** The API with the secrets that one of three keys gives each. */
function completeClusterApi({
  password_file,
  password_env,
  token_file,
  token_env,
  ...api
}: NonNullable<FileCluster['cluster_api']>): ClusterApiConfig {
  const { password = password_file ?? password_env, token = token_file ?? token_env } = api;
  return { ...api, password, token };
}

function completeCloudApi({
  token_file,
  token_env,
  ...api
}: NonNullable<FileCluster['cloud_api']>): CloudApiConfig {
  // A missing token was reported.
  return { ...api, token: api.token ?? token_file ?? token_env ?? new Secret('') };
}

/** Whether a cluster reads only the ranges of the node beside the exporter, by the common settings and its own. */
export function isRouteLocal(
  common: Partial<FileConfig['collectors']> | undefined,
  own: Partial<FileCluster['collectors']> | undefined,
): boolean {
  return (own?.['ranges']?.['route'] ?? common?.['ranges']?.['route']) === 'local';
}

/** The host name as a value that `shard.name` accepts. */
export function shardNameOf(hostname: string): string {
  const name = hostname.replaceAll(/[^\w.-]/g, '-').slice(0, 63);
  return /^\d*$/.test(name) ? `host-${name}`.slice(0, 63) : name;
}

/** The proxies for the URLs of a cluster. What concerns none of them is ignored; loopback never needs one. */
export function readProxies(
  urls: readonly string[],
  env: Environment,
  issues: ConfigIssues,
): ProxyConfig {
  const distant = urls.filter((url) => url !== '' && !isLoopback(url));
  const read = (scheme: string, ...variables: readonly string[]): Secret | undefined => {
    const source = variables.find((variable) => (env[variable] ?? '') !== '');
    if (source === undefined || !distant.some((url) => url.startsWith(scheme))) return undefined;
    const value = env[source] ?? '';
    const url = /^[a-z\d+.-]+:\/\//i.test(value) ? value : `http://${value}`;
    if (/^https?:\/\//i.test(url) && URL.canParse(url)) return new Secret(url);
    const message = 'is not the URL of a proxy: write it as http://proxy:3128';
    issues.report({ source, path: '' }, message);
    return undefined;
  };
  return {
    // These are the variables that curl reads: HTTP_PROXY in capitals could be set by a client of a CGI program.
    http: read('http:', 'http_proxy', 'all_proxy', 'ALL_PROXY'),
    https: read('https:', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'),
    noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '',
  };
}
