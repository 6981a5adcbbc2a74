import path from 'node:path';
import { readClusters } from './clusters.ts';
import type { CollectorOptions } from './collector-schema.ts';
import {
  applyOverride,
  CONFIG_FILE_FLAG,
  environmentName,
  type Flags,
  listOverrides,
  type Override,
} from './flags.ts';
import type { Environment } from './secret.ts';
import { ConfigError, type ConfigIssue, ConfigIssues, UsageError } from './issues.ts';
import { createMap, isMap, Places, readDocument, type SourceDocument } from './document.ts';
import { type Config, configSchema, type FileConfig } from './schema.ts';
import { explainFileError, readSmallText, warnOfOtherUsers } from './files.ts';
import { type Section, validate } from './validate.ts';
import { readWebConfig } from './web-config.ts';

export interface ConfigSources {
  /** The configuration file; the flag `config.file` or its variable when absent. */
  readonly file?: string | undefined;
  readonly flags: Flags;
  readonly env: Environment;
  /** Their switches, keys and options are part of the configuration. */
  readonly collectors: readonly CollectorOptions[];
  /** A web config file that is already followed, and so not checked again here. */
  readonly followedWebConfig?: string | undefined;
}

export interface LoadedConfig {
  readonly config: Config;
  /** What works but should not stay so. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Reads flags, variables, file and defaults, in this order of precedence. Rejects with a ConfigError
 * that holds every problem, or a UsageError for flags that do not go together.
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const issues = new ConfigIssues();
  const file = findFile(sources);
  const document = await readSources(sources, file, issues);
  // What a broken document seems to say is not worth reporting.
  issues.throwIfAny();
  inheritCollectors(document);
  const folder = file === undefined ? undefined : path.dirname(path.resolve(file));
  const root = validate(configSchema(sources.collectors, folder), document, issues);
  const config = await complete(root, sources);
  issues.throwIfAny();
  return { config: freezeDeep(config), warnings: issues.warnings };
}

/** The configuration file that these sources name, if any. */
export function findFile({
  file,
  flags,
  env,
}: Omit<ConfigSources, 'collectors'>): string | undefined {
  const flag = flags[CONFIG_FILE_FLAG];
  if (file !== undefined) return file;
  if (typeof flag === 'string') return flag;
  return env[environmentName(CONFIG_FILE_FLAG)] || undefined;
}

const CLUSTER_NAME: Override = {
  key: { path: 'clusters[].name' },
  value: 'default',
  source: 'command line',
};

/** What is written, flags over variables over the file, not validated yet. */
async function readSources(
  { flags, env, collectors }: ConfigSources,
  file: string | undefined,
  issues: ConfigIssues,
): Promise<SourceDocument> {
  const overrides = listOverrides(flags, env, collectors);
  if (file === undefined) {
    const document = { input: createMap(), places: new Places() };
    document.places.add(document.input, { source: CLUSTER_NAME.source, path: '' });
    const first = overrides.some(isOfCluster) ? [CLUSTER_NAME] : [];
    for (const one of [...first, ...overrides]) applyOverride(document, one);
    return document;
  }
  const text = await readConfigFile(file);
  await warnOfConfigFile(file, issues);
  refuseClusterOverrides(overrides.filter(isOfCluster), { file, text, issues });
  const document = readDocument(text, file, issues);
  for (const one of overrides) if (!isOfCluster(one)) applyOverride(document, one);
  return document;
}

async function readConfigFile(file: string): Promise<string> {
  return readSmallText(file).catch((cause: unknown) => {
    const message = `cannot read the configuration file: ${explainFileError(cause)}`;
    throw new ConfigError([{ place: { source: file, path: '' }, message }]);
  });
}

/** Whoever may change the file can send passwords elsewhere. */
async function warnOfConfigFile(file: string, issues: ConfigIssues): Promise<void> {
  const config = { path: file, what: 'the configuration file', isReadable: true };
  await warnOfOtherUsers(config, { source: file, path: '' }, issues);
}

function isOfCluster({ key }: Override): boolean {
  return key.path.startsWith('clusters[].');
}

/** A secret's variable may stand beside a file, since the file may name it in password_env. */
function refuseClusterOverrides(
  overrides: readonly Override[],
  { file, text, issues }: { readonly file: string; readonly text: string; issues: ConfigIssues },
): void {
  const refused = overrides.filter(({ key }) => key.flag !== undefined);
  if (refused.length > 0) {
    const names = refused.map(({ source }) => source).join(', ');
    throw new UsageError(
      `${names} beside the configuration file ${file}: describe the cluster in the file or by flags, not both`,
    );
  }
  for (const { source } of overrides) {
    if (text.includes(source)) continue;
    issues.warn(
      { source, path: '' },
      'not used beside a configuration file: name it there in password_env or token_env',
    );
  }
}

/** Gives each cluster the common settings of the collectors that it does not override. */
function inheritCollectors({ input, places }: SourceDocument): void {
  const { clusters, collectors: common } = input;
  if (!Array.isArray(clusters) || !isMap(common)) return;
  for (const cluster of clusters) {
    if (!isMap(cluster)) continue;
    const own = cluster['collectors'] ?? createMap();
    if (!isMap(own)) continue;
    const merged = places.merge(common, own);
    for (const [name, block] of Object.entries(common)) {
      const over = own[name] ?? block;
      merged[name] = isMap(block) && isMap(over) ? places.merge(block, over) : over;
    }
    cluster['collectors'] = merged;
  }
}

async function complete(
  root: Section<FileConfig>,
  { env, collectors, followedWebConfig }: ConfigSources,
): Promise<Config> {
  checkShard(root.member('shard'));
  await checkWebConfig(root.member('web'), followedWebConfig);
  const clusters = await readClusters(root.member('clusters'), collectors, env);
  // Not complete only where a problem was reported.
  const { collectors: _common, ...values } = root.allValues;
  return { ...values, clusters };
}

function checkShard(shard: Section<FileConfig['shard']>): void {
  const { index = 0, count = 0 } = shard.values;
  if (count === 0 || index < count) return;
  const range = `shards count from 0 to ${count - 1}`;
  shard.report('index', `the index ${index} is not below the count ${count}: ${range}`);
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
      'config_file',
      `${file} sets neither basic_auth_users nor tls_server_config, ${effect}: ${remedy}`,
    );
  }
  for (const { place, message } of problems) web.issues.report(place, message);
  for (const { place, message } of warnings) web.issues.warn(place, message);
}

function freezeDeep<T>(value: T): Readonly<T> {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freezeDeep);
  return Object.freeze(value);
}
