import { type Command, Option } from 'commander';
import { COLLECTORS } from '../collectors/index.ts';
import { type FlagDefinition, flagDefinitions } from '../config/flags.ts';
import type { Flags } from '../config/flags.ts';

const FLAGS = flagDefinitions(COLLECTORS);

/** Adds the configuration's flags to a command, from the schema of the configuration. */
export function addConfigFlags(command: Command): void {
  for (const flag of FLAGS) {
    for (const option of toOptions(flag)) command.addOption(option);
  }
}

/** What is of use to a command that asks a cluster; the rest is taken but not listed. */
const CONNECTION_FLAG = /^(?:config\.file|cluster\.|cloud\.)/;

/** Adds the same flags, but only those in the help that say how a cluster is reached. */
export function addConnectionFlags(command: Command): void {
  for (const flag of FLAGS) {
    for (const option of toOptions(flag)) {
      command.addOption(CONNECTION_FLAG.test(flag.name) ? option : option.hideHelp());
    }
  }
}

/** What was given on the command line, by the flags' own names. */
export function readConfigFlags(command: Command): Flags {
  const given = command.opts<Record<string, string | boolean | string[]>>();
  return Object.fromEntries(
    FLAGS.map((flag) => {
      const [option] = toOptions(flag);
      return [flag.name, option && given[option.attributeName()]];
    }),
  );
}

function toOptions(flag: FlagDefinition): Option[] {
  const help = `${flag.help} [env: ${flag.env}${flag.default === undefined ? '' : `; default: ${flag.default}`}]`;
  if (flag.takesValue === undefined) {
    const on = new Option(`--${flag.name}`, help);
    return flag.isNegatable ? [on, new Option(`--no-${flag.name}`).hideHelp()] : [on];
  }
  const option = new Option(`--${flag.name} <${flag.takesValue}>`, help);
  if (flag.isRepeatable) {
    option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
  }
  return [option];
}
