import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { scanNodes, type ScannedNodes } from '../../../src/collectors/ranges/scan-nodes.ts';
import { contextOf, fakeCluster, pollRanges, replica, scannedNode } from './cluster.ts';

function stateAt(firstNodeId = 0) {
  return Object.assign(ranges.createState(), { firstNodeId });
}

interface Run {
  readonly nodeIds: readonly number[];
  readonly concurrency?: number;
  readonly state?: ReturnType<typeof stateAt>;
  /** The deadline passes when this number of nodes has been begun; those still being read then fail. */
  readonly cutAfter?: number;
  /** Nodes that respond only after the deadline. */
  readonly slow?: readonly number[];
  readonly broken?: readonly number[];
}

interface Ran extends ScannedNodes {
  readonly begun: readonly number[];
  readonly urls: readonly number[];
  readonly progress: readonly string[];
}

async function run(given: Run): Promise<Ran> {
  const { slow = [], broken = [], cutAfter = Infinity } = given;
  const controller = new AbortController();
  const begun: number[] = [];
  const urls: number[] = [];
  const progress: string[] = [];
  const { promise: timeUp, resolve: endTime } = Promise.withResolvers<void>();
  const context = {
    ...contextOf({ concurrency: given.concurrency ?? 1 }, given.state ?? stateAt()),
    signal: controller.signal,
    urls: 3,
    scanProgress: (done: number, planned: number) => progress.push(`${done}/${planned}`),
  };
  const result = await scanNodes(context, given.nodeIds, async (nodeId, firstUrl) => {
    begun.push(nodeId);
    urls.push(firstUrl);
    if (begun.length === cutAfter) {
      controller.abort(new DOMException('too long', 'TimeoutError'));
      endTime();
    }
    if (slow.includes(nodeId)) await timeUp;
    controller.signal.throwIfAborted();
    if (broken.includes(nodeId)) throw new RequestError('http', `node ${nodeId} is broken`);
    return scannedNode(nodeId);
  });
  return { ...result, begun, urls, progress };
}

const ids = (nodes: readonly { readonly nodeId: number }[]) => nodes.map(({ nodeId }) => nodeId);

describe('a scan', () => {
  test('reads every node once and reports its progress', async () => {
    const { nodes, failed, timedOut, progress } = await run({
      nodeIds: [1, 2, 3],
      concurrency: 2,
    });
    expect(new Set(ids(nodes))).toEqual(new Set([1, 2, 3]));
    expect(failed).toEqual([]);
    expect(timedOut).toBe(false);
    expect(progress).toEqual(['0/3', '1/3', '2/3', '3/3']);
  });

  test('returns its nodes by id, whatever node it began with', async () => {
    const { begun, nodes, failed } = await run({
      nodeIds: [1, 2, 3, 4, 5],
      state: stateAt(4),
      broken: [5, 2],
    });
    expect(begun).toEqual([4, 5, 1, 2, 3]);
    expect([ids(nodes), ids(failed)]).toEqual([
      [1, 3, 4],
      [2, 5],
    ]);
  });

  test('begins at another node each time', async () => {
    const state = stateAt();
    const firsts: (number | undefined)[] = [];
    for (let scan = 0; scan < 4; scan += 1) {
      firsts.push((await run({ nodeIds: [2, 5, 9], state })).begun[0]);
    }
    expect(firsts).toEqual([2, 5, 9, 2]);
  });

  test('begins each node at another URL than its neighbour, and than in the last scan', async () => {
    const state = stateAt();
    expect((await run({ nodeIds: [1, 2, 3], state })).urls).toEqual([1, 2, 0]);
    // Node 2 comes first now.
    expect((await run({ nodeIds: [1, 2, 3], state })).urls).toEqual([0, 1, 2]);
  });
});

describe('a scan that runs out of time', () => {
  test('counts the nodes that it did not reach as failed, without querying them', async () => {
    const { nodes, failed, timedOut } = await run({ nodeIds: [1, 2, 3, 4], cutAfter: 3 });
    expect(timedOut).toBe(true);
    expect(ids(nodes)).toEqual([1, 2]);
    expect(failed.map((node) => [node.nodeId, node.wasQueried, node.failure.reason])).toEqual([
      [3, true, 'timeout'],
      [4, false, 'timeout'],
    ]);
  });

  test('continues with the node that it was reading', async () => {
    const state = stateAt();
    await run({ nodeIds: [1, 2, 3, 4], cutAfter: 3, state });
    expect((await run({ nodeIds: [1, 2, 3, 4], state })).begun).toEqual([3, 4, 1, 2]);
  });

  test.each([
    { concurrency: 1, cutAfter: 2 },
    { concurrency: 2, cutAfter: 3 },
    { concurrency: 3, cutAfter: 4 },
  ])(
    'reaches every node in time (concurrency $concurrency, deadline at node $cutAfter)',
    async (cut) => {
      const state = stateAt();
      const nodeIds = [1, 2, 3, 4, 5, 6];
      const seen = new Map<number, number>();
      for (let scan = 0; scan < 12; scan += 1) {
        const { nodes } = await run({ nodeIds, state, ...cut });
        for (const { nodeId } of nodes) seen.set(nodeId, (seen.get(nodeId) ?? 0) + 1);
      }
      expect(new Set(seen.keys())).toEqual(new Set(nodeIds));
    },
  );

  test('because of one node that never responds does not begin with it again', async () => {
    const state = stateAt(1);
    const slow = [1];
    const nodeIds = [1, 2, 3, 4];
    const first = await run({ nodeIds, state, slow, concurrency: 2, cutAfter: 3 });
    expect(new Set(ids(first.failed))).toEqual(new Set([1, 3, 4]));
    expect((await run({ nodeIds, state, concurrency: 2 })).begun).toEqual([3, 4, 1, 2]);
  });
});

/** Four nodes; the deadline passes while that one is read. */
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

describe('the poll of a scan that runs out of time', () => {
  test('exports what it read when that is enough, and reports the limit', async () => {
    const { cluster, signal } = cutAt('3');
    const { of, failure, context, warnings } = await pollRanges(cluster.api, {
      options: { concurrency: 1 },
      context: { signal },
    });
    expect(failure).toBeUndefined();
    expect(warnings).toEqual([
      'the scan exceeded its timeout, the next one continues where it stopped: raise collectors.ranges.timeout or concurrency, or divide the nodes among shards',
    ]);
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
});

function silence(seconds: number): RequestError {
  return new RequestError('timeout', `no response; paused for ${seconds} s`);
}

test('a node that does not answer is a warning, the same in each scan', async () => {
  const cluster = fakeCluster([{ nodeId: 1 }, { nodeId: 2 }, { nodeId: 3, ranges: silence(60) }]);
  const first = await pollRanges(cluster.api);
  cluster.nodes = [...cluster.nodes.slice(0, 2), { nodeId: 3, ranges: silence(59) }];
  const second = await pollRanges(cluster.api);
  const text = 'ranges of node 3: the node does not respond';
  expect([first.warnings, second.warnings]).toEqual([[text], [text]]);
});
