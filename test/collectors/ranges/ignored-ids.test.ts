import { expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster, pollRanges } from './cluster.ts';
import { many, show } from './shown-ranges.ts';

const HOUR_MS = 3_600_000;

/** Twelve ranges of which the first one serves nothing, at this many URLs. */
function openCluster(urls: number) {
  const cluster = fakeCluster([]);
  show(cluster, { holders: many(12, [1, 2, 3]) });
  cluster.nodes = cluster.nodes.map((node) => ({
    ...node,
    ranges: (Array.isArray(node.ranges) ? node.ranges : []).map((element: object, index) => ({
      ...element,
      problems: index === 0 ? { no_raft_leader: true } : {},
    })),
  }));
  const state = ranges.createState();
  let nowMs = 1_000;
  return {
    cluster,
    scan: async (afterMs = 60_000) => {
      nowMs += afterMs;
      cluster.askedAgain = [];
      const given = { context: { urls }, clock: { wallMs: () => nowMs } };
      const { cluster: scanned, warnings } = await pollRanges(cluster.api, { state, ...given });
      return {
        asked: cluster.askedAgain.length,
        nothing: scanned?.servingNothing,
        unverified: scanned?.unverified,
        urls: scanned?.ignoringUrls,
        warned: warnings.filter((text) => /ignores? `ranges=`/.test(text)).length,
      };
    },
  };
}

test('a URL that ignores `ranges=` is named, and asked for single ranges again after an hour', async () => {
  const { cluster, scan } = openCluster(1);
  expect(await scan()).toMatchObject({ asked: 3, nothing: 1, urls: [], warned: 0 });
  cluster.ignoring.add(0);
  const named = { urls: ['fake-0'], warned: 1 };
  const { asked, ...first } = await scan();
  // As many as are asked at the same time.
  expect(asked).toBeLessThanOrEqual(3);
  expect(first).toMatchObject({ unverified: 1, ...named });
  expect(await scan()).toEqual({ asked: 0, nothing: undefined, unverified: 1, ...named });
  cluster.ignoring.clear();
  expect(await scan()).toEqual({ asked: 0, nothing: undefined, unverified: 1, ...named });
  expect(await scan(HOUR_MS)).toMatchObject({ asked: 3, nothing: 1, urls: [], warned: 0 });
});

test('of several URLs the others are asked in its place', async () => {
  const { cluster, scan } = openCluster(3);
  cluster.ignoring.add(1);
  for (let turn = 0; turn < 4; turn += 1) {
    expect(await scan()).toMatchObject({ nothing: 1, unverified: 0 });
  }
  const found = { asked: 3, nothing: 1, unverified: 0, warned: 1 };
  expect(await scan()).toEqual({ ...found, urls: ['fake-1'] });
  cluster.ignoring.add(2);
  // Of two URLs there is one warning: the same proxy is before them.
  for (let turn = 0; turn < 3; turn += 1) await scan();
  expect(await scan()).toEqual({ ...found, urls: ['fake-1', 'fake-2'] });
});
