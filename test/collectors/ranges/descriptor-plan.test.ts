import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster } from './cluster.ts';
import { DEAD, DECOMMISSIONING, many, scan, show } from './shown-ranges.ts';

describe('descriptors', () => {
  test('of ranges on a node that went down are read again', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = (id) => ({ types: id <= 40 ? { 1: 0, 2: 0, 3: 0 } : { 1: 0, 4: 0, 5: 0 } });
    show(cluster, { holders: [...many(40, [1, 2, 3]), ...many(60, [1, 4, 5])] });
    await scan(cluster, state);
    cluster.askedDescriptors = [];
    show(cluster, { holders: [...many(40, [1, 2]), ...many(60, [1, 4, 5])], down: { 3: DEAD } });
    const { unverified } = await scan(cluster, state, 1);
    expect(unverified).toBe(0);
    expect(cluster.askedDescriptors.map(({ rangeIds }) => rangeIds.length)).toEqual([40]);
    // They have little to spare, so they are read once a minute as long as it is down, however often scans are.
    const asked: string[] = [];
    for (const minute of [1.1, 1.9, 2.1, 2.5, 3, 3.2, 9, 9.5]) {
      cluster.askedDescriptors = [];
      expect((await scan(cluster, state, minute)).unverified).toBe(0);
      const { length } = cluster.askedDescriptors.flatMap(({ rangeIds }) => rangeIds);
      if (length > 0) asked.push(`${minute}: ${length}`);
    }
    expect(asked).toEqual(['2.1: 40', '3.2: 40', '9: 40']);
  });

  test('of ranges on a node that was down before the start are read once a minute', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
    show(cluster, { holders: many(40, [1, 2]), down: { 3: DEAD } });
    const asked: number[] = [];
    for (const minute of [0, 0.1, 0.9, 1.1]) {
      cluster.askedDescriptors = [];
      expect((await scan(cluster, state, minute)).unverified).toBe(0);
      asked.push(cluster.askedDescriptors.flatMap(({ rangeIds }) => rangeIds).length);
    }
    expect(asked).toEqual([40, 0, 0, 40]);
  });

  test('of ranges on a node that is down wait for those that would be too old soon', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = (id) => ({ types: id <= 40 ? { 1: 0, 2: 0, 3: 0 } : { 4: 0, 5: 0, 6: 0 } });
    const nodes = [1, 2, 3, 4, 5, 6];
    const calm = many(60, [4, 5, 6]);
    show(cluster, { holders: [...many(40, [1, 2, 3]), ...calm], nodes });
    await scan(cluster, state);
    show(cluster, { holders: [...many(40, [1, 2]), ...calm], nodes, down: { 3: DEAD } });
    await scan(cluster, state, 1);
    // So slow that no scan waits for them: 2 requests at once read 40 ranges a minute.
    state.reading.measured(400, 600, 2);
    state.reading.measured(400, 600, 2);
    const asked: number[][] = [];
    for (const minute of [14, 24]) {
      cluster.askedDescriptors = [];
      await scan(cluster, state, minute);
      asked.push(cluster.askedDescriptors.map(({ rangeIds }) => rangeIds.length));
    }
    expect(asked).toEqual([[40], [60, 40]]);
  });

  test('of new ranges come first, also among more than a plan holds', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
    show(cluster, { holders: many(29_900, [1, 2, 3]) });
    // On a slow machine the first of these scans has no time for all.
    while ((await scan(cluster, state)).unverified !== 0);
    show(cluster, { holders: many(30_000, [1, 2, 3]) });
    // So slow that no scan waits for 100 ranges, and that the others are due after 50 minutes.
    for (let request = 0; request < 50; request += 1) state.reading.measured(400, 40, 2);
    cluster.askedDescriptors = [];
    await scan(cluster, state, 50);
    const first = cluster.askedDescriptors[0]?.rangeIds.slice(0, 100) ?? [];
    expect(first.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, index) => 29_901 + index),
    );
  });

  test('that prove nothing any more are due again, those of a draining or leaving node are not', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: many(10, [1, 2, 3]) });
    await scan(cluster, state);
    cluster.askedDescriptors = [];
    show(cluster, { holders: many(10, [1, 2, 3]), down: { 3: DECOMMISSIONING } });
    for (const minute of [1, 14]) await scan(cluster, state, minute);
    expect(cluster.askedDescriptors).toEqual([]);
    await scan(cluster, state, 16);
    expect(cluster.askedDescriptors.map(({ rangeIds }) => rangeIds.length)).toEqual([10]);
  });

  test('that are too old are read in a scan that has the time, else between scans', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: many(450, [1, 2, 3]) });
    await scan(cluster, state);
    const { cluster: soon } = await scan(cluster, state, 31);
    expect([soon?.unverified, soon?.descriptors.due]).toEqual([0, 0]);
    // So slow that no scan waits for them, and that they are too old after 36 minutes.
    for (let request = 0; request < 50; request += 1) state.reading.measured(400, 960, 2);
    const { cluster: late } = await scan(cluster, state, 68);
    expect([late?.unverified, late?.descriptors.due]).toEqual([450, 450]);
    const { cluster: next } = await scan(cluster, state, 69);
    expect([next?.unverified, next?.descriptors.due]).toEqual([0, 0]);
  });

  test('are asked for with one batch a scan while the servers refuse, and with all once they do not', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const { describe: usual } = cluster;
    let isRefused = true;
    cluster.describe = (id, nodeId) => {
      if (isRefused) throw new RequestError('forbidden', 'refused', { status: 403 });
      return usual(id, nodeId);
    };
    show(cluster, { holders: [...many(900, [1, 2, 3]), ...many(900, [3, 4, 5])] });
    await scan(cluster, state);
    for (const minute of [1, 2, 3]) {
      cluster.askedDescriptors = [];
      expect((await scan(cluster, state, minute)).unverified).toBe(1800);
      expect(cluster.askedDescriptors.map(({ rangeIds }) => rangeIds.length)).toEqual([200]);
    }
    isRefused = false;
    // On a slow machine the first of these scans has no time for all.
    await scan(cluster, state, 4);
    expect((await scan(cluster, state, 5)).unverified).toBe(0);
  });

  test('that are due by age alone are read with younger ones of the same node', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: many(10, [1, 2, 3]) });
    await scan(cluster, state);
    // Ten more ranges are created 5 minutes later.
    show(cluster, { holders: many(20, [1, 2, 3]) });
    await scan(cluster, state, 5);
    cluster.askedDescriptors = [];
    await scan(cluster, state, 16);
    expect(cluster.askedDescriptors.map(({ rangeIds }) => rangeIds.length)).toEqual([20]);
  });
});
