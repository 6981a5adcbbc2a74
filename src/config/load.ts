import os from 'node:os';
import { messageOf } from '#base';
import { acceptParts } from './accepted-parts.ts';
import { checkKeys, isRouteLocal, type Keys, writtenKeys } from './check-keys.ts';
import { checkRewrites } from './check-rewrites.ts';
import type { Path, SourceDocument } from './document.ts';
import {
  canEveryoneRead,
  type Environment,
  findTokenFault,
  Secret,
  withoutLineEnd,
} from './files.ts';
import { ConfigError, type ConfigIssue, ConfigIssues, quote } from './issues.ts';
import {
  type ClusterConfig,
  type Config,
  configSchema,
  type FileConfig,
} from './keys-and-flags.ts';
import { readProxies } from './proxies.ts';
import { readSources, type WrittenSources } from './sources.ts';
import { readClientTls } from './tls-files.ts';
import { validate } from './validate.ts';
import { isLoopback } from './values.ts';
import { readWebConfig } from './web-config.ts';

/** Where the configuration comes from, and which of the files that it names are checked. */
export interface ConfigSources extends WrittenSources {
  /**
   * `all`, the default: the web config file, and secrets and TLS files of clusters. `clusters`, for a reload: its watcher checks the web
   * config file. `none`, for a command, which reads only the files that it uses.
   */
  readonly checkedFiles?: 'all' | 'clusters' | 'none';
}

