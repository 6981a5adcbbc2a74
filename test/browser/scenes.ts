import {
  startSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../src/simulator/index.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';

/** An exporter with simulated clusters, as a page can show them. */
export interface Scene extends AsyncDisposable {
  readonly exporter: TestExporter;
  /** By the names of their clusters. */
  readonly simulators: ReadonlyMap<string, Simulator>;
}

export interface SceneOptions {
  /** One simulator for each cluster; by default all alike and calm. */
  readonly clusters?: Readonly<Record<string, Partial<SimulatorOptions>>>;
  readonly intervalSeconds?: number;
  /** Other clusters as YAML. */
  readonly more?: string;
}

const CALM: Partial<SimulatorOptions> = { scenario: 'calm', metricKeys: 'useful', ranges: 200 };

/** Starts the scene and waits until every collector has polled once. */
export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { clusters = { demo: {} }, intervalSeconds = 0.5, more = '' } = options;
  const started = await Promise.all(
    Object.entries(clusters).map(async ([name, given]) => ({
      name,
      simulator: await startSimulator({ ...CALM, ...given }),
    })),
  );
  const yaml = started.map(({ name, simulator }) => describeCluster(name, simulator)).join('');
  const exporter = await startTestExporter({
    yaml: `collectors: { users: { enabled: true }, tables: { tables: [movr.public.rides, movr.public.users, movr.public.vehicles] } }\nclusters:\n${yaml}${more}`,
    intervalSeconds,
  });
  while ((await exporter.get('/-/ready')).status !== 200) await pause();
  return {
    exporter,
    simulators: new Map(started.map(({ name, simulator }) => [name, simulator])),
    async [Symbol.asyncDispose]() {
      await exporter.stop();
      await Promise.all(started.map(({ simulator }) => simulator.close()));
    },
  };
}

function describeCluster(name: string, simulator: Simulator): string {
  const { clusterUrl, username, password, cloudUrl, cloudClusterId, cloudToken } = simulator;
  return `  - name: ${name}
    cluster_api: { urls: ["${clusterUrl}"], username: ${username}, password: ${password} }
    cloud_api: { url: "${cloudUrl}", cluster_id: ${cloudClusterId}, token: ${cloudToken} }
`;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
