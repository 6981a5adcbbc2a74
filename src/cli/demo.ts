import type { Command } from 'commander';
import type { App } from '../app.ts';
import { COLLECTORS } from '../collectors/index.ts';
import type { Config } from '../config/schema.ts';
import { loadConfig } from '../config/load.ts';
import { createLog } from '../log.ts';
import { type Simulator, startSimulator } from '../simulator/index.ts';
import type { Build } from './build.ts';
import { addExamples, type Invocation } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { type Scenario, scenarioOption } from './scenario.ts';
import { startExporter } from './serve.ts';
import { untilSignal } from './signals.ts';

const HOST = '127.0.0.1';
const EXPORTER_PORT = 10137;
const CLUSTER_API_PORT = 10138;
const CLOUD_API_PORT = 10139;
/** How many ports after a busy one are tried. */
const PORTS_TO_TRY = 100;
const WATCHED_TABLES = ['movr.public.rides', 'movr.public.users', 'movr.public.vehicles'];

/** `demo`: something to look at without a cluster. */
export function define(command: Command, { build, done }: Invocation): void {
  command.addOption(scenarioOption());
  addExamples(command, 'demo', 'demo --scenario calm');
  command.action(async ({ scenario }: { readonly scenario: Scenario }) => {
    done(await demo(scenario, build));
  });
}

/** Runs the simulator and, beside it, the exporter that watches it, until told to stop. */
async function demo(scenario: Scenario, build: Build): Promise<number> {
  const told = untilSignal();
  const simulator = await onFreePorts([CLUSTER_API_PORT, CLOUD_API_PORT], ([port, cloudPort]) =>
    startSimulator({
      scenario,
      listen: { host: HOST, port: port ?? 0 },
      cloudListen: { host: HOST, port: cloudPort ?? 0 },
    }),
  );
  const config = await configure(simulator);
  const log = createLog({ ...config.log, destination: 2 });
  const app = await onFreePorts([EXPORTER_PORT], ([port]) =>
    startExporter({ config: listenOn(config, port ?? 0), build, log }),
  );
  process.stdout.write(describeDemo(app, simulator));
  await told;
  await app.stop();
  await simulator.close();
  return EXIT.good;
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
  return { ...config, clusters: config.clusters.map(withTables) };
}

function withTables(cluster: Config['clusters'][number]): Config['clusters'][number] {
  const { tables } = cluster.collectors;
  if (tables === undefined) return cluster;
  const watched = { ...tables, tables: WATCHED_TABLES };
  return { ...cluster, collectors: { ...cluster.collectors, tables: watched } };
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
  for (let tries = 0; tries < PORTS_TO_TRY; tries += 1) {
    try {
      return await start(ports);
    } catch (error) {
      const busy = ports.indexOf(busyPort(error) ?? Number.NaN);
      if (busy === -1) throw error;
      ports[busy] = (ports[busy] ?? 0) + 1;
    }
  }
  throw new CommandError(`no free port among the ${PORTS_TO_TRY} from ${wanted.join(' and ')}`);
}

/** The port that somebody else has, when that is what the error says. */
function busyPort(error: unknown): number | undefined {
  const cause = error instanceof CommandError ? error.cause : error;
  const isBusy = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
  return isBusy && 'port' in cause && typeof cause.port === 'number' ? cause.port : undefined;
}

function describeDemo(app: App, simulator: Simulator): string {
  const [exporter = ''] = app.addresses;
  return [
    'A simulated CockroachDB cluster, and the exporter that watches it:',
    '',
    `  Exporter             ${exporter}/`,
    `  Metrics              ${exporter}/metrics`,
    `  Cluster API          ${simulator.clusterUrl}`,
    `  Cloud API            ${simulator.cloudUrl}`,
    `  Log in there as      ${simulator.username} / ${simulator.password}`,
    '',
    'Press Ctrl-C to end both.',
    '',
  ].join('\n');
}
