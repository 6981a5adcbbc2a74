import { describe, expect, test } from 'vitest';
import { ownsNode } from '../../../src/collectors/ranges/assignment.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster, pollRanges, replica } from './cluster.ts';

const NODES = Array.from({ length: 600 }, (_, at) => at + 1);

function ownersOf(nodeId: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) =>
    ownsNode(nodeId, index, count),
  );
}

test.each([1, 2, 3, 7, 16])('each node belongs to exactly one of %d shards', (count) => {
  for (const nodeId of NODES) expect(ownersOf(nodeId, count)).toHaveLength(1);
});

test.each([2, 3, 5, 8])('%d shards have about the same number of nodes', (count) => {
  for (let index = 0; index < count; index += 1) {
    const share = NODES.filter((nodeId) => ownsNode(nodeId, index, count)).length;
    expect(share).toBeGreaterThan((NODES.length / count) * 0.7);
    expect(share).toBeLessThan((NODES.length / count) * 1.3);
  }
});

test('one more shard takes nodes to itself and moves none between the others', () => {
  const moved = NODES.filter((nodeId) => ownersOf(nodeId, 4)[0] !== ownersOf(nodeId, 5)[0]);
  expect(moved.length).toBeGreaterThan(60);
  for (const nodeId of moved) expect(ownersOf(nodeId, 5)).toEqual([4]);
});

test('the owner of a node is the same in every release', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8].map((nodeId) => ownersOf(nodeId, 3)[0])).toMatchInlineSnapshot(`
    [
      0,
      2,
      2,
      1,
      2,
      0,
      1,
      0,
    ]
  `);
});

describe('shards', () => {
  const nodeIds = [1, 2, 3, 4, 5, 6, 7, 8];
  const cluster = fakeCluster(
    nodeIds.map((nodeId) => ({
      nodeId,
      ranges: nodeIds.map((rangeId) =>
        replica({
          rangeId,
          nodeId,
          storeId: nodeId,
          problems: { unavailable: rangeId === nodeId },
        }),
      ),
    })),
  );
  const pollShard = (index: number, count: number) =>
    pollRanges(cluster.api, { context: { shards: { index, count } }, shard: String(index) });

  test('read all nodes together, each its own', async () => {
    const polled = await Promise.all([0, 1, 2].map((index) => pollShard(index, 3)));
    const read = polled.flatMap(({ of }) => of('crdb_range_scan_node_success'));
    expect(new Set(read)).toEqual(new Set(nodeIds.map((id) => `{node_id="${id}"} 1`)));
    expect(read).toHaveLength(8);
  });

  test('export nothing about the whole cluster, and label their samples', async () => {
    const { of } = await pollShard(1, 3);
    expect(of('crdb_ranges')).toEqual([]);
    expect(of('crdb_ranges_by_replicas')).toEqual([]);
    expect(of('crdb_ranges_by_lease_kind').join()).not.toContain('none');
    expect(of('crdb_range_lease_changes_total')).toEqual(['{shard="1"} 0']);
  });

  test('count a change of a lease once, also of a range that leaves a shard and comes back', async () => {
    const states = [ranges.createState(), ranges.createState()];
    const scan = async (holders: readonly number[], lease: number, sequence: number) => {
      const listOf = (nodeId: number) => {
        const moving = replica({ rangeId: 1, nodeId, storeId: nodeId, lease, sequence });
        const staying = nodeIds.map((id) => replica({ rangeId: 1 + id, nodeId, storeId: nodeId }));
        return holders.includes(nodeId) ? [moving, ...staying] : staying;
      };
      const { api } = fakeCluster(nodeIds.map((nodeId) => ({ nodeId, ranges: listOf(nodeId) })));
      const shards = states.map((state, index) =>
        pollRanges(api, { state, context: { shards: { index, count: 2 } }, shard: String(index) }),
      );
      const polled = await Promise.all(shards);
      return polled.flatMap(({ of }) => of('crdb_range_lease_changes_total'));
    };
    // Shard 1 has nodes 4 and 5 alone.
    await scan([1, 4, 5], 1, 10);
    expect(await scan([1, 4, 5], 4, 11)).toEqual(['{shard="0"} 0', '{shard="1"} 1']);
    expect(await scan([4, 5], 5, 110)).toEqual(['{shard="0"} 0', '{shard="1"} 100']);
    // Nobody but shard 1 saw the changes up to 110; the last one is of a range that shard 0 sees for the first time.
    expect(await scan([1, 4, 5], 1, 111)).toEqual(['{shard="0"} 0', '{shard="1"} 100']);
  });
});
