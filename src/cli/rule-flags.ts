import { type Command, Option } from 'commander';
import { completeLinks, readSettings, SettingError, type Settings } from '#alerts';
import { findFile } from '#config';
import { type CommandContext, usageError } from './command.ts';
import { addConfigFileFlag, configSources, loadCommandConfig } from './schema-flags.ts';

/** Adds the flags of the settings of rules and dashboards: `--set`, and a configuration whose limits and links count. */
export function addRuleFlags(command: Command, about: string): void {
  addConfigFileFlag(command);
  command.addOption(
    new Option('--set <key=value>', about)
      .default([])
      .argParser((pair: string, pairs: readonly string[]) => [...pairs, pair]),
  );
}

/** The settings that the flags make. Rejects with an error for the user where they cannot be used. */
export async function readRuleFlags(command: Command, context: CommandContext): Promise<Settings> {
  const { set } = command.opts<{ readonly set: readonly string[] }>();
  const file = findFile(configSources(command, context));
  const config = file === undefined ? undefined : await loadCommandConfig(command, context);
  const configured =
    config && file !== undefined ? { ...config, links: completeLinks(config), file } : undefined;
  try {
    return readSettings(set, configured);
  } catch (error) {
    throw error instanceof SettingError ? usageError(error.message) : error;
  }
}
