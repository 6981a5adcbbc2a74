import path from 'node:path';
import { messageOf } from '../format.ts';
import type { CollectorOptions } from './cluster-schema.ts';
import { type ConfigKey, listConfigKeys, variableOf } from './describe.ts';
import { isMap, readDocument, SourceDocument } from './document.ts';
import { readTextFile, warnOfOtherUsers } from './files.ts';
import { ConfigError, type ConfigIssues, findNearest, UsageError } from './issues.ts';
import type { Environment } from './secret.ts';

/** The values of flags by their names without dashes; undefined for a flag that is not set. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A key that has a flag. It also has a variable, whose name is derived from that of the flag. */
export type FlagKey = ConfigKey & Required<Pick<ConfigKey, 'flag' | 'variable'>>;

/** The only flag that is not a key of the file. */
export const CONFIG_FILE: FlagKey = {
  path: '',
  flag: 'config.file',
  variable: variableOf('config.file'),
  valueType: 'path',
  help: 'Configuration file; without one, flags describe a single cluster.',
  default: undefined,
  isList: false,
};

/** All flags of the configuration, in the order of the file. */
export function listFlags(collectors: readonly CollectorOptions[]): FlagKey[] {
  const keys = listConfigKeys(collectors);
  return [CONFIG_FILE, ...keys.filter((key): key is FlagKey => key.flag !== undefined)];
}

/** The sources of the configuration. Its file is named by a flag or a variable (`findFile`). */
export interface WrittenSources {
  readonly flags: Flags;
  readonly env: Environment;
  /** The collectors, whose switches, keys and options are part of the configuration. */
  readonly collectors: readonly CollectorOptions[];
}

/** The path of the configuration file, by its flag or variable; undefined without one. */
export function findFile({
  flags,
  env,
}: Pick<WrittenSources, 'flags' | 'env'>): string | undefined {
  const flag = flags[CONFIG_FILE.flag];
  return typeof flag === 'string' ? flag : env[CONFIG_FILE.variable] || undefined;
}

/**
 * Makes one document of the file, of variables, which replace its values, and of flags, which replace those of variables.
 * The document is not validated yet. Without a file, the flags of a cluster describe the only one, `default`. Rejects with
 * a ConfigError if the file cannot be read, and with a UsageError for flags of a cluster beside a file.
 */
