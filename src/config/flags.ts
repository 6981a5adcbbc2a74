import type { CollectorOptions } from './collector-schema.ts';
import { type ConfigKey, listKeys } from './keys.ts';
import { isMap, setValue, type SourceDocument } from './document.ts';
import { configSchema } from './schema.ts';
import type { Environment } from './secret.ts';
import { parseFlagText } from './values.ts';

/** A flag of the command line, for whoever builds the command line. */
export interface FlagDefinition {
  /** Without the dashes: `web.listen-address`. */
  readonly name: string;
  /** The variable of the same meaning. */
  readonly env: string;
  /** What follows the flag, as `address`; undefined for a switch. */
  readonly takesValue: string | undefined;
  readonly isRepeatable: boolean;
  /** True for a switch that `--no-NAME` turns off. */
  readonly isNegatable: boolean;
  readonly help: string;
  /** As it would be written on the command line; undefined when there is none. */
  readonly default: string | undefined;
}

/** Flags by their names without dashes; those not given are absent or undefined. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** The one flag that is no key of the file. */
export const CONFIG_FILE_FLAG = 'config.file';

const VARIABLE_PREFIX = 'CRDB_EXPORTER_';

/** `web.listen-address` is `CRDB_EXPORTER_WEB_LISTEN_ADDRESS`. */
export function environmentName(flag: string): string {
  return `${VARIABLE_PREFIX}${flag.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}

/** Every key of the configuration file, in its order. */
export function listConfigKeys(collectors: readonly CollectorOptions[]): readonly ConfigKey[] {
  return listKeys(configSchema(collectors));
}

/** All flags of the configuration, in the order of the file. */
export function flagDefinitions(collectors: readonly CollectorOptions[]): FlagDefinition[] {
  const configFile = {
    name: CONFIG_FILE_FLAG,
    env: environmentName(CONFIG_FILE_FLAG),
    takesValue: 'path',
    isRepeatable: false,
    isNegatable: false,
    help: 'Configuration file; without one, a single cluster is given by flags.',
    default: undefined,
  };
  return [configFile, ...listConfigKeys(collectors).flatMap(defineFlag)];
}

function defineFlag(configKey: ConfigKey): FlagDefinition[] {
  const { flag, valueType, isList, help, default: value } = configKey;
  if (flag === undefined) return [];
  const isSwitch = valueType === 'boolean';
  return [
    {
      name: flag,
      env: environmentName(flag),
      takesValue: isSwitch ? undefined : valueType,
      isRepeatable: isList,
      isNegatable: isSwitch,
      help,
      default: formatDefault(value),
    },
  ];
}

function formatDefault(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(String).join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A setting given outside the file. */
export interface Override {
  readonly key: Pick<ConfigKey, 'path' | 'flag'>;
  readonly value: unknown;
  /** `--flag` or the name of the variable. */
  readonly source: string;
}

/** What flags and variables set: a flag before its variable, a variable before the file. */
export function listOverrides(
  flags: Flags,
  env: Environment,
  collectors: readonly CollectorOptions[],
): Override[] {
  return listConfigKeys(collectors).flatMap(
    (configKey) => fromFlag(configKey, flags) ?? fromVariable(configKey, env) ?? [],
  );
}

function fromFlag(configKey: ConfigKey, flags: Flags): Override | undefined {
  const given = configKey.flag === undefined ? undefined : flags[configKey.flag];
  if (given === undefined) return undefined;
  const texts = Array.isArray(given) ? given : [String(given)];
  return override(configKey, `--${configKey.flag}`, texts);
}

/** An empty variable counts as unset: templates leave one when they have no value. */
function fromVariable(configKey: ConfigKey, env: Environment): Override | undefined {
  const { flag, variable = flag && environmentName(flag), isList } = configKey;
  const value = variable === undefined ? '' : (env[variable] ?? '');
  if (variable === undefined || value === '') return undefined;
  if (!isList) return override(configKey, variable, [value]);
  const parts = value.split(',').map((part) => part.trim());
  return override(
    configKey,
    variable,
    parts.filter((part) => part !== ''),
  );
}

function override(key: ConfigKey, source: string, texts: readonly string[]): Override {
  const values = texts.map((value) => parseFlagText(key.valueType, value));
  return { key, value: key.isList ? values : values[0], source };
}

/** Sets a value over that of the file. A collector's switch also overrides every cluster's own. */
export function applyOverride(document: SourceDocument, { key, value, source }: Override): void {
  setValue(document, key.path, { value, source });
  const { clusters } = document.input;
  if (!key.path.startsWith('collectors.') || !Array.isArray(clusters)) return;
  for (const cluster of clusters) {
    if (isMap(cluster)) setValue({ ...document, input: cluster }, key.path, { value, source });
  }
}
