import { expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster, pollRanges, replica, statusError } from './cluster.ts';
import { DEAD, many, show } from './shown-ranges.ts';

const NO_QUORUM = { unavailable: true } as const;

const VOTERS = { 1: 0, 2: 0, 3: 0 };

interface Claim {
  readonly types?: Readonly<Record<number, number>>;
  readonly leaseValid?: boolean;
  readonly down?: Readonly<Record<number, number>>;
  readonly isIdle?: boolean;
}

/** Six ranges on nodes 1, 2 and 3, of which some nodes report the last four as unavailable. */
async function claim(
  claimants: readonly number[],
  { types = VOTERS, leaseValid = true, down = {}, isIdle = false }: Claim = {},
) {
  const cluster = fakeCluster([]);
  show(cluster, { holders: many(6, [1, 2, 3]), down });
  cluster.nodes = cluster.nodes.map((node) => ({
    ...node,
    ranges: (Array.isArray(node.ranges) ? node.ranges : []).map((element: object, index) => ({
      ...element,
      ...(isIdle && { lease_history: null }),
      problems: index > 1 && claimants.includes(Number(node.nodeId)) ? NO_QUORUM : {},
    })),
  }));
  cluster.describe = (_id, nodeId) => ({ types, isLeaseholder: nodeId === 1, leaseValid });
  const { cluster: scanned, of } = await pollRanges(cluster.api);
  const { rangeIds, byTable, nodeIds } = scanned?.disputed ?? {};
  expect(of('crdb_range_problem_ranges').filter((line) => line.includes('unavailable'))).toEqual([
    '{problem="unavailable",shard="0"} 4',
  ]);
  return {
    ids: [...(rangeIds ?? [])].toSorted((a, b) => a - b),
    tables: [...(byTable ?? [])],
    nodeIds,
  };
}

const NONE = { ids: [], tables: [], nodeIds: [] };

test('a lost quorum that only nodes without the lease report is disputed', async () => {
  const disputed = { ids: [3, 4, 5, 6], tables: [[104, 4]] };
  expect(await claim([3])).toEqual({ ...disputed, nodeIds: [3] });
  expect(await claim([2, 3])).toEqual({ ...disputed, nodeIds: [2, 3] });
});

test.each<[string, Parameters<typeof claim>]>([
  ['the holder of the lease reports it, too', [[1, 3]]],
  ['the lease is not valid', [[3], { leaseValid: false }]],
  ['no list names a holder of the lease', [[3], { isIdle: true }]],
  ['a voter is not live', [[3], { types: { 1: 0, 2: 0, 4: 0 }, down: { 4: DEAD } }]],
  ['the only holder reports it', [[1]]],
])('it is stated where %s', async (_, given) => {
  expect(await claim(...given)).toEqual(NONE);
});

/** Nodes with one range, on which node 3 reports these problems. */
function showOne(problems: Readonly<Record<string, unknown>>) {
  return [1, 2, 3].map((nodeId) => ({
    nodeId,
    ranges: [
      replica({
        rangeId: 1,
        nodeId,
        storeId: nodeId,
        lease: 1,
        sequence: 1,
        problems: nodeId === 3 ? problems : {},
      }),
    ],
  }));
}

test('it is stated from the scan on in which the holder has lost the lease, or does not say that it has one', async () => {
  const cluster = fakeCluster([]);
  const state = ranges.createState();
  const disputed = async (leaseValid: boolean | undefined) => {
    cluster.describe = (_id, nodeId) => {
      if (leaseValid === undefined) throw statusError(503);
      return { types: VOTERS, isLeaseholder: nodeId === 1, leaseValid };
    };
    const { cluster: scanned } = await pollRanges(cluster.api, { state });
    return scanned?.disputed.nodeIds;
  };
  cluster.nodes = showOne({});
  await disputed(true);
  cluster.nodes = showOne(NO_QUORUM);
  expect(await disputed(true)).toEqual([3]);
  expect(await disputed(false)).toEqual([]);
  expect(await disputed(true)).toEqual([3]);
  expect(await disputed(undefined)).toEqual([]);
});

const element = (rangeId: number, key: string) =>
  replica({ rangeId, nodeId: 1, storeId: 1, lease: 1, sequence: 1, key });

test('ranges without a majority that no node reports have their table', async () => {
  const cluster = fakeCluster([]);
  cluster.nodes = [
    {
      nodeId: 1,
      ranges: [
        element(1, '/Min'),
        element(2, '/Table/104/1'),
        element(3, '/Table/104/2'),
        element(4, '/Table/106/1'),
      ],
    },
    { nodeId: 4, status: DEAD },
    { nodeId: 5, status: DEAD },
  ];
  cluster.describe = (id) => ({ types: id === 4 ? { 1: 0 } : { 1: 0, 4: 0, 5: 0 } });
  const { cluster: scanned } = await pollRanges(cluster.api);
  expect(scanned?.unreported).toEqual(
    new Map([
      [0, 1],
      [104, 2],
    ]),
  );
});