export async function readSources(
  sources: WrittenSources,
  issues: ConfigIssues,
): Promise<SourceDocument> {
  const { env, collectors } = sources;
  const file = findFile(sources);
  const overrides = listOverrides(sources);
  const clusterOverrides = overrides.filter(({ key }) => key.path.startsWith('clusters[].'));
  if (file === undefined) {
    const document = new SourceDocument('command line', issues);
    if (clusterOverrides.length > 0) {
      document.set(['clusters', 0, 'name'], 'default', 'command line');
    }
    for (const override of overrides) applyOverride(document, override);
    warnOfMistypedVariables(env, collectors, '', issues);
    inheritCollectors(document);
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
  refuseClusterOverrides(clusterOverrides, file, text, issues);
  warnOfMistypedVariables(env, collectors, text, issues);
  const document = readDocument(text, file, issues);
  for (const override of overrides) {
    if (!clusterOverrides.includes(override)) applyOverride(document, override);
  }
  inheritCollectors(document);
  return document;
}

/** A value that a flag or a variable sets for a key. */
interface Override {
  readonly key: ConfigKey;
  readonly value: unknown;
  /** `--flag`, or the name of the variable. */
  readonly source: string;
}

/** The values of all flags and variables that are set. A variable is not used if its flag is set. */
function listOverrides({ flags, env, collectors }: WrittenSources): readonly Override[] {
  return listConfigKeys(collectors).flatMap((key) => {
    const { flag = '', variable = '', valueType, isList } = key;
    const flagValue = flags[flag];
    // An empty variable counts as not set, as templates without a value set one.
    const text = env[variable] ?? '';
    if (flagValue === undefined && text === '') return [];
    const texts = flagValue === undefined ? splitVariable(text, isList) : [flagValue].flat();
    const values = texts.map((value) => parseText(valueType, String(value)));
    const source = flagValue === undefined ? variable : `--${flag}`;
    return { key, value: isList ? values : values[0], source };
  });
}

function splitVariable(text: string, isList: boolean): readonly string[] {
  if (!isList) return [text];
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** Converts the text of a flag or variable to the type of its key: "5" to 5. A text of another form is left to validation. */
function parseText(valueType: string | undefined, text: string): unknown {
  if (valueType === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  const isNumeric = valueType === 'integer' || valueType === 'number';
  if (isNumeric && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  if (valueType === 'path' && text !== '') return path.resolve(text);
  const [, socket] = (valueType === 'address' && /^unix:(.+)$/s.exec(text)) || [];
  return socket === undefined ? text : `unix:${path.resolve(socket)}`;
}

/**
 * Replaces a value of the document. That of a collector is also replaced in each cluster. Example: `--no-collector.users`
 * sets `collectors.users.enabled`, and `clusters[0].collectors.users.enabled` for the first cluster.
 */
function applyOverride(document: SourceDocument, { key, value, source }: Override): void {
  const keyPath = key.path
    .split('.')
    .flatMap((step) => (step.endsWith('[]') ? [step.slice(0, -2), 0] : [step]));
  document.set(keyPath, value, source);
  const { clusters } = document.input;
  if (keyPath[0] !== 'collectors' || !Array.isArray(clusters)) return;
  for (const [index, cluster] of clusters.entries()) {
    if (isMap(cluster)) document.set(['clusters', index, ...keyPath], value, source, keyPath);
  }
}

/**
 * Rejects flags that describe a cluster beside a file that describes clusters. A variable with a secret may be set, as the
 * file may name it in `password_env`; otherwise there is a warning that it is not used.
 */
function refuseClusterOverrides(
  overrides: readonly Override[],
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

const PREFIX = variableOf('');
/** The ends of the variables that Kubernetes sets in each container for a service called crdb-exporter. */
const KUBERNETES_VARIABLE = /^(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d|$))/;

/** Warns of unknown variables that resemble a known one, unless the file names them, as for a secret. */
function warnOfMistypedVariables(
  env: Environment,
  collectors: readonly CollectorOptions[],
  text: string,
  issues: ConfigIssues,
): void {
  const keys = listConfigKeys(collectors).flatMap(({ variable }) => variable ?? []);
  const known = [CONFIG_FILE.variable, ...keys].map((name) => name.slice(PREFIX.length));
  for (const name of Object.keys(env)) {
    const end = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
    const isUsed = known.includes(end) || text.includes(name);
    if (end === '' || KUBERNETES_VARIABLE.test(end) || isUsed) continue;
    const nearest = findNearest(end, known);
    if (nearest === undefined) continue;
    const message = `unknown variable, not used: did you mean ${PREFIX}${nearest}?`;
    issues.warn({ source: name, path: '' }, message);
  }
}

/**
 * Gives each cluster the common settings of collectors that it does not set. Example: with `collectors.users.interval: 5m`
 * for all, and `enabled: false` for users of a cluster, users have both settings in that cluster.
 */
function inheritCollectors(document: SourceDocument): void {
  const { clusters, collectors: common } = document.input;
  if (!Array.isArray(clusters) || !isMap(common)) return;
  for (const [index, cluster] of clusters.entries()) {
    if (!isMap(cluster)) continue;
    const clusterBlocks = cluster['collectors'] ?? {};
    if (!isMap(clusterBlocks)) continue;
    const merged = Object.entries(common).map(([name, block]) => {
      const settings = clusterBlocks[name] ?? block;
      return [name, isMap(block) && isMap(settings) ? { ...block, ...settings } : settings];
    });
    cluster['collectors'] = { ...clusterBlocks, ...Object.fromEntries(merged) };
    document.addCopy(['clusters', index, 'collectors'], ['collectors']);
  }
}
