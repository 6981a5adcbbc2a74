import type { Command } from 'commander';
import { COLLECTORS } from '../collectors/index.ts';
import { ConfigError, formatIssues } from '../config/issues.ts';
import type { ConfigSources } from '../config/load.ts';
import { loadConfig } from '../config/load.ts';
import { addExamples, type Invocation } from './command.ts';
import { EXIT } from './exit.ts';
import { addConfigFlags, readConfigFlags } from './flags.ts';

/** `check`: the configuration as `serve` would read it. */
export function define(command: Command, { env, done }: Invocation): void {
  addConfigFlags(command);
  addExamples(command, 'check --config.file=exporter.yml');
  command.action(async () => done(await check({ flags: readConfigFlags(command), env })));
}

/** Reads the configuration as `serve` would and prints every problem and warning at once. */
export async function check(sources: Omit<ConfigSources, 'collectors'>): Promise<number> {
  try {
    const { config, warnings } = await loadConfig({ ...sources, collectors: COLLECTORS });
    if (warnings.length > 0) process.stderr.write(`${formatIssues(warnings)}\n`);
    process.stdout.write(`the configuration is good: ${config.clusters.length} cluster(s)\n`);
    return EXIT.good;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT.failed;
  }
}
