import type { Command } from 'commander';
import { COLLECTORS } from '../../collectors/index.ts';
import { ConfigError, formatIssues } from '../../config/issues.ts';
import { type ConfigSources, loadConfig } from '../../config/load.ts';
import { addExamples, type CommandContext, EXIT } from '../command.ts';
import { addConfigFlags, readConfigFlags } from '../flags.ts';

/** `check`: the configuration as `serve` would read it. */
export function define(command: Command, { env, setExitCode }: CommandContext): void {
  addConfigFlags(command);
  addExamples(command, 'check --config.file=exporter.yml');
  command.action(async () => setExitCode(await check({ flags: readConfigFlags(command), env })));
}

/** Reads the configuration as `serve` would and prints every error and warning. */
export async function check(sources: Omit<ConfigSources, 'collectors'>): Promise<number> {
  try {
    const { config, warnings } = await loadConfig({ ...sources, collectors: COLLECTORS });
    if (warnings.length > 0) process.stderr.write(`${formatIssues(warnings)}\n`);
    process.stdout.write(`the configuration is valid: ${config.clusters.length} cluster(s)\n`);
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT.failed;
  }
}
