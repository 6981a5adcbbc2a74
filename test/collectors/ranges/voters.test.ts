import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster, pollRanges, replica, statusError } from './cluster.ts';
import { valuesOf } from './expectations.ts';
import { simulatedApi } from './simulated.ts';

const DEAD = 1;
const NODES = [1, 2, 3, 4, 5];

/** A cluster of ranges with five replicas each, all of the given tables; `isDown`: node 5 is. */
function show(
  cluster: ReturnType<typeof fakeCluster>,
  tables: readonly number[],
  isDown: boolean,
): void {
  cluster.nodes = NODES.map((nodeId) => ({
    nodeId,
    ...(isDown && nodeId === 5 ? { status: DEAD } : {}),
    ranges: tables.map((table, at) =>
      replica({
        rangeId: at + 1,
        nodeId,
        storeId: nodeId,
        key: `/Table/${table}/1`,
        ...(isDown && nodeId === 1 && { problems: { underreplicated: true } }),
      }),
    ),
  }));
}

const ZONE = [0, 0, 0, 5, 5];
const unknown = (polled: Awaited<ReturnType<typeof pollRanges>>) =>
  polled.of('crdb_ranges_of_unknown_voters');

describe('the voters of ranges with 4 or more replicas', () => {
  test('are read in the scan that needs them, and make a node count that all voters would spare', async () => {
    const cluster = fakeCluster([]);
    cluster.typesOf = () => ZONE;
    const state = ranges.createState();
    show(cluster, [104], false);
    await pollRanges(cluster.api, { state, context: { nowMs: () => 0 } });
    // A range that is read again, and has lost a replica meanwhile, does not refute what is known.
    cluster.typesOf = () => ZONE.slice(1);
    const context = { nowMs: () => 2_400_000 };
    await pollRanges(cluster.api, { state, context });
    show(cluster, [104], true);
    const polled = await pollRanges(cluster.api, { state, context });
    expect(unknown(polled)).toEqual(['{scope="node"} 0', '{scope="locality"} 0']);
    expect(polled.of('crdb_node_dependent_ranges')).toContain('{node_id="1",effect="quorum"} 1');
  });

  test('are unknown where the server refuses, which the metric admits and the log says', async () => {
    const cluster = fakeCluster([]);
    cluster.typesOf = () => {
      throw statusError(403);
    };
    show(cluster, [104], true);
    const polled = await pollRanges(cluster.api);
    expect(polled.failure).toBeUndefined();
    expect(unknown(polled)[0]).toBe('{scope="node"} 1');
    expect(polled.warnings).toEqual([expect.stringContaining('GRANT SYSTEM VIEWCLUSTERMETADATA')]);
    expect(cluster.askedTypes).toHaveLength(1);
  });

  test('are read again after a pause of 5 minutes while the server refuses, or when the clock was set back', async () => {
    const cluster = fakeCluster([]);
    show(cluster, [104], true);
    const state = ranges.createState();
    const asked: number[] = [];
    for (const minute of [...Array.from({ length: 20 }).keys(), -1_440]) {
      const before = cluster.askedTypes.length;
      await pollRanges(cluster.api, { state, context: { nowMs: () => minute * 60_000 } });
      if (cluster.askedTypes.length > before) asked.push(minute);
    }
    expect(asked).toEqual([0, 5, 10, 15, -1_440]);
  });

  test('take at most 5 requests and 100 ranges after a scan, those with a missing replica first', async () => {
    const cluster = fakeCluster([]);
    cluster.typesOf = () => ZONE;
    const tables = Array.from({ length: 250 }, (_, at) => 1_000 + at);
    show(cluster, tables, false);
    const state = ranges.createState();
    const counts: number[] = [];
    for (let scan = 0; scan < 4; scan += 1) {
      cluster.askedTypes = [];
      await pollRanges(cluster.api, { state });
      expect(cluster.askedTypes.length).toBeLessThanOrEqual(5);
      counts.push(cluster.askedTypes.flatMap(({ rangeIds }) => rangeIds).length);
    }
    expect(counts).toEqual([100, 100, 50, 0]);
  });

  test('are not those of a range whose configuration changes: another one is read after the next scan', async () => {
    const cluster = fakeCluster([]);
    cluster.typesOf = (rangeId) =>
      rangeId === cluster.askedTypes[0]?.rangeIds[0] ? [0, 0, 2, 3, 5] : ZONE;
    show(cluster, [104, 104], true);
    const state = ranges.createState();
    expect(unknown(await pollRanges(cluster.api, { state }))[0]).toBe('{scope="node"} 2');
    expect(unknown(await pollRanges(cluster.api, { state }))[0]).toBe('{scope="node"} 0');
    const asked = cluster.askedTypes.flatMap(({ rangeIds }) => rangeIds);
    expect(new Set(asked)).toEqual(new Set([1, 2]));
    expect(asked).toHaveLength(2);
  });

  test('are kept for an hour, and longer while a node is down, without a warning', async () => {
    const cluster = fakeCluster([]);
    cluster.typesOf = () => ZONE;
    show(cluster, [104], true);
    const state = ranges.createState();
    await pollRanges(cluster.api, { state, context: { nowMs: () => 0 } });
    cluster.typesOf = () => {
      throw statusError(501);
    };
    const later = { nowMs: () => 7_200_000 };
    const polled = await pollRanges(cluster.api, { state, context: later });
    expect([unknown(polled)[0], polled.warnings]).toEqual(['{scope="node"} 0', []]);
    show(cluster, [104], false);
    // The missing replica is there again, but nobody knows that it is not a new one.
    await pollRanges(cluster.api, { state, context: later });
    show(cluster, [104], true);
    expect(unknown(await pollRanges(cluster.api, { state, context: later }))[0]).toContain(' 1');
  });

  test('are not read when the nodes are divided among shards', async () => {
    const cluster = fakeCluster([]);
    show(cluster, [104], false);
    await pollRanges(cluster.api, { context: { shards: { index: 0, count: 2 } } });
    expect(cluster.askedTypes).toEqual([]);
  });
});

