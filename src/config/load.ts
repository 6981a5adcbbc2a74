import os from 'node:os';
import { findWrongOrders } from '../alerts/alert-settings.ts';
import { messageOf } from '../format.ts';
import { canEveryoneRead, type Environment, Secret } from './files.ts';
import { ConfigError, type ConfigIssue, ConfigIssues, quote } from './issues.ts';
import {
  type ClusterConfig,
  type Config,
  configSchema,
  type FileCluster,
  type FileConfig,
  type ProxyConfig,
} from './keys-and-flags.ts';
import { readSources, type WrittenSources } from './sources.ts';
import { readClientTls, type TlsConfig } from './tls-files.ts';
import { type AnySection, type Section, validate } from './validate.ts';
import { isLoopback } from './values.ts';
import { readWebConfig } from './web-config.ts';

/** Where the configuration comes from, and which of the files that it names are read to find out what is wrong with them. */
export interface ConfigSources extends WrittenSources {
  /** Default: all. A reload reads the web config file by itself, and a command only what it uses. */
  readonly checkedFiles?: 'all' | 'of clusters' | 'none';
}

/** A configuration without errors. */
export interface LoadedConfig {
  readonly config: Config;
  /** Settings that work, but should be changed. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Loads the configuration in five steps: `readSources` makes one document of flags, variables and file; `validate` checks
 * each key by the schema, and adds defaults; `checkConfig` compares keys with each other; `checkFiles` and `checkWebConfig` read the
 * files that are named; `completeConfig` gives each cluster its secrets and collectors. Rejects with a ConfigError that has every
 * problem, or with a UsageError for flags that contradict the file. Example: `--log.level=debug` counts more than
 * CRDB_EXPORTER_LOG_LEVEL, and that more than `log.level` in the file.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const { env, collectors, checkedFiles = 'all' } = sources;
  const issues = new ConfigIssues();
  const document = await readSources(sources, issues);
  // After a file that cannot be read or errors of syntax, problems of values would only follow from these errors.
  issues.throwIfAny();
  const { root, output } = validate(configSchema(collectors), document);
  checkConfig(root);
  if (checkedFiles === 'all') await checkWebConfig(root.member('web'), issues);
  if (checkedFiles !== 'none') await checkFiles(root, env);
  const config = output && completeConfig(output, root, sources, issues);
  if (config === undefined || issues.problems.length > 0) throw new ConfigError(issues.problems);
  return { config: freezeDeep(config), warnings: issues.warnings };
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

/** Reports keys that contradict each other, as a username without a password. */
function checkConfig(root: Section<FileConfig>): void {
  checkShard(root.member('shard'));
  const thresholds = root.member('thresholds');
  for (const { critical, message } of findWrongOrders(thresholds.values)) {
    thresholds.report(message, critical);
  }
  const clusters = root.member('clusters').items();
  checkNames(clusters);
  for (const cluster of clusters) checkCluster(cluster, root.values.collectors);
}

function checkShard(shard: Section<FileConfig['shard']>): void {
  const { index = 0, count = 0 } = shard.values;
  if (count === 0 || index < count) return;
  const range = `shards count from 0 to ${count - 1}`;
  shard.report(`the index ${index} is not below the count ${count}: ${range}`, 'index');
}

function checkNames(clusters: readonly Section<FileCluster>[]): void {
  for (const [index, cluster] of clusters.entries()) {
    const { name } = cluster.values;
    const first = clusters.slice(0, index).find(({ values }) => values.name === name);
    if (name === undefined || first === undefined) continue;
    const where = `the cluster in line ${first.positionOf('name').line}`;
    cluster.report(`the name ${quote(name)} is taken by ${where}: names must differ`, 'name');
  }
}

function checkCluster(
  cluster: Section<FileCluster>,
  common: Partial<FileConfig['collectors']> | undefined,
): void {
  if (!cluster.has('cluster_api') && !cluster.has('cloud_api')) {
    cluster.report('a cluster needs cluster_api or cloud_api or both');
  }
  for (const [api, name] of listSecrets(cluster)) {
    const [first, ...others] = writtenKeys(api, name);
    for (const other of others) api.report(`${other} beside ${first}: keep one of them`, other);
  }
  const clusterApi = cluster.member('cluster_api');
  const cloudApi = cluster.member('cloud_api');
  checkLogin(clusterApi);
  checkTls(clusterApi.member('tls'));
  const { urls = [] } = clusterApi.values;
  if (urls.length > 1 && isRouteLocal(common, cluster.values.collectors)) {
    const message = `${urls.length} URLs with \`route: local\`: name only the node beside this exporter`;
    clusterApi.report(message, 'urls');
  }
  if (cluster.has('cloud_api') && writtenKeys(cloudApi, 'token').length === 0) {
    cloudApi.report('a token is missing: set token_file, token_env or token');
  }
  warnOfPlainText(clusterApi, urls);
  warnOfPlainText(cloudApi, [cloudApi.values.url]);
}

/** The secrets that a cluster may have: the section of each, and its name there. */
function listSecrets(cluster: Section<FileCluster>): readonly (readonly [AnySection, string])[] {
  const clusterApi = cluster.member('cluster_api');
  return [
    [clusterApi, 'password'],
    [clusterApi, 'token'],
    [cluster.member('cloud_api'), 'token'],
  ];
}

/** The keys that give a secret, as `password`, `password_file` and `password_env`; those that are written. */
function writtenKeys(api: AnySection, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => api.has(key));
}

