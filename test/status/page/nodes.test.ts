import { expect, test } from 'vitest';
import type { NodesStatus, NodeStatus } from '../../../src/status/findings/node-status.ts';
import { nodeTable } from '../../../src/status/page/node-panel.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const EARLIER = '2026-03-01T11:46:00.000Z';

function node(id: number, more: Partial<NodeStatus> = {}): NodeStatus {
  return {
    id,
    status: 'live',
    locality: '',
    build: 'v25.4.3',
    recordAt: NOW,
    isStale: false,
    ...more,
  };
}

function draw(list: readonly NodeStatus[], more: Partial<NodesStatus> = {}, lastSeenAt?: string) {
  const status = { byStatus: {}, builds: [], list, ...more };
  return nodeTable(status, [], Date.parse(NOW), lastSeenAt).text;
}

function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** The cells of each row. */
function rowsOf(markup: string): readonly (readonly string[])[] {
  return Array.from(markup.matchAll(/<tr>([^]*?)<\/tr>/g), ([, row = '']) =>
    Array.from(row.matchAll(/<t[hd]\b[^>]*>([^]*?)<\/t[hd]>/g), ([, cell = '']) => textOf(cell)),
  );
}

/** What is said below the table. */
function belowOf(markup: string): string {
  return textOf(markup.slice(markup.indexOf('</table>')));
}

const FIGURES = {
  startedAt: '2026-02-27T12:00:00.000Z',
  cpuRatio: 0.41,
  memoryRatio: 0.5,
  diskUsedRatio: 0.985,
  replicas: 1_200,
  leases: 400,
  sqlLatencyP99Seconds: 0.012,
  peers: { reached: 7, all: 8 },
  overLimit: ['disk'],
} as const;

test('the worst come first, stale records have no figures, and a figure over its limit has a sign', () => {
  const nodes = [
    node(1),
    node(2, FIGURES),
    node(3, { isStale: true, recordAt: EARLIER }),
    node(4, { status: 'dead', locality: 'region=a,zone=b' }),
    node(5, { status: 'draining', ...FIGURES, overLimit: [] }),
  ];
  const none = ['-', '-', '-', '-', '-', '-', '-', '-'];
  const figures = ['2 d', '41 %', '50 %', '99 %', '1,200', '400', '12 ms', '7 of 8'];
  expect(rowsOf(draw(nodes))).toEqual([
    [
      'Node',
      'Status',
      'Locality',
      'Version',
      'Uptime',
      'CPU',
      'Memory',
      'Max disk',
      'Replicas',
      'Leases',
      'SQL p99',
      'Peers',
    ],
    ['n4', '✕ dead', 'region=a, zone=b', 'v25.4.3', ...none],
    ['n2', '✓ live', 'none', 'v25.4.3', ...figures.with(3, '! 99 %')],
    ['n3', '! live, record 14 min old', 'none', 'v25.4.3', ...none],
    ['n5', 'i draining', 'none', 'v25.4.3', ...figures],
    ['n1', '✓ live', 'none', 'v25.4.3', ...none],
  ]);
});

test('while the polls fail, nodes are only what they were, without figures and progress', () => {
  const nodes = [node(1, FIGURES), node(2, { status: 'dead', isStale: true })];
  const versions = { builds: [], openUpgrade: 'held' } as const;
  const markup = draw(nodes, { versions }, EARLIER);
  expect(rowsOf(markup).slice(1)).toEqual([
    ['n2', '? dead, 14 min ago', 'none', 'v25.4.3'],
    ['n1', '? live, 14 min ago', 'none', 'v25.4.3'],
  ]);
  expect(belowOf(markup)).toBe('');
});

test('nodes that findings name come first, with the worst severity as a mark, but not while nobody knows', () => {
  const finding = { key: 'k', about: 'nodes', text: '', next: '', since: NOW } as const;
  const findings = [
    { ...finding, level: 'info', nodeIds: [1, 3] },
    { ...finding, level: 'warning', nodeIds: [3, 4] },
    { ...finding, level: 'critical', nodeIds: [4] },
  ] as const;
  const status = { byStatus: {}, builds: [], list: [1, 2, 3, 4].map((id) => node(id)) };
  const rows = nodeTable(status, findings, Date.parse(NOW)).text;
  const marks = Array.from(rows.matchAll(/<tr class="(\w+)">/g), ([, level]) => level);
  expect(marks).toEqual(['critical', 'warning']);
  expect(
    Array.from(rows.matchAll(/<th scope="row"[^>]*>(.*?)<\/th>/g), ([, cell = '']) => textOf(cell)),
  ).toEqual(['critical: n4', 'warning: n3', 'n1', 'n2']);
  const past = nodeTable(status, findings, Date.parse(NOW), EARLIER).text;
  expect(past).not.toMatch(/<tr class|class="hidden"/);
});

