import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster, pollRanges, replica, statusError } from './cluster.ts';
import { many, scan, show } from './shown-ranges.ts';

/** Voters on nodes 1, 2 and 3; node 3 does not list them. */
function showAbsent(again: readonly Record<string, unknown>[] | Error) {
  const cluster = fakeCluster([]);
  cluster.describe = (_id, nodeId) => ({
    types: { 1: 0, 2: 0, 3: 0 },
    isLeaseholder: nodeId === 1,
  });
  show(cluster, { holders: many(2, [1, 2]), nodes: [1, 2, 3] });
  const [first, second, third] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error('no nodes');
  cluster.nodes = [first, second, { ...third, nodeId: 3, again }];
  return cluster;
}

describe('replicas that their live node does not have', () => {
  test('do not serve from the second scan in a row on: a follower may see a split late', async () => {
    const cluster = showAbsent([]);
    const state = ranges.createState();
    const first = await scan(cluster, state);
    expect([first.dependent, first.unverified]).toEqual([{}, 2]);
    const { dependent, unverified } = await scan(cluster, state, 1);
    expect([dependent, unverified]).toEqual([{ '1 quorum': 2, '2 quorum': 2 }, 0]);
  });

  test('do not serve in the one scan of a command, which asks once more some seconds later', async () => {
    const cluster = showAbsent([]);
    const { cluster: found } = await pollRanges(cluster.api, { context: { descriptors: 'all' } });
    const needed = Array.from(found?.dependence?.nodes ?? [], ([id, { quorum }]) => [id, quorum]);
    expect([needed, found?.unverified]).toEqual([
      [
        [1, 2],
        [2, 2],
        [3, 0],
      ],
      0,
    ]);
    expect(cluster.askedAgain.filter((each) => each.startsWith('3: '))).toHaveLength(2);
  });

  test('serve for a command when they have come in these seconds', async () => {
    const cluster = showAbsent([]);
    const { describe: answer } = cluster;
    const [first, second, third] = cluster.nodes;
    const moved = [1, 2].map((rangeId) => replica({ rangeId, nodeId: 3, storeId: 3 }));
    cluster.describe = (id, nodeId) => {
      // The descriptors are read again after the pause.
      if (cluster.askedAgain.length > 0 && first !== undefined && second !== undefined)
        cluster.nodes = [first, second, { ...third, nodeId: 3, again: moved }];
      return answer(id, nodeId);
    };
    const { cluster: found } = await pollRanges(cluster.api, { context: { descriptors: 'all' } });
    const needed = Array.from(found?.dependence?.nodes ?? [], ([id, { quorum }]) => [id, quorum]);
    expect([needed, found?.unverified]).toEqual([
      [
        [1, 0],
        [2, 0],
        [3, 0],
      ],
      0,
    ]);
  });

  test('are not there for a moment only, where they have come between two scans', async () => {
    const cluster = showAbsent([]);
    const state = ranges.createState();
    await scan(cluster, state);
    const { nodes } = cluster;
    show(cluster, { holders: many(2, [1, 2, 3]), nodes: [1, 2, 3] });
    expect((await scan(cluster, state, 1)).dependent).toEqual({});
    cluster.nodes = nodes;
    const { dependent, unverified } = await scan(cluster, state, 2);
    expect([dependent, unverified]).toEqual([{}, 2]);
  });

  test('serve when they have moved there since the list was read', async () => {
    const moved = [1, 2].map((rangeId) => replica({ rangeId, nodeId: 3, storeId: 3 }));
    const { dependent, unverified } = await scan(showAbsent(moved));
    expect([dependent, unverified]).toEqual([{}, 0]);
  });

  test('are not verified while the node does not answer', async () => {
    expect((await scan(showAbsent(statusError(500)))).unverified).toBe(2);
  });
});

/** Voters on nodes 1, 2 and 3, there on store 6; node 3 lists replicas on these stores instead. */
function showStores(stores: readonly number[]) {
  const cluster = fakeCluster([]);
  cluster.describe = (_id, nodeId) => ({
    types: { 1: 0, 2: 0, 3: 0 },
    stores: { 1: 1, 2: 2, 3: 6 },
    isLeaseholder: nodeId === 1,
  });
  show(cluster, { holders: many(2, [1, 2, 3]), nodes: [1, 2, 3] });
  cluster.nodes = cluster.nodes.map((node) => {
    const listed = Array.isArray(node.ranges) ? node.ranges : [];
    const moved = stores.flatMap((store) =>
      listed.map((element: object) => ({ ...element, source_store_id: store })),
    );
    return node.nodeId === 3 ? { ...node, ranges: moved } : node;
  });
  return cluster;
}

describe('old replicas on another store of a node that has lost the one of its voters', () => {
  test.each([
    ['of a first scan', []],
    ['of a scan after one that found the voters', [[6]]],
  ])('are not taken for these: %s', async (_what, scans) => {
    const state = ranges.createState();
    for (const stores of scans) {
      const { unverified } = await scan(showStores(stores), state);
      expect(unverified).toBe(0);
    }
    const { dependent, unverified } = await scan(showStores([5]), state, 1);
    expect([dependent, unverified]).toEqual([{}, 2]);
  });
});
