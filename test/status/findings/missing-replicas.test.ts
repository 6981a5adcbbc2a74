import { expect, test } from 'vitest';
import { missingReplicas } from '../../../src/status/findings/missing-replicas.ts';
import { fakeCluster } from '../../collectors/ranges/cluster.ts';
import { healthy, LAST, scan, show, type Shown } from '../../collectors/ranges/overlaps.ts';

/** Two ranges that have voters on nodes 1, 2 and 3, of which node 3 lists the first alone. */
const LOST: readonly Shown[] = [
  healthy(10, 0, 50),
  { ...healthy(11, 50, LAST), nodes: [1, 2], described: [1, 2, 3] },
];

/** What is said after a scan of these ranges, while these nodes are down, and the others count this many replicas more than were read. */
async function tell(ranges: readonly Shown[], down: readonly number[] = [], unread = 0) {
  const cluster = fakeCluster([]);
  show(cluster, ranges, down);
  const replicas = { read: 5, counted: 5 + unread };
  const check = { replicas, leases: { read: 2, counted: 2 }, uncountedNodes: 0 };
  return missingReplicas((await scan(cluster, 2)).cluster, check);
}

test('findings name a live node that runs without replicas of its ranges', async () => {
  expect(await tell(LOST)).toMatchObject([
    {
      nodeIds: [3],
      level: 'warning',
      text: 'Node 3 lacks 1 replica that ranges have there: a store is missing, or lags behind splits.',
    },
  ]);
});

test('findings name no node that has all its replicas, or is down, or whose descriptors no longer name it', async () => {
  const [first, second] = [healthy(10, 0, 50), healthy(11, 50, LAST)];
  expect(await tell([first, second])).toEqual([]);
  expect(await tell(LOST, [3])).toEqual([]);
  expect(await tell([first, { ...second, nodes: [1, 2] }])).toEqual([]);
});

test('findings name no node that counts replicas which its list lacks', async () => {
  expect(await tell(LOST, [], 1)).toEqual([]);
});

test('a few replicas of many are no warning: a store may lag behind a split', async () => {
  const width = LAST / 50;
  const many = Array.from({ length: 50 }, (_, at) => {
    const range = healthy(10 + at, at * width, (at + 1) * width);
    return at === 7 ? { ...range, nodes: [1, 2], described: [1, 2, 3] } : range;
  });
  expect(await tell(many)).toMatchObject([{ level: 'info' }]);
});
