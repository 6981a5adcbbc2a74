import { describe, expect, test } from 'vitest';
import { fakeCluster, pollRanges, replica } from './cluster.ts';

/** Four nodes; the deadline strikes while that one is read. */
function cutAt(nodeId: string) {
  const cluster = fakeCluster(
    [1, 2, 3, 4].map((id) => ({
      nodeId: id,
      ranges: [replica({ rangeId: id, nodeId: id, storeId: id })],
    })),
  );
  const controller = new AbortController();
  cluster.hold = async (asked) => {
    if (asked.nodeId !== nodeId) return;
    controller.abort(new DOMException('too long', 'TimeoutError'));
    controller.signal.throwIfAborted();
  };
  return { cluster, signal: controller.signal };
}

describe('a scan that is cut by its deadline', () => {
  test('publishes what it read when that is enough, and says that it was cut', async () => {
    const { cluster, signal } = cutAt('3');
    const { of, failure, context } = await pollRanges(cluster.api, {
      options: { concurrency: 1 },
      context: { signal },
    });
    expect(failure).toBeUndefined();
    expect([...context.limits]).toEqual(['duration']);
    expect(of('crdb_range_replicas')).toHaveLength(2);
    expect(of('crdb_range_scan_nodes')).toContain('{state="failed",shard="0"} 2');
    expect(of('crdb_range_scan_node_success')).toEqual([
      '{node_id="1"} 1',
      '{node_id="2"} 1',
      '{node_id="3"} 0',
    ]);
    expect(of('crdb_ranges')).toEqual([]);
  });

  test('fails for want of time when it read too little', async () => {
    const { cluster, signal } = cutAt('2');
    const { failure } = await pollRanges(cluster.api, {
      options: { concurrency: 1 },
      context: { signal },
    });
    expect(failure?.reason).toBe('timeout');
  });
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
    pollRanges(cluster.api, { context: { shards: { index, count }, shard: String(index) } });

  test('read all nodes together, each its own', async () => {
    const polled = await Promise.all([0, 1, 2].map((index) => pollShard(index, 3)));
    const read = polled.flatMap(({ of }) => of('crdb_range_scan_node_success'));
    expect(new Set(read)).toEqual(new Set(nodeIds.map((id) => `{node_id="${id}"} 1`)));
    expect(read).toHaveLength(8);
  });

  test('say nothing of the whole cluster, and label what they say', async () => {
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
