import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { startTestExporter, type TestExporter } from '../support/exporter.ts';

/** A standby, whose tables are those of virtual cluster 3. */
function simulateStandby(): Promise<Simulator> {
  return startSimulator({
    nodes: 3,
    ranges: 60,
    metricKeys: 'useful',
    virtualCluster: 3,
    quirks: { defaultVirtualCluster: 'system' },
  });
}

function startOn(simulator: Simulator, more = ''): Promise<TestExporter> {
  const { clusterUrl, username, password } = simulator;
  return startTestExporter({
    intervalSeconds: 0.2,
    yaml: `collectors: { tables: { tables: [movr.public.rides] } }
clusters:
  - name: standby
    cluster_api: { urls: ["${clusterUrl}"], username: ${username}, password: ${password}${more} }
`,
  });
}

const COLLECTORS = ['nodes', 'ranges', 'sessions', 'tables'];

test('a standby is read before and after its failover, its tables named by their virtual cluster', async () => {
  await using simulator = await simulateStandby();
  await using exporter = await startOn(simulator);
  const isGood = (): Promise<unknown> =>
    exporter.until((scrape) =>
      COLLECTORS.every(
        (collector) => scrape.value('crdb_exporter_collector_success', { collector }) === 1,
      ),
    );
  await isGood();
  simulator.world.failOver();
  simulator.world.revokeTokens();
  const before = simulator.requests.count('login');
  await expect.poll(() => simulator.requests.count('login')).toBeGreaterThan(before);
  await isGood();
  await exporter.until((scrape) => scrape.all('crdb_table_info').length > 0);
  const scrape = await exporter.scrape();
  const idsOf = (family: string): readonly string[] =>
    [...new Set(scrape.all(family).map(({ labels }) => labels['table_id'] ?? ''))].toSorted();
  const loads = idsOf('crdb_range_table_ranges').filter((id) => id !== 'none' && id !== 'other');
  expect(loads.length).toBeGreaterThan(0);
  expect(loads.filter((id) => !/^3\/1\d\d$/.test(id))).toEqual([]);
  expect(idsOf('crdb_table_info')).not.toContain('0');
  expect(idsOf('crdb_table_info').filter((id) => loads.includes(id))).toEqual([]);
});

test('without a virtual cluster, the standby is lost at its failover, and not its login alone', async () => {
  await using simulator = await simulateStandby();
  await using exporter = await startOn(simulator, ', virtual_cluster: ""');
  await exporter.until((scrape) => scrape.value('crdb_up') === 1);
  simulator.world.failOver();
  await exporter.until((scrape) => scrape.value('crdb_up') === 0);
  const scrape = await exporter.scrape();
  const labels = { collector: 'nodes', reason: 'not_available' };
  expect(scrape.value('crdb_exporter_poll_failures_total', labels)).toBeGreaterThan(0);
});

test('stopping the exporter ends its session in the same virtual cluster', async () => {
  await using simulator = await simulateStandby();
  simulator.world.failOver();
  const exporter = await startOn(simulator);
  await exporter.until((scrape) => scrape.value('crdb_up') === 1);
  await exporter.stop();
  const { entries } = simulator.requests;
  expect(entries.filter(({ endpoint }) => endpoint === 'logout')).toMatchObject([{ status: 200 }]);
});
