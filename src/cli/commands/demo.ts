import type { Command } from 'commander';
import { COLLECTORS } from '../../collectors/index.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { Exporter } from '../../exporter/exporter.ts';
import { createLog } from '../../log.ts';
import type { Build } from '../../metrics/exporter-metrics.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { addExamples, type CommandContext, CommandError, EXIT } from '../command.ts';
import { untilStopSignal } from '../process/signals.ts';
import { runExporter } from './serve.ts';
import { type Scenario, scenarioOption } from './simulate.ts';

const HOST = '127.0.0.1';
const EXPORTER_PORT = 10137;
const CLUSTER_API_PORT = 10138;
const CLOUD_API_PORT = 10139;
/** Attempts to find free ports. */
const MAX_PORT_ATTEMPTS = 100;
const TABLES = ['movr.public.rides', 'movr.public.users', 'movr.public.vehicles'];

/** `demo`: the exporter without a cluster. */
export function define(command: Command, { build, setExitCode }: CommandContext): void {
  command.addOption(scenarioOption());
  addExamples(command, 'demo', 'demo --scenario calm');
  command.action(async ({ scenario }: { readonly scenario: Scenario }) => {
    setExitCode(await demo(scenario, build));
  });
}

/** Runs the simulator and the exporter that monitors it until a signal stops both. */
async function demo(scenario: Scenario, build: Build): Promise<number> {
  const stopped = untilStopSignal();
  const simulator = await onFreePorts([CLUSTER_API_PORT, CLOUD_API_PORT], ([port, cloudPort]) =>
    startSimulator({
      scenario,
      listen: { host: HOST, port: port ?? 0 },
      cloudListen: { host: HOST, port: cloudPort ?? 0 },
    }),
  );
  const config = await configure(simulator);
  const log = createLog({ ...config.log, destination: 2 });
  const exporter = await onFreePorts([EXPORTER_PORT], ([port]) =>
    runExporter({ config: listenOn(config, port ?? 0), build, log }),
  );
  process.stdout.write(describeDemo(exporter, simulator));
  await stopped;
  await exporter.stop();
  await simulator.close();
  return EXIT.ok;
}

/** Flags and variables, as a user would give them, and the tables that have no flag. */
async function configure(simulator: Simulator): Promise<Config> {
  const { config } = await loadConfig({
    collectors: COLLECTORS,
    flags: {
      'cluster.name': 'demo',
      'cluster.url': [simulator.clusterUrl],
      'cluster.username': simulator.username,
      'cloud.url': simulator.cloudUrl,
      'cloud.cluster-id': simulator.cloudClusterId,
      'collector.users': true,
    },
    env: {
      CRDB_EXPORTER_CLUSTER_PASSWORD: simulator.password,
      CRDB_EXPORTER_CLOUD_TOKEN: simulator.cloudToken,
    },
  });
  const clusters = config.clusters.map((cluster) => {
    const { tables } = cluster.collectors;
    if (tables === undefined) return cluster;
    return {
      ...cluster,
      collectors: { ...cluster.collectors, tables: { ...tables, tables: TABLES } },
    };
  });
  return { ...config, clusters };
}

function listenOn(config: Config, port: number): Config {
  return { ...config, web: { ...config.web, listen_address: [{ host: HOST, port }] } };
}

/** Starts something on these ports, or on the next free ones where they are busy. */
async function onFreePorts<T>(
  wanted: readonly number[],
  start: (ports: readonly number[]) => Promise<T>,
): Promise<T> {
  const ports = [...wanted];
  for (let attempt = 0; attempt < MAX_PORT_ATTEMPTS; attempt += 1) {
    try {
      return await start(ports);
    } catch (error) {
      const busy = ports.indexOf(busyPort(error) ?? Number.NaN);
      if (busy === -1) throw error;
      ports[busy] = (ports[busy] ?? 0) + 1;
    }
  }
  throw new CommandError(
    `no free port among the ${MAX_PORT_ATTEMPTS} from ${wanted.join(' and ')}`,
  );
}

/** The port in use, if that is the error. */
function busyPort(error: unknown): number | undefined {
  const cause = error instanceof CommandError ? error.cause : error;
  const isBusy = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
  return isBusy && 'port' in cause && typeof cause.port === 'number' ? cause.port : undefined;
}

function describeDemo({ addresses }: Exporter, simulator: Simulator): string {
  const [exporter = ''] = addresses;
  return [
    'A simulated CockroachDB cluster and the exporter that monitors it:',
    '',
    `  Exporter             ${exporter}/`,
    `  Metrics              ${exporter}/metrics`,
    `  Cluster API          ${simulator.clusterUrl}`,
    `  Cloud API            ${simulator.cloudUrl}`,
    `  Log in there as      ${simulator.username} / ${simulator.password}`,
    '',
    'Press Ctrl-C to stop both.',
    '',
  ].join('\n');
}
