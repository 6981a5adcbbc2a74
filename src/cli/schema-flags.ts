import { type Command, Option } from 'commander';
import { COLLECTORS } from '#collectors';
import {
  type Config,
  CONFIG_FILE,
  type ConfigSources,
  type FlagKey,
  formatIssues,
  listFlags,
  loadConfig,
} from '#config';
import { type CommandContext, usageError } from './command.ts';

// The flags of the configuration are declared in its schema (config/keys-and-flags.ts, config/cluster-schema.ts), each with its
// key, type, default and help. This file gives them to the commands.

const FLAGS = listFlags(COLLECTORS);
const SWITCHES = new Set(
  FLAGS.filter(({ valueType }) => valueType === 'boolean').map(({ flag }) => flag),
);

/** Heading of the flags that configure how to reach a cluster. */
const CONNECTION_GROUP = 'Connection:';
/** Other headings by the first word of a flag. */
const GROUPS: Readonly<Record<string, string>> = {
  web: 'Web server:',
  cluster: CONNECTION_GROUP,
  cloud: CONNECTION_GROUP,
  collector: 'Collectors:',
};
const CONNECTION_FLAG = /^(?:config\.file|cluster\.|cloud\.)/;

/** Adds the configuration's flags to a command, from the schema of the configuration. */
export function addConfigFlags(command: Command): void {
  for (const option of FLAGS.flatMap(toOptions)) {
    const group = GROUPS[option.name().split('.')[0] ?? ''];
    command.addOption(group === undefined ? option : option.helpGroup(group));
  }
}

/** Adds `--config.file` alone, for a command that reads only settings. */
export function addConfigFileFlag(command: Command): void {
  for (const option of toOptions(CONFIG_FILE)) command.addOption(option);
}

/** The flags that choose a cluster, and whether its requests are logged. */
export interface ClusterFlags {
  readonly cluster?: string;
  readonly verbose?: true;
}

/** Adds `--cluster` and the same flags for a command that queries a cluster; its help lists only how to reach it. */
export function addClusterOptions(command: Command): void {
  const help = 'Configured cluster to query; required if there are several.';
  command.addOption(new Option('--cluster <name>', help).helpGroup(CONNECTION_GROUP));
  command.option('--verbose', 'Log each request on standard error.');
  for (const option of FLAGS.flatMap(toOptions)) {
    const isShown = CONNECTION_FLAG.test(option.name());
    command.addOption(isShown ? option.helpGroup(CONNECTION_GROUP) : option.hideHelp());
  }
}

/** Where the configuration of the exporter comes from: the flags on the command line, by their own names, and variables. */
export function configSources(command: Command, { env }: CommandContext): ConfigSources {
  const options = command.opts<Record<string, string | boolean | string[]>>();
  const flags = FLAGS.map(({ flag }) => [flag, options[new Option(`--${flag}`).attributeName()]]);
  return { flags: Object.fromEntries(flags), env, collectors: COLLECTORS };
}

/**
 * The configuration as the exporter would read it; warnings go to standard error. A command reads the files that it uses
 * when it does.
 */
export async function loadCommandConfig(
  command: Command,
  context: CommandContext,
  checkedFiles: ConfigSources['checkedFiles'] = 'none',
): Promise<Config> {
  const sources = configSources(command, context);
  const { config, warnings } = await loadConfig({ ...sources, checkedFiles });
  if (warnings.length > 0) process.stderr.write(`${formatIssues(warnings)}\n`);
  return config;
}

/** The name of an option in the help: `--[no-]collector.users` stands for two. */
export function optionTerm(option: Option): string {
  return SWITCHES.has(option.name()) ? option.flags.replace('--', '--[no-]') : option.flags;
}

/** `--flag=true` and `--flag=false` of the configuration's switches as `--flag` and `--no-flag`. */
export function expandSwitches(args: readonly string[]): readonly string[] {
  return args.map((arg) => {
    const [, name = '', value] = /^--([\w.-]+)=(.*)$/s.exec(arg) ?? [];
    if (!SWITCHES.has(name)) return arg;
    if (value === 'true') return `--${name}`;
    if (value === 'false') return `--no-${name}`;
    throw usageError(`--${name} is true or false: write --${name} or --no-${name}`);
  });
}

function toOptions(key: FlagKey): Option[] {
  const { flag, variable, valueType } = key;
  const end = key.default === undefined ? '' : `; default: ${formatDefault(key.default)}`;
  const help = `${key.help} [env: ${variable}${end}]`;
  if (SWITCHES.has(flag)) {
    return [new Option(`--${flag}`, help), new Option(`--no-${flag}`).hideHelp()];
  }
  const option = new Option(`--${flag} <${valueType}>`, help);
  if (key.isList) {
    option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
  }
  return [option];
}

function formatDefault(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
