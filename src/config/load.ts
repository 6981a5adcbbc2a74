import path from 'node:path';
import { isLoopback } from './addresses.ts';
import { findWrongOrders } from './alert-settings.ts';
import { completeConfig, type FilesToRead } from './complete.ts';
import { type ConfigIssue, ConfigIssues, quote } from './issues.ts';
import {
  type Config,
  configSchema,
  type FileCluster,
  type FileConfig,
  type TlsConfig,
} from './schema.ts';
import { writtenKeys } from './secret.ts';
import { findFile, readSources, type WrittenSources } from './sources.ts';
import { type AnySection, type Section, validate } from './validate.ts';

/** Where the configuration comes from, and which of the files that it names are read. */
export interface ConfigSources extends WrittenSources, FilesToRead {}

/** A configuration without errors. */
export interface LoadedConfig {
  readonly config: Config;
  /** Settings that work, but should be changed. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Loads the configuration in four steps: `readSources` makes one document of flags, variables and file; `validate` checks
 * each key by the schema, and adds defaults; `checkConfig` compares keys with each other; `completeConfig` reads the files
 * that the configuration names. Rejects with a ConfigError that has every problem, or with a UsageError for flags that
 * contradict the file. Example: `--log.level=debug` counts more than CRDB_EXPORTER_LOG_LEVEL, and that more than `log.level`
 * in the file.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const issues = new ConfigIssues();
  const document = await readSources(sources, issues);
  // After errors of syntax, problems of values would only follow from these errors.
  issues.throwIfAny();
  const file = findFile(sources);
  const folder = file === undefined ? undefined : path.dirname(path.resolve(file));
  const root = validate(configSchema(sources.collectors, folder), document);
  checkConfig(root);
  const config = await completeConfig(root, sources);
  issues.throwIfAny();
  return { config: freezeDeep(config), warnings: issues.warnings };
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

/** Reports keys that contradict each other, as a username without a password. */
function checkConfig(root: Section<FileConfig>): void {
  checkShard(root.member('shard'));
  checkThresholds(root.member('thresholds'));
  const clusters = root.member('clusters').items();
  checkNames(clusters);
  for (const cluster of clusters) checkCluster(cluster);
}

function checkShard(shard: Section<FileConfig['shard']>): void {
  const { index = 0, count = 0 } = shard.values;
  if (count === 0 || index < count) return;
  const range = `shards count from 0 to ${count - 1}`;
  shard.report(`the index ${index} is not below the count ${count}: ${range}`, 'index');
}

function checkThresholds(thresholds: Section<FileConfig['thresholds']>): void {
  for (const { critical, warning, message } of findWrongOrders(thresholds.values)) {
    thresholds.report(message, thresholds.has(critical) ? critical : warning);
  }
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

function checkCluster(cluster: Section<FileCluster>): void {
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
    if (count > 1 && cluster.values.collectors?.['ranges']?.['route'] === 'local') {
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
