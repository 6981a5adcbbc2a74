import { expect, test } from 'vitest';
import { ownsNode } from '../../../src/collectors/ranges/shards.ts';

const NODES = Array.from({ length: 600 }, (_, at) => at + 1);

function ownersOf(nodeId: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) =>
    ownsNode(nodeId, { index, count }),
  );
}

test.each([1, 2, 3, 7, 16])('each node belongs to exactly one of %d shards', (count) => {
  for (const nodeId of NODES) expect(ownersOf(nodeId, count)).toHaveLength(1);
});

test.each([2, 3, 5, 8])('%d shards have about the same number of nodes', (count) => {
  for (let index = 0; index < count; index += 1) {
    const share = NODES.filter((nodeId) => ownsNode(nodeId, { index, count })).length;
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
