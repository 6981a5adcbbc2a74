import { describe, expect, test } from 'vitest';
import { startSimulator, type Truth } from '../../../simulator/index.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { type Polled, pollRanges } from './cluster.ts';
import {
  expectDependence,
  expectRanges,
  expectStores,
  expectTables,
  valuesOf,
} from './expectations.ts';
import { simulatedApi } from './simulated.ts';

function expectHot(polled: Polled, { ranges: truth }: Truth): void {
  const byCpu = truth.hot.toSorted(
    (a, b) => b.cpuNanosPerSecond - a.cpuNanosPerSecond || a.rangeId - b.rangeId,
  );
  const hottest = new Set([...truth.hot.slice(0, 20), ...byCpu.slice(0, 20)]);
  const expected = Array.from(
    hottest,
    ({ rangeId, tableId, indexId }) =>
      `range_id="${rangeId}",table_id="${tableId}",index_id="${indexId}",shard="0"`,
  );
  const listed = Object.keys(valuesOf(polled, 'crdb_hot_range_queries_per_second'));
  expect(listed.toSorted()).toEqual(expected.toSorted());
  const holders = Array.from(
    hottest,
    ({ rangeId, nodeId, storeId, lastTableId }) =>
      `range_id="${rangeId}",node_id="${nodeId}",store_id="${storeId}",last_table_id="${lastTableId}",shard="0"`,
  );
  const shown = Object.keys(valuesOf(polled, 'crdb_hot_range_leaseholder_info'));
  expect(shown.toSorted()).toEqual(holders.toSorted());
}

describe('the counts match the simulated cluster', () => {
  test.each([
    { nodes: 3, storesPerNode: 1, replication: 3, ranges: 200 },
    { nodes: 1, storesPerNode: 8, replication: 1, ranges: 300 },
    { nodes: 7, storesPerNode: 3, replication: 5, ranges: 400 },
    { nodes: 9, storesPerNode: 2, replication: 7, ranges: 400 },
    { nodes: 2, storesPerNode: 4, replication: 3, ranges: 150 },
  ])(
    'in a cluster of $nodes nodes with $storesPerNode stores and $replication replicas',
    async (world) => {
      await using simulator = await startSimulator({
        metricKeys: 'useful',
        ...world,
        frozen: true,
        seed: 7,
      });
      await using cluster = simulatedApi(simulator);
      const polled = await pollRanges(cluster.api, {
        options: { route: 'auto' },
      });
      expect(polled.failure).toBeUndefined();
      const truth = simulator.truth();
      expectStores(polled, truth);
      expectRanges(polled, truth);
      expectHot(polled, truth);
      expectTables(polled, truth);
      expectDependence(polled, truth);
      expect([...cluster.decodeErrors.values()].filter((count) => count > 0)).toEqual([]);
    },
  );

  test.each(['auto', 'gateway', 'proxy'] as const)(
    'in a cluster with dead, draining and faulty nodes, by route %s',
    async (route) => {
      await using simulator = await startSimulator({
        metricKeys: 'useful',
        frozen: true,
        faultyNodes: true,
        gateways: 2,
      });
      await using cluster = simulatedApi(simulator);
      const polled = await pollRanges(cluster.api, {
        options: { route },
        context: { urls: 2 },
      });
      expect(polled.failure).toBeUndefined();
      expectStores(polled, simulator.truth());
      expectRanges(polled, simulator.truth());
      expectTables(polled, simulator.truth());
      expectDependence(polled, simulator.truth());
    },
  );

  test('while nodes stop one after the other, with the ranges that are lost then', async () => {
    await using simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      nodes: 9,
      storesPerNode: 1,
      ranges: 300,
      faultyNodes: false,
      seed: 3,
    });
    await using cluster = simulatedApi(simulator);
    const { world } = simulator;
    // Pinned to one region, and spread over three with non-voters in a fourth place.
    world.placeRange(20, [3, 6, 9]);
    world.placeRange(21, [1, 2, 3], [4, 5]);
    const state = ranges.createState();
    for (const stopped of [undefined, 9, 6, 3]) {
      if (stopped !== undefined) world.killNode(stopped);
      const polled = await pollRanges(cluster.api, { state, options: { problem_ranges: 1_000 } });
      const truth = simulator.truth();
      expectDependence(polled, truth);
      const lost = polled
        .of('crdb_problem_range_first_seen_timestamp_seconds')
        .filter((line) => line.includes('no_live_replica'))
        .map((line) => Number(/range_id="([0-9]+)"/.exec(line)?.[1]));
      expect(lost).toEqual(truth.dependence.lost);
      expect(polled.of('crdb_ranges_without_live_replica')).toEqual([String(lost.length)]);
    }
    expect(simulator.truth().dependence.lost).toContain(20);
  });

  test('by servers of early releases, which ignore remote_node_id', async () => {
    await using simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      dialect: 'documented',
    });
    await using cluster = simulatedApi(simulator);
    const state = ranges.createState();
    const polled = await pollRanges(cluster.api, { options: { route: 'auto' }, state });
    expect(state.gatewayOnly).toBe(true);
    expect(polled.of('crdb_store_cpu_seconds_per_second')).toEqual([]);
    const { ranges: truth } = simulator.truth();
    expect(valuesOf(polled, 'crdb_ranges')).toEqual({ 'shard="0"': truth.distinct });
  });

  test('while ranges come and go between the pages, within the possible counts', async () => {
    await using simulator = await startSimulator({
      metricKeys: 'useful',
      frozen: true,
      nodes: 3,
      ranges: 120,
      storesPerNode: 1,
      faultyNodes: false,
      quirks: { rangeChurn: true },
    });
    await using cluster = simulatedApi(simulator);
    const polled = await pollRanges(cluster.api, {
      options: { route: 'auto', page_limit: 10, concurrency: 1 },
    });
    // One range goes and one comes with every page, so 120 are there at any moment.
    const counts = Object.values(valuesOf(polled, 'crdb_range_replicas'));
    expect(counts).toHaveLength(3);
    for (const count of counts) {
      expect(count).toBeLessThanOrEqual(132);
      expect(count).toBeGreaterThan(100);
    }
    expect(valuesOf(polled, 'crdb_ranges_by_replicas')['replicas="other",shard="0"']).toBe(0);
  });
});
