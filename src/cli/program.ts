import { Command, CommanderError } from 'commander';
import { ConfigError, UsageError } from '../config/findings.ts';
import type { Environment } from '../config/givens.ts';
import { readBuild } from './build.ts';
import { check } from './check.ts';
import { demo, scenarioOption } from './demo.ts';
import { CommandError, EXIT } from './exit.ts';
import { addConfigFlags, readConfigFlags } from './flags.ts';
import { addReferenceOptions, reference } from './reference.ts';
import { serve } from './serve.ts';
import { addSimulateOptions, simulate } from './simulate.ts';

const EXAMPLES = `
Examples:
  crdb-exporter demo
  crdb-exporter --config.file=exporter.yml
  crdb-exporter --cluster.url=https://crdb:8080 --cluster.username=exporter --cluster.password-file=/run/secrets/crdb
`;

/** Runs what the arguments ask for; resolves to the exit code once it is done. */
export async function runCommandLine(args: readonly string[], env: Environment): Promise<number> {
  try {
    let exitCode: number = EXIT.good;
    const program = createProgram(env, (code) => {
      exitCode = code;
    });
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    return explain(error);
  }
}

function createProgram(env: Environment, done: (exitCode: number) => void): Command {
  const build = readBuild();
  const program = new Command('crdb-exporter')
    .description('Prometheus exporter for CockroachDB.')
    .version(
      `crdb-exporter ${build.version} (revision ${build.revision}, Node.js ${build.nodeVersion}, ${build.platform})`,
      '--version',
    )
    .helpOption('-h, --help')
    .showSuggestionAfterError()
    .addHelpText('after', EXAMPLES)
    .enablePositionalOptions()
    .exitOverride();
  const root = withCommon(program.command('serve', { isDefault: true }))
    .description('run the exporter (what is done when no command is named)')
    .option('--config.check', 'check the configuration, print what is wrong with it and exit');
  addConfigFlags(root);
  root.action(async (options: { readonly 'config.check'?: boolean }) => {
    const sources = { flags: readConfigFlags(root), env };
    done(options['config.check'] === true ? await check(sources) : await serve(sources, build));
  });

  const checkCommand = withCommon(program.command('check')).description(
    'check the configuration and print everything that is wrong with it',
  );
  addConfigFlags(checkCommand);
  checkCommand.action(async () => done(await check({ flags: readConfigFlags(checkCommand), env })));

  withCommon(program.command('demo'))
    .description('run the built-in simulator and the exporter together')
    .addOption(scenarioOption())
    .action(async ({ scenario }: { readonly scenario: 'calm' | 'incident' }) => {
      done(await demo(scenario, build));
    });

  const simulateCommand = withCommon(program.command('simulate')).description(
    'run the simulator of the cluster API and the Cloud API alone',
  );
  addSimulateOptions(simulateCommand);
  simulateCommand.action(async () => done(await simulate(simulateCommand)));

  const referenceCommand = withCommon(program.command('reference')).description(
    'print what every metric means',
  );
  addReferenceOptions(referenceCommand);
  referenceCommand.action(() => done(reference(referenceCommand)));
  return program;
}

/** Options of sub-commands come after the command's name; an argument too many is a typing error. */
function withCommon(command: Command): Command {
  return command.exitOverride().showSuggestionAfterError().allowExcessArguments(true);
}

/** Prints what went wrong, for a person; resolves to the exit code. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed it already, help and version included.
    return error.exitCode === 0 ? EXIT.good : EXIT.usage;
  }
  if (error instanceof ConfigError || error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    return EXIT.usage;
  }
  if (error instanceof CommandError) {
    process.stderr.write(`crdb-exporter: ${error.message}\n`);
    return error.exitCode;
  }
  throw error;
}
