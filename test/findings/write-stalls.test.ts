import { expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../src/config/alert-settings.ts';
import { loadProblems, readWriteStalls } from '../../src/findings/load-problems.ts';
import { node, type Node, nodesResult } from '../web/status/results.ts';

/** A node whose record counts so many write stalls of each store. */
function stalled(updatedSeconds: number, counts: readonly number[], more: Partial<Node> = {}) {
  const stores = counts.map(
    (count, id) => [String(id), new Map([['storage.write-stalls', count]])] as const,
  );
  return nodesResult(node(1, { updatedSeconds, stores: new Map(stores), ...more }));
}

test('write stalls count by node, of its store with most', () => {
  const writeStalls = readWriteStalls(stalled(100, [5, 7]), stalled(130, [7, 8]));
  expect([...writeStalls]).toEqual([[1, 4]]);
  expect(loadProblems(stalled(130, []), writeStalls, DEFAULT_THRESHOLDS)).toMatchObject([
    {
      alert: 'CrdbStoreOverloaded',
      text: 'Node 1: a store stops all its writes 4 times a minute.',
    },
  ]);
});

test('write stalls of a store whose counter began again count no less than none', () => {
  expect([...readWriteStalls(stalled(100, [50]), stalled(130, [0]))]).toEqual([[1, 0]]);
});

test.each([
  ['was polled once', undefined, stalled(130, [9])],
  ['has restarted', stalled(100, [5]), stalled(130, [9], { startedSeconds: 1_700_000_050 })],
  ['is stale', stalled(100, [5]), stalled(130, [9], { isFresh: false })],
  ['was stale', stalled(100, [5], { isFresh: false }), stalled(130, [9])],
  ['has no newer record', stalled(100, [5]), stalled(100, [9])],
])('write stalls are not counted of a node that %s', (_, before, now) => {
  expect(readWriteStalls(before, now).size).toBe(0);
});
