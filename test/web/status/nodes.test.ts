import { expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../../src/config/alert-settings.ts';
import {
  formatLiveNodes,
  nodeProblems,
  nodeLevel,
  readNodes,
} from '../../../src/findings/nodes.ts';
import { node, type Node, nodesResult as result } from './results.ts';

const FORBIDDEN = { isAllowed: false, reason: 'there is no current range scan' } as const;

function textsOf(...nodes: readonly Node[]): readonly string[] {
  return nodeProblems(readNodes(result(...nodes), undefined), FORBIDDEN, DEFAULT_THRESHOLDS).map(
    ({ text }) => text,
  );
}

test('the values of a stale record are absent', () => {
  const { list } = readNodes(result(node(1), node(2, { isFresh: false })), undefined);
  expect(list.map(({ sqlConnections, isStale }) => [sqlConnections, isStale])).toEqual([
    [5, false],
    [undefined, true],
  ]);
});

test('each issue names its nodes', () => {
  expect(
    textsOf(
      node(1, { livenessCode: 1, isFresh: false }),
      node(2, { livenessCode: 6 }),
      node(3, { livenessCode: 6, isFresh: false }),
      node(4, { buildTag: 'v25.4.4' }),
    ),
  ).toEqual([
    'Node 1 is dead.',
    'Nodes 2 and 3 are draining.',
    'Node 3 has stopped updating the record that node metrics are read from.',
    'The nodes run 2 builds: v25.4.3 and v25.4.4.',
  ]);
});

function store(capacity: number, available?: number): ReadonlyMap<string, number> {
  const known = available === undefined ? {} : { 'capacity.available': available };
  return new Map(Object.entries({ capacity, ...known }));
}

function stores(...all: readonly ReturnType<typeof store>[]): Node['stores'] {
  return new Map(all.map((one, at) => [String(at), one]));
}

/** With a stale record of that age. */
function silentSince(seconds: number): Partial<Node> {
  return { updatedSeconds: seconds, isFresh: false };
}

test.each([
  [{ live: 18, dead: 1, unavailable: 1 }, ['CrdbMultipleNodesDown', 'CrdbMultipleNodesDown']],
  [{ live: 19, dead: 1, unavailable: 1 }, ['CrdbNodeDead', 'CrdbNodeUnavailable']],
  [{ live: 18, dead: 1, decommissioned: 1 }, ['CrdbMultipleNodesDown', 'CrdbMultipleNodesDown']],
  [{ live: 19, dead: 1, decommissioned: 1 }, ['CrdbNodeDead', 'CrdbNodeDead']],
  [{ live: 1, dead: 1 }, ['CrdbNodeDead']],
  [{ live: 1, dead: 2, draining: 1 }, ['CrdbMultipleNodesDown', 'CrdbNodeStuckLeaving']],
])('nodes %j have the alerts %j', (counts, alerts) => {
  const codes: Readonly<Record<string, number>> = {
    dead: 1,
    unavailable: 2,
    live: 3,
    decommissioned: 5,
    draining: 6,
  };
  const nodes = Object.entries(counts).flatMap(([status, count]) =>
    Array.from({ length: count }, (_, at) => node(at, { livenessCode: codes[status] ?? 0 })),
  );
  const issues = nodeProblems(
    readNodes(result(...nodes), undefined),
    FORBIDDEN,
    DEFAULT_THRESHOLDS,
  );
  expect(issues.map(({ alert }) => alert)).toEqual(alerts);
});

function tiersOf(region: string, zone: string): Node['tiers'] {
  return [
    { key: 'region', value: region },
    { key: 'zone', value: zone },
  ];
}

test('nodes that are down name the region that is lost, not its zones', () => {
  const all = ['east', 'east', 'west', 'west', 'north'].map((region, index) =>
    node(index + 1, {
      tiers: tiersOf(region, `${region}-${index}`),
      livenessCode: region === 'east' ? 1 : 3,
    }),
  );
  const issues = nodeProblems(readNodes(result(...all), undefined), FORBIDDEN, DEFAULT_THRESHOLDS);
  expect(issues.map(({ text }) => text)).toEqual([
    'Nodes 1 and 2 are dead. Localities without a live node: region=east.',
  ]);
});

test('issues of nodes that are down or stale began with the oldest record', () => {
  const [dead, silent, draining] = [1, 2, 6].map((livenessCode) => ({ livenessCode }));
  const { list, builds, byStatus } = readNodes(
    result(
      node(1, { ...dead, ...silentSince(30) }),
      node(2, { ...dead, ...silentSince(10) }),
      node(3, { ...silent, ...silentSince(40) }),
      node(4, { ...draining, ...silentSince(50) }),
      node(5, silentSince(60)),
    ),
    undefined,
  );
  expect(
    nodeProblems({ list, builds, byStatus }, FORBIDDEN, DEFAULT_THRESHOLDS).map(
      ({ key, since }) => [key, since],
    ),
  ).toEqual([
    ['nodes dead', '1970-01-01T00:00:10.000Z'],
    ['nodes unavailable', '1970-01-01T00:00:40.000Z'],
    ['nodes draining', undefined],
    ['stale records', '1970-01-01T00:00:50.000Z'],
  ]);
});

test.each([
  [0, 'warning', 'warning'],
  [1, 'critical', 'critical'],
  [2, 'warning', 'warning'],
  [3, 'live', 'warning'],
  [4, 'info', 'warning'],
  [5, 'critical', 'critical'],
  [6, 'info', 'warning'],
  [7, 'info', 'warning'],
])('a node of liveness %d has the color of %s, and of %s when stale', (code, fresh, stale) => {
  const { list } = readNodes(
    result(node(1, { livenessCode: code }), node(2, { livenessCode: code, isFresh: false })),
    undefined,
  );
  expect(list.map(nodeLevel)).toEqual([fresh, stale]);
});

test('the description of a node has shares of what is known', () => {
  const metrics = new Map([
    ['sys.rss', 30],
    ['sys.cpu.combined.percent-normalized', 0.25],
  ]);
  const status = readNodes(
    result(
      node(1, { metrics, memoryBytes: 120, stores: stores(store(100, 60), store(100, 30)) }),
      node(2, { metrics, memoryBytes: undefined, stores: stores(store(0, 0), store(100)) }),
      node(3, { stores: stores(store(100, 150)), tiers: [], startedSeconds: 0, buildTag: '' }),
      node(4, { livenessCode: 5, stores: stores(store(100, 60)), isFresh: false }),
      node(5, { buildTag: 'v25.4.2' }),
      node(6, { buildTag: 'v9', livenessCode: 1 }),
    ),
    undefined,
  );
  expect(
    status.list.map((one) => [one.memoryUsedRatio, one.cpuRatio, one.storeUsedRatio, one.isStale]),
  ).toEqual([
    [0.25, 0.25, 0.7, false],
    [undefined, 0.25, undefined, false],
    [undefined, undefined, 0, false],
    [undefined, undefined, undefined, false],
    [undefined, undefined, undefined, false],
    [undefined, undefined, undefined, false],
  ]);
  expect(status.list.map(({ startedAt }) => startedAt)[2]).toBeUndefined();
  expect(status.list.map(({ locality }) => locality)[2]).toBe('');
  expect(status.builds).toEqual(['v25.4.2', 'v25.4.3']);
  expect(formatLiveNodes(status)).toBe('4 of 6');
});
