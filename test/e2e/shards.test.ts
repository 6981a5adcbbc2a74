import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { defaultCollectors } from '../support/collectors.ts';
import {
  clusterYaml,
  type Scrape,
  startTestExporter,
  type TestExporter,
} from '../support/exporter.ts';

const SHARDS = 3;

const NO_LEASE = ['crdb_ranges_by_lease_kind', { kind: 'none' }] as const;
const OF_ALL_RANGES = [
  'crdb_ranges',
  'crdb_ranges_by_replicas',
  'crdb_node_dependent_ranges',
  'crdb_locality_dependent_ranges',
];

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 9, ranges: 300, frozen: true, metricKeys: 'useful' });
}

function startShard(simulator: Simulator, index: number, count: number): Promise<TestExporter> {
  return startTestExporter({
    yaml: `shard: { index: ${index}, count: ${count} }\nclusters:\n${clusterYaml(simulator)}`,
  });
}

function startLocal(simulator: Simulator): Promise<TestExporter> {
  return startTestExporter({
    yaml: `shard: { name: db-1 }\ncollectors: { ranges: { route: local } }\nclusters:\n${clusterYaml(simulator)}`,
  });
}

async function firstScan(exporter: TestExporter): Promise<Scrape> {
  return exporter.until((scrape) => scrape.all('crdb_range_scan_nodes').length > 0);
}

test('shards do not export families that need all ranges', async () => {
  await using simulator = await simulate();
  await using single = await startShard(simulator, 0, 1);
  await using first = await startShard(simulator, 0, SHARDS);
  const whole = await firstScan(single);
  const part = await firstScan(first);
  for (const family of OF_ALL_RANGES) {
    expect(whole.all(family).length).toBeGreaterThan(0);
    expect(part.all(family)).toEqual([]);
  }
  expect(whole.value(...NO_LEASE)).toBeGreaterThanOrEqual(0);
  expect(part.all(...NO_LEASE)).toEqual([]);
});

test('only shard 0 runs the other collectors; the others list the nodes themselves', async () => {
  await using simulator = await simulate();
  await using first = await startShard(simulator, 0, SHARDS);
  await first.until((scrape) =>
    scrape.all('crdb_exporter_collector_success').every(({ value }) => value === 1),
  );
  const listedByFirst = simulator.requests.count('nodes');
  await using second = await startShard(simulator, 1, SHARDS);
  const scrape = await firstScan(second);
  expect(simulator.requests.count('nodes')).toBeGreaterThan(listedByFirst);
  expect(scrape.all('crdb_exporter_collector_success')).toMatchObject([
    { labels: { collector: 'ranges', shard: '1' }, value: 1 },
  ]);
  expect(scrape.all('crdb_nodes')).toEqual([]);
  expect(scrape.value('crdb_up')).toBe(1);
  expect(scrape.value('crdb_exporter_shards')).toBe(SHARDS);
  const success = (await first.scrape()).all('crdb_exporter_collector_success');
  expect(new Set(success.map(({ labels }) => `${labels['collector']} ${labels['shard']}`))).toEqual(
    new Set(defaultCollectors('cluster').map((name) => `${name} 0`)),
  );
  const progress = scrape.value('crdb_exporter_range_scan_nodes_done', { shard: '1' });
  expect(progress).toBeGreaterThan(0);
  expect(progress).toBe(scrape.value('crdb_exporter_range_scan_nodes_planned', { shard: '1' }));
  expect((await second.get('/-/ready')).status).toBe(200);
});

describe('an exporter beside a node', () => {
  test('exports its node alone, under the name of its shard, and queries nothing else', async () => {
    await using simulator = await simulate();
    await using exporter = await startLocal(simulator);
    const scrape = await firstScan(exporter);
    const truth = simulator.truth().stores.filter(({ nodeId }) => nodeId === 1);
    const replicas = scrape
      .all('crdb_range_replicas')
      .map(({ labels, value }) => [labels['store_id'], value]);
    expect(Object.fromEntries(replicas)).toEqual(
      Object.fromEntries(truth.map(({ storeId, replicas: count }) => [String(storeId), count])),
    );
    for (const family of [
      'crdb_range_problem_ranges',
      'crdb_ranges_by_lease_kind',
      'crdb_range_lease_changes_total',
      'crdb_range_scan_nodes',
    ]) {
      const shards = new Set(scrape.all(family).map(({ labels }) => labels['shard']));
      expect([family, shards]).toEqual([family, new Set(['db-1'])]);
    }
    for (const family of OF_ALL_RANGES) expect(scrape.all(family)).toEqual([]);
    expect(simulator.requests.count('nodes')).toBe(0);
    expect(simulator.requests.count('sessions')).toBe(0);
  });

  test('labels everything with the name of its shard from the start', async () => {
    await using simulator = await simulate();
    await using exporter = await startLocal(simulator);
    await firstScan(exporter);
    const { samples } = await exporter.until((scrape) =>
      scrape.all('crdb_exporter_collector_success').every(({ value }) => value === 1),
    );
    const shards = samples.flatMap(({ labels }) => labels['shard'] ?? []);
    expect(new Set(shards)).toEqual(new Set(['db-1']));
    const collectors = samples.flatMap(({ labels }) => labels['collector'] ?? []);
    expect(new Set(collectors)).toEqual(new Set(['ranges']));
  });
});
