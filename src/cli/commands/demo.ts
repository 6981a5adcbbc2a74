import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { type Build, createLog, messageOf } from '#base';
import { COLLECTORS } from '#collectors';
import { type Config, loadConfig } from '#config';
import type { Exporter } from '#exporter';
import { createStatus } from '#status';
import {
  CYCLE_SECONDS,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../../simulator/index.ts';
import { addExamples, type CommandContext, CommandError, EXIT } from '../command.ts';
import { DEMO_QUERIES } from '../demo-queries.ts';
import { readCommandForm } from '../process/command-form.ts';
import { untilStopSignal } from '../process/signals.ts';
import { isInUse, runExporter } from './serve.ts';
import { addListenOptions, MULTI_REGION, scenarioOption } from './simulate.ts';

const EXPORTER_ADDRESS = '127.0.0.1:10137';
/** Attempts to find free ports. */
const MAX_PORT_ATTEMPTS = 100;
const TABLES = ['movr.public.rides', 'movr.public.users', 'movr.public.vehicles'];

/** `demo`: the exporter without a cluster. */
export function define(command: Command, { build }: CommandContext): void {
  command.addOption(scenarioOption());
  command.option(
    '--web.listen-address <address>',
    'Address of the exporter. Where a port is in use, the next free one is taken.',
    EXPORTER_ADDRESS,
  );
  addListenOptions(command);
  addExamples(
    command,
    'demo',
    'demo --scenario calm',
    'demo --web.listen-address=0.0.0.0:8000 --listen=127.0.0.1:9080 --cloud-listen=127.0.0.1:9081',
  );
  command.action((options: SimulatorOptions & { readonly 'web.listenAddress': string }) =>
    demo(options, options['web.listenAddress'], build),
  );
}

/** Runs the simulator and the exporter that monitors it until a signal stops both. */
async function demo(
  { scenario, listen, cloudListen }: SimulatorOptions,
  exporterAddress: string,
  build: Build,
): Promise<void> {
  const stopped = untilStopSignal();
  const simulator = await startOnFreePorts({
    scenario,
    survival: MULTI_REGION,
    listen,
    cloudListen,
  });
  const config = await configure(simulator, exporterAddress);
  const log = createLog({ ...config.log, destination: 2 });
  await using folder = await writeConfig(simulator);
  const flags = { 'config.file': folder.file };
  const commandForm = readCommandForm({ collectors: COLLECTORS, flags, env: process.env }, config);
  const exporter = await runExporter({
    config,
    build,
    log,
    companion: (daemon) => createStatus(daemon, log, commandForm),
  });
  process.stdout.write(describeDemo(exporter, simulator));
  await stopped;
  await exporter.stop();
  await simulator.close();
}

/** Another program may take a port between the look for free ones and their use: then they are looked for again. */
async function startOnFreePorts(
  options: Pick<SimulatorOptions, 'scenario' | 'survival' | 'listen' | 'cloudListen'>,
): Promise<Simulator> {
  const { listen, cloudListen } = options;
  for (;;) {
    const port = await findFreePort(listen.host, listen.port);
    const cloudPort = await findFreePort(cloudListen.host, cloudListen.port, port);
    try {
      return await startSimulator({
        ...options,
        listen: { ...listen, port },
        cloudListen: { ...cloudListen, port: cloudPort },
      });
    } catch (error) {
      if (!isInUse(error)) throw error;
    }
  }
}

/** Flags and variables, as a user would give them, and the tables and queries that have no flag. */
async function configure(simulator: Simulator, address: string): Promise<Config> {
  const { config } = await loadConfig({
    collectors: COLLECTORS,
    flags: {
      'web.listen-address': [address],
      'cluster.name': 'demo',
      'cluster.url': [simulator.clusterUrl],
      'cluster.username': simulator.username,
      'cloud.url': simulator.cloudUrl,
      'cloud.cluster-id': simulator.cloudClusterId,
      'collector.users': true,
      'collector.sql': true,
    },
    env: {
      CRDB_EXPORTER_CLUSTER_PASSWORD: simulator.password,
      CRDB_EXPORTER_CLOUD_TOKEN: simulator.cloudToken,
    },
  });
  const clusters = config.clusters.map((cluster) => {
    const { tables, sql } = cluster.collectors;
    if (tables === undefined || sql === undefined) return cluster;
    const collectors = {
      ...cluster.collectors,
      tables: { ...tables, tables: TABLES },
      sql: { ...sql, queries: DEMO_QUERIES },
    };
    return { ...cluster, collectors };
  });
  const listenAddresses = config.web.listen_address.map(async (wanted) =>
    'port' in wanted ? { ...wanted, port: await findFreePort(wanted.host, wanted.port) } : wanted,
  );
  const web = { ...config.web, listen_address: await Promise.all(listenAddresses) };
  return { ...config, web, clusters };
}

/**
 * Writes the demo's cluster to a file for the commands that the status page recommends, until it is disposed; its passwords are
 * those that the demo prints. No file where none can be written.
 */
async function writeConfig({
  clusterUrl,
  username,
  password,
  cloudUrl,
  cloudClusterId,
  cloudToken,
}: Simulator) {
  const cluster_api = { urls: [clusterUrl], username, password };
  const cloud_api = { url: cloudUrl, cluster_id: cloudClusterId, token: cloudToken };
  const config = { clusters: [{ name: 'demo', cluster_api, cloud_api }] };
  try {
    const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-demo-'));
    const file = path.join(folder, 'demo.yml');
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
    return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
  } catch {
    return { file: undefined, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
}

/** The port, or the next one that is free and not `taken`; 0 stays 0, any port. */
async function findFreePort(host: string | undefined, wanted: number, taken = 0): Promise<number> {
  for (let port = wanted; port < wanted + MAX_PORT_ATTEMPTS; port += 1) {
    if (port === 0) return port;
    if (port === taken) continue;
    const server = createServer().listen({ host, port });
    try {
      await once(server, 'listening');
      return port;
    } catch (error) {
      if (!isInUse(error))
        throw new CommandError(`cannot listen: ${messageOf(error)}`, EXIT.failed, error);
    } finally {
      server.close();
    }
  }
  throw new CommandError(`no free port among the ${MAX_PORT_ATTEMPTS} from ${wanted}`);
}

/** The addresses, and the events of the scenario with the time at which each can be seen. */
function describeDemo({ addresses }: Exporter, simulator: Simulator): string {
  const [exporter = ''] = addresses;
  const events = simulator.events.map(
    ({ second, text }) => `  in ${`${second} s`.padEnd(6)} ${text}`,
  );
  const cycle = `What happens, again every ${CYCLE_SECONDS / 60} minutes:`;
  return [
    'A simulated CockroachDB cluster and the exporter that monitors it:',
    '',
    `  Exporter             ${exporter}/`,
    `  Metrics              ${exporter}/metrics`,
    `  Cluster API          ${simulator.clusterUrl}`,
    `  Cloud API            ${simulator.cloudUrl}`,
    `  Log in there as      ${simulator.username} / ${simulator.password}`,
    '',
    ...(events.length === 0 ? [] : [cycle, '', ...events, '']),
    'Press Ctrl-C to stop both.',
    '',
  ].join('\n');
}
