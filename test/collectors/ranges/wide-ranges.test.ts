import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster } from './cluster.ts';
import { DEAD, many, scan, show } from './shown-ranges.ts';

/** The first of them vote, of which the first one holds the lease. */
function typesOf(nodeIds: readonly number[], voters: number): Readonly<Record<number, number>> {
  return Object.fromEntries(nodeIds.map((id, index) => [id, index < voters ? 0 : 5]));
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe('a range with more than eight replicas', () => {
  test.each([
    [9, 9],
    [12, 7],
    [15, 15],
    [18, 3],
  ])('of %i, of which %i vote, is verified in each scan and read once', async (count, voters) => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const nodes = upTo(count);
    cluster.describe = (_id, nodeId) => ({
      types: typesOf(nodes, voters),
      isLeaseholder: nodeId === count,
    });
    // The lease is at the last node.
    show(cluster, { holders: many(20, nodes.toReversed()), nodes });
    await scan(cluster, state);
    cluster.askedDescriptors = [];
    for (const minute of [1, 2, 3]) {
      const { unverified, dependent } = await scan(cluster, state, minute);
      expect([unverified, dependent]).toEqual([0, {}]);
    }
    expect(cluster.askedDescriptors).toEqual([]);
  });

  test('of 9 voters of which 4 are down needs each of the others, and no other node', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const nodes = upTo(10);
    cluster.describe = () => ({ types: typesOf(upTo(9), 9) });
    show(cluster, { holders: many(20, upTo(9)), nodes });
    await scan(cluster, state);
    const down = { 1: DEAD, 2: DEAD, 3: DEAD, 8: DEAD };
    show(cluster, { holders: many(20, [4, 5, 6, 7, 9]), nodes, down });
    for (const minute of [1, 2]) {
      const { unverified, dependent } = await scan(cluster, state, minute);
      expect(unverified).toBe(0);
      expect(dependent).toEqual(
        Object.fromEntries([4, 5, 6, 7, 9].map((id) => [`${id} quorum`, 20])),
      );
    }
  });

  test('counts for its last node when that one is down, in each scan', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const nodes = upTo(12);
    cluster.describe = () => ({ types: typesOf(nodes, 3) });
    show(cluster, { holders: many(20, upTo(11)), nodes, down: { 12: DEAD } });
    for (const minute of [0, 1, 2]) {
      const { unverified, of } = await scan(cluster, state, minute);
      expect([unverified, of('crdb_node_down_replicas')]).toEqual([0, ['{node_id="12"} 20']]);
    }
  });

  test('names all its nodes when it is lost', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const nodes = upTo(10);
    cluster.describe = (id) => ({ types: id === 1 ? typesOf(upTo(9), 9) : { 10: 0 } });
    show(cluster, { holders: [upTo(9), [10]], nodes });
    await scan(cluster, state);
    const down = Object.fromEntries(upTo(9).map((id) => [id, DEAD]));
    show(cluster, { holders: [[], [10]], nodes, down });
    const { of } = await scan(cluster, state, 1);
    expect(of('crdb_ranges_without_live_replica')).toEqual(['1']);
    expect(of('crdb_node_down_replicas')).toContain('{node_id="9"} 1');
  });

  test('is not verified while a replica beyond the fifteenth is not live, nor with more voters', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const nodes = upTo(18);
    cluster.describe = (id) => ({ types: typesOf(nodes, id === 1 ? 16 : 5) });
    show(cluster, { holders: many(2, nodes), nodes });
    expect((await scan(cluster, state)).unverified).toBe(1);
    show(cluster, { holders: many(2, upTo(17)), nodes, down: { 18: DEAD } });
    for (const minute of [1, 2]) expect((await scan(cluster, state, minute)).unverified).toBe(2);
  });
});
