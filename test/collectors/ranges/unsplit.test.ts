import { expect, test } from 'vitest';
import { type FakeCluster, fakeCluster } from './cluster.ts';
import { B, healthy, LAST, NOTHING_WRONG, scan, show, type Shown } from './overlaps.ts';

const described = [1, 2, 3];
const on = (nodes: readonly number[], range: Shown): Shown => ({ ...range, nodes, described });

/**
 * Shows what splits made of B, which node 3 has not seen: it lists B as it was before. The ranges before B are on nodes 1 and 3, but for one that
 * node 3 has lost. Node 2 is down.
 */
function showUnsplit(cluster: FakeCluster, [left, ...right]: readonly Shown[], lost?: Shown): void {
  const shown = [
    on([1, 3], healthy(10, 0, lost?.from ?? 50)),
    ...(lost === undefined ? [] : [on([1], lost)]),
    on([3], { ...B, lease: 0, holder: 0 }),
    ...(left === undefined ? [] : [on([1], left)]),
    ...right.map((range) => on([1], range)),
  ];
  show(cluster, shown, [2]);
  const { describe: answer } = cluster;
  cluster.describe = (rangeId, nodeId) =>
    rangeId === B.id && nodeId === 1
      ? { types: { 1: 0, 2: 0, 3: 0 }, generation: 8, isLeaseholder: true }
      : answer(rangeId, nodeId);
}

test.each<[splits: string, parts: readonly Shown[]]>([
  ['one split', [healthy(11, 50, 70), healthy(12, 70, LAST)]],
  ['two splits of it', [healthy(11, 50, 60), healthy(12, 70, LAST), healthy(13, 60, 70)]],
  ['a split of the new range', [healthy(11, 50, 70), healthy(12, 70, 80), healthy(13, 80, LAST)]],
  [
    'three splits',
    [
      healthy(11, 50, 60),
      healthy(12, 70, 80),
      healthy(13, 60, 70),
      healthy(14, 80, 90),
      healthy(15, 90, LAST),
    ],
  ],
])('a range is not lost on a node that has not seen %s', async (_, parts) => {
  const cluster = fakeCluster([]);
  showUnsplit(cluster, parts);
  const { figures, cluster: scanned } = await scan(cluster, 4);
  expect(figures).toEqual({ ...NOTHING_WRONG, left: 0, unverified: parts.length - 1 });
  expect(scanned?.unreported.size).toBe(0);
});

test('a range that the node has lost is without a quorum, whatever is split elsewhere', async () => {
  const cluster = fakeCluster([]);
  showUnsplit(cluster, [healthy(11, 50, 70), healthy(12, 70, LAST)], healthy(9, 20, 50));
  const { cluster: scanned } = await scan(cluster, 2);
  expect([...(scanned?.unreported.values() ?? [])]).toEqual([1]);
});

test('a range that has a majority without the node is verified', async () => {
  const cluster = fakeCluster([]);
  const [left, right] = [healthy(11, 50, 70), healthy(12, 70, LAST)];
  const ranges = [
    on([1, 2, 3], healthy(10, 0, 50)),
    on([3], { ...B, lease: 0 }),
    on([1, 2], right),
  ];
  show(cluster, [...ranges, on([1, 2], left)]);
  const { describe: answer } = cluster;
  cluster.describe = (rangeId, nodeId) =>
    rangeId === B.id && nodeId === 1
      ? { types: { 1: 0, 2: 0, 3: 0 }, generation: 8, isLeaseholder: true }
      : answer(rangeId, nodeId);
  expect((await scan(cluster, 2)).figures).toEqual({ ...NOTHING_WRONG, left: 0 });
});

test('a range is not without a quorum while followers see its split late, and node 1 listed what was split before that', async () => {
  const cluster = fakeCluster([]);
  const [left, right] = [healthy(11, 50, 70), healthy(12, 70, LAST)];
  const others = [healthy(10, 0, 50)];
  show(cluster, [...others, left, on([1], right)]);
  const [now] = cluster.nodes;
  show(cluster, [...others, B, on([1], right)]);
  cluster.nodes = cluster.nodes.map((node) =>
    node.nodeId === 1 && now?.ranges !== undefined ? { ...node, again: now.ranges } : node,
  );
  const { cluster: scanned } = await scan(cluster);
  expect([scanned?.unreported.size, scanned?.unverified]).toEqual([0, 1]);
});
