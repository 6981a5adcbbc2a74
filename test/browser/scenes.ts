import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index.ts';
import { everyCollector } from '../support/collectors.ts';
import {
  startTestExporter,
  type TestExporter,
  type TestExporterOptions,
} from '../support/exporter.ts';

/** A running exporter with simulated clusters. */
export interface Scene extends AsyncDisposable {
  readonly exporter: TestExporter;
  /** By the names of their clusters. */
  readonly simulators: ReadonlyMap<string, Simulator>;
}

export interface SceneOptions {
  /** One simulator for each cluster. */
  readonly clusters?: Readonly<Record<string, Partial<SimulatorOptions>>>;
  /** Running simulators to use instead of new ones; they are not closed. */
  readonly simulators?: ReadonlyMap<string, Simulator>;
  readonly intervalSeconds?: number;
  readonly adapt?: TestExporterOptions['adapt'];
  readonly app?: TestExporterOptions['app'];
  /** Instead of the user that the simulator is made for. */
  readonly login?: { readonly username: string; readonly password: string };
  /** Runs after the first polls. */
  readonly afterwards?: (scene: Scene) => Promise<void>;
}

const CALM: Partial<SimulatorOptions> = {
  scenario: 'calm',
  metricKeys: 'useful',
  ranges: 200,
  unusualNames: false,
};
const TABLES = ['movr.public.rides', 'movr.public.users', 'movr.public.vehicles'];
const LEAKY = { username: 'payments', applicationName: 'leaky-service', nodeId: 1 };

export const SCENE_NAMES = [
  'calm',
  'incident',
  'down',
  'rejected',
  'two clusters',
  '300 nodes',
] as const;

export type SceneName = (typeof SCENE_NAMES)[number];

/** The states that tests and pictures of the page show. */
export const SCENES: Readonly<Record<SceneName, SceneOptions>> = {
  calm: { intervalSeconds: 10 },
  incident: {
    clusters: { demo: { faultyNodes: true, sessions: 60 } },
    intervalSeconds: 3,
    async afterwards({ simulators }) {
      const world = simulators.get('demo')?.world;
      for (const minutes of [6, 9, 18]) {
        const transactionAgeMs = minutes * 60_000;
        world?.openSession({ ...LEAKY, state: 'idle_in_transaction', transactionAgeMs });
      }
      world?.provisionAssistant('');
    },
  },
  down: {
    intervalSeconds: 1,
    async afterwards({ exporter, simulators }) {
      await simulators.get('demo')?.close();
      await exporter.until((scrape) =>
        scrape.all('crdb_exporter_collector_success').every(({ value }) => value === 0),
      );
    },
  },
  rejected: { intervalSeconds: 1, login: { username: 'exporter', password: 'not-it' } },
  'two clusters': {
    clusters: { east: {}, west: { faultyNodes: true } },
    intervalSeconds: 20,
  },
  '300 nodes': {
    clusters: { prod: { nodes: 300, ranges: 2_000, storesPerNode: 1, faultyNodes: true } },
    intervalSeconds: 60,
  },
};

/** Starts the scene and waits until every collector has polled once. */
export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { clusters = { demo: {} }, intervalSeconds = 0.5 } = options;
  const simulators = options.simulators ?? (await startSimulators(clusters));
  const described = Array.from(simulators, ([name, simulator]) =>
    describeCluster(name, simulator, options.login),
  );
  const exporter = await startTestExporter({
    yaml: `${everyCollector({ tables: { tables: TABLES } })}clusters:\n${described.join('')}`,
    intervalSeconds,
    ...(options.adapt && { adapt: options.adapt }),
    ...(options.app && { app: options.app }),
  });
  const scene: Scene = {
    exporter,
    simulators,
    async [Symbol.asyncDispose]() {
      await exporter.stop();
      if (options.simulators !== undefined) return;
      await Promise.all(Array.from(simulators.values(), (simulator) => simulator.close()));
    },
  };
  while ((await exporter.get('/-/ready')).status !== 200) await pause();
  await options.afterwards?.(scene);
  return scene;
}

async function startSimulators(
  clusters: NonNullable<SceneOptions['clusters']>,
): Promise<ReadonlyMap<string, Simulator>> {
  return new Map(
    await Promise.all(
      Object.entries(clusters).map(
        async ([name, given]) => [name, await startSimulator({ ...CALM, ...given })] as const,
      ),
    ),
  );
}

function describeCluster(
  name: string,
  simulator: Simulator,
  { username, password }: NonNullable<SceneOptions['login']> = simulator,
): string {
  const { clusterUrl, cloudUrl, cloudClusterId, cloudToken } = simulator;
  return `  - name: ${name}
    cluster_api: { urls: ["${clusterUrl}"], username: ${username}, password: ${password} }
    cloud_api: { url: "${cloudUrl}", cluster_id: ${cloudClusterId}, token: ${cloudToken} }
`;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
