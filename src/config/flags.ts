import type { CollectorOptions } from './collector-options.ts';
import { listOptions } from './options.ts';
import type { Option } from './section.ts';

/** A flag of the command line, for whoever builds the command line. */
export interface FlagDefinition {
  /** Without the dashes: `web.listen-address`. */
  readonly name: string;
  /** The variable that says the same. */
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

/** The one flag that is no key of the file. */
export const CONFIG_FILE_FLAG = 'config.file';

const VARIABLE_PREFIX = 'CRDB_EXPORTER_';

/** `web.listen-address` is `CRDB_EXPORTER_WEB_LISTEN_ADDRESS`. */
export function environmentName(flag: string): string {
  return `${VARIABLE_PREFIX}${flag.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}

/** All flags of the configuration, in the order of the table. */
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
  return [configFile, ...listOptions(collectors).flatMap(defineFlag)];
}

function defineFlag(option: Option<unknown>): FlagDefinition[] {
  const { flag, kind, help } = option;
  if (flag === undefined) return [];
  const isSwitch = kind.schema['type'] === 'boolean';
  return [
    {
      name: flag,
      env: environmentName(flag),
      takesValue: isSwitch ? undefined : kind.name,
      isRepeatable: isRepeatable(option),
      isNegatable: isSwitch,
      help,
      default: 'default' in option ? writeDefault(option) : undefined,
    },
  ];
}

/** Repeated as a flag, separated by commas as a variable. */
export function isRepeatable(option: Option<unknown>): boolean {
  return option.kind.schema['type'] === 'array';
}

function writeDefault({ kind, default: value }: Option<unknown>): string {
  const written = kind.write(value);
  return Array.isArray(written) ? written.join(',') : String(written);
}
