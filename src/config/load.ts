import { hostname as systemHostname } from 'node:os';
import path from 'node:path';
import { messageOf } from '../format.ts';
import { findWrongOrders } from './alert-settings.ts';
import type { CollectorOptions } from './cluster-schema.ts';
import { readClusters } from './clusters.ts';
import { isMap, readDocument, SourceDocument } from './document.ts';
import { readTextFile, warnOfOtherUsers } from './files.ts';
import { ConfigError, type ConfigIssue, ConfigIssues, UsageError } from './issues.ts';
import {
  applyOverride,
  CONFIG_FILE,
  type Flags,
  listOverrides,
  warnOfMistypedVariables,
} from './overrides.ts';
import { type Config, configSchema, type FileConfig } from './schema.ts';
import type { Environment } from './secret.ts';
import { type Section, validate } from './validate.ts';
import { readWebConfig } from './web-config.ts';

export interface ConfigSources {
  readonly flags: Flags;
  readonly env: Environment;
  /** Their switches, keys and options are part of the configuration. */
  readonly collectors: readonly CollectorOptions[];
  /** The cluster whose secrets and TLS files are needed; those of all when absent. */
  readonly onlyCluster?: string | undefined;
  /** Secrets, TLS files and the web config file are not read: for who needs only values of keys. */
  readonly withoutFiles?: boolean;
  /** A web config file that is already followed, and so not checked again here. */
  readonly followedWebConfig?: string | undefined;
  /** That of the system when absent. */
  readonly hostname?: string;
}

/** A configuration without errors. */
export interface LoadedConfig {
  readonly config: Config;
  /** What works but should not stay so. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Reads flags, variables, file and defaults, in this order of precedence; warns of what works but should not stay so.
 * Rejects with a ConfigError that holds every problem, or a UsageError for flags that do not go together.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const issues = new ConfigIssues();
  const file = findFile(sources);
  const document = await readSources(sources, file, issues);
  // The values of a document with syntax errors are not worth reporting.
  issues.throwIfAny();
  inheritCollectors(document);
  const folder = file === undefined ? undefined : path.dirname(path.resolve(file));
  const root = validate(configSchema(sources.collectors, folder), document);
  const config = await complete(root, sources);
  issues.throwIfAny();
  return { config: freezeDeep(config), warnings: issues.warnings };
}

/** The configuration file that flags or variables name, if any. */
export function findFile({ flags, env }: Pick<ConfigSources, 'flags' | 'env'>): string | undefined {
  const flag = flags[CONFIG_FILE.flag];
  return typeof flag === 'string' ? flag : env[CONFIG_FILE.variable] || undefined;
}

/** What is written, flags over variables over the file, not validated yet. */
async function readSources(
  sources: ConfigSources,
  file: string | undefined,
  issues: ConfigIssues,
): Promise<SourceDocument> {
  const { flags, env, collectors } = sources;
  const overrides = listOverrides(flags, env, collectors);
  const ofCluster = overrides.filter(({ key }) => key.path.startsWith('clusters[].'));
  if (file === undefined) {
    const document = new SourceDocument('command line', issues);
    if (ofCluster.length > 0) document.set(['clusters', 0, 'name'], 'default', 'command line');
    for (const one of overrides) applyOverride(document, one);
    warnOfMistypedVariables(env, collectors, '', issues);
    return document;
  }
  const position = { source: file, path: '' };
  const text = await readTextFile(file, 'the configuration file').catch((error: unknown) => {
    throw new ConfigError([{ position, message: messageOf(error) }]);
  });
  // Who can change the file can send passwords elsewhere.
  await warnOfOtherUsers(file, 'the configuration file', false, (message) =>
    issues.warn(position, message),
  );
  refuseClusterOverrides(ofCluster, file, text, issues);
  warnOfMistypedVariables(env, collectors, text, issues);
  const document = readDocument(text, file, issues);
  for (const one of overrides) if (!ofCluster.includes(one)) applyOverride(document, one);
  return document;
}

/** A secret's variable may stand beside a file, since the file may name it in password_env. */
function refuseClusterOverrides(
  overrides: ReturnType<typeof listOverrides>,
  file: string,
  text: string,
  issues: ConfigIssues,
): void {
  const flags = overrides.filter(({ key }) => key.flag !== undefined);
  if (flags.length > 0) {
    const names = flags.map(({ source }) => source).join(', ');
    throw new UsageError(
      `${names} beside the configuration file ${file}: describe the cluster in the file or by flags, not both`,
    );
  }
  for (const { source } of overrides) {
    if (text.includes(source)) continue;
    const remedy = 'name it there in password_env or token_env';
    issues.warn({ source, path: '' }, `not used beside a configuration file: ${remedy}`);
  }
}

/** Gives each cluster the common settings of the collectors that it does not override. */
function inheritCollectors(document: SourceDocument): void {
  const { clusters, collectors: common } = document.input;
  if (!Array.isArray(clusters) || !isMap(common)) return;
  for (const [index, cluster] of clusters.entries()) {
    if (!isMap(cluster)) continue;
    const own = cluster['collectors'] ?? {};
    if (!isMap(own)) continue;
    const merged = Object.entries(common).map(([name, block]) => {
      const over = own[name] ?? block;
      return [name, isMap(block) && isMap(over) ? { ...block, ...over } : over];
    });
    cluster['collectors'] = { ...own, ...Object.fromEntries(merged) };
    document.addCopy(['clusters', index, 'collectors'], ['collectors']);
  }
}

async function complete(root: Section<FileConfig>, sources: ConfigSources): Promise<Config> {
  const { env, collectors, onlyCluster, followedWebConfig } = sources;
  const { withoutFiles = false, hostname = systemHostname() } = sources;
  checkShard(root.member('shard'));
  checkThresholds(root.member('thresholds'));
  if (!withoutFiles) await checkWebConfig(root.member('web'), followedWebConfig);
  // No cluster has an empty name.
  const used = withoutFiles ? '' : onlyCluster;
  const clusters = await readClusters(root.member('clusters'), collectors, env, used);
  // Not complete only where a problem was reported.
  const { collectors: _common, ...values } = root.allValues;
  const shard = { ...values.shard, name: values.shard?.name ?? shardNameOf(hostname) };
  return { ...values, shard, clusters };
}

/** The host name as a value that `shard.name` accepts. */
function shardNameOf(hostname: string): string {
  const name = hostname.replaceAll(/[^\w.-]/g, '-').slice(0, 63);
  return /^\d*$/.test(name) ? `host-${name}`.slice(0, 63) : name;
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

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}
