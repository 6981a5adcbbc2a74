import { expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../src/alerts/thresholds.ts';
import {
  formatLiveNodes,
  nodeProblems,
  describeNodes,
} from '../../src/status/findings/node-problems.ts';
import { toFindings } from '../../src/status/findings/problem.ts';
import { node, type Node, nodesResult as result, UNREAD } from './results.ts';

function problemsOf(...nodes: readonly Node[]) {
  return nodeProblems(describeNodes(result(...nodes)), UNREAD, DEFAULT_THRESHOLDS);
}

function textsOf(...nodes: readonly Node[]): readonly string[] {
  return problemsOf(...nodes).map(({ text }) => text);
}

/** With a stale record of that age. */
function silentSince(seconds: number): Partial<Node> {
  return { updatedSeconds: seconds, isFresh: false };
}

test('a node that counts as dead and writes its record has a problem of its own', () => {
  const dead = { livenessCode: 1, isFresh: false };
  const listed = result(node(1), node(2), node(3), node(4, dead), node(5, { livenessCode: 5 }));
  const found = nodeProblems(
    describeNodes(listed, new Set(), new Set([4, 5])),
    UNREAD,
    DEFAULT_THRESHOLDS,
  );
  expect(found.map(({ text }) => text)).toEqual([
    'Node 4 is dead, by the others, but writes its record.',
    'Node 5 is dead, after decommissioning had begun, by the others, but writes its record.',
  ]);
  const [first] = found;
  expect(first?.next).toMatch(/^It runs, but heartbeats do not arrive .*Do not decommission it/);
  expect(nodeProblems(describeNodes(listed), UNREAD, DEFAULT_THRESHOLDS)[0]?.text).toBe(
    'Node 4 is dead.',
  );
});

test('a list that cannot be read whole, and records without metrics, are problems', () => {
  const silent = node(2, { metrics: new Map() });
  const listed = { ...result(node(1), silent), unreadable: 1 };
  const problems = nodeProblems(describeNodes(listed), UNREAD, DEFAULT_THRESHOLDS);
  expect(toFindings(problems, () => 0).map(({ level, text }) => [level, text])).toEqual([
    ['warning', '1 listed node could not be read.'],
    [
      'warning',
      'The record of node 2 has none of the metrics that are read: disks, clocks and load are not known.',
    ],
  ]);
  const stale = node(2, { metrics: new Map(), ...silentSince(1) });
  expect(problemsOf(node(1), stale).map(({ key }) => key)).toEqual(['stale records']);
});

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
  expect(problemsOf(...nodes).map(({ alert }) => alert)).toEqual(alerts);
});

test.each([
  [[10_000, 13_600], ['CrdbMultipleNodesDown']],
  [[10_000, 13_601], ['CrdbNodeDead']],
  [[10_000, 13_601, 17_000], ['CrdbMultipleNodesDown']],
])('nodes that went down at %j have the alerts %j', (times, alerts) => {
  const dead = times.map((updatedSeconds, at) => node(at, { livenessCode: 1, updatedSeconds }));
  const live = [11, 12, 13, 14].map((id) => node(id));
  expect(problemsOf(...dead, ...live).map(({ alert }) => alert)).toEqual(alerts);
});

test.each([
  [1, 'warning', false],
  [2, 'critical', true],
  [3, 'warning', false],
])(
  'a dead node beside %i live ones is %s; that a node is to be added first: %s',
  (live, level, isToAdd) => {
    const nodes = Array.from({ length: live }, (_, at) => node(at + 2));
    const [dead] = toFindings(problemsOf(node(1, { livenessCode: 1 }), ...nodes), () => 0);
    expect([dead?.level, dead?.next.includes('first add a node')]).toEqual([level, isToAdd]);
  },
);

test('as many nodes are to be added as the replicas need', () => {
  const dead = [2, 3, 4, 5].map((id) => node(id, { livenessCode: 1 }));
  const [next = ''] = problemsOf(node(1), ...dead).map((problem) => problem.next);
  expect(next).toMatch(/If they will not come back, first add 2 nodes: with fewer than three live/);
});

