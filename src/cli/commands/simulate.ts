import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { messageOf, quoteArgument } from '#base';
import {
  createServerIdentity,
  RELEASES,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../../simulator/index.ts';
import { addExamples, CommandError, EXIT } from '../command.ts';
import { findProgram } from '../process/command-form.ts';
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
    .addOption(
      new Option(
        '--release <version>',
        'Release of the nodes (default: 25.4, with leases of every kind).',
      ).choices(RELEASES),
    )
    .addOption(scenarioOption())
    .option('--control-listen <address>', 'Address of the control API (default: off).', parseListen)
    .option('--gateways <count>', 'Number of nodes with a URL of their own.', parseCount, 1)
    .addOption(
      new Option('--tls', 'Serve https; its CA is written to a temporary folder.').conflicts(
        'insecure',
      ),
    )
    .option('--insecure', 'Simulate a cluster without login.');
  addListenOptions(command);
  addExamples(
    command,
    'simulate',
    'simulate --nodes 30 --ranges 20000 --scenario calm --listen 127.0.0.1:8080',
    'simulate --gateways 3 --tls --control-listen 127.0.0.1:10150',
  );
  // The flags have the names of the simulator's options.
  command.action((flags: Flags) => {
    const isDefault = command.getOptionValueSource('cloudListen') === 'default';
    return simulate(isDefault ? { ...flags, cloudListen: besideGateways(flags) } : flags);
  });
}

type Flags = Pick<SimulatorOptions, 'listen' | 'cloudListen' | 'gateways'> &
  Partial<Omit<SimulatorOptions, 'tls'>> & { readonly tls?: true };

/** The default address of the Cloud API, unless a gateway has it: each gateway uses the port after the one before. */
function besideGateways({ listen, cloudListen, gateways }: Flags): SimulatorOptions['listen'] {
  const isTaken = cloudListen.port >= listen.port && cloudListen.port < listen.port + gateways;
  return isTaken ? { ...cloudListen, port: listen.port + gateways } : cloudListen;
}

/** Runs the simulator until a signal stops it. */
async function simulate({ tls, ...flags }: Flags): Promise<void> {
  const stopped = untilStopSignal();
  const identity = tls && createServerIdentity(namesOf(flags.listen));
  const starting = startSimulator({ survival: MULTI_REGION, ...flags, tls: identity });
  const simulator = await starting.catch((error: unknown) => {
    const message = messageOf(error);
    if (error instanceof RangeError) throw new CommandError(message, EXIT.usage, error);
    if (error instanceof Error && 'syscall' in error && error.syscall === 'listen') {
      const text = `cannot listen: ${message}; choose another --listen, --cloud-listen or --control-listen`;
      throw new CommandError(text, EXIT.failed, error);
    }
    throw error;
  });
  const folder = identity && (await mkdtemp(path.join(tmpdir(), 'crdb-exporter-simulate-')));
  const caFile = folder && path.join(folder, 'ca.crt');
  try {
    if (identity && caFile) await writeFile(caFile, identity.ca);
    process.stdout.write(describeAccess(simulator, flags.insecure === true, caFile));
    await stopped;
    await simulator.close();
  } finally {
    if (folder) await rm(folder, { recursive: true });
  }
}

/** The names by which clients of this machine reach the address, and the address itself. */
function namesOf({ host }: SimulatorOptions['listen']): string[] {
  return [...new Set(['localhost', LOOPBACK, '::1', host])];
}

function describeAccess(
  simulator: Simulator,
  isInsecure: boolean,
  caFile: string | undefined,
): string {
  const [first = '', ...others] = simulator.clusterUrls;
  const flags = [
    ...simulator.clusterUrls.map((url) => `--cluster.url=${url}`),
    ...(isInsecure ? [] : [`--cluster.username=${simulator.username}`]),
    ...(caFile === undefined ? [] : [`--cluster.ca-file=${caFile}`]),
  ];
  return [
    `Cluster API    ${first}`,
    ...others.map((url) => `               ${url}`),
    ...(caFile === undefined ? [] : [`CA             ${caFile} (until the simulator ends)`]),
    `Cloud API      ${simulator.cloudUrl}`,
    ...(simulator.controlUrl === undefined ? [] : [`Control        ${simulator.controlUrl}`]),
    `Log in as      ${simulator.username} / ${simulator.password}`,
    `Cloud cluster  ${simulator.cloudClusterId}`,
    `Cloud token    ${simulator.cloudToken}`,
    '',
    'To monitor it:',
    [
      ...(isInsecure ? [] : [`CRDB_EXPORTER_CLUSTER_PASSWORD=${simulator.password}`]),
      quoteArgument(findProgram()),
      ...flags,
    ].join(' '),
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
