import { setTimeout as wait } from 'node:timers/promises';
import { Command, CommanderError } from 'commander';
import { findNearest, readBuild, sourceStack } from '#base';
import { ConfigError, type Environment, UsageError } from '#config';
import { canScan } from '#json';
import {
  type CommandContext,
  CommandError,
  type CommandTime,
  EXIT,
  usageError,
} from './command.ts';
import { ignoreBrokenPipes, note, outputFailure } from './output/standard-output.ts';
import { expandSwitches, optionTerm } from './schema-flags.ts';

const EXAMPLES = `
Examples:
  crdb-exporter demo
  crdb-exporter --config.file=exporter.yml
  crdb-exporter --cluster.url=https://crdb:8080 --cluster.username=exporter --cluster.password-file=/run/secrets/crdb
  crdb-exporter ranges --problems --config.file=exporter.yml

\`crdb-exporter COMMAND --help\` lists the options of a command, \`serve --help\` those of the exporter.
`;

const DEFAULT_COMMAND = 'serve';

const NO_SCANNER =
  'this Node.js cannot run WebAssembly with SIMD, which reads the responses: start it without --jitless, or use a build from https://nodejs.org';

interface CommandFile {
  /** Adds the arguments, options, examples and action of the command. */
  define(command: Command, context: CommandContext): void;
}

/**
 * The summary and the file of each command, by group, in the order of the help. Files are loaded on demand: the exporter
 * never holds what only commands need.
 */
const COMMANDS: Readonly<
  Record<string, Readonly<Record<string, readonly [summary: string, () => Promise<CommandFile>]>>>
> = {
  'Exporter:': {
    serve: ['run the exporter (the default command)', () => import('./commands/serve.ts')],
    check: [
      'check the configuration and print every error',
      () => import('./commands/check-config.ts'),
    ],
    diagnose: [
      'query every endpoint once and report how to fix what fails',
      () => import('./commands/diagnose.ts'),
    ],
    reference: ['describe all metrics, or one', () => import('./commands/reference.ts')],
    completion: [
      'print a script that completes commands and options in a shell',
      () => import('./commands/completion.ts'),
    ],
    rules: [
      'print the recording and alerting rules, with your thresholds',
      () => import('./commands/rules.ts'),
    ],
    dashboards: [
      'write the Grafana dashboards, with your thresholds',
      () => import('./commands/dashboards.ts'),
    ],
  },
  'Cluster:': {
    nodes: ['list the nodes: status, version, locality, load', () => import('./commands/nodes.ts')],
    ranges: [
      'list the ranges by node: problems, leases, load',
      () => import('./commands/ranges.ts'),
    ],
    range: [
      'show what the nodes know of single ranges, and the next step',
      async () => ({ define: (await import('./commands/ranges.ts')).defineRange }),
    ],
    sessions: [
      'list the SQL sessions: user, application, state, age of transactions',
      () => import('./commands/sessions.ts'),
    ],
    jobs: ['list the jobs: type, status, age, progress, error', () => import('./commands/jobs.ts')],
    tables: ['list the tables: size, ranges, load', () => import('./commands/tables.ts')],
    table: [
      'show a table: size, zone configuration, grants, CREATE TABLE statement',
      async () => ({ define: (await import('./commands/tables.ts')).defineTable }),
    ],
    network: [
      'list nodes that do not reach each other, and the slowest connections',
      () => import('./commands/network.ts'),
    ],
    sql: ['print the rows of a query of the configuration', () => import('./commands/sql.ts')],
    users: [
      'list the SQL users',
      async () => ({ define: (await import('./commands/sessions.ts')).defineUsers }),
    ],
    probe: ['poll all collectors once and print the metrics', () => import('./commands/probe.ts')],
  },
  'Cloud:': {
    cloud: [
      'rename a database; show, provision and delete the migration assistant',
      () => import('./commands/cloud.ts'),
    ],
  },
  'Simulator:': {
    demo: [
      'run the built-in simulator and the exporter together',
      () => import('./commands/demo.ts'),
    ],
    simulate: [
      'run the simulator of the cluster API and the Cloud API alone',
      () => import('./commands/simulate.ts'),
    ],
  },
};
const NAMES = Object.values(COMMANDS).flatMap((group) => Object.keys(group));

/** The hidden command that the scripts of `completion` call. */
const COMPLETE = 'complete';

const REAL_TIME: CommandTime = {
  sleep: (milliseconds, signal) => wait(milliseconds, undefined, { signal }),
  wallMs: () => Date.now(),
};

/** Runs a command line and resolves to its exit code. `onRunning` is called once the command has begun. */
export async function runCommandLine(
  argv: readonly string[],
  env: Environment,
  onRunning: () => void = () => undefined,
  time: Partial<CommandTime> = {},
): Promise<number> {
  const exitCode = await runProgram(argv, env, onRunning, { ...REAL_TIME, ...time }).catch(
    reportError,
  );
  const failure = outputFailure();
  if (failure === undefined) return exitCode;
  note(`cannot write to standard output: ${failure}`);
  return EXIT.failed;
}

