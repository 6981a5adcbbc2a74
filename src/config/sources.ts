import { resolve } from 'node:path';
import * as v from 'valibot';
import { findNearest } from '#base';
import type { CollectorOptions } from './collector-schema.ts';
import { readDocument, SourceDocument } from './document.ts';
import { type Environment, withoutLineEnd } from './files.ts';
import { type ConfigIssues, isMap, UsageError } from './issues.ts';
import { configSchema } from './keys-and-flags.ts';
import { type AnySchema, type KeyMeta, makeAbsolute, unwrap } from './values.ts';

/** A key as the command line and the documentation see it. */
export interface ConfigKey extends KeyMeta {
  /** Dotted key in the file; `clusters[]` stands for any member of the list. */
  readonly path: string;
  /** One word for `--help`: `<duration>`. */
  readonly valueType?: string;
  /** The default as it is written in the file; undefined when there is none. */
  readonly default: unknown;
  /** Repeated as a flag, separated by commas as a variable. */
  readonly isList: boolean;
}

/** Every key of the configuration file in its order, but for the collectors' that each cluster may repeat. */
export function listConfigKeys(collectors: readonly CollectorOptions[]): readonly ConfigKey[] {
  return listKeys(configSchema(collectors), '');
}

function listKeys(schema: AnySchema, path: string): ConfigKey[] {
  const inner = unwrap(schema);
  const { entries } = inner.item ? unwrap(inner.item) : inner;
  if (path === 'clusters[].collectors') return [];
  // A list of maps can be a key too.
  const isKey = v.getDescription(schema) !== undefined;
  if (entries === undefined || isKey) return [describeKey(schema, path)];
  const prefix = path === '' ? '' : `${path}${inner.item ? '[]' : ''}.`;
  return Object.entries(entries).flatMap(([name, entry]) => listKeys(entry, prefix + name));
}

/** The sections whose keys all have flags. */
const HAVE_FLAGS = /^(?:web|log|shard|config)\./;

function describeKey(schema: AnySchema, path: string): ConfigKey {
  const inner = unwrap(schema);
  const meta: Partial<KeyMeta> = v.getMetadata(schema);
  const flag = meta.flag ?? (HAVE_FLAGS.test(path) ? path.replaceAll('_', '-') : undefined);
  return {
    ...(inner.item && v.getMetadata(unwrap(inner.item))),
    ...v.getMetadata(inner),
    ...meta,
    ...(flag !== undefined && { flag, variable: variableOf(flag) }),
    path,
    help: v.getDescription(schema) ?? '',
    default: v.getDefault(schema),
    isList: inner.item !== undefined,
  };
}

