import { expect, test } from 'vitest';
import { readWriting } from '../../../src/status/findings/record-changes.ts';
import { node, nodesResult } from '../results.ts';

/** Two nodes, the second of which has this status and wrote its record then. */
function listWith(livenessCode: number, updatedSeconds: number) {
  return nodesResult(node(1), node(2, { livenessCode, updatedSeconds, isFresh: false }));
}

test('a node writes its record although it counts as dead, if that moves while it does', () => {
  expect([...readWriting(listWith(1, 100), listWith(1, 110))]).toEqual([2]);
  expect([...readWriting(listWith(1, 100), listWith(5, 110))]).toEqual([2]);
  // It has just died, is silent, or is back.
  expect([...readWriting(listWith(3, 100), listWith(1, 110))]).toEqual([]);
  expect([...readWriting(listWith(1, 100), listWith(1, 100))]).toEqual([]);
  expect([...readWriting(listWith(1, 100), listWith(3, 110))]).toEqual([]);
  expect([...readWriting(undefined, listWith(1, 110))]).toEqual([]);
});
