import { expect, test } from 'vitest';
import type { NodeStatus } from '../../../../src/findings/status.ts';
import { nodeList } from '../../../../src/web/status/page/panels.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const EARLIER = '2026-03-01T11:46:00.000Z';

function node(id: number, more: Partial<NodeStatus> = {}): NodeStatus {
  return {
    id,
    status: 'live',
    locality: '',
    build: '',
    recordAt: NOW,
    isStale: false,
    ...more,
  };
}

/** `class: text` of each item, and `# text` of each title. */
function drawn(list: readonly NodeStatus[], lastSeenAt?: string): readonly string[] {
  const { text } = nodeList({ byStatus: {}, builds: [], list }, Date.parse(NOW), lastSeenAt);
  const found = text.matchAll(/<(?:h4|p|li)(?: class="(\w+)")?>([^]*?)<\/(?:h4|p|li)>/g);
  return Array.from(found, ([, kind = '#', content = '']) => {
    const words = content.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
    return `${kind}: ${words.trim()}`;
  });
}

test('while the polls fail, nodes are only what they were, without a colour', () => {
  const nodes = [node(1), node(2, { status: 'dead', isStale: true })];
  expect(drawn(nodes, EARLIER).slice(1)).toEqual([
    'past: n1 ? last seen live 14 min ago',
    'past: n2 ? last seen dead 14 min ago',
  ]);
});

test.each([
  [400, 0, 400],
  [401, 0, 0],
  [401, 3, 3],
])('of %d nodes, %d of them dead, %d are shown and the others counted', (all, dead, shown) => {
  const nodes = Array.from({ length: all }, (_, at) => {
    return node(at, { status: at < dead ? 'dead' : 'live' });
  });
  const items = drawn(nodes);
  expect(items.filter((item) => / n\d/.test(item))).toHaveLength(shown);
  const counted = items.filter((item) => item.startsWith('quiet'));
  expect(counted).toEqual(shown === all ? [] : [`quiet: and ${all - shown} healthy`]);
});
