import { expect, test } from 'vitest';
import { DepartureHistory } from '../../../src/status/findings/departures.ts';
import { readVersions } from '../../../src/status/findings/versions.ts';
import { readCluster } from '../read-status.ts';
import { node, nodesResult } from '../results.ts';
import { openChanged } from './worlds.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z') / 1000;

/** Node 6 this many seconds after the start, with this many replicas on two stores. */
function leaving(seconds: number, replicas: number, more: Parameters<typeof node>[1] = {}) {
  const stores = new Map([
    ['1', new Map([['replicas', replicas - 10]])],
    ['2', new Map([['replicas', 10]])],
  ]);
  return node(6, { livenessCode: 4, updatedSeconds: START + seconds, stores, ...more });
}

function watch(...records: readonly ReturnType<typeof leaving>[]) {
  const history = new DepartureHistory();
  for (const record of records) history.add(nodesResult(node(1), record));
  return history.read();
}

test('the rate is that of the last 10 minutes, and the rest takes as long at this rate', () => {
  const minutes = Array.from({ length: 31 }, (_, minute) =>
    leaving(60 * minute, minute < 20 ? 700 : 700 - 12 * (minute - 20)),
  );
  expect(watch(...minutes).get(6)).toEqual({
    replicasLeft: 580,
    replicasAtFirst: 700,
    firstSeenAt: '2026-03-01T12:00:00.000Z',
    perMinute: 12,
    secondsLeft: 2_900,
    stillSince: undefined,
  });
});

test('one record has no rate, and the same record twice or a stale one tells nothing', () => {
  const first = { replicasLeft: 300, replicasAtFirst: 300, perMinute: undefined };
  expect(watch(leaving(0, 300)).get(6)).toMatchObject(first);
  const stale = leaving(90, 250, { isFresh: false });
  expect(watch(leaving(0, 300), leaving(0, 299), stale).get(6)).toMatchObject(first);
});

test('after 10 minutes without fewer replicas they stay, until one leaves', () => {
  const still = [leaving(0, 300), leaving(300, 310), leaving(600, 300)];
  expect(watch(...still.slice(0, 2)).get(6)).toMatchObject({
    perMinute: -2,
    secondsLeft: undefined,
    stillSince: undefined,
  });
  expect(watch(...still).get(6)?.stillSince).toBe('2026-03-01T12:00:00.000Z');
  expect(watch(...still, leaving(660, 299)).get(6)?.stillSince).toBeUndefined();
  expect(watch(leaving(0, 0), leaving(600, 0)).get(6)?.stillSince).toBeUndefined();
});

test('a node that is not being decommissioned any more is forgotten', () => {
  expect(watch(leaving(0, 300), leaving(60, 290, { livenessCode: 3 })).size).toBe(0);
  const again = [leaving(0, 300), leaving(60, 290, { livenessCode: 3 }), leaving(120, 280)];
  expect(watch(...again).get(6)?.replicasAtFirst).toBe(280);
});

test('a node that no longer counts its replicas has no departure, one with a stale record keeps it', () => {
  const silent = { ...leaving(60, 0), stores: new Map() };
  expect(watch(leaving(0, 300), { ...silent, isFresh: false }).get(6)?.replicasLeft).toBe(300);
  expect(watch(leaving(0, 300), silent).size).toBe(0);
});

test('the memory of a departure that never ends is bounded', () => {
  const history = new DepartureHistory();
  for (let second = 0; second < 5_000; second += 1)
    history.add(nodesResult(leaving(second, 10_000 - second)));
  // Of 64 records, a second apart.
  expect(history.read().get(6)).toMatchObject({ perMinute: 60, replicasLeft: 5_001 });
});

test.each([
  [['25.4', '25.4'], ['v25.4.3', 'v25.4.3'], undefined, undefined],
  [['25.4', '25.4'], ['v25.4.3', 'v25.4.2'], undefined, undefined],
  [['25.4', '25.2'], ['v25.4.3', 'v25.2.9'], undefined, 'nodes'],
  [['25.4', '25.4'], ['v25.4.3', 'v25.4.3'], 1_700_000_000, 'held'],
])(
  'nodes of %j with %j, held since %s: the upgrade is open by %s',
  (releases, builds, held, open) => {
    const nodes = releases.map((serverVersion, at) =>
      node(at + 1, { serverVersion, buildTag: builds[at] ?? '' }),
    );
    expect(readVersions(nodes, held).openUpgrade).toBe(open);
  },
);

