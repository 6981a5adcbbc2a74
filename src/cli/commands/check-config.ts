import type { Command } from 'commander';
import { ConfigError } from '#config';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { addConfigFlags, loadCommandConfig } from '../schema-flags.ts';

/** `check`: the configuration as `serve` would read it. */
export function define(command: Command, context: CommandContext): void {
  addConfigFlags(command);
  addExamples(command, 'check --config.file=exporter.yml');
  command.action(() => check(command, context));
}

/** Reads the configuration as `serve` would and prints every error and warning. */
export async function check(command: Command, context: CommandContext): Promise<void> {
  try {
    const { clusters } = await loadCommandConfig(command, context, 'all');
    process.stdout.write(`the configuration is valid: ${clusters.length} cluster(s)\n`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    context.setExitCode(EXIT.failed);
  }
}