/** A configuration without errors. */
export interface LoadedConfig {
  readonly config: Config;
  /** Settings that work, but should be changed. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Loads the configuration in steps: `readSources` makes one document of flags, variables and file; `validate` checks each key
 * by the schema, and adds defaults. Of what it accepted, `checkKeys` compares keys with each other, `checkRewrites` compiles
 * expressions, and `checkWebConfig` reads the file that is named. Only when every key is valid, `checkFiles` reads secrets and
 * TLS files, and `completeConfig` gives each cluster its secrets and collectors. Rejects with a ConfigError that has all
 * problems, or with a UsageError for flags that contradict the file. Example: `--log.level=debug` counts more than
 * CRDB_EXPORTER_LOG_LEVEL, and that more than `log.level` in the file.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const { env, collectors, checkedFiles = 'all' } = sources;
  const issues = new ConfigIssues();
  const document = await readSources(sources, issues);
  // After a file that cannot be read or errors of syntax, problems of values would only follow from these errors.
  issues.throwIfAny();
  const values = validate(configSchema(collectors), document);
  if (issues.isFull) throw new ConfigError(issues.problems);
  const parts = values ?? acceptParts(collectors, document);
  checkKeys(parts, document);
  await checkRewrites(collectors, document, ['collectors']);
  for (const index of parts.clusters.keys()) {
    await checkRewrites(collectors, document, ['clusters', index, 'collectors']);
  }
  if (checkedFiles === 'all') await checkWebConfig(parts.web.config_file, document);
  if (values === undefined) throw new ConfigError(issues.problems);
  if (checkedFiles !== 'none') await checkFiles(values.clusters, document, env);
  warnOfPlainText(values.clusters, document);
  warnOfSharedAddresses(values.clusters, document);
  const config = completeConfig(values, document, sources);
  issues.throwIfAny();
  return { config: freezeDeep(config), warnings: issues.warnings };
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

/** Warns if passwords or tokens would be sent without TLS to another host. */
function warnOfPlainText(clusters: FileConfig['clusters'], document: SourceDocument): void {
  for (const [index, { cluster_api, cloud_api }] of clusters.entries()) {
    for (const [name, api] of Object.entries({ cluster_api, cloud_api })) {
      if (api === undefined || !hasLogin(api)) continue;
      const urls = 'urls' in api ? api.urls : [api.url];
      const url = urls.find((each) => each.startsWith('http:') && !isLoopback(each));
      if (url === undefined) continue;
      const message = `credentials are sent in plain text to ${new URL(url).origin}: use https://`;
      document.reporterOf(['clusters', index, name]).warn(message);
    }
  }
}

/** Warns if two clusters have an address in common, as where an entry was copied: the figures of one would count twice. */
function warnOfSharedAddresses(clusters: FileConfig['clusters'], document: SourceDocument): void {
  const owners = new Map<string, string>();
  for (const [index, cluster] of clusters.entries()) {
    for (const [address, scope, api, key] of addressesOf(cluster)) {
      const owner = owners.get(`${scope} ${address}`) ?? cluster.name;
      owners.set(`${scope} ${address}`, owner);
      if (owner === cluster.name) continue;
      const message = `the cluster ${quote(owner)} has ${address}, too: both would have the figures of one`;
      document.reporterOf(['clusters', index, api]).warn(message, key);
      break;
    }
  }
}

/** The addresses of a cluster, each with what it is in, and where it is written. A virtual cluster is a cluster of its own. */
function addressesOf({ cluster_api, cloud_api }: FileConfig['clusters'][number]) {
  const { urls = [], virtual_cluster } = cluster_api ?? {};
  const addresses = urls.map((url) => [url, virtual_cluster, 'cluster_api', 'urls'] as const);
  if (cloud_api === undefined) return addresses;
  const { cluster_id, url } = cloud_api;
  return [...addresses, [cluster_id, url, 'cloud_api', 'cluster_id'] as const];
}

function hasLogin(api: Keys): boolean {
  return api['username'] !== undefined || writtenKeys(api, 'token').length > 0;
}

async function checkWebConfig(file: string | undefined, document: SourceDocument): Promise<void> {
  if (file === undefined) return;
  const { issues } = document;
  const { config, problems, warnings } = await readWebConfig(file);
  if (problems.length === 0 && config.users.size === 0 && config.tls === undefined) {
    const effect = 'so every client is answered, in plain text';
    const remedy = 'set one of them, or remove the setting';
    const message = `${file} sets neither basic_auth_users nor tls_server_config`;
    document.reporterOf(['web']).warn(`${message}, ${effect}: ${remedy}`, 'config_file');
  }
  for (const { position, message } of problems) issues.report(position, message);
  for (const { position, message } of warnings) issues.warn(position, message);
}

/** Reads secrets and TLS files once: they are read again when they are used, and what is wrong with them is reported now. */
async function checkFiles(
  clusters: FileConfig['clusters'],
  document: SourceDocument,
  env: Environment,
): Promise<void> {
  for (const [index, { cluster_api, cloud_api }] of clusters.entries()) {
    const path = ['clusters', index];
    if (cluster_api !== undefined) {
      const { tls } = cluster_api;
      await readClientTls(tls, document.reporterOf([...path, 'cluster_api', 'tls']));
      await checkSecret(cluster_api, 'password', document, [...path, 'cluster_api'], env);
      await checkSecret(cluster_api, 'token', document, [...path, 'cluster_api'], env);
    }
    if (cloud_api !== undefined) {
      await checkSecret(cloud_api, 'token', document, [...path, 'cloud_api'], env);
    }
  }
}

async function checkSecret(
  api: Keys,
  name: string,
  document: SourceDocument,
  path: Path,
  env: Environment,
): Promise<void> {
  const reporter = document.reporterOf(path);
  for (const key of writtenKeys(api, name)) {
    const secret = readSecret({ [key]: api[key] }, name, env);
    if (secret === undefined) continue;
    const text = await secret.reveal().catch((error: unknown) => {
      reporter.report(messageOf(error), key);
      return '';
    });
    const fault = name === 'token' ? findTokenFault(text) : undefined;
    if (fault !== undefined) reporter.report(`the token ${fault}`, key);
    if (secret.isText && /^\$\{.*\}$/.test(text)) {
      reporter.warn(`no variable is filled in: name it in ${name}_env`, key);
    }
    const { line, source } = document.positionOf([...path, key]);
    const file = secret.isText && line !== undefined ? source : secret.file;
    if (file !== undefined && (await canEveryoneRead(file))) {
      reporter.warn(`every user can read the secret in ${file}: run \`chmod o-r ${file}\``, key);
    }
  }
}

/** The secret that one of three keys gives, as `password`, `password_file` and `password_env`. */
function readSecret(api: Keys, name: string, env: Environment): Secret | undefined {
  const { [name]: text, [`${name}_file`]: file, [`${name}_env`]: variable } = api;
  if (text instanceof Secret) return text;
  if (typeof file === 'string') return new Secret('', { file });
  if (typeof variable !== 'string') return undefined;
  return new Secret(withoutLineEnd(env[variable] ?? ''), { variable });
}

/** The configuration with the secrets, proxies and collectors of each cluster. */
function completeConfig(
  { collectors: common, ...values }: FileConfig,
  document: SourceDocument,
  { env, collectors }: WrittenSources,
): Config {
  const shard = { ...values.shard, name: values.shard.name ?? shardNameOf(os.hostname()) };
  const clusters = values.clusters.map((cluster): ClusterConfig => {
    const { cluster_api, cloud_api } = cluster;
    const apis = { cluster: cluster_api !== undefined, cloud: cloud_api !== undefined };
    const isLocal = isRouteLocal(common, cluster.collectors);
    const entries = collectors.flatMap(({ name, api }) => {
      const settings = common[name];
      if (settings === undefined) return [];
      const ofCluster = cluster.collectors[name] ?? {};
      const merged = { ...settings, ...ofCluster };
      // An exporter beside each node reads only the ranges of that node, unless more is enabled explicitly.
      const isSwitched =
        ofCluster.enabled !== undefined ||
        document.valueAt(['collectors', name, 'enabled']) !== undefined;
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
      proxy: readProxies(urls, env, document.issues),
      collectors: Object.fromEntries(entries),
    };
  });
  return { ...values, shard, clusters };
}

/** The host name as a value that `shard.name` accepts. */
export function shardNameOf(hostname: string): string {
  const name = hostname.replaceAll(/[^\w.-]/g, '-').slice(0, 63);
  return /^\d*$/.test(name) ? `host-${name}`.slice(0, 63) : name;
}
