import os from 'node:os';
import { findWrongOrders } from '#alerts';
import { messageOf } from '#base';
import { checkQueries, type MetricTypes } from './check-queries.ts';
import { checkRewrites } from './check-rewrites.ts';
import type { CollectorConfig } from './collector-schema.ts';
import type { Path, Reporter, SourceDocument } from './document.ts';
import {
  canEveryoneRead,
  type Environment,
  findTokenFault,
  Secret,
  withoutLineEnd,
} from './files.ts';
import { ConfigError, type ConfigIssue, ConfigIssues, quote } from './issues.ts';
import {
  type ClusterApiConfig,
  type ClusterConfig,
  type Config,
  configSchema,
  type FileCluster,
  type FileConfig,
} from './keys-and-flags.ts';
import { readProxies } from './proxies.ts';
import { readSources, type WrittenSources } from './sources.ts';
import { readClientTls } from './tls-files.ts';
import { validate } from './validate.ts';
import { isLoopback, writeDuration } from './values.ts';
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
 * Loads the configuration in steps: `readSources` makes one document of flags, variables and file; `validate` checks each key
 * by the schema, and adds defaults. Only when every key is valid, `checkConfig` compares keys with each other, `checkRewrites`
 * compiles expressions, `checkFiles` and `checkWebConfig` read the files that are named, and `completeConfig` gives each cluster
 * its secrets and collectors. Rejects with a ConfigError that has the problems of a step, or with a UsageError for flags that
 * contradict the file. Example: `--log.level=debug` counts more than CRDB_EXPORTER_LOG_LEVEL, and that more than `log.level` in
 * the file.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const { env, collectors, checkedFiles = 'all' } = sources;
  const issues = new ConfigIssues();
  const document = await readSources(sources, issues);
  // After a file that cannot be read or errors of syntax, problems of values would only follow from these errors.
  issues.throwIfAny();
  const values = validate(configSchema(collectors), document);
  if (values === undefined) throw new ConfigError(issues.problems);
  checkConfig(values, document);
  await checkRewrites(values.collectors, collectors, document, ['collectors']);
  for (const [index, cluster] of values.clusters.entries()) {
    const path = ['clusters', index, 'collectors'];
    await checkRewrites(cluster.collectors, collectors, document, path);
  }
  if (checkedFiles === 'all') await checkWebConfig(values.web.config_file, document);
  if (checkedFiles !== 'none') await checkFiles(values.clusters, document, env);
  const config = completeConfig(values, document, sources);
  issues.throwIfAny();
  return { config: freezeDeep(config), warnings: issues.warnings };
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}

/** Reports keys that contradict each other, as a username without a password. */
function checkConfig(values: FileConfig, document: SourceDocument): void {
  checkShard(values.shard, document.reporterOf(['shard']));
  const thresholds = document.reporterOf(['thresholds']);
  for (const { critical, message } of findWrongOrders(values.thresholds)) {
    thresholds.report(message, critical);
  }
  checkNames(values.clusters, document);
  const types: MetricTypes = new Map();
  for (const [name, settings] of Object.entries(values.collectors)) {
    checkQueries(settings, document, ['collectors', name], types);
    checkAge(settings, settings, document.reporterOf(['collectors', name]));
  }
  for (const [index, cluster] of values.clusters.entries()) {
    const path = ['clusters', index];
    for (const [name, settings] of Object.entries(cluster.collectors)) {
      const isOwn = settings['queries'] !== undefined;
      const queriesPath = [...(isOwn ? path : []), 'collectors', name];
      const all = { ...values.collectors[name], ...settings };
      checkQueries(all, document, queriesPath, types);
      checkAge(all, settings, document.reporterOf([...path, 'collectors', name]));
    }
    checkCluster(cluster, values.collectors, document, path);
  }
}

function checkShard({ index, count }: FileConfig['shard'], reporter: Reporter): void {
  if (index < count) return;
  const range = `shards count from 0 to ${count - 1}`;
  reporter.report(`the index ${index} is not below the count ${count}: ${range}`, 'index');
}

function checkNames(clusters: FileConfig['clusters'], document: SourceDocument): void {
  const firsts = new Map<string, number>();
  for (const [index, { name }] of clusters.entries()) {
    const first = firsts.get(name);
    firsts.set(name, first ?? index);
    if (first === undefined) continue;
    const { line } = document.positionOf(['clusters', first, 'name']);
    const message = `the name ${quote(name)} is taken by the cluster in line ${line}: names must differ`;
    document.reporterOf(['clusters', index]).report(message, 'name');
  }
}

