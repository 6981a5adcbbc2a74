import { describe, expect, test } from 'vitest';
import { HotRanges } from '../../../src/collectors/ranges/hot-ranges.ts';
import { ReplicaColumns } from '../../../src/collectors/ranges/replica.ts';

/** A lease-holding replica: its range, its queries and its CPU in seconds. */
type Held = readonly [rangeId: number, queries: number, cpuSeconds: number];

/** Scans of nodes, by id; the ranges listed as hot after the last one, with their node and their CPU. */
function listHot(length: number, ...scans: readonly Readonly<Record<number, readonly Held[]>>[]) {
  const hot = new HotRanges();
  let listed = hot.end();
  for (const nodes of scans) {
    hot.begin(length);
    for (const [id, held] of Object.entries(nodes)) {
      const replicas = new ReplicaColumns();
      for (const [rangeId, queries, cpuSeconds] of held) {
        const index = replicas.append();
        replicas.rangeIds[index] = rangeId;
        replicas.leases[index] = 1;
        replicas.queries[index] = queries;
        replicas.cpuNanos[index] = cpuSeconds * 1e9;
      }
      const sendsCpu = held.some(([, , cpuSeconds]) => cpuSeconds > 0);
      hot.add({ nodeId: Number(id), replicas, from: 0, to: held.length }, sendsCpu);
    }
    listed = hot.end();
  }
  return listed.map(({ rangeId, nodeId, cpuSeconds }) => [rangeId, nodeId, cpuSeconds]);
}

describe('hot ranges', () => {
  test('are those with most queries or CPU, and one whose lease moves stays', () => {
    const first = {
      1: [
        [1, 900, 0.1],
        [2, 3, 1.2],
        [3, 800, 0.2],
      ],
    } as const;
    expect(listHot(1, first)).toEqual([
      [1, 1, 0.1],
      [2, 1, 1.2],
    ]);
    const second = {
      1: [
        [1, 900, 0.1],
        [3, 800, 1.15],
      ],
      5: [[2, 3, 1.1]],
    } as const;
    expect(listHot(1, first, second)).toEqual([
      [1, 1, 0.1],
      [2, 5, 1.1],
    ]);
  });

  test('have one entry for a range that two nodes claim', () => {
    const nodes = {
      1: [[1, 10, 0]],
      2: [
        [1, 12, 0],
        [5, 11, 0],
      ],
    } as const;
    expect(listHot(2, nodes)).toEqual([
      [1, 2, undefined],
      [5, 2, undefined],
    ]);
  });

  test('have CPU of 0 where their node sends CPU and leaves zeros out, and else none', () => {
    const nodes = {
      1: [[1, 10, 0]],
      2: [
        [2, 9, 0],
        [3, 1, 0.5],
      ],
    } as const;
    expect(listHot(2, nodes)).toEqual([
      [1, 1, undefined],
      [3, 2, 0.5],
      [2, 2, 0],
    ]);
  });
});