function checkLogin(api: AnySection): void {
  const hasUser = api.has('username');
  const [password] = writtenKeys(api, 'password');
  const [token] = writtenKeys(api, 'token');
  if (hasUser && token !== undefined) {
    api.report('a token beside a username: keep one way to log in', token);
  } else if (hasUser && password === undefined) {
    const remedy = 'add password_file, password_env or password';
    api.report(`a username without password: ${remedy}`, 'username');
  } else if (!hasUser && password !== undefined) {
    api.report('a password without username: add username', password);
  }
}

function checkTls(tls: Section<TlsConfig>): void {
  const needsBoth = 'a client certificate needs both';
  if (tls.has('cert_file') && !tls.has('key_file')) {
    tls.report(`cert_file without key_file: ${needsBoth}`, 'cert_file');
  }
  if (tls.has('key_file') && !tls.has('cert_file')) {
    tls.report(`key_file without cert_file: ${needsBoth}`, 'key_file');
  }
  if (tls.values.insecure_skip_verify) {
    const message = 'node certificates are not verified, so anyone on the network path can read';
    tls.warn(`${message} the password: set ca_file instead`, 'insecure_skip_verify');
  }
}

/** Warns if a password or token would be sent without TLS to another host. */
function warnOfPlainText(api: AnySection, urls: readonly (string | undefined)[]): void {
  if (!api.has('username') && writtenKeys(api, 'token').length === 0) return;
  const url = urls.find((each) => each?.startsWith('http:') && !isLoopback(each));
  if (url === undefined) return;
  api.warn(`credentials are sent in plain text to ${new URL(url).origin}: use https://`);
}

async function checkWebConfig(
  web: Section<FileConfig['web']>,
  issues: ConfigIssues,
): Promise<void> {
  const file = web.values.config_file;
  if (file === undefined) return;
  const { config, problems, warnings } = await readWebConfig(file);
  if (problems.length === 0 && config.users.size === 0 && config.tls === undefined) {
    const effect = 'so every client is answered, in plain text';
    const remedy = 'set one of them, or remove the setting';
    const message = `${file} sets neither basic_auth_users nor tls_server_config`;
    web.warn(`${message}, ${effect}: ${remedy}`, 'config_file');
  }
  for (const { position, message } of problems) issues.report(position, message);
  for (const { position, message } of warnings) issues.warn(position, message);
}

/** Reads secrets and TLS files once: they are read again when they are used, and what is wrong with them is reported now. */
async function checkFiles(root: Section<FileConfig>, env: Environment): Promise<void> {
  for (const cluster of root.member('clusters').items()) {
    const tls = cluster.member('cluster_api').member('tls');
    await readClientTls(tls.values, tls);
    for (const [api, name] of listSecrets(cluster)) await checkSecret(api, name, env);
  }
}

async function checkSecret(api: AnySection, name: string, env: Environment): Promise<void> {
  for (const key of writtenKeys(api, name)) {
    const secret = readSecret({ [key]: api.values[key] }, name, env);
    if (secret === undefined) continue;
    await secret.reveal().catch((error: unknown) => api.report(messageOf(error), key));
    const { line, source } = api.positionOf(key);
    const file = secret.isText && line !== undefined ? source : secret.file;
    if (file !== undefined && (await canEveryoneRead(file))) {
      api.warn(`every user can read the secret in ${file}: run \`chmod o-r ${file}\``, key);
    }
  }
}

/** The secret that one of three keys gives, as `password`, `password_file` and `password_env`. */
function readSecret(
  api: Readonly<Record<string, unknown>>,
  name: string,
  env: Environment,
): Secret | undefined {
  const { [name]: text, [`${name}_file`]: file, [`${name}_env`]: variable } = api;
  if (text instanceof Secret) return text;
  if (typeof file === 'string') return new Secret('', { file });
  return typeof variable === 'string' ? new Secret(env[variable] ?? '', { variable }) : undefined;
}

/** The configuration with the secrets, proxies and collectors of each cluster. */
function completeConfig(
  { collectors: common, ...values }: FileConfig,
  root: Section<FileConfig>,
  { env, collectors }: WrittenSources,
  issues: ConfigIssues,
): Config {
  const shard = { ...values.shard, name: values.shard.name ?? shardNameOf(os.hostname()) };
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
      const isSwitched =
        own.enabled !== undefined || root.member('collectors').member(name).has('enabled');
      const isChosen = !isLocal || name === 'ranges' || isSwitched;
      return [[name, { ...merged, enabled: merged.enabled && apis[api] && isChosen }] as const];
    });
    const urls = [...(cluster_api?.urls ?? []), cloud_api?.url ?? ''];
    return {
      ...cluster,
      cluster_api: cluster_api && {
        ...cluster_api,
        password: readSecret(cluster_api, 'password', env),
        token: readSecret(cluster_api, 'token', env),
      },
      cloud_api: cloud_api && {
        ...cloud_api,
        // A missing token was reported.
        token: readSecret(cloud_api, 'token', env) ?? new Secret(''),
      },
      proxy: readProxies(urls, env, issues),
      collectors: Object.fromEntries(entries),
    };
  });
  return { ...values, shard, clusters };
}

/** Whether a cluster reads only the ranges of the node beside the exporter, by the common settings and its own. */
function isRouteLocal(
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
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
  };
}
