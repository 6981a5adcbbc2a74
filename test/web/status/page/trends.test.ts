import { expect, test } from 'vitest';
import type { Finding } from '../../../../src/findings/problem.ts';
import { trendTiles } from '../../../../src/web/status/page/trends.ts';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');

function trend(name: string, values: readonly (number | undefined)[], secondsApart = 60) {
  const at = (index: number) => new Date(START_MS + index * secondsApart * 1000).toISOString();
  return { name, points: values.map((value, index) => ({ at: at(index), value })) };
}

function finding(key: string, more: Partial<Finding> = {}): Finding {
  const level = 'warning';
  return { key, about: 'nodes', alert: undefined, level, text: '', next: '', since: '', ...more };
}

/** `class: title value` of each tile. */
function tilesOf(trends: Parameters<typeof trendTiles>[0], findings: readonly Finding[] = []) {
  const text = trendTiles(trends, findings, undefined)?.text ?? '';
  const tiles = text.matchAll(/<li class="(\w*)">\s*<span>([^]*?)<\/span\s*><b>([^<]*)<\/b>/g);
  return Array.from(tiles, ([, level, title = '', value]) => {
    return `${level}: ${title.replaceAll(/<[^>]*>/g, '')} ${value}`;
  });
}

const ALL = [
  trend('oldestTransactionSeconds', [7_300]),
  trend('openSessions', [60]),
  trend('problemRanges', [0]),
  trend('queriesPerSecond', [1_234.5]),
  trend('cpuRatio', [0.456]),
  trend('liveNodes', [9]),
];

test('there is a tile for each trend, in the order of importance', () => {
  expect(tilesOf(ALL)).toEqual([
    'healthy: Live nodes 9',
    ': Highest node CPU 46 %',
    ': Queries per second 1,235',
    'healthy: Range problems 0',
    ': Open sessions 60',
    'healthy: Oldest transaction 2 h',
  ]);
});

/** What stands before the titles of all tiles. */
function levelsWith(...findings: readonly Finding[]) {
  return tilesOf(ALL, findings).map((tile) => tile.split(' ')[0]);
}

test('a tile has the level of the first problem that is about it', () => {
  const healthy = ['healthy:', ':', ':', 'healthy:', ':', 'healthy:'];
  expect(levelsWith(finding('builds'), finding('nodes'), finding('xranges '))).toEqual(healthy);
  expect(levelsWith(finding('nodes dead', { level: 'info' }))).toEqual(healthy);
  expect(levelsWith(finding('ranges other', { about: 'exporter' }))).toEqual(healthy);
  expect(
    levelsWith(
      finding('nodes dead', { level: 'critical' }),
      finding('nodes draining'),
      finding('ranges other'),
      finding('old transactions'),
    ),
  ).toEqual(['critical:', ':', ':', 'warning:', ':', 'warning:']);
});

test('a trend whose last poll failed has no value, and there are no tiles without any', () => {
  expect(tilesOf([trend('liveNodes', [9, undefined]), trend('cpuRatio', [0.5])])).toEqual([
    ': Live nodes not known',
    ': Highest node CPU 50 %',
  ]);
  expect(trendTiles([trend('liveNodes', [9, undefined])], [], undefined)).toBeUndefined();
  expect(trendTiles([], [], undefined)).toBeUndefined();
});

test('the tile of nodes names how many of all are live', () => {
  const nodes = { byStatus: { live: 3 }, builds: [], list: [] };
  const text = trendTiles([trend('liveNodes', [9])], [], nodes)?.text;
  expect(text).toContain('<b>3 of 0</b>');
});

test.each([
  [[5], undefined, undefined],
  [[5, undefined], undefined, undefined],
  [[5, 5], 'M0,14h0L120,14', 'steady for 1 min'],
  [[0, 0, 0], 'M0,26h0L60,26L120,26', 'steady for 2 min'],
  [[1, 3], 'M0,26h0L120,2', '1 – 3 in 1 min'],
  [[3, 1, undefined, 2, 2], 'M0,2h0L30,26M90,14h0L120,14', '1 – 3 in 4 min'],
])('the line of %j is %s', (values, path, scale) => {
  // Another trend is known, so that there are tiles in any case.
  const trends = [trend('openSessions', values), trend('cpuRatio', [0.5])];
  const text = trendTiles(trends, [], undefined)?.text ?? '';
  expect(/<path d="([^"]*)"/.exec(text)?.[1]).toBe(path);
  expect(/<small>([^<]*)</.exec(text)?.[1]).toBe(scale);
});

test('points at the same time make no broken line', () => {
  const text = trendTiles([trend('openSessions', [1, 2], 0)], [], undefined)?.text ?? '';
  expect(/<path d="([^"]*)"/.exec(text)?.[1]).toBe('M0,26h0L0,2');
});

test('a line is described with its start, its bounds and its last value', () => {
  const text = trendTiles([trend('cpuRatio', [0.3, 0.1, 0.2, undefined])], [], undefined)?.text;
  expect(text).toBeUndefined();
  const known = trendTiles([trend('cpuRatio', [0.3, 0.1, undefined, 0.2])], [], undefined)?.text;
  expect(known).toContain('aria-label="Since 12:00 UTC between 10 % and 30 %, now 20 %."');
});
