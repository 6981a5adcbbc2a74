import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { explainFileError } from '../../config/files.ts';
import { addExamples, CommandError } from '../command.ts';
import { SETTINGS } from '../rules/settings.ts';
import { writeRules } from '../rules/write.ts';

/** `rules`: prints the recording and alerting rules. */
export function define(command: Command): void {
  command
    .addOption(
      new Option('--set <key=value>', 'Change a setting; repeatable. The settings are below.')
        .default([])
        .argParser((pair: string, pairs: readonly string[]) => [...pairs, pair]),
    )
    .option('--output <file>', 'Write to this file instead of standard output.');
  addExamples(
    command,
    'rules --output rules.yml',
    'rules --set disk=0.25 --set severity.CrdbNodeDead=critical --set label.team=database',
    "rules --set 'excluded_applications=pg_dump|nightly-.*'",
  );
  command.addHelpText('after', () => `\nSettings:\n${describeSettings()}`);
  command.action(
    ({ set, output }: { readonly set: readonly string[]; readonly output?: string }) => {
      const text = writeRules(set);
      if (output === undefined) process.stdout.write(text);
      else writeTo(output, text);
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
    '  label.NAME: a label of every alert',
  ].join('\n');
}

function writeTo(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CommandError(`cannot write ${file}: ${explainFileError(error, 'folder')}`);
  }
}