/** A store with this many replicas. */
function holding(count: number): Node['stores'] {
  return new Map([['1', new Map([['replicas', count]])]]);
}

test('the replicas that have not left are a lower bound where a node does not count them', () => {
  const leaving = { livenessCode: 4 };
  const first = node(1, { ...leaving, stores: holding(120) });
  const stale = { ...leaving, stores: holding(500), isFresh: false };
  expect(textsOf(first, node(2, { ...stale, isFresh: true }))).toEqual([
    'Nodes 1 and 2 are being decommissioned. 620 replicas have not left them yet.',
  ]);
  expect(textsOf(first, node(2, stale))).toEqual([
    'Nodes 1 and 2 are being decommissioned. At least 120 replicas have not left them yet.',
    expect.stringMatching(/^Node 2 has stopped updating/),
  ]);
});

/** Five nodes, this many of them without a recent heartbeat. */
function withSilent(count: number): readonly Node[] {
  return [1, 2, 3, 4, 5].map((id) => node(id, { livenessCode: id <= count ? 2 : 3 }));
}

test('of several nodes that are down at once the advice is to start them, not to wait', () => {
  expect(problemsOf(...withSilent(1)).map(({ next }) => next)).toEqual([
    'Check that the process and the machine are up. By default a node counts as dead 5 min after its last heartbeat; then the cluster begins to replace its replicas. Stop no other node meanwhile, unless it is listed as safe to stop.',
  ]);
  expect(problemsOf(...withSilent(2)).map(({ next }) => next)).toEqual([
    'Start the nodes that are down, the most recent loss first; do not decommission them and do not wipe their disks.',
  ]);
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
  expect(textsOf(...all)).toEqual([
    'Nodes 1 and 2 are dead. Localities without a live node: region=east.',
  ]);
});

test('issues of nodes that are down or stale began with the oldest record', () => {
  const [dead, silent, draining] = [1, 2, 6].map((livenessCode) => ({ livenessCode }));
  const problems = problemsOf(
    node(1, { ...dead, ...silentSince(30) }),
    node(2, { ...dead, ...silentSince(10) }),
    node(3, { ...silent, ...silentSince(40) }),
    node(4, { ...draining, ...silentSince(50) }),
    node(5, silentSince(60)),
  );
  expect(problems.map(({ key, since }) => [key, since])).toEqual([
    ['nodes dead', '1970-01-01T00:00:10.000Z'],
    ['nodes unavailable', '1970-01-01T00:00:40.000Z'],
    ['nodes draining', undefined],
    ['stale records', '1970-01-01T00:00:50.000Z'],
  ]);
});

test.each([
  [119, {}, ['info']],
  [121, {}, ['warning']],
  [121, { record_age: 600 }, ['info']],
  [601, { record_age: 600 }, ['warning']],
  [undefined, {}, []],
])('a stale record of %s s has with the limits %j the severities %j', (age, limits, levels) => {
  const nodes = describeNodes(result(node(1), node(2, silentSince(1000))));
  const thresholds = { ...DEFAULT_THRESHOLDS, ...limits };
  const findings = toFindings(
    nodeProblems(nodes, UNREAD, thresholds, () => age),
    () => 0,
  );
  expect(findings.map(({ level }) => level)).toEqual(levels);
});

test('a cluster is described by its live nodes and the builds of those that are not dead', () => {
  const status = describeNodes(
    result(
      node(3, { tiers: [], buildTag: '' }),
      node(4, { livenessCode: 5, isFresh: false }),
      node(5, { buildTag: 'v25.4.2' }),
      node(6, { buildTag: 'v9', livenessCode: 1 }),
      node(7, { isFresh: false }),
    ),
  );
  expect(status.list.map(({ isStale }) => isStale)).toEqual([false, false, false, false, true]);
  expect(status.list[0]?.locality).toBe('');
  expect(status.builds).toEqual(['v25.4.2', 'v25.4.3']);
  expect(formatLiveNodes(status)).toBe('3 of 5');
});
