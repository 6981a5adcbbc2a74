import { describe, expect, test } from 'vitest';
import {
  type ScanMemory,
  scanNodes,
  type ScanResult,
} from '../../../src/collectors/ranges/scan.ts';
import type { NodeFigures } from '../../../src/collectors/ranges/tally.ts';

function figuresOf(nodeId: number): NodeFigures {
  return {
    nodeId,
    stores: new Map(),
    isDetailed: false,
    byQueries: [],
    maxQueries: undefined,
    maxCpuNanos: undefined,
  };
}

function memoryAt(firstNodeId = 0): ScanMemory {
  return { firstNodeId, scans: 0, failed: new Set() };
}

interface Run {
  readonly nodeIds: readonly number[];
  readonly concurrency?: number;
  readonly memory?: ScanMemory;
  /** The time is up once so many nodes have been begun; those still being read then fail. */
  readonly cutAfter?: number;
  /** Nodes that answer only once the time is up. */
  readonly slow?: readonly number[];
  readonly broken?: readonly number[];
}

interface Ran extends ScanResult {
  readonly begun: readonly number[];
  readonly turns: readonly number[];
  readonly progress: readonly string[];
}

async function run(given: Run): Promise<Ran> {
  const { slow = [], broken = [], cutAfter = Infinity } = given;
  const controller = new AbortController();
  const begun: number[] = [];
  const turns: number[] = [];
  const progress: string[] = [];
  const { promise: timeUp, resolve: endTime } = Promise.withResolvers<void>();
  const result = await scanNodes({
    nodeIds: given.nodeIds,
    concurrency: given.concurrency ?? 1,
    signal: controller.signal,
    memory: given.memory ?? memoryAt(),
    async readNode(nodeId, turn) {
      begun.push(nodeId);
      turns.push(turn);
      if (begun.length === cutAfter) {
        controller.abort(new DOMException('too long', 'TimeoutError'));
        endTime();
      }
      if (slow.includes(nodeId)) await timeUp;
      controller.signal.throwIfAborted();
      if (broken.includes(nodeId)) throw new Error(`node ${nodeId} is broken`);
      return figuresOf(nodeId);
    },
    describeFailure: (error) => ({ reason: 'http', message: String(error) }),
    progress: (done, planned) => progress.push(`${done}/${planned}`),
  });
  return { ...result, begun, turns, progress };
}

const ids = (nodes: readonly { readonly nodeId: number }[]) => nodes.map(({ nodeId }) => nodeId);

describe('a scan', () => {
  test('reads every node once and reports its progress', async () => {
    const { read, failed, wasCut, progress } = await run({ nodeIds: [1, 2, 3], concurrency: 2 });
    expect(new Set(ids(read))).toEqual(new Set([1, 2, 3]));
    expect(failed).toEqual([]);
    expect(wasCut).toBe(false);
    expect(progress).toEqual(['0/3', '1/3', '2/3', '3/3']);
  });

  test('tells what it read by node id, whatever node it began with', async () => {
    const { begun, read, failed } = await run({
      nodeIds: [1, 2, 3, 4, 5],
      memory: memoryAt(4),
      broken: [5, 2],
    });
    expect(begun).toEqual([4, 5, 1, 2, 3]);
    expect([ids(read), ids(failed)]).toEqual([
      [1, 3, 4],
      [2, 5],
    ]);
  });

  test('begins at another node each time', async () => {
    const memory = memoryAt();
    const firsts: (number | undefined)[] = [];
    for (let scan = 0; scan < 4; scan += 1) {
      firsts.push((await run({ nodeIds: [2, 5, 9], memory })).begun[0]);
    }
    expect(firsts).toEqual([2, 5, 9, 2]);
  });

  test('goes on where it would have when the next node has gone', async () => {
    const memory = memoryAt(5);
    expect((await run({ nodeIds: [2, 9, 11], memory })).begun).toEqual([9, 11, 2]);
  });

  test('goes on after a node that fails', async () => {
    const { read, failed } = await run({ nodeIds: [1, 2, 3], broken: [2] });
    expect(ids(read)).toEqual([1, 3]);
    expect(failed).toEqual([
      { nodeId: 2, wasAsked: true, reason: 'http', message: 'Error: node 2 is broken' },
    ]);
  });

  test('reads those last that could not be read the last time', async () => {
    const memory = memoryAt();
    await run({ nodeIds: [1, 2, 3, 4], broken: [1, 3], memory });
    expect((await run({ nodeIds: [1, 2, 3, 4], memory })).begun).toEqual([2, 4, 3, 1]);
    expect((await run({ nodeIds: [1, 2, 3, 4], memory })).begun[0]).toBe(4);
  });

  test('gives every node another turn than the one before, and than in the last scan', async () => {
    const memory = memoryAt();
    expect((await run({ nodeIds: [1, 2, 3], memory })).turns).toEqual([0, 1, 2]);
    expect((await run({ nodeIds: [1, 2, 3], memory })).turns).toEqual([1, 2, 3]);
  });

  test('of no node ends at once', async () => {
    const { read, failed, progress } = await run({ nodeIds: [] });
    expect([read, failed, progress]).toEqual([[], [], ['0/0']]);
  });
});

describe('a scan that runs out of time', () => {
  test('counts the nodes it did not reach as failed, without having asked them', async () => {
    const { read, failed, wasCut } = await run({ nodeIds: [1, 2, 3, 4], cutAfter: 3 });
    expect(wasCut).toBe(true);
    expect(ids(read)).toEqual([1, 2]);
    expect(failed.map(({ nodeId, wasAsked, reason }) => [nodeId, wasAsked, reason])).toEqual([
      [3, true, 'timeout'],
      [4, false, 'timeout'],
    ]);
  });

  test('goes on the next time with the node it was at', async () => {
    const memory = memoryAt();
    await run({ nodeIds: [1, 2, 3, 4], cutAfter: 3, memory });
    expect((await run({ nodeIds: [1, 2, 3, 4], memory })).begun).toEqual([3, 4, 1, 2]);
  });

  test.each([
    { concurrency: 1, cutAfter: 2 },
    { concurrency: 1, cutAfter: 3 },
    { concurrency: 2, cutAfter: 3 },
    { concurrency: 2, cutAfter: 4 },
    { concurrency: 3, cutAfter: 4 },
  ])('starves no node ($concurrency at a time, cut at number $cutAfter)', async (cut) => {
    const memory = memoryAt();
    const nodeIds = [1, 2, 3, 4, 5, 6];
    const seen = new Map<number, number>();
    for (let scan = 0; scan < 12; scan += 1) {
      const { read } = await run({ nodeIds, memory, ...cut });
      for (const { nodeId } of read) seen.set(nodeId, (seen.get(nodeId) ?? 0) + 1);
    }
    expect(new Set(seen.keys())).toEqual(new Set(nodeIds));
  });

  test('because of one endless node does not begin with it again', async () => {
    const memory = memoryAt(1);
    const slow = [1];
    const nodeIds = [1, 2, 3, 4];
    const first = await run({ nodeIds, memory, slow, concurrency: 2, cutAfter: 3 });
    expect(new Set(ids(first.failed))).toEqual(new Set([1, 3, 4]));
    expect((await run({ nodeIds, memory, concurrency: 2 })).begun).toEqual([3, 4, 1, 2]);
  });

  test('with every node at once endless still begins elsewhere', async () => {
    const memory = memoryAt(1);
    await run({ nodeIds: [1, 2], memory, slow: [1, 2], concurrency: 2, cutAfter: 2 });
    expect((await run({ nodeIds: [1, 2], memory })).begun).toEqual([2, 1]);
  });
});
