import { hostname as systemHostname } from 'node:os';
import { messageOf } from '../format.ts';
import { isLoopback } from './addresses.ts';
import type { CollectorConfig, CollectorOptions } from './cluster-schema.ts';
import { warnOfOtherUsers } from './files.ts';
import { type ConfigIssues, quote } from './issues.ts';
import type {
  CloudApiConfig,
  ClusterApiConfig,
  ClusterConfig,
  Config,
  FileCluster,
  FileConfig,
  ProxyConfig,
} from './schema.ts';
import { type Environment, findSecretFault, Secret } from './secret.ts';
import { checkClientTls } from './tls-files.ts';
import type { AnySection, Section } from './validate.ts';
import { readWebConfig } from './web-config.ts';

// The last step of a load: secrets, TLS files and the web config file are read, and what can only be known then is
// reported. Where a problem was reported, a value may be missing that the types promise: such a load ends in an error.

/** Which of the files that a configuration names are read; all of them by default. */
export interface FilesToRead {
  /** The cluster whose secrets and TLS files are needed; those of all when absent. */
  readonly onlyCluster?: string | undefined;
  /** No file is read: for who needs only values of keys. */
  readonly withoutFiles?: boolean;
  /** A web config file that is already followed, and so not checked again here. */
  readonly followedWebConfig?: string | undefined;
  /** The host name of the system when absent. */
  readonly hostname?: string;
}

interface CompleteOptions extends FilesToRead {
  readonly env: Environment;
  readonly collectors: readonly CollectorOptions[];
}

/** The configuration with the content of the files and variables that it names. */
export async function completeConfig(
  root: Section<FileConfig>,
  options: CompleteOptions,
): Promise<Config> {
  const { withoutFiles = false, hostname = systemHostname(), followedWebConfig } = options;
  if (!withoutFiles) await checkWebConfig(root.member('web'), followedWebConfig);
  const clusters: ClusterConfig[] = [];
  for (const cluster of root.member('clusters').items()) {
    clusters.push(await completeCluster(cluster, options));
  }
  const { collectors: _common, ...values } = root.allValues;
  const shard = { ...values.shard, name: values.shard?.name ?? shardNameOf(hostname) };
  return { ...values, shard, clusters };
}

/** The host name as a value that `shard.name` accepts. */
function shardNameOf(hostname: string): string {
  const name = hostname.replaceAll(/[^\w.-]/g, '-').slice(0, 63);
  return /^\d*$/.test(name) ? `host-${name}`.slice(0, 63) : name;
}

async function checkWebConfig(
  web: Section<FileConfig['web']>,
  followed: string | undefined,
): Promise<void> {
  const file = web.values.config_file;
  if (file === undefined || file === followed) return;
  const { config, problems, warnings } = await readWebConfig(file);
  if (problems.length === 0 && config.users.size === 0 && config.tls === undefined) {
    const effect = 'so every client is answered, in plain text';
    const remedy = 'set one of them, or remove the setting';
    web.warn(
      `${file} sets neither basic_auth_users nor tls_server_config, ${effect}: ${remedy}`,
      'config_file',
    );
  }
  for (const { position, message } of problems) web.issues.report(position, message);
  for (const { position, message } of warnings) web.issues.warn(position, message);
}

async function completeCluster(
  cluster: Section<FileCluster>,
  { env, collectors, onlyCluster, withoutFiles }: CompleteOptions,
): Promise<ClusterConfig> {
  const isSelected = onlyCluster === undefined || cluster.values.name === onlyCluster;
  const readEnv = isSelected && withoutFiles !== true ? env : undefined;
  const apis = { cluster: cluster.has('cluster_api'), cloud: cluster.has('cloud_api') };
  const cluster_api = apis.cluster
    ? await completeClusterApi(cluster.member('cluster_api'), readEnv)
    : undefined;
  const cloud_api = apis.cloud
    ? await completeCloudApi(cluster.member('cloud_api'), readEnv)
    : undefined;
  const urls = [...(cluster_api?.urls ?? []), ...(cloud_api ? [cloud_api.url] : [])];
  return {
    ...cluster.allValues,
    cluster_api,
    cloud_api,
    proxy: readProxies(urls, env, cluster.issues),
    collectors: chooseCollectors(cluster.member('collectors'), collectors, apis),
  };
}

