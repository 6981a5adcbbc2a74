import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import type { Format } from '../../../dashboards/formats.ts';
import { addExamples, type CommandContext } from '../command.ts';
import { unwritable, writeOutputFile } from '../output/output-file.ts';
import { addRuleFlags, readRuleFlags } from '../rule-flags.ts';

const FORMATS: readonly Format[] = ['json', 'configmap', 'grafana-operator'];

interface Flags {
  readonly output: string;
  readonly format: Format;
}

/** `dashboards`: writes the Grafana dashboards. */
export function define(command: Command, context: CommandContext): void {
  command.option('--output <folder>', 'Write the files to this folder.', 'dashboards');
  command.addOption(
    new Option('--format <format>', 'Files for Grafana, for its sidecar, or for its operator.')
      .choices(FORMATS)
      .default('json'),
  );
  addRuleFlags(
    command,
    'Change a threshold, the jobs or the address of the runbooks, as of the rules; repeatable.',
  );
  addExamples(
    command,
    'dashboards --config.file=exporter.yml --output dashboards',
    "dashboards --set disk=0.25 --set 'job=crdb-.*' --format configmap",
  );
  command.action(async ({ output, format }: Flags) => {
    const settings = await readRuleFlags(command, context);
    // Loaded on demand: their library is larger than the rest of the program.
    const { buildBoards } = await import('../../../dashboards/boards.ts');
    const { writeBoard } = await import('../../../dashboards/formats.ts');
    await mkdir(output, { recursive: true }).catch((error: unknown) => {
      throw unwritable('--output', output, error);
    });
    for (const { name, text } of buildBoards(settings).map((board) => writeBoard(board, format))) {
      const file = path.join(output, name);
      await writeOutputFile('--output', file, text);
      process.stdout.write(`${file}\n`);
    }
  });
}