test.each([
  ['an older release', '25.2', 1, 'dead', [3]],
  ['an older release whose decommissioning had begun', '25.2', 5, undefined, undefined],
  ['a step of the upgrade', '25.3-8', 1, 'dead', [3]],
  ['the release of the others', '25.4', 1, undefined, undefined],
  ['a newer step', '25.4-8', 1, undefined, undefined],
  ['no release that is known', '', 1, undefined, undefined],
])('of a dead member with %s', (_what, serverVersion, livenessCode, open, ids) => {
  const nodes = [
    node(1, { serverVersion: '25.4' }),
    node(2, { serverVersion: '25.4' }),
    node(3, { serverVersion, livenessCode }),
  ];
  const { openUpgrade, deadWithOlderRelease } = readVersions(nodes, undefined);
  expect({ openUpgrade, deadWithOlderRelease }).toEqual({
    openUpgrade: open,
    deadWithOlderRelease: ids,
  });
});

test('a dead member with an older release is named, too, where a setting holds the upgrade', () => {
  const nodes = [node(1), node(2), node(3, { serverVersion: '25.2', livenessCode: 1 })];
  expect(readVersions(nodes, 1_700_000_000)).toMatchObject({
    openUpgrade: 'held',
    deadWithOlderRelease: [3],
  });
});

test('builds of active members alone count, releases of all that hold up the upgrade', () => {
  const old = { buildTag: 'v25.2.9', serverVersion: '25.2' };
  const nodes = [node(1), node(2, { livenessCode: 2 }), node(3, { livenessCode: 6 })];
  for (const livenessCode of [0, 1, 4, 5, 7, undefined]) {
    const { builds } = readVersions([...nodes, node(4, { ...old, livenessCode })], undefined);
    expect(builds.map(({ nodes: ids }) => ids)).toEqual([[1, 2, 3]]);
  }
  const withLeaving = readVersions([...nodes, node(4, { ...old, livenessCode: 4 })], undefined);
  expect(withLeaving.openUpgrade).toBe('nodes');
});

test('builds are sorted by their numbers, and those of dead nodes do not count', () => {
  const nodes = [
    node(1, { buildTag: 'v25.4.9' }),
    node(2, { buildTag: 'v25.4.10', startedSeconds: START }),
    node(3, { buildTag: 'v26.1.0', livenessCode: 1 }),
    node(4, { buildTag: 'v25.4.10' }),
    node(5, { buildTag: 'v25.4.10-rc.1' }),
  ];
  const { builds } = readVersions(nodes, undefined);
  expect(builds.map(({ build, nodes: ids }) => [build, ids])).toEqual([
    ['v25.4.10', [2, 4]],
    ['v25.4.10-rc.1', [5]],
    ['v25.4.9', [1]],
  ]);
  expect(builds[0]?.lastStartedAt).toBe('2026-03-01T12:00:00.000Z');
});

test('page and JSON show the figures of each node, and how far a decommissioning is', async () => {
  await using scene = await openChanged(4, ({ world }) => world.beginDecommission(3));
  const third = async () => (await readCluster(scene)).nodes?.list.find(({ id }) => id === 3);
  await expect.poll(async () => (await third())?.departure?.replicasLeft).toBeGreaterThan(0);
  const { list = [] } = (await readCluster(scene)).nodes ?? {};
  for (const { cpuRatio, memoryRatio, diskUsedRatio, replicas, leases, peers } of list) {
    for (const ratio of [cpuRatio, memoryRatio, diskUsedRatio]) {
      expect(ratio).toBeGreaterThan(0);
      expect(ratio).toBeLessThan(1);
    }
    expect(leases).toBeLessThan(replicas ?? 0);
    expect(peers).toEqual({ reached: 3, all: 3 });
  }
  const departure = (await third())?.departure;
  expect(departure?.replicasLeft).toBe((await third())?.replicas);
  const { text } = await scene.exporter.get('/');
  expect(text).toContain(
    `<b>n3</b> is being decommissioned: ${departure?.replicasLeft} replicas left`,
  );
});
