import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Simulator, type SimulatorOptions, startSimulator } from '../simulator/index.ts';
import { scenarioOption } from './demo.ts';
import { CommandError, EXIT } from './exit.ts';
import { untilSignal } from './signals.ts';

type Listen = SimulatorOptions['listen'];

interface SimulateFlags {
  readonly nodes: number;
  readonly ranges: number;
  readonly sessions: number;
  readonly seed: number;
  readonly dialect: SimulatorOptions['dialect'];
  readonly scenario: SimulatorOptions['scenario'];
  readonly listen: Listen;
  readonly cloudListen: Listen;
  readonly controlListen?: Listen;
  readonly insecure?: boolean;
}

/** Adds the options of `simulate`. */
export function addSimulateOptions(command: Command): void {
  command
    .option('--nodes <count>', 'nodes of the cluster', parseCount, 9)
    .option('--ranges <count>', 'ranges of the cluster', parseCount, 600)
    .option('--sessions <count>', 'SQL sessions', parseCount, 120)
    .option('--seed <number>', 'the same seed grows the same cluster', parseCount, 1)
    .addOption(
      new Option('--dialect <name>', 'as real servers speak, or as the API documents say')
        .choices(['real', 'documented'])
        .default('real'),
    )
    .addOption(scenarioOption())
    .option('--listen <address>', 'of the cluster API', parseListen, at(10138))
    .option('--cloud-listen <address>', 'of the Cloud API', parseListen, at(10139))
    .option('--control-listen <address>', 'of the control API (default: off)', parseListen)
    .option('--insecure', 'a cluster without login');
}

/** Runs the simulator until told to stop. */
export async function simulate(command: Command): Promise<number> {
  const simulator = await start(command.opts<SimulateFlags>());
  process.stdout.write(describe(simulator));
  await untilSignal();
  await simulator.close();
  return EXIT.good;
}

async function start(flags: SimulateFlags): Promise<Simulator> {
  try {
    return await startSimulator({ ...flags, controlListen: flags.controlListen });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof RangeError) throw new CommandError(message, EXIT.usage, error);
    if (error instanceof Error && 'syscall' in error && error.syscall === 'listen') {
      const text = `cannot listen: ${message}; choose another --listen, --cloud-listen or --control-listen`;
      throw new CommandError(text, EXIT.failed, error);
    }
    throw error;
  }
}

function describe(simulator: Simulator): string {
  return [
    `Cluster API    ${simulator.clusterUrl}`,
    `Cloud API      ${simulator.cloudUrl}`,
    ...(simulator.controlUrl === undefined ? [] : [`Control        ${simulator.controlUrl}`]),
    `Log in as      ${simulator.username} / ${simulator.password}`,
    `Cloud cluster  ${simulator.cloudClusterId}`,
    `Cloud token    ${simulator.cloudToken}`,
    '',
  ].join('\n');
}

function at(port: number): Listen {
  return { host: '127.0.0.1', port };
}

function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function parseListen(text: string): Listen {
  const parts = /^(?:\[([\da-fA-F:]+)\]|([^:\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535) {
    throw new InvalidArgumentError('It must be like 127.0.0.1:10138 or [::1]:10138.');
  }
  return { host: parts[1] ?? (parts[2] || '127.0.0.1'), port };
}
