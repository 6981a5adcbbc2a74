import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../simulator/index.ts';
import { messageOf } from '../../format.ts';
import { addExamples, CommandError, EXIT } from '../command.ts';
import { untilStopSignal } from '../process/signals.ts';

const LOOPBACK = '127.0.0.1';
const CLUSTER_PORT = 10138;
const CLOUD_PORT = 10139;

/** `simulate`: both APIs, without the exporter. */
export function define(command: Command): void {
  command
    .option('--nodes <count>', 'Number of nodes.', parseCount, 9)
    .option('--ranges <count>', 'Number of ranges.', parseCount, 600)
    .option('--sessions <count>', 'Number of SQL sessions.', parseCount, 120)
    .option('--seed <number>', 'The same seed creates the same cluster.', parseCount, 1)
    .addOption(
      new Option('--dialect <name>', 'Wire format of real servers, or of the API documents.')
        .choices(['real', 'documented'])
        .default('real'),
    )
    .addOption(scenarioOption())
    .option('--control-listen <address>', 'Address of the control API (default: off).', parseListen)
    .option('--insecure', 'Simulate a cluster without login.');
  addListenOptions(command);
  addExamples(
    command,
    'simulate',
    'simulate --nodes 30 --ranges 20000 --scenario calm --listen 127.0.0.1:8080',
  );
  // The flags have the names of the simulator's options.
  command.action(() => simulate(command.opts<Partial<SimulatorOptions>>()));
}

/** Runs the simulator until a signal stops it. */
async function simulate(flags: Partial<SimulatorOptions>): Promise<void> {
  const stopped = untilStopSignal();
  const starting = startSimulator({ survival: MULTI_REGION, ...flags });
  const simulator = await starting.catch((error: unknown) => {
    const message = messageOf(error);
    if (error instanceof RangeError) throw new CommandError(message, EXIT.usage, error);
    if (error instanceof Error && 'syscall' in error && error.syscall === 'listen') {
      const text = `cannot listen: ${message}; choose another --listen, --cloud-listen or --control-listen`;
      throw new CommandError(text, EXIT.failed, error);
    }
    throw error;
  });
  process.stdout.write(describeAccess(simulator));
  await stopped;
  await simulator.close();
}

function describeAccess(simulator: Simulator): string {
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

/** The database bank is multi-region with the survival goal ZONE, the default: non-voters outside of its home region. */
export const MULTI_REGION = { bank: 'zone' } as const;

/** The option that chooses the events in the simulated cluster. */
export function scenarioOption(): Option {
  return new Option('--scenario <name>', 'Events in the simulated cluster.')
    .choices(['incident', 'calm'])
    .default('incident');
}

/** Adds the options for the addresses of both APIs. */
export function addListenOptions(command: Command): void {
  command
    .addOption(listenOption('--listen', 'Address of the cluster API.', CLUSTER_PORT))
    .addOption(listenOption('--cloud-listen', 'Address of the Cloud API.', CLOUD_PORT));
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

function parseListen(text: string): SimulatorOptions['listen'] {
  const parts = /^(?:\[([\da-fA-F:]+)\]|([^:\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535) {
    throw new InvalidArgumentError('It must be like 127.0.0.1:10138 or [::1]:10138.');
  }
  return { host: parts[1] ?? (parts[2] || LOOPBACK), port };
}
