import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Simulator, type SimulatorOptions, startSimulator } from '../simulator/index.ts';
import { addExamples, type Invocation } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { scenarioOption } from './scenario.ts';
import { untilSignal } from './signals.ts';

const LOOPBACK = '127.0.0.1';
const CLUSTER_PORT = 10138;
const CLOUD_PORT = 10139;

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

/** `simulate`: both APIs, without the exporter. */
export function define(command: Command, { done }: Invocation): void {
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
    .addOption(listenOption('--listen', 'of the cluster API', CLUSTER_PORT))
    .addOption(listenOption('--cloud-listen', 'of the Cloud API', CLOUD_PORT))
    .option('--control-listen <address>', 'of the control API (default: off)', parseListen)
    .option('--insecure', 'a cluster without login');
  addExamples(
    command,
    'simulate',
    'simulate --nodes 30 --ranges 20000 --scenario calm --listen 127.0.0.1:8080',
  );
  command.action(async () => done(await simulate(command.opts<SimulateFlags>())));
}

/** Runs the simulator until told to stop. */
async function simulate(flags: SimulateFlags): Promise<number> {
  const told = untilSignal();
  const simulator = await start(flags);
  process.stdout.write(describe(simulator));
  await told;
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

function listenOption(flag: string, help: string, port: number): Option {
  return new Option(`${flag} <address>`, help)
    .argParser(parseListen)
    .default({ host: LOOPBACK, port }, `${LOOPBACK}:${port}`);
}

function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at most nine digits.');
}

function parseListen(text: string): Listen {
  const parts = /^(?:\[([\da-fA-F:]+)\]|([^:\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535) {
    throw new InvalidArgumentError('It must be like 127.0.0.1:10138 or [::1]:10138.');
  }
  return { host: parts[1] ?? (parts[2] || LOOPBACK), port };
}
