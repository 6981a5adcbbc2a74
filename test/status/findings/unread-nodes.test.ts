import { expect, test } from 'vitest';
import { describeNodes } from '../../../src/status/findings/node-problems.ts';
import { unreadNodes } from '../../../src/status/findings/unread-nodes.ts';
import { node, nodesResult, unreadScan } from '../results.ts';

test('findings tell of nodes that were not read, and that some may hang only where they were silent', () => {
  expect(tell(2, {})).toEqual([]);
  expect(tell(2, { 7: 'timeout' })).toEqual([
    'The ranges of 1 of 3 nodes were not read (node 7): the counts are lower bounds. Check whether node 7 hangs; `crdb-exporter ranges 7` reads one.',
  ]);
  expect(tell(2, { 7: 'decode', 8: 'timeout' })).toEqual([
    'The ranges of 2 of 4 nodes were not read (nodes 7 and 8): the counts are lower bounds. Check whether node 8 hangs; `crdb-exporter ranges 7` reads one.',
  ]);
  expect(tell(1, { 7: 'limit', 8: 'decode' }, false)).toEqual([
    'The ranges of 2 of 3 nodes were not read (nodes 7 and 8): no counts are shown. `crdb-exporter ranges 7` reads one, and says what fails.',
  ]);
});

test('what hangs, and what fails, is a node that is not down by now', () => {
  expect(nextOf(8)).toBe('`crdb-exporter ranges 8` reads one, and says what fails.');
  expect(nextOf()).toBe('Expected while a node is down: the next scan leaves it out.');
});

function tell(...scan: Parameters<typeof unreadScan>): readonly string[] {
  return unreadNodes(unreadScan(...scan)).map(({ text, next }) => `${text} ${next}`);
}

/** The advice on nodes 7 and 8, of which these are live by now. */
function nextOf(...live: readonly number[]): string | undefined {
  const nodes = [7, 8].map((id) => node(id, { livenessCode: live.includes(id) ? 3 : 1 }));
  const scan = unreadScan(2, { 7: 'timeout', 8: 'decode' });
  return unreadNodes(scan, describeNodes(nodesResult(...nodes)).list)[0]?.next;
}
