import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { type FakeCluster, fakeCluster, pollRanges, statusError } from './cluster.ts';
import { many, scan, show } from './shown-ranges.ts';

/** Lets requests with more ids fail. Returns how to allow another number. */
function refuseMore(cluster: FakeCluster, status: number, most: number): (most: number) => void {
  const { describe: usual } = cluster;
  let allowed = most;
  cluster.describe = (id, nodeId) => {
    if ((sizes(cluster).at(-1) ?? 0) > allowed) throw statusError(status);
    return usual(id, nodeId);
  };
  return (number) => void (allowed = number);
}

/** How many ids each request for descriptors had. */
function sizes({ askedDescriptors }: FakeCluster): readonly number[] {
  return askedDescriptors.map(({ rangeIds }) => rangeIds.length);
}

describe('descriptors', () => {
  test.each([
    [400, 100],
    [414, 99],
    [414, 49],
    [431, 99],
  ])('are all read in one scan where a %d refuses more than %d ids', async (status, most) => {
    const cluster = fakeCluster([]);
    refuseMore(cluster, status, most);
    show(cluster, { holders: many(450, [1, 2, 3]) });
    const state = ranges.createState();
    const { unverified } = await scan(cluster, state);
    expect(unverified).toBe(0);
    // Two requests at once may fail with each length.
    expect(sizes(cluster).filter((size) => size > most).length).toBeLessThanOrEqual(6);
    cluster.askedDescriptors = [];
    await scan(cluster, state, 16);
    expect(Math.max(...sizes(cluster))).toBeLessThanOrEqual(most);
  });

  test.each([99, 49, 25])(
    'are all read twice by a command that decides where a proxy passes %d ids',
    async (most) => {
      const cluster = fakeCluster([]);
      refuseMore(cluster, 414, most);
      show(cluster, { holders: many(450, [1, 2, 3]) });
      const progress: number[] = [];
      const scanProgress = (done: number, planned: number): unknown =>
        progress.push(done / planned);
      const context = { urls: 2, descriptors: 'all', scanProgress } as const;
      const { of } = await pollRanges(cluster.api, { context });
      expect(of('crdb_ranges_unverified')).toEqual(['0']);
      const passed = cluster.askedDescriptors.filter(({ rangeIds }) => rangeIds.length <= most);
      const asked = Map.groupBy(
        passed.flatMap(({ rangeIds }) => rangeIds),
        (id) => id,
      );
      expect([
        asked.size,
        Math.min(...Array.from(asked.values(), (times) => times.length)),
      ]).toEqual([450, 2]);
      // It began with the nodes.
      const read = progress.slice(progress.lastIndexOf(0));
      expect(read.length).toBeGreaterThan(2);
      expect(read).toEqual(read.toSorted((a, b) => a - b));
      expect(read.at(-1)).toBe(1);
    },
  );

  test('are refused where 25 ids are too many, in each scan again, until they are not', async () => {
    const cluster = fakeCluster([]);
    const allow = refuseMore(cluster, 414, 24);
    show(cluster, { holders: many(100, [1, 2, 3]) });
    const state = ranges.createState();
    for (const minute of [0, 1]) {
      const { unverified, cluster: scanned } = await scan(cluster, state, minute);
      expect([unverified, scanned?.descriptors.state]).toEqual([100, 'refused']);
    }
    expect(sizes(cluster).at(-1)).toBe(25);
    allow(25);
    expect((await scan(cluster, state, 2)).unverified).toBe(0);
  });

  test('are read of the others where a node answers 500, which says nothing of the length', async () => {
    const cluster = fakeCluster([]);
    const { describe: usual } = cluster;
    cluster.describe = (id, nodeId) => {
      if (nodeId === 1) throw statusError(500);
      return usual(id, nodeId);
    };
    show(cluster, { holders: [...many(300, [1, 2, 3]), ...many(1_000, [2, 3, 4])] });
    const state = ranges.createState();
    const { unverified, cluster: scanned } = await scan(cluster, state);
    expect([unverified, scanned?.descriptors.state]).toEqual([300, 'read']);
    const ofNodes = cluster.askedDescriptors.map(
      ({ nodeId, rangeIds }) => `${nodeId}: ${rangeIds.length}`,
    );
    expect(ofNodes.toSorted()).toEqual(['1: 100', '1: 200', ...Array(5).fill('2: 200')]);
  });
});

test('replicas that are read a second time are asked for in shorter requests, too', async () => {
  const cluster = fakeCluster([]);
  show(cluster, { holders: many(120, [1, 2, 3]), problems: { no_raft_leader: true } });
  cluster.nodes = cluster.nodes.map((node) => ({
    ...node,
    get again() {
      const ids = cluster.askedAgain.at(-1)?.split(' ').slice(1) ?? [];
      return ids.length > 40 ? statusError(414) : (node.ranges ?? []);
    },
  }));
  const { of, unverified } = await scan(cluster);
  expect([of('crdb_ranges_serving_nothing'), unverified]).toEqual([['120'], 0]);
});
