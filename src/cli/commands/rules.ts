import { type Command, Option } from 'commander';
import { type Dialect, DIALECTS, SETTINGS, writeRules } from '#alerts';
import { addExamples, type CommandContext } from '../command.ts';
import { writeOutputFile } from '../output/output-file.ts';
import { addRuleFlags, readRuleFlags } from '../rule-flags.ts';

interface Options {
  readonly output?: string;
  readonly dialect: Dialect;
}

/** `rules`: prints the recording and alerting rules. */
export function define(command: Command, context: CommandContext): void {
  addRuleFlags(command, 'Change a setting; repeatable. The settings are below.');
  command.addOption(
    new Option('--dialect <name>', 'promql; metricsql for vmalert with VictoriaMetrics.')
      .choices(DIALECTS)
      .default('promql'),
  );
  command.option('--output <file>', 'Write to this file instead of standard output.');
  addExamples(
    command,
    'rules --config.file=exporter.yml --output rules.yml',
    'rules --set disk=0.25 --set severity.CrdbNodeUnavailable=critical --set label.team=database',
    "rules --set 'excluded_applications=pg_dump|nightly-.*'",
    'rules --dialect metricsql --output rules.yml',
  );
  command.addHelpText('after', () => `\nSettings:\n${describeSettings()}`);
  command.action(async ({ output, dialect }: Options) => {
    const text = writeRules(await readRuleFlags(command, context), dialect);
    if (output === undefined) {
      process.stdout.write(text);
      return;
    }
    await writeOutputFile('--output', output, text);
  });
}

function describeSettings(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, [, value, about]]) => `  ${name} (${value || 'none'}): ${about}`,
  );
  return [
    ...rows,
    '  severity.ALERT: off, info, warning or critical; of an alert with two severities the highest it keeps',
    '  for.ALERT: how long an alert waits, for example 10m; of an alert with two severities both',
    '  label.NAME: a label of every alert',
  ].join('\n');
}
