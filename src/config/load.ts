import path from 'node:path';
import { messageOf } from '../format.ts';
import { completeConfig, isRouteLocal } from './complete.ts';
import { findOpenSecret, Secret } from './files.ts';
import { ConfigError, type ConfigIssue, ConfigIssues, quote } from './issues.ts';
import { type Config, configSchema, type FileCluster, type FileConfig } from './schema.ts';
import { findFile, readSources, type WrittenSources } from './sources.ts';
import { checkClientTls, type TlsConfig } from './tls-files.ts';
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
 * each key by the schema, and adds defaults; `checkConfig` compares keys with each other; `checkFiles` reads the files that
 * are named; `completeConfig` gives each cluster its secrets and collectors. Rejects with a ConfigError that has every
 * problem, or with a UsageError for flags that contradict the file. Example: `--log.level=debug` counts more than
 * CRDB_EXPORTER_LOG_LEVEL, and that more than `log.level` in the file.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const { env, collectors, checkedFiles = 'all' } = sources;
  const issues = new ConfigIssues();
  const document = await readSources(sources, issues);
  // After errors of syntax, problems of values would only follow from these errors.
  issues.throwIfAny();
  const file = findFile(sources);
  const folder = file === undefined ? '' : path.dirname(path.resolve(file));
  const { root, output } = validate(configSchema(collectors, { folder, env }), document);
  checkConfig(root);
  if (checkedFiles === 'all') await checkWebConfig(root.member('web'), issues);
  if (checkedFiles !== 'none') await checkFiles(root);
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
  const lines = new Map<string, number | undefined>();
  for (const cluster of clusters) {
    const { name } = cluster.values;
    if (name === undefined) continue;
    if (lines.has(name)) {
      const message = `the name ${quote(name)} is taken by the cluster in line ${lines.get(name)}`;
      cluster.report(`${message}: names must differ`, 'name');
    }
    lines.set(name, lines.get(name) ?? cluster.positionOf('name').line);
  }
}

function checkCluster(
  cluster: Section<FileCluster>,
  common: Partial<FileConfig['collectors']> | undefined,
): void {
  const hasClusterApi = cluster.has('cluster_api');
  const hasCloudApi = cluster.has('cloud_api');
  if (!hasClusterApi && !hasCloudApi) {
    cluster.report('a cluster needs cluster_api or cloud_api or both');
  }
  if (hasClusterApi) {
    const api = cluster.member('cluster_api');
    checkSecret(api, 'password');
    checkSecret(api, 'token');
    checkLogin(api);
    checkTls(api.member('tls'));
    warnOfPlainText(api, api.values.urls);
    const count = api.values.urls?.length ?? 0;
    if (count > 1 && isRouteLocal(common, cluster.values.collectors)) {
      const message = `${count} URLs with \`route: local\`: name only the node beside this exporter`;
      api.report(message, 'urls');
    }
  }
  if (hasCloudApi) {
    const api = cluster.member('cloud_api');
    checkSecret(api, 'token');
    if (writtenKeys(api, 'token').length === 0) {
      api.report('a token is missing: set token_file, token_env or token');
    }
    warnOfPlainText(api, [api.values.url]);
  }
}

/** The keys that give a secret, as `password`, `password_file` and `password_env`; those that are written. */
function writtenKeys(api: AnySection, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => api.has(key));
}

function checkSecret(api: AnySection, name: string): void {
  const [first, ...others] = writtenKeys(api, name);
  for (const other of others) api.report(`${other} beside ${first}: keep one of them`, other);
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
  }
  if (!hasUser && password !== undefined) {
    api.report('a password without username: add username', password);
  }
}

function checkTls(tls: Section<TlsConfig>): void {
  const halves = ['cert_file', 'key_file'] as const;
  const missing = halves.find((key) => !tls.has(key));
  const present = halves.find((key) => tls.has(key));
  if (missing !== undefined && present !== undefined) {
    tls.report(`${present} without ${missing}: a client certificate needs both`, present);
  }
  if (tls.values.insecure_skip_verify) {
    const message = 'node certificates are not verified, so anyone on the network path can read';
    tls.warn(`${message} the password: set ca_file instead`, 'insecure_skip_verify');
  }
}

/** Warns if a password or token would be sent without TLS to another host. */
function warnOfPlainText(api: AnySection, urls: readonly (string | undefined)[] = []): void {
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
async function checkFiles(root: Section<FileConfig>): Promise<void> {
  for (const cluster of root.member('clusters').items()) {
    const clusterApi = cluster.member('cluster_api');
    const tls = clusterApi.member('tls');
    await checkClientTls(tls.values, tls);
    await checkSecretFiles(clusterApi, 'password');
    await checkSecretFiles(clusterApi, 'token');
    await checkSecretFiles(cluster.member('cloud_api'), 'token');
  }
}

async function checkSecretFiles(api: AnySection, name: string): Promise<void> {
  for (const key of writtenKeys(api, name)) {
    const secret = api.values[key];
    if (!(secret instanceof Secret)) continue;
    await secret.reveal().catch((error: unknown) => api.report(messageOf(error), key));
    const { line, source } = api.positionOf(key);
    const file = key === name && line !== undefined ? source : secret.file;
    const warning = file === undefined ? undefined : await findOpenSecret(file);
    if (warning !== undefined) api.warn(warning, key);
  }
}
