import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { ownsNode } from '../../../src/collectors/ranges/read-nodes.ts';
import { RequestError } from '../../../src/http/errors.ts';
import { type FakeNode, fakeCluster, pollRanges, replica } from './cluster.ts';

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

/** What one node of the cluster reports of range 1. */
function report(nodeId: number, holder: number, sequence: number): FakeNode {
  const element = replica({ rangeId: 1, nodeId, storeId: nodeId, lease: holder, sequence });
  return { nodeId, ranges: [element] };
}

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
    pollRanges(cluster.api, { context: { shards: { index, count }, shard: String(index) } });

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

  test('add up to the ranges with a problem that one replica reports', async () => {
    const polled = await Promise.all([0, 1, 2].map((index) => pollShard(index, 3)));
    const counts = polled.map(({ of }) =>
      Number(
        of('crdb_range_problem_ranges')
          .find((line) => line.includes('unavailable'))
          ?.split(' ')[1],
      ),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(8);
  });

  test('that own no node are healthy and count zero', async () => {
    const lonely = fakeCluster([{ nodeId: 1, ranges: [] }]);
    const polled = await Promise.all(
      [0, 1, 2].map((index) =>
        pollRanges(lonely.api, { context: { shards: { index, count: 3 }, shard: String(index) } }),
      ),
    );
    expect(polled.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
    for (const { of } of polled) expect(of('crdb_range_problem_ranges')).toHaveLength(12);
    const read = polled.flatMap(({ of }) => of('crdb_range_scan_node_success'));
    expect(read).toEqual(['{node_id="1"} 1']);
  });
});

describe('lease changes of a shard', () => {
  const SHARD = { index: 0, count: 2 };
  const isOwn = (nodeId: number): boolean => ownsNode(nodeId, SHARD.index, SHARD.count);
  const [first = 0, second = 0] = NODES.filter(isOwn);
  const foreign = NODES.find((nodeId) => !isOwn(nodeId)) ?? 0;

  async function changesOver(scans: readonly (readonly FakeNode[])[]): Promise<readonly string[]> {
    const state = ranges.createState();
    let last: readonly string[] = [];
    for (const nodes of scans) {
      const context = { shards: SHARD };
      const { of } = await pollRanges(fakeCluster(nodes).api, { state, context });
      last = of('crdb_range_lease_changes_total');
    }
    return last;
  }

  test('include a lease that comes from a node of another shard', async () => {
    const scans = [
      [report(first, foreign, 5), report(foreign, foreign, 5)],
      [report(first, first, 6), report(foreign, first, 6)],
    ];
    expect(await changesOver(scans)).toEqual(['{shard="0"} 1']);
  });

  test('are complete although the holder was not read once', async () => {
    const failed = { nodeId: first, ranges: new RequestError('http', 'HTTP 500') };
    const scans = [
      [report(first, first, 5), report(second, first, 5)],
      [failed, report(second, first, 7)],
      [report(first, first, 8), report(second, first, 8)],
    ];
    expect(await changesOver(scans)).toEqual(['{shard="0"} 3']);
  });
});