/** `web.listen-address` is `CRDB_EXPORTER_WEB_LISTEN_ADDRESS`. */
function variableOf(flag: string): string {
  return `CRDB_EXPORTER_${flag.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}

/** The values of flags by their names without dashes; undefined for a flag that is not set. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A key that has a flag. It also has a variable, whose name is derived from the name of the flag. */
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

/** How a command line repeats the sources. */
interface RepeatedSources {
  /** `--config.file=/etc/exporter.yml`, or the flags of the only cluster. None has a secret. */
  readonly flags: readonly string[];
  /** The variables with secrets that are needed beside them, as far as the file does not name them. */
  readonly variables: readonly string[];
}

/** The flags that give a command the clusters of these sources; `hasVariables` where it is run with the same variables. */
export function repeatSources(sources: WrittenSources, hasVariables: boolean): RepeatedSources {
  const file = findFile(sources);
  if (file !== undefined) {
    const isKnown = hasVariables && sources.flags[CONFIG_FILE.flag] === undefined;
    return { flags: isKnown ? [] : [`--${CONFIG_FILE.flag}=${resolve(file)}`], variables: [] };
  }
  const needed = listOverrides(sources).filter(
    ({ key, source }) =>
      key.path.startsWith('clusters[].') && (source.startsWith('--') || !hasVariables),
  );
  return {
    flags: needed.flatMap(({ key: { flag }, value }) => {
      if (flag === undefined) return [];
      if (typeof value === 'boolean') return [value ? `--${flag}` : `--no-${flag}`];
      return [value].flat().map((each) => `--${flag}=${String(each)}`);
    }),
    // What has no flag is a secret.
    variables: needed.flatMap(({ key: { flag }, source }) => (flag === undefined ? [source] : [])),
  };
}

/**
 * Makes one document of the file, of variables, which replace its values, and of flags, which replace those of variables.
 * The document is not validated yet. Without a file, the flags of a cluster describe the only one, `default`. Rejects with
 * a UsageError for flags of a cluster beside a file.
 */
export async function readSources(
  sources: WrittenSources,
  issues: ConfigIssues,
): Promise<SourceDocument> {
  const file = findFile(sources);
  const all = listOverrides(sources);
  const ofCluster = all.filter(({ key }) => key.path.startsWith('clusters[].'));
  // A variable with a secret may be set beside a file, which may name it in `password_env`.
  const flags = ofCluster.filter(({ key }) => key.flag !== undefined);
  if (file !== undefined && flags.length > 0) {
    const names = flags.map(({ source }) => source).join(', ');
    throw new UsageError(
      `${names} beside the configuration file ${file}: describe the cluster in the file or by flags, not both`,
    );
  }
  const document =
    file === undefined
      ? new SourceDocument(issues)
      : await readDocument(file, 'the configuration file', issues);
  if (file === undefined && ofCluster.length > 0) {
    document.set(['clusters', 0, 'name'], 'default', 'command line');
  }
  const used = file === undefined ? all : all.filter((each) => !ofCluster.includes(each));
  for (const override of used) applyOverride(document, override);
  warnOfMistypedVariables(sources, document);
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
    const written = env[variable] ?? '';
    // What has no flag is a secret.
    const text = flag === '' ? withoutLineEnd(written) : written;
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
  return makeAbsolute(valueType, text, '');
}

/**
 * Replaces a value of the document. A value for the collectors of all clusters also removes the values of each cluster. Example:
 * `--no-collector.users` sets `collectors.users.enabled`, and removes it from `clusters[0].collectors.users`.
 */
function applyOverride(document: SourceDocument, { key, value, source }: Override): void {
  const steps = key.path.split('.');
  const keyPath = steps.flatMap((step) => (step.endsWith('[]') ? [step.slice(0, -2), 0] : [step]));
  const [section, collector = '', name = ''] = steps;
  const clusters = section === 'collectors' ? document.input['clusters'] : undefined;
  for (const cluster of Array.isArray(clusters) ? clusters.filter(isMap) : []) {
    const { collectors } = cluster;
    const settings = isMap(collectors) ? collectors[collector] : undefined;
    if (isMap(settings)) delete settings[name];
  }
  document.set(keyPath, value, source);
}

/** Warns of unknown variables that resemble a known one, unless the file names them, as for a secret. */
function warnOfMistypedVariables({ env, collectors }: WrittenSources, document: SourceDocument) {
  const prefix = variableOf('');
  const names = Object.keys(env).filter(
    (name) => name.startsWith(prefix) && !document.text.includes(name),
  );
  if (names.length === 0) return;
  const keys = listConfigKeys(collectors).flatMap(({ variable }) => variable ?? []);
  const known = [CONFIG_FILE.variable, ...keys];
  const ends = known.map((each) => each.slice(prefix.length));
  for (const name of names.filter((each) => !known.includes(each))) {
    const nearest = findNearest(name.slice(prefix.length), ends);
    if (nearest === undefined) continue;
    const message = `unknown variable, not used: did you mean ${prefix}${nearest}?`;
    document.issues.warn({ source: name, path: '' }, message);
  }
}