test('the sign of a node that is not well has the colour of its mark', () => {
  const statuses = ['dead', 'dead', 'unavailable', 'draining', 'live'];
  const list = statuses.map((status, at) => node(at + 1, { status }));
  const finding = { key: 'k', about: 'nodes', text: '', next: '', since: NOW } as const;
  const findings = [
    { ...finding, level: 'warning', nodeIds: [1, 4, 5] },
    { ...finding, level: 'critical', nodeIds: [2, 3] },
  ] as const;
  const { text } = nodeTable({ byStatus: {}, builds: [], list }, findings, Date.parse(NOW));
  const signs = Array.from(
    text.matchAll(/n(\d)<\/th>[^]*?<span class="icon (\w+)"/g),
    ([, id, sign]) => [id, sign],
  );
  expect(signs).toEqual([
    ['2', 'critical'],
    ['3', 'critical'],
    ['1', 'warning'],
    ['4', 'warning'],
    ['5', 'live'],
  ]);
});

test.each([
  [30, 0, 30, ''],
  [31, 0, 10, 'and 21 more nodes, all live'],
  [99, 12, 12, 'and 87 more nodes, all live'],
  [99, 40, 30, 'and 69 more nodes, 10 of them not healthy'],
])('of %d nodes, %d of them dead, %d have a row: the worst', (all, dead, shown, rest) => {
  const nodes = Array.from({ length: all }, (_, at) => {
    return node(at + 1, { status: at >= all - dead ? 'dead' : 'live' });
  });
  const markup = draw(nodes);
  const rows = rowsOf(markup).slice(1);
  expect(rows).toHaveLength(shown);
  const deadRows = rows.filter(([, status]) => status === '✕ dead');
  expect(deadRows).toHaveLength(Math.min(dead, shown));
  expect(belowOf(markup)).toBe(rest);
});

test('of more nodes than rows the live ones are counted by locality, the worst first', () => {
  const nodes = Array.from({ length: 90 }, (_, at) =>
    node(at + 1, { locality: `region=${'abc'[at % 3]}`, status: at % 3 === 2 ? 'dead' : 'live' }),
  );
  expect(belowOf(draw(nodes))).toBe(
    'and 60 more nodes, all live region=c: 0 of 30 live region=a: 30 of 30 live region=b: 30 of 30 live',
  );
  const retired = node(91, { locality: 'region=b', status: 'dead', isRetired: true });
  expect(belowOf(draw([...nodes, retired]))).toContain('region=b: 30 of 30 live');
});

test('a tier that is another one for each node makes no group', () => {
  const nodes = Array.from({ length: 40 }, (_, at) =>
    node(at + 1, { locality: `region=${'ab'[at % 2]},zone=z,dns=crdb-${at}` }),
  );
  expect(belowOf(draw(nodes))).toBe(
    'and 30 more nodes, all live region=a, zone=z: 20 of 20 live region=b, zone=z: 20 of 20 live',
  );
  const alone = nodes.map((each) => ({ ...each, locality: `dns=crdb-${each.id}` }));
  expect(belowOf(draw(alone))).toBe('and 30 more nodes, all live');
  const racks = nodes.map((each) => ({ ...each, locality: `rack=${each.id % 25}` }));
  expect(belowOf(draw(racks))).toContain('rack=1: 2 of 2 live');
});

test('while the polls fail, nodes without a row are only what they were', () => {
  const nodes = Array.from({ length: 90 }, (_, at) =>
    node(at + 1, { locality: `region=${'ab'[at % 2]}`, status: at < 35 ? 'dead' : 'live' }),
  );
  const markup = draw(nodes, {}, EARLIER);
  expect(belowOf(markup)).toBe(
    'and 60 more nodes, of which 5 were not healthy region=a: 27 of 45 were live region=b: 28 of 45 were live',
  );
  expect(markup).not.toContain('class="warning"');
  const live = nodes.map((each) => ({ ...each, status: 'live' }));
  expect(belowOf(draw(live, {}, EARLIER))).toMatch(/^and 80 more nodes, which were all live /);
});

function belowWith(versions: NodesStatus['versions']): string {
  return belowOf(draw([node(1)], { versions }));
}

test('the progress of an upgrade has the nodes that are left, and says what keeps it open', () => {
  const builds = [
    { build: 'v25.4.3', nodes: [1, 2], lastStartedAt: EARLIER },
    { build: 'v25.2.1', nodes: [3], lastStartedAt: EARLIER },
  ];
  expect(belowWith({ builds, openUpgrade: 'nodes' })).toBe(
    '2 of 3 nodes run v25.4.3, the last one since 14 min; left: node 3 with v25.2.1. The upgrade is not finalized: it cannot be before all nodes run the new release.',
  );
  expect(belowWith({ builds: builds.slice(0, 1), openUpgrade: 'held' })).toBe(
    '2 of 2 nodes run v25.4.3. The upgrade is not finalized: cluster.preserve_downgrade_option holds it.',
  );
  expect(
    belowWith({ builds: builds.slice(0, 1), openUpgrade: 'dead', deadWithOlderRelease: [4] }),
  ).toBe(
    '2 of 2 nodes run v25.4.3. The upgrade cannot be finalized while node 4, which last ran an older release, is a dead member.',
  );
  expect(belowWith({ builds: builds.slice(0, 1), openUpgrade: undefined })).toBe('');
});
