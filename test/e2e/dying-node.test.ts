import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { clusterYaml, type Scrape, startTestExporter } from '../support/exporter.ts';

const LEAVING = 5;
const SUSPECT_MS = 30_000;
const DEAD_MS = 300_000;

/** A cluster of five nodes, one of which is to leave and holds the only replica of a range. */
async function openScene() {
  let aheadMs = 0;
  const simulator = await startSimulator({
    nodes: 5,
    ranges: 40,
    storesPerNode: 1,
    faultyNodes: false,
    metricKeys: 'useful',
    now: () => Date.now() + aheadMs,
  });
  onTestFinished(() => simulator.close());
  for (const id of simulator.world.state.ranges.keys()) simulator.world.placeRange(id, [1, 2, 3]);
  simulator.world.placeRange(7, [LEAVING]);
  const exporter = await startTestExporter({
    yaml: `clusters:\n${clusterYaml(simulator)}`,
    intervalSeconds: 0.2,
  });
  onTestFinished(() => exporter.stop());
  return {
    exporter,
    world: simulator.world,
    pass: (milliseconds: number): void => {
      aheadMs += milliseconds;
    },
    /** Waits until the list of nodes and a scan that knew it show the node with that status; undefined: no longer listed. */
    until: (status: string | undefined) => exporter.until((scrape) => shows(scrape, status)),
  };
}

const SCANNED: Readonly<Record<string, number>> = { live: 5, decommissioning: 5 };

function shows(scrape: Scrape, status: string | undefined): boolean {
  const found = scrape
    .all('crdb_node_liveness', { node_id: String(LEAVING) })
    .find(({ value }) => value === 1);
  const [scanned, failed] = ['scanned', 'failed'].map((state) =>
    scrape.value('crdb_range_scan_nodes', { state }),
  );
  return (
    found?.labels['status'] === status && scanned === (SCANNED[status ?? ''] ?? 4) && failed === 0
  );
}

function skippedAndLost(scrape: Scrape): readonly (number | undefined)[] {
  return [
    scrape.value('crdb_range_scan_nodes', { state: 'skipped' }),
    scrape.value('crdb_ranges_without_live_replica'),
  ];
}

test('a node that dies while it is decommissioned counts as dead, with its ranges, until it has left', async () => {
  const { exporter, world, pass, until } = await openScene();
  await until('live');
  world.beginDecommission(LEAVING);
  expect(skippedAndLost(await until('decommissioning'))).toEqual([0, 0]);
  world.crashNode(LEAVING);
  pass(SUSPECT_MS);
  expect(skippedAndLost(await until('unavailable'))).toEqual([1, 1]);
  pass(DEAD_MS);
  const dead = await until('decommissioned');
  expect(skippedAndLost(dead)).toEqual([1, 1]);
  expect(dead.value('crdb_nodes', { status: 'decommissioned' })).toBe(1);
  expect(dead.all('crdb_node_sql_connections', { node_id: String(LEAVING) })).toEqual([]);
  const { text: page } = await exporter.get('/');
  expect(page).toMatch(/n5<\/th>.*<\/span> dead, decommissioning begun/);
  expect(page).toContain('Node 5 is dead, after decommissioning had begun.');
  const { clusters } = JSON.parse((await exporter.get('/api/status')).text);
  expect(clusters[0].findings).toContainEqual(
    expect.objectContaining({ key: 'nodes decommissioned', alert: 'CrdbNodeDead' }),
  );
  world.placeRange(7, [1, 2, 3]);
  world.decommission(LEAVING, true);
  // The next scan forgets the node.
  await expect.poll(async () => skippedAndLost(await until(undefined))).toEqual([0, 0]);
});
