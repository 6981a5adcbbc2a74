import { expect, test } from 'vitest';
import { unreadNodes } from '../../../src/status/findings/unread-nodes.ts';
import { unreadScan } from '../results.ts';

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

function tell(...scan: Parameters<typeof unreadScan>): readonly string[] {
  return unreadNodes(unreadScan(...scan)).map(({ text, next }) => `${text} ${next}`);
}
