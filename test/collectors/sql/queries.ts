import { onTestFinished } from 'vitest';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../simulator/index.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../../support/exporter.ts';

/** A small simulator whose table `orders` has two rows. */
export async function openSimulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 3,
    ranges: 12,
    sessions: 4,
    faultyNodes: false,
    sqlResults: [
      {
        contains: 'FROM orders',
        columns: [
          ['state', 'STRING'],
          ['count', 'INT8'],
        ],
        rows: [
          ['open', 3],
          ['paid', 40],
        ],
      },
    ],
    ...options,
  });
  onTestFinished(() => simulator.close());
  return simulator;
}

/** A query on those rows. */
export const ORDERS = {
  name: 'orders',
  help: 'Orders by state.',
  sql: "SELECT state, count(*) FROM orders WHERE secret = 'canary' GROUP BY state",
  labels: ['state'],
  values: { count: 'gauge' },
};

/** An exporter that runs these queries of a simulator, and nothing else, every 50 ms. */
export async function runQueries(
  simulator: Simulator,
  queries: readonly object[],
  settings: object = {},
): Promise<TestExporter> {
  const exporter = await startTestExporter({
    yaml: `clusters:\n${clusterYaml(simulator)}${onlyCollectors({ sql: { queries, ...settings } })}`,
    intervalSeconds: 0.05,
  });
  onTestFinished(() => exporter.stop());
  return exporter;
}