async function runProgram(
  argv: readonly string[],
  env: Environment,
  onRunning: () => void,
  time: CommandTime,
) {
  let exitCode: number = EXIT.ok;
  const setExitCode = (code: number): void => {
    exitCode = code;
  };
  if (!canScan()) throw new CommandError(NO_SCANNER);
  rejectUnknownCommand(argv);
  const isCompletion = argv[0] === COMPLETE;
  const args = isCompletion ? argv : expandSwitches(argv);
  const build = readBuild();
  if (args.includes('--version') && !isCompletion) {
    const { version, revision, nodeVersion, platform } = build;
    const details = `revision ${revision}, Node.js ${nodeVersion}, ${platform}`;
    process.stdout.write(`crdb-exporter ${version} (${details})\n`);
    return exitCode;
  }
  const program = await createProgram(args, { env, build, setExitCode, time });
  setImmediate(onRunning);
  await program.parseAsync(args, { from: 'user' });
  return exitCode;
}

/** Options after which the name of a command is not misplaced: it is the value of an option with a dot, or help or version is printed. */
const MAY_PRECEDE_NAME = /^(?:--[^=]*\.[^=]*|-h|--help|--version)$/;

/** Refuses a mistyped command, and a command that follows its options: it would be an argument of the exporter. */
function rejectUnknownCommand(args: readonly string[]): void {
  const word = args[0] === 'help' ? args[1] : args[0];
  const names = [...NAMES, COMPLETE, 'help'];
  if (word === undefined || names.includes(word)) return;
  if (word.startsWith('-')) {
    // In `--cluster.name demo` the name is a value; `--help nodes` prints help.
    const commandIndex = args.findIndex(
      (arg, index) => NAMES.includes(arg) && !MAY_PRECEDE_NAME.test(args[index - 1] ?? ''),
    );
    if (commandIndex === -1) return;
    // The options are left out: a value may be a secret.
    throw usageError(`options follow the command: crdb-exporter ${args[commandIndex]} [options]`);
  }
  const nearest = findNearest(word, names);
  const hint = nearest === undefined ? 'see crdb-exporter --help' : `did you mean ${nearest}?`;
  throw usageError(`there is no command ${JSON.stringify(word)}: ${hint}`);
}

async function createProgram(args: readonly string[], context: CommandContext): Promise<Command> {
  const program = new Command('crdb-exporter')
    .description('Prometheus exporter for CockroachDB.')
    .helpOption('-h, --help', 'Print this help.')
    .option('--version', 'Print the version.')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ optionTerm, minWidthToWrap: 24 })
    .addHelpText('after', EXAMPLES)
    .enablePositionalOptions()
    .allowExcessArguments(false)
    .configureOutput({
      outputError: (text, write) =>
        write(describeUsage(text, program.commands).replace('error: ', 'crdb-exporter: ')),
    })
    .exitOverride();
  const word = args[0] === 'help' ? args[1] : args[0];
  const isCompletion = word === COMPLETE;
  const chosen = NAMES.find((name) => name === word) ?? DEFAULT_COMMAND;
  for (const [group, commands] of Object.entries(COMMANDS)) {
    for (const [name, [summary, load]] of Object.entries(commands)) {
      const command = program
        .command(name, { isDefault: name === DEFAULT_COMMAND })
        .description(summary)
        .helpGroup(group);
      if (name === chosen || isCompletion) (await load()).define(command, context);
    }
  }
  if (isCompletion) {
    const { addCompletion } = await import('./completed-words.ts');
    await addCompletion(program, args, context.env);
  }
  ignoreBrokenPipes();
  return program;
}

/** The text of an error of commander. It takes `--name=value` and `-pvalue` for names: the value, which may be a secret, is left out. */
function describeUsage(text: string, commands: readonly Command[]): string {
  const [found, name = ''] = /(?<=unknown option ')(--[^=']+(?==)|-[^-']).+'/su.exec(text) ?? [];
  if (found === undefined) return text;
  const options = commands.flatMap((command) => command.options.map(({ long }) => long ?? ''));
  const nearest = findNearest(name, options);
  const hint = nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`;
  return `error: unknown option '${name}'${hint}\n`;
}

/** Prints an error for a person; returns the exit code. */
function reportError(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed it already, as well as help and version.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (error instanceof ConfigError || error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    return EXIT.usage;
  }
  if (error instanceof CommandError) {
    note(error.message);
    return error.exitCode;
  }
  // Node.js prints the stack.
  if (error instanceof Error) error.stack = sourceStack(error) ?? '';
  throw error;
}
