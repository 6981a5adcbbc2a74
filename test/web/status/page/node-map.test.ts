import { expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../../../src/config/alert-settings.ts';
import type { NodeStatus } from '../../../../src/findings/nodes.ts';
import { nodeMap } from '../../../../src/web/status/page/node-map.ts';

const NOW = '2026-03-01T12:00:00.000Z';

function node(id: number, more: Partial<NodeStatus> = {}): NodeStatus {
  return {
    id,
    status: 'live',
    locality: '',
    build: '',
    startedAt: NOW,
    recordAt: NOW,
    isStale: false,
    cpuRatio: 0.5,
    sqlConnections: undefined,
    queriesPerSecond: undefined,
    memoryUsedRatio: undefined,
    storeUsedRatio: undefined,
    ...more,
  };
}

function draw(...list: readonly NodeStatus[]): string {
  return nodeMap({ byStatus: {}, builds: [], list: [...list] }, DEFAULT_THRESHOLDS, Date.parse(NOW))
    .text;
}

/** The matches of an expression, without line breaks. */
function find(text: string, expression: RegExp): readonly string[] {
  return Array.from(text.matchAll(expression), ([found]) => found.replaceAll('\n', ''));
}

/** The tiles of these nodes, among as many healthy ones as it takes. */
function tilesOf(...nodes: readonly NodeStatus[]): readonly string[] {
  const others = Array.from({ length: 41 }, (_, at) => node(100 + at));
  return find(draw(...nodes, ...others), /<li[^]*?<\/li>/g).slice(0, nodes.length);
}

test('a tile has the heat of its load', () => {
  const shares = [undefined, 0, 0.19, 0.2, 0.39, 0.4, 0.6, 0.8, 1, 1.7];
  const tiles = tilesOf(...shares.map((cpuRatio, at) => node(at + 1, { cpuRatio })));
  expect(tiles).toEqual([
    '<li class="h0"><b>1</b></li>',
    '<li class="h0"><b>2</b> 0%</li>',
    '<li class="h0"><b>3</b> 19%</li>',
    '<li class="h1"><b>4</b> 20%</li>',
    '<li class="h1"><b>5</b> 39%</li>',
    '<li class="h2"><b>6</b> 40%</li>',
    '<li class="h3"><b>7</b> 60%</li>',
    '<li class="h4"><b>8</b> 80%</li>',
    '<li class="h4"><b>9</b> 100%</li>',
    '<li class="h4"><b>10</b> 170%</li>',
  ]);
});

test('a tile of an unhealthy node says why, and since when it is stale', () => {
  const stale = { isStale: true, cpuRatio: undefined };
  expect(
    tilesOf(
      node(1, { status: 'dead', cpuRatio: undefined }),
      node(2, { status: 'draining' }),
      node(3, { ...stale, recordAt: '2026-03-01T11:46:00.000Z' }),
      node(4, { ...stale, recordAt: undefined }),
    ),
  ).toEqual([
    '<li class="critical"><b>1</b> dead</li>',
    '<li class="info"><b>2</b> 50% draining</li>',
    '<li class="warning"><b>3</b> stale 14 min</li>',
    '<li class="warning"><b>4</b> stale</li>',
  ]);
});

test.each([
  [40, 'cards', 40, []],
  [41, 'tiles', 41, []],
  [400, 'tiles', 400, []],
  [401, 'tiles', 0, ['<p class="quiet">and 401 healthy</p>']],
])('%d healthy nodes are %s, and so many of them: %d', (count, kind, shown, hidden) => {
  const text = draw(...Array.from({ length: count }, (_, at) => node(at)));
  expect(find(text, /<ul class="\w+">/g)).toEqual([`<ul class="${kind}">`]);
  expect(find(text, /<li /g)).toHaveLength(shown);
  expect(find(text, /<p[^]*?<\/p>/g)).toEqual(hidden);
});

test('one healthy node among many others is counted', () => {
  const dead = Array.from({ length: 400 }, (_, at) => node(at, { status: 'dead' }));
  expect(draw(...dead, node(400))).toContain('>and 1 healthy<');
});

test('nodes stand by region and zone, in the order of their names', () => {
  const localities = [
    'region=b,zone=y,rack=2',
    'region=b,zone=x',
    '',
    'region=a',
    'region=b,zone=x',
  ];
  const text = draw(...localities.map((locality, at) => node(at + 1, { locality })));
  expect(find(text, /<h4>[^]*?<\/h4>|<h5>.*?<\/h5>|<b>n\d/g)).toEqual([
    '<h4>no locality <small>1</small></h4>',
    '<b>n3',
    '<h4>region=a <small>1</small></h4>',
    '<b>n4',
    '<h4>region=b <small>3</small></h4>',
    '<h5>zone=x</h5>',
    '<b>n2',
    '<b>n5',
    '<h5>zone=y, rack=2</h5>',
    '<b>n1',
  ]);
});

test('a card marks shares above their thresholds', () => {
  const shares = [
    [0.9, 0.9, 0.8],
    [0.91, 0.9, 0.8],
    [0.9, 0.91, 0.8],
    [0.9, 0.9, 0.81],
  ] as const;
  const cards = shares.map(([cpuRatio, memoryUsedRatio, storeUsedRatio]) =>
    draw(node(1, { cpuRatio, memoryUsedRatio, storeUsedRatio })),
  );
  expect(cards.map((text) => find(text, /(?<=class="load high"\s*><span>)\w+/g))).toEqual([
    [],
    ['CPU'],
    ['Mem'],
    ['Disk'],
  ]);
});

/** The quiet lines of a card. */
function linesOf(more: Partial<NodeStatus>): readonly string[] {
  const lines = find(draw(node(1, more)), /(?<=<span class="quiet">)[^]*?(?=<\/span>)/g);
  return lines.map((line) => line.replaceAll(/<[^>]*>/g, ''));
}

test('a card has only the lines that are known, and the age of an old record', () => {
  expect(linesOf({})).toEqual([]);
  expect(linesOf({ build: 'v25.4.3', queriesPerSecond: 1_500 })).toEqual(['1,500 q/s', 'v25.4.3']);
  expect(linesOf({ queriesPerSecond: 0, sqlConnections: 7 })).toEqual(['0 q/s · 7 conns']);
  const recordAt = '2026-03-01T11:46:00.000Z';
  expect(linesOf({ recordAt })).toEqual([]);
  expect(linesOf({ recordAt, isStale: true })).toEqual(['record 14 min old']);
  expect(linesOf({ recordAt, cpuRatio: undefined })).toEqual(['record 14 min old']);
  expect(linesOf({ recordAt: undefined, isStale: true })).toEqual([]);
});
