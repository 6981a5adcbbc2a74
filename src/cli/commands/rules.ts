import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { readSettings, SettingError, SETTINGS } from '../../alerts/rule-settings.ts';
import { writeRules } from '../../alerts/rules-template.ts';
import { explainFileError } from '../../config/files.ts';
import { findFile } from '../../config/sources.ts';
import { addExamples, type CommandContext, CommandError, usageError } from '../command.ts';
import { addConfigFileFlag, configSources, loadCommandConfig } from '../schema-flags.ts';

/** `rules`: prints the recording and alerting rules. */
export function define(command: Command, context: CommandContext): void {
  addConfigFileFlag(command);
  command
    .addOption(
      new Option('--set <key=value>', 'Change a setting; repeatable. The settings are below.')
        .default([])
        .argParser((pair: string, pairs: readonly string[]) => [...pairs, pair]),
    )
    .option('--output <file>', 'Write to this file instead of standard output.');
  addExamples(
    command,
    'rules --config.file=exporter.yml --output rules.yml',
    'rules --set disk=0.25 --set severity.CrdbNodeDead=critical --set label.team=database',
    "rules --set 'excluded_applications=pg_dump|nightly-.*'",
  );
  command.addHelpText('after', () => `\nSettings:\n${describeSettings()}`);
  command.action(
    async ({ set, output }: { readonly set: readonly string[]; readonly output?: string }) => {
      const file = findFile(configSources(command, context));
      const configured =
        file === undefined ? undefined : { ...(await loadCommandConfig(command, context)), file };
      const text = writeRules(readPairs(set, configured));
      if (output === undefined) {
        process.stdout.write(text);
        return;
      }
      try {
        writeFileSync(output, text);
      } catch (error) {
        throw new CommandError(`cannot write ${output}: ${explainFileError(error, 'folder')}`);
      }
    },
  );
}

function describeSettings(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, [, value, about]]) => `  ${name} (${value || 'none'}): ${about}`,
  );
  return [
    ...rows,
    '  severity.ALERT: off, info, warning or critical; of an alert with two severities the highest',
    '  for.ALERT: how long an alert waits, for example 10m; of an alert with two severities both',
    '  label.NAME: a label of every alert',
  ].join('\n');
}

function readPairs(...given: Parameters<typeof readSettings>): ReturnType<typeof readSettings> {
  try {
    return readSettings(...given);
  } catch (error) {
    throw error instanceof SettingError ? usageError(error.message) : error;
  }
}
