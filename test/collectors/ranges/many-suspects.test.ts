import { expect, test } from 'vitest';
import { MAX_READ_AGAIN } from '../../../src/collectors/ranges/key-space.ts';
import { fakeCluster, LAST_KEY, pollRanges, replica } from './cluster.ts';
import { many, show } from './shown-ranges.ts';

/** What a scan says of this many ranges whose leaseholders know no leader. */
async function stuck(count: number) {
  const cluster = fakeCluster([]);
  show(cluster, { holders: many(count, [1, 2, 3]), problems: { no_raft_leader: true } });
  const { cluster: scanned, of } = await pollRanges(cluster.api);
  expect(of('crdb_range_problem_ranges').find((line) => line.includes('no_raft_leader'))).toContain(
    `} ${count}`,
  );
  return [scanned?.servingNothing, scanned?.stuck, scanned?.unverified, scanned?.isServingBound];
}

test('ranges that serve nothing are counted up to those that can be asked again; others are not verified', async () => {
  expect(await stuck(MAX_READ_AGAIN)).toEqual([MAX_READ_AGAIN, MAX_READ_AGAIN, 0, false]);
  expect(await stuck(MAX_READ_AGAIN + 7)).toEqual([MAX_READ_AGAIN, MAX_READ_AGAIN, 7, true]);
});

test('of a range that is asked again all stuck replicas are, however many others there are', async () => {
  const cluster = fakeCluster([]);
  // Node 1 is read first, and node 3 holds the leases.
  show(cluster, { holders: many(20_001, [3, 1, 2]) });
  cluster.nodes = cluster.nodes.map((node) => ({
    ...node,
    ranges: (Array.isArray(node.ranges) ? node.ranges : []).map((element: object) => ({
      ...element,
      problems: { no_raft_leader: true },
    })),
  }));
  const { cluster: scanned } = await pollRanges(cluster.api, {
    options: { descriptor_max_age: 0 },
  });
  expect(scanned?.servingNothing).toBe(MAX_READ_AGAIN);
});

test('a replica that is asked again and sends no problems has not said that it serves', async () => {
  const element = replica({
    rangeId: 1,
    nodeId: 1,
    storeId: 1,
    lease: 1,
    keys: [undefined, LAST_KEY],
  });
  const stuckOne = { ...element, problems: { no_raft_leader: true } };
  const given = { options: { descriptor_max_age: 0 } };
  const asked = async (again: object) => {
    const { api } = fakeCluster([{ nodeId: 1, ranges: [stuckOne], again: [again] }]);
    return (await pollRanges(api, given)).of('crdb_ranges_serving_nothing');
  };
  expect(await asked(stuckOne)).toEqual(['1']);
  expect(await asked(element)).toEqual(['0']);
  expect(await asked({ ...element, problems: undefined })).toEqual([]);
});
