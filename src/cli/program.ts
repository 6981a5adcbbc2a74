import { Command, CommanderError } from 'commander';
import { ConfigError, UsageError } from '../config/issues.ts';
import type { Environment } from '../config/secret.ts';
import { findNearest } from '../config/nearest.ts';
import { readBuild } from './build.ts';
import type { CommandFile, Invocation } from './command.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { ignoreBrokenPipes, note } from './standard-output.ts';

const EXAMPLES = `
Examples:
  crdb-exporter demo
  crdb-exporter --config.file=exporter.yml
  crdb-exporter --cluster.url=https://crdb:8080 --cluster.username=exporter --cluster.password-file=/run/secrets/crdb
  crdb-exporter ranges --problems --config.file=exporter.yml

\`crdb-exporter COMMAND --help\` lists the options of a command, \`serve --help\` those of the exporter.
`;

interface Entry {
  readonly name: string;
  readonly group: 'Exporter:' | 'Cluster:' | 'Cloud:' | 'Simulator:';
  readonly summary: string;
  /** A command's file is read when it is asked for: the exporter never holds what only commands need. */
  readonly load: () => Promise<CommandFile>;
}

/** Done when no command is named. */
const DEFAULT_COMMAND = 'serve';

const COMMANDS: readonly Entry[] = [
  {
    name: DEFAULT_COMMAND,
    group: 'Exporter:',
    summary: 'run the exporter (what is done when no command is named)',
    load: () => import('./serve.ts'),
  },
  {
    name: 'check',
    group: 'Exporter:',
    summary: 'check the configuration and print everything that is wrong with it',
    load: () => import('./check.ts'),
  },
  {
    name: 'diagnose',
    group: 'Exporter:',
    summary: 'ask every endpoint once and say how to mend what fails',
    load: () => import('./diagnose.ts'),
  },
  {
    name: 'reference',
    group: 'Exporter:',
    summary: 'print what every metric means',
    load: loadReference,
  },
  {
    name: 'nodes',
    group: 'Cluster:',
    summary: 'list the nodes: status, version, locality, load',
    load: () => import('./nodes.ts'),
  },
  {
    name: 'ranges',
    group: 'Cluster:',
    summary: 'list the ranges by node: problems, leases, load',
    load: () => import('./ranges.ts'),
  },
  {
    name: 'sessions',
    group: 'Cluster:',
    summary: 'list the SQL sessions: who is connected, what is open and for how long',
    load: () => import('./sessions.ts'),
  },
  {
    name: 'table',
    group: 'Cluster:',
    summary: 'show a table: size, columns, indexes, grants, zone configuration',
    load: () => import('./table.ts'),
  },
  {
    name: 'users',
    group: 'Cluster:',
    summary: 'list the SQL users',
    load: () => import('./users.ts'),
  },
  {
    name: 'probe',
    group: 'Cluster:',
    summary: 'poll all collectors once and print the metrics',
    load: () => import('./probe.ts'),
  },
  {
    name: 'cloud',
    group: 'Cloud:',
    summary: 'rename a database; see, provision and delete the migration assistant',
    load: () => import('./cloud.ts'),
  },
  {
    name: 'demo',
    group: 'Simulator:',
    summary: 'run the built-in simulator and the exporter together',
    load: () => import('./demo.ts'),
  },
  {
    name: 'simulate',
    group: 'Simulator:',
    summary: 'run the simulator of the cluster API and the Cloud API alone',
    load: () => import('./simulate.ts'),
  },
];

/**
 * Runs what the arguments ask for; resolves to the exit code once it is done. `running` is called when the command
 * has begun and listens for signals, if it does at all.
 */
export async function runCommandLine(
  args: readonly string[],
  env: Environment,
  running: () => void = () => undefined,
): Promise<number> {
  try {
    let exitCode: number = EXIT.good;
    const done = (code: number): void => {
      exitCode = code;
    };
    refuseUnknownCommand(args);
    const program = await createProgram(args, { env, build: readBuild(), done });
    setImmediate(running);
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    return explain(error);
  }
}

/** Without this a mistyped command would be an argument of the exporter. */
function refuseUnknownCommand([word]: readonly string[]): void {
  const names = [...COMMANDS.map(({ name }) => name), 'help'];
  if (word === undefined || word.startsWith('-') || names.includes(word)) return;
  const nearest = findNearest(word, names);
  const hint = nearest === undefined ? 'see crdb-exporter --help' : `did you mean ${nearest}?`;
  throw usageError(`there is no command ${JSON.stringify(word)}: ${hint}`);
}

async function createProgram(args: readonly string[], invocation: Invocation): Promise<Command> {
  const program = new Command('crdb-exporter')
    .description('Prometheus exporter for CockroachDB.')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', EXAMPLES)
    .enablePositionalOptions()
    .allowExcessArguments(false)
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, 'crdb-exporter: ')),
    })
    .exitOverride();
  const asked = args[0] === 'help' ? args[1] : args[0];
  const chosen = COMMANDS.find(({ name }) => name === asked)?.name ?? DEFAULT_COMMAND;
  for (const { name, group, summary, load } of COMMANDS) {
    const command = program
      .command(name, { isDefault: name === DEFAULT_COMMAND })
      .description(summary)
      .helpGroup(group);
    if (name === chosen) (await load()).define(command, invocation);
  }
  addVersion(program, invocation);
  ignoreBrokenPipes();
  return program;
}

function addVersion(command: Command, { build }: Pick<Invocation, 'build'>): void {
  const { version, revision, nodeVersion, platform } = build;
  const text = `crdb-exporter ${version} (revision ${revision}, Node.js ${nodeVersion}, ${platform})`;
  command.version(text, '--version', 'print the version');
  for (const inner of command.commands) addVersion(inner, { build });
}

async function loadReference(): Promise<CommandFile> {
  const { addReferenceOptions, reference } = await import('./reference.ts');
  return {
    define(command, { done }) {
      addReferenceOptions(command);
      command.action(() => done(reference(command)));
    },
  };
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
    note(error.message);
    return error.exitCode;
  }
  throw error;
}
