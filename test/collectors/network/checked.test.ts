import { expect, onTestFinished, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import {
  clusterYaml,
  type Scrape,
  startTestExporter,
  type TestExporter,
} from '../../support/exporter.ts';

async function simulate(gateways = 1): Promise<Simulator> {
  const simulator = await startSimulator({
    scenario: 'calm',
    metricKeys: 'useful',
    nodes: 3,
    gateways,
  });
  onTestFinished(() => simulator.close());
  return simulator;
}

async function watch(simulator: Simulator): Promise<TestExporter> {
  const yaml = `${onlyCollectors({ network: {} })}clusters:\n${clusterYaml(simulator)}`;
  const exporter = await startTestExporter({ yaml, intervalSeconds: 0.05 });
  onTestFinished(() => exporter.stop());
  return exporter;
}

const checked = (scrape: Scrape) => scrape.value('crdb_network_checked');
const polls = (scrape: Scrape) => scrape.value('crdb_exporter_polls_total') ?? 0;
const isThere = (scrape: Scrape) => scrape.all('crdb_node_peers').length > 0;

test('whether all nodes were asked is 0 before the first poll has ended, and while polls fail', async () => {
  const simulator = await simulate();
  const first = simulator.fault({ endpoint: 'connectivity', kind: 'hang' });
  const exporter = await watch(simulator);
  const before = await exporter.scrape();
  expect(checked(before)).toBe(0);
  expect(isThere(before)).toBe(false);
  expect((await exporter.scrape('?exclude[]=network')).all('crdb_network_checked')).toEqual([]);
  first.remove();
  await exporter.stop();

  const second = await watch(simulator);
  await second.until((scrape) => checked(scrape) === 1);
  simulator.fault({ endpoint: 'connectivity', kind: 'status', status: 500 });
  const failing = await second.until((scrape) => checked(scrape) === 0);
  // What the last poll found is there until it is too old.
  expect(isThere(failing)).toBe(true);
});

test('without data to get it is absent, and the log says why once', async () => {
  const simulator = await simulate();
  const exporter = await watch(simulator);
  await exporter.until((scrape) => checked(scrape) === 1);
  simulator.setQuirk('connectivity', 'missing');
  const none = await exporter.until((scrape) => checked(scrape) === undefined);
  expect(isThere(none)).toBe(false);
  expect(none.value('crdb_exporter_collector_success', { collector: 'network' })).toBe(1);
  await exporter.until((scrape) => polls(scrape) > polls(none) + 2);
  const lines = exporter.log().match(/level=info .*does not offer \/_status\/connectivity/g);
  expect(lines).toHaveLength(1);
});

test('polls begin at one URL after the other, as one of them may repeat old responses', async () => {
  const simulator = await simulate(2);
  const exporter = await watch(simulator);
  await exporter.until((scrape) => polls(scrape) > 4);
  const asked = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'connectivity');
  expect(asked.slice(0, 4).map(({ gateway }) => gateway)).toEqual(
    asked[0]?.gateway === 1 ? [1, 2, 1, 2] : [2, 1, 2, 1],
  );
});