test('an even number of replicas is believed in the first scan, once the types of one range show it', async () => {
  const cluster = fakeCluster([]);
  cluster.typesOf = () => [0, 0, 5, 5];
  cluster.nodes = [1, 2, 3, 4].map((nodeId) => ({
    nodeId,
    ranges: [1, 2].map((rangeId) =>
      replica({ rangeId, nodeId, storeId: nodeId, key: '/Table/104/1' }),
    ),
  }));
  const polled = await pollRanges(cluster.api);
  expect(unknown(polled)).toEqual(['{scope="node"} 0', '{scope="locality"} 0']);
  expect(polled.of('crdb_node_dependent_ranges')).toContain('{node_id="1",effect="quorum"} 2');
});

describe('dependent ranges of a multi-region cluster', () => {
  const world = fc.record({
    seed: fc.integer({ min: 1, max: 1_000 }),
    movr: fc.constantFrom('zone', 'region'),
    bank: fc.constantFrom('zone', 'region'),
    down: fc.uniqueArray(fc.integer({ min: 2, max: 9 }), { minLength: 1, maxLength: 2 }),
    isRead: fc.boolean(),
  });

  test('are never fewer than really depend on a node while the voters are known, and else admitted', async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ seed, movr, bank, down, isRead }) => {
        await using simulator = await startSimulator({
          seed,
          nodes: 9,
          ranges: 60,
          sessions: 0,
          metricKeys: 'useful',
          frozen: true,
          faultyNodes: false,
          survival: { movr, bank },
        });
        await using cluster = simulatedApi(simulator);
        if (!isRead) simulator.setQuirk('rangeDescriptors', 'forbidden');
        const state = ranges.createState();
        await pollRanges(cluster.api, { state });
        await pollRanges(cluster.api, { state });
        for (const nodeId of down) simulator.world.killNode(nodeId);
        const polled = await pollRanges(cluster.api, { state });
        const found = valuesOf(polled, 'crdb_node_dependent_ranges');
        const { nodes } = simulator.truth().dependence;
        const uncertain = valuesOf(polled, 'crdb_ranges_of_unknown_voters')['scope="node"'] ?? NaN;
        for (const [nodeId, { quorum, allReplicas, withoutQuorum }] of Object.entries(nodes)) {
          const valueOf = (effect: string) => found[`node_id="${nodeId}",effect="${effect}"`];
          expect(valueOf('all_replicas')).toBe(allReplicas);
          expect(valueOf('without_quorum')).toBe(withoutQuorum);
          // Where the types are known, nothing is left to be admitted.
          const admitted = isRead ? 0 : uncertain;
          expect((valueOf('quorum') ?? NaN) + admitted).toBeGreaterThanOrEqual(quorum);
        }
        expect(uncertain === 0 || !isRead).toBe(true);
      }),
      { numRuns: 8, seed: 1 },
    );
  }, 60_000);
});

test('the types are read beside the API with the token in a cookie, and with no header of the API', async () => {
  await using simulator = await startSimulator({
    nodes: 5,
    ranges: 20,
    sessions: 0,
    metricKeys: 'useful',
    faultyNodes: false,
    replication: 5,
  });
  await using cluster = simulatedApi(simulator);
  const polled = await pollRanges(cluster.api);
  expect(unknown(polled)).toEqual(['{scope="node"} 0', '{scope="locality"} 0']);
  const asked = simulator.requests.entries.filter(
    ({ endpoint }) => endpoint === 'range_descriptors',
  );
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.length).toBeLessThanOrEqual(5);
  // The simulator takes no other secret here than the cookie, and shows none in its log.
  for (const { path, headers } of asked) {
    expect(path).toMatch(/^\/_status\/ranges\/\d\?range_ids=\d+(&range_ids=\d+)*$/);
    expect(headers['x-cockroach-api-session']).toBeUndefined();
  }
  simulator.fault({ endpoint: 'range_descriptors', kind: 'status', status: 503, times: 1 });
  await pollRanges(cluster.api);
  expect(simulator.requests.count('range_descriptors')).toBe(asked.length + 1);
});