/** Enables a collector only where its API is configured. */
function chooseCollectors(
  section: Section<FileCluster['collectors']>,
  collectors: readonly CollectorOptions[],
  apis: Readonly<Record<CollectorOptions['api'], boolean>>,
): Record<string, CollectorConfig> {
  const all = section.allValues;
  const isLocal = all['ranges']?.['route'] === 'local';
  const entries = collectors.flatMap(({ name, api }) => {
    const settings = all[name];
    if (settings === undefined) return [];
    // An exporter beside each node reads only the ranges of that node, unless more is enabled explicitly.
    const isChosen = !isLocal || name === 'ranges' || section.member(name).has('enabled');
    return [[name, { ...settings, enabled: settings.enabled && apis[api] && isChosen }] as const];
  });
  return Object.fromEntries(entries);
}

/** The environment is absent where no secret and no TLS file is read. */
async function completeClusterApi(
  api: Section<NonNullable<FileCluster['cluster_api']>>,
  env: Environment | undefined,
): Promise<ClusterApiConfig> {
  // The files are read again when they are used; what is wrong with them now is reported now.
  if (env !== undefined) await checkClientTls(api.member('tls'));
  const {
    password_file: _,
    password_env: _1,
    token_file: _2,
    token_env: _3,
    ...values
  } = api.allValues;
  const password = env && (await readSecret(api, 'password', env));
  const token = env && (await readSecret(api, 'token', env));
  return { ...values, password, token };
}

async function completeCloudApi(
  api: Section<NonNullable<FileCluster['cloud_api']>>,
  env: Environment | undefined,
): Promise<CloudApiConfig> {
  const { token_file: _, token_env: _1, ...values } = api.allValues;
  const token = env && (await readSecret(api, 'token', env));
  return { ...values, token: token ?? Secret.fromText('') };
}

/** The secret, or undefined when it is not configured; its file is read once, to report errors early. */
async function readSecret(
  section: AnySection,
  name: string,
  env: Environment,
): Promise<Secret | undefined> {
  const { [name]: inline, [`${name}_file`]: file, [`${name}_env`]: variable } = section.values;
  if (typeof file === 'string') return readFromFile(section, `${name}_file`, file);
  if (typeof variable === 'string') {
    const text = env[variable] ?? '';
    const fault = text === '' ? 'is not set' : findSecretFault(text);
    if (fault !== undefined) {
      section.report(`the environment variable ${quote(variable)} ${fault}`, `${name}_env`);
    }
    return Secret.fromText(text, variable);
  }
  if (!(inline instanceof Secret)) return undefined;
  const position = section.positionOf(name);
  if (position.line !== undefined) {
    const what = 'this secret is in the configuration file, and';
    await warnOfOtherUsers(position.source, what, true, (message) => section.warn(message, name));
  }
  return inline;
}

async function readFromFile(section: AnySection, key: string, file: string): Promise<Secret> {
  const secret = Secret.fromFile(file);
  try {
    await secret.reveal();
    await warnOfOtherUsers(file, 'the secret file', true, (text) => section.warn(text, key));
  } catch (error) {
    section.report(messageOf(error), key);
  }
  return secret;
}

/** The proxies for the URLs of a cluster. What concerns none of them is ignored; loopback never needs one. */
export function readProxies(
  urls: readonly string[],
  env: Environment,
  issues: ConfigIssues,
): ProxyConfig {
  const distant = urls.filter((url) => URL.canParse(url) && !isLoopback(url));
  const read = (scheme: string, ...variables: readonly string[]): Secret | undefined => {
    const source = variables.find((variable) => (env[variable] ?? '') !== '');
    if (source === undefined || !distant.some((url) => url.startsWith(scheme))) return undefined;
    const value = env[source] ?? '';
    const url = /^[a-z\d+.-]+:\/\//i.test(value) ? value : `http://${value}`;
    if (/^https?:\/\//i.test(url) && URL.canParse(url)) return Secret.fromText(url);
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