function checkCluster(
  { cluster_api, cloud_api, collectors }: FileCluster,
  common: FileConfig['collectors'],
  document: SourceDocument,
  path: Path,
): void {
  if (cluster_api === undefined && cloud_api === undefined) {
    document.reporterOf(path).report('a cluster needs cluster_api or cloud_api or both');
  }
  if (cluster_api !== undefined) {
    const reporter = document.reporterOf([...path, 'cluster_api']);
    const { urls } = cluster_api;
    for (const name of ['password', 'token']) checkOneOf(writtenKeys(cluster_api, name), reporter);
    checkLogin(cluster_api, reporter);
    checkTls(cluster_api.tls, document.reporterOf([...path, 'cluster_api', 'tls']));
    if (urls.length > 1 && isRouteLocal(common, collectors)) {
      const message = `${urls.length} URLs with \`route: local\`: name only the node beside this exporter`;
      reporter.report(message, 'urls');
    }
    warnOfPlainText(cluster_api, urls, reporter);
  }
  if (cloud_api !== undefined) {
    const reporter = document.reporterOf([...path, 'cloud_api']);
    const keys = writtenKeys(cloud_api, 'token');
    checkOneOf(keys, reporter);
    if (keys.length === 0) {
      reporter.report('a token is missing: set token_file, token_env or token');
    }
    warnOfPlainText(cloud_api, [cloud_api.url], reporter);
  }
}

/** Data that is older than `max_age` before the next poll begins would come and go. `written` are the settings of this place. */
function checkAge(
  { max_age: age, interval }: Partial<CollectorConfig>,
  written: Partial<CollectorConfig>,
  reporter: Reporter,
): void {
  if (age === undefined || interval === undefined || age >= interval) return;
  const { max_age: ownAge, interval: ownInterval } = written;
  const message = `${writeDuration(age)} is shorter than the interval, ${writeDuration(interval)}: raise max_age, or leave it out`;
  if (ownAge !== undefined) reporter.report(message, 'max_age');
  else if (ownInterval !== undefined) {
    const longer = `${writeDuration(interval)} is longer than max_age, ${writeDuration(age)}: raise that one, too`;
    reporter.report(longer, 'interval');
  }
}

/** The keys of a map by name. */
type Keys = Readonly<Record<string, unknown>>;

/** The keys that give a secret, as `password`, `password_file` and `password_env`; those that are written. */
function writtenKeys(api: Keys, name: string): string[] {
  return [name, `${name}_file`, `${name}_env`].filter((key) => api[key] !== undefined);
}

function checkOneOf([first, ...others]: readonly string[], reporter: Reporter): void {
  for (const other of others) reporter.report(`${other} beside ${first}: keep one of them`, other);
}

function checkLogin(api: Keys, reporter: Reporter): void {
  const hasUser = api['username'] !== undefined;
  const [password] = writtenKeys(api, 'password');
  const [token] = writtenKeys(api, 'token');
  if (hasUser && token !== undefined) {
    reporter.report('a token beside a username: keep one way to log in', token);
  } else if (hasUser && password === undefined) {
    const remedy = 'add password_file, password_env or password';
    reporter.report(`a username without password: ${remedy}`, 'username');
  } else if (!hasUser && password !== undefined) {
    reporter.report('a password without username: add username', password);
  }
}

function checkTls(tls: ClusterApiConfig['tls'], reporter: Reporter): void {
  const needsBoth = 'a client certificate needs both';
  if (tls.cert_file !== undefined && tls.key_file === undefined) {
    reporter.report(`cert_file without key_file: ${needsBoth}`, 'cert_file');
  }
  if (tls.key_file !== undefined && tls.cert_file === undefined) {
    reporter.report(`key_file without cert_file: ${needsBoth}`, 'key_file');
  }
  if (tls.insecure_skip_verify) {
    const message = 'node certificates are not verified, so anyone on the network path can read';
    reporter.warn(`${message} the password: set ca_file instead`, 'insecure_skip_verify');
  }
}

/** Warns if a password or token would be sent without TLS to another host. */
function warnOfPlainText(api: Keys, urls: readonly string[], reporter: Reporter): void {
  if (api['username'] === undefined && writtenKeys(api, 'token').length === 0) return;
  const url = urls.find((each) => each.startsWith('http:') && !isLoopback(each));
  if (url === undefined) return;
  reporter.warn(`credentials are sent in plain text to ${new URL(url).origin}: use https://`);
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
        ofCluster.enabled !== undefined || document.has(['collectors', name, 'enabled']);
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

/** Whether a cluster reads only the ranges of the node beside the exporter, by the common settings and its own. */
function isRouteLocal(
  common: FileConfig['collectors'],
  ofCluster: FileCluster['collectors'],
): boolean {
  return (ofCluster['ranges']?.['route'] ?? common['ranges']?.['route']) === 'local';
}

/** The host name as a value that `shard.name` accepts. */
export function shardNameOf(hostname: string): string {
  const name = hostname.replaceAll(/[^\w.-]/g, '-').slice(0, 63);
  return /^\d*$/.test(name) ? `host-${name}`.slice(0, 63) : name;
}
