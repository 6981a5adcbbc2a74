import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { DescriptorReading } from '../../../src/collectors/ranges/descriptor-reader.ts';
import { fakeCluster, pollRanges, replica, statusError } from './cluster.ts';
import { DEAD, many, scan, show } from './shown-ranges.ts';

describe('dependence', () => {
  test('comes from all voters of the descriptor: 3 of 5 are needed each, also when no replica is flagged', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: many(20, [1, 2, 3, 4, 5]) });
    expect((await scan(cluster, state)).dependent).toEqual({});
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } });
    show(cluster, { holders: many(20, [1, 2, 3]), down: { 4: 5, 5: 5 } });
    const { dependent, unverified } = await scan(cluster, state);
    expect(dependent).toEqual({ '1 quorum': 20, '2 quorum': 20, '3 quorum': 20 });
    expect(unverified).toBe(0);
  });

  test('of one voter and two non-voters is that of the voter', async () => {
    const cluster = fakeCluster([]);
    cluster.describe = (_id, nodeId) => ({
      types: { 1: 0, 2: 5, 3: 5 },
      isLeaseholder: nodeId === 1,
    });
    show(cluster, { holders: many(30, [1, 2, 3]), nodes: [1, 2, 3] });
    expect((await scan(cluster)).dependent).toEqual({ '1 quorum': 30 });
  });

  test('of one partition of an index is its own, whatever zone the others have', async () => {
    const cluster = fakeCluster([]);
    cluster.describe = (id) =>
      id === 30
        ? { types: { 1: 0, 2: 0, 5: 0, 3: 5, 4: 5 } }
        : { types: { 1: 0, 2: 0, 3: 0, 4: 0, 6: 0 } };
    const usual = {
      holders: [...many(29, [1, 2, 3, 4, 6]), [1, 2, 3, 4, 5]],
      nodes: [1, 2, 3, 4, 5, 6],
    };
    const state = ranges.createState();
    show(cluster, usual);
    await scan(cluster, state);
    show(cluster, {
      ...usual,
      holders: [...many(29, [1, 2, 3, 4, 6]), [1, 2, 3, 4]],
      down: { 5: DEAD },
      problems: { underreplicated: true },
    });
    expect((await scan(cluster, state)).dependent).toEqual({ '1 quorum': 1, '2 quorum': 1 });
  });

  test('of a range that falls to one replica is that of its holder, in the first scan that shows it', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: many(5, [1, 2, 3]) });
    await scan(cluster, state);
    show(cluster, { holders: [[4], ...many(4, [1, 2, 3])] });
    cluster.describe = (id) => ({
      types: id === 1 ? { 4: 0 } : { 1: 0, 2: 0, 3: 0 },
      generation: 2,
    });
    const { dependent, unverified } = await scan(cluster, state);
    expect([dependent, unverified]).toEqual([{ '4 quorum': 1, '4 all_replicas': 1 }, 0]);
  });

  test('counts what a member that is not live still holds', async () => {
    const cluster = fakeCluster([]);
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
    show(cluster, { holders: many(7, [1, 2]), down: { 3: DEAD, 5: DEAD } });
    expect((await scan(cluster)).of('crdb_node_down_replicas')).toEqual([
      '{node_id="3"} 7',
      '{node_id="5"} 0',
    ]);
  });
});

/** Of 5 replicas this many are voters. */
function typesOf(voters: number): Readonly<Record<number, number>> {
  return Object.fromEntries([1, 2, 3, 4, 5].map((id) => [id, id <= voters ? 0 : 5]));
}

describe('a range is not verified', () => {
  const three = { types: { 1: 0, 2: 0, 3: 0 } };

  test.each([403, 404, 501])(
    'where descriptors are refused with %d, and nothing depends on anything',
    async (status) => {
      const cluster = fakeCluster([]);
      cluster.describe = () => {
        throw statusError(status);
      };
      show(cluster, { holders: many(500, [1, 2, 3]) });
      const { unverified, of } = await scan(cluster);
      expect(unverified).toBe(500);
      expect(of('crdb_node_dependent_ranges')).toEqual([]);
      expect(of('crdb_node_down_replicas')).toEqual([]);
      expect(cluster.askedDescriptors.length).toBeLessThanOrEqual(2);
    },
  );

  test('where none is to be read', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: many(3, [1, 2, 3]) });
    const { unverified, of } = await scan(cluster, undefined, 0, { descriptor_max_age: 0 });
    expect([unverified, of('crdb_node_dependent_ranges'), cluster.askedDescriptors]).toEqual([
      3,
      [],
      [],
    ]);
  });

  test('while a replica without the lease contradicts the reporters', async () => {
    const cluster = fakeCluster([]);
    cluster.describe = () => ({ ...three, isLeaseholder: false });
    show(cluster, {
      holders: [
        [1, 2, 4],
        [1, 2, 3],
      ],
    });
    expect((await scan(cluster)).unverified).toBe(1);
    // Two reporters were asked.
    const asked = cluster.askedDescriptors.flatMap(({ rangeIds }) => rangeIds);
    expect(asked.filter((id) => id === 1)).toHaveLength(2);
  });

  test('by an old answer: the highest generation counts', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 4: 0 }, generation: 9 });
    show(cluster, { holders: [[1, 2, 4]] });
    expect((await scan(cluster, state)).unverified).toBe(0);
    // The node that returned reports the range, too, and says what it knew.
    cluster.describe = () => ({ ...three, generation: 7 });
    show(cluster, { holders: [[1, 2, 3, 4]] });
    expect((await scan(cluster, state)).unverified).toBe(1);
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 4: 0 }, generation: 9 });
    expect((await scan(cluster, state)).unverified).toBe(0);
  });

  test.each([
    ['a merge with a range of many more generations', 10, 65_532, 0],
    ['a merge of 200,000 generations', 100, 200_000, 0],
    ['a change after 524,287 of them', 524_287, 524_288, 0],
    ['an old answer before that change', 524_288, 524_287, 1],
  ])('by %s', async (_what, before, after, unverified) => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = () => ({ ...three, generation: before });
    show(cluster, { holders: [[1, 2, 3]] });
    expect((await scan(cluster, state)).unverified).toBe(0);
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 4: 0 }, generation: after });
    show(cluster, { holders: [[1, 2, 4]] });
    expect((await scan(cluster, state)).unverified).toBe(unverified);
  });

  test.each([7, 5.5, 'VOTER_FULL'])('when a replica has the type %j', async (type) => {
    const cluster = fakeCluster([]);
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: type } });
    show(cluster, { holders: many(2, [1, 2, 3]) });
    expect((await scan(cluster)).unverified).toBe(2);
  });

  test('when the id of a node does not fit', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: [[1, 2, 70_000]], nodes: [1, 2, 70_000] });
    expect((await scan(cluster)).unverified).toBe(1);
  });

  test.each([
    ['was changed', typesOf(3), typesOf(5), 0],
    // Node 5 still votes, and does not list its replica.
    ['is being changed', { ...typesOf(3), 4: 6, 5: 6 }, typesOf(5), 1],
    [
      'has been changed since a descriptor showed the change',
      typesOf(3),
      { ...typesOf(5), 4: 6 },
      0,
    ],
  ])(
    'once the zone of its table index %s, until it is read again',
    async (_how, changed, first, unknown) => {
      const cluster = fakeCluster([]);
      const state = ranges.createState();
      cluster.describe = (id) => ({ types: id === 1 ? first : typesOf(5) });
      show(cluster, { holders: many(300, [1, 2, 3, 4, 5]) });
      await scan(cluster, state);
      const before = cluster.askedDescriptors.length;
      cluster.describe = () => ({ types: changed, generation: 2 });
      // One replica moves, so the descriptor of this range alone is read, and shows other voters on the same nodes.
      show(cluster, { holders: [[1, 2, 3, 4], ...many(299, [1, 2, 3, 4, 5])] });
      const { unverified, dependent } = await scan(cluster, state, 1);
      expect([unverified, dependent]).toEqual([unknown, {}]);
      const asked = cluster.askedDescriptors.slice(before).flatMap(({ rangeIds }) => rangeIds);
      expect([asked[0], new Set(asked).size]).toEqual([1, 300]);
      show(cluster, {
        holders: many(300, [1, 2, 3, 4, 5]).map(() => [1, 2, 4, 5]),
        down: { 3: DEAD },
      });
      cluster.describe = () => ({ types: typesOf(3), generation: 3 });
      expect((await scan(cluster, state, 2)).dependent).toEqual({
        '1 quorum': 300,
        '2 quorum': 300,
      });
    },
  );

  test('once the first range of its table, which begins in no index, showed that the zone was changed', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const showTable = (first: readonly number[]): void => {
      const holders = [first, ...many(2, [1, 2, 3, 4, 5])];
      show(cluster, { holders });
      cluster.nodes = cluster.nodes.map(({ nodeId }) => ({
        nodeId,
        ranges: holders.flatMap((ids, at) => {
          const place = { rangeId: at + 1, nodeId, storeId: nodeId };
          const key = at === 0 ? '/Table/104' : '/Table/104/1';
          return ids.includes(Number(nodeId)) ? [replica({ ...place, key })] : [];
        }),
      }));
    };
    cluster.describe = () => ({ types: typesOf(5) });
    showTable([1, 2, 3, 4, 5]);
    expect((await scan(cluster, state)).unverified).toBe(0);
    cluster.describe = (id) => (id === 1 ? { types: typesOf(3), generation: 2 } : undefined);
    showTable([1, 2, 3, 4]);
    expect((await scan(cluster, state, 1)).unverified).toBe(2);
  });

  test('once the zone of its table was changed, also where descriptors may become older than they might be then', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    cluster.describe = () => ({ types: typesOf(5) });
    show(cluster, { holders: many(300, [1, 2, 3, 4, 5]) });
    expect((await scan(cluster, state)).unverified).toBe(0);
    // From now on only the first range is described, whose voters have changed.
    cluster.describe = (id) => (id === 1 ? { types: typesOf(3), generation: 2 } : undefined);
    show(cluster, { holders: [[1, 2, 3, 4], ...many(299, [1, 2, 3, 4, 5])] });
    expect((await scan(cluster, state, 1)).unverified).toBe(299);
    show(cluster, { holders: many(300, [1, 2, 3, 4, 5]) });
    expect((await scan(cluster, state, 40)).unverified).toBe(299);
    // So slow that a round takes half an hour, and descriptors may be an hour old: those of the beginning are not too old any more.
    for (let round = 0; round < 50; round += 1) state.reading.measured(400, 2_400, 2);
    expect((await scan(cluster, state, 41)).unverified).toBe(299);
  });
});

describe('descriptors', () => {
  test('leave the servers alone after a slow request, also in the next scan', async () => {
    const cluster = fakeCluster([]);
    const requests: { readonly startedMs: number; readonly endedMs: number }[] = [];
    cluster.describe = () => {
      const startedMs = performance.now();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      requests.push({ startedMs, endedMs: performance.now() });
      return { types: { 1: 0, 2: 0, 3: 0 } };
    };
    const state = ranges.createState();
    const poll = (holders: readonly (readonly number[])[]) => {
      show(cluster, { holders });
      return pollRanges(cluster.api, {
        state,
        context: { maxDuty: 0.1 },
        options: { concurrency: 1 },
      });
    };
    await poll([[1, 2, 3]]);
    await poll([[1, 2, 3, 4]]);
    const [first, second] = requests;
    // The request took at least 50 ms, so that the pause is at least 450 ms; timers may be early by a millisecond.
    expect((second?.startedMs ?? 0) - (first?.endedMs ?? 0)).toBeGreaterThan(440);
  });

  test('take no more than their share of the time, however many are requested at once', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: many(600, [1, 2, 3]) });
    const state = ranges.createState();
    state.reading.size.halve(49, 414);
    const requests: { readonly startedMs: number; readonly endedMs: number }[] = [];
    const { api } = cluster;
    const read = api.rangeDescriptors.bind(api);
    api.rangeDescriptors = async (...request) => {
      const startedMs = performance.now();
      await sleep(20 + 10 * (requests.length % 3));
      const bytes = await read(...request);
      requests.push({ startedMs, endedMs: performance.now() });
      return bytes;
    };
    await pollRanges(api, { state, context: { maxDuty: 0.5 }, options: { concurrency: 8 } });
    // Three rounds of eight.
    expect(requests).toHaveLength(24);
    const starts = requests.map(({ startedMs }) => startedMs).toSorted((a, b) => a - b);
    const [first = 0, second = 0, last = 0] = [starts[0], starts[8], starts[16]];
    const before = requests.filter(({ startedMs }) => startedMs < last);
    let busyMs = 0;
    let busyUntil = first;
    for (const { startedMs, endedMs } of before.toSorted((a, b) => a.startedMs - b.startedMs)) {
      busyMs += Math.max(0, endedMs - Math.max(startedMs, busyUntil));
      busyUntil = Math.max(busyUntil, endedMs);
    }
    expect(busyMs / (last - first)).toBeLessThan(0.52);
    // At this rate 200 ranges take as long as a round with its pause; no pause follows the third one.
    const thirdMs = 2 * (Math.max(...requests.map(({ endedMs }) => endedMs)) - last);
    const rounds = [second - first, last - second, thirdMs];
    const roundMs = (60_000 * 200) / (state.reading.perMinute ?? 0);
    expect(roundMs).toBeGreaterThan(0.5 * Math.min(...rounds));
    expect(roundMs).toBeLessThan(1.5 * Math.max(...rounds));
  });

  test('are read once, in batches of 200, at the node that holds the lease, and at another URL than its list', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: [...many(450, [2, 1, 3]), ...many(50, [3, 1, 2])], nodes: [1, 2, 3] });
    const state = ranges.createState();
    const context = { urls: 2 };
    await pollRanges(cluster.api, { state, context });
    const asked = cluster.askedDescriptors.map(
      ({ nodeId, rangeIds }) => `${nodeId}: ${rangeIds.length}`,
    );
    expect(asked.toSorted()).toEqual(['2: 200', '2: 200', '2: 50', '3: 50']);
    for (const { nodeId, firstUrl } of cluster.askedDescriptors) {
      const list = cluster.asked.find((each) => each.nodeId === String(nodeId));
      expect(firstUrl).not.toBe(list?.firstUrl);
    }
    await pollRanges(cluster.api, { state, context });
    expect(cluster.askedDescriptors).toHaveLength(4);
  });

  test('that no reporter has show that the range is gone, once the lists say so, too', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: many(3, [1, 2, 3]) });
    const { describe: usual } = cluster;
    cluster.describe = (id, nodeId) => (id === 2 ? undefined : usual(id, nodeId));
    const still = await scan(cluster);
    expect([still.of('crdb_ranges'), still.unverified]).toEqual([['{shard="0"} 3'], 1]);
    cluster.nodes = cluster.nodes.map((node) => ({
      ...node,
      again: Array.isArray(node.ranges) ? node.ranges.toSpliced(1, 1) : [],
    }));
    const gone = await scan(cluster);
    expect([gone.of('crdb_ranges'), gone.unverified]).toEqual([['{shard="0"} 2'], 0]);
  });

  test('of all ranges are read at two URLs by a command that decides: an old answer of one is not believed', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: many(30, [1, 2, 3]), down: { 4: DEAD } });
    cluster.describe = () =>
      cluster.askedDescriptors.at(-1)?.firstUrl === 1
        ? { types: { 1: 0, 2: 0, 3: 0 }, generation: 3 }
        : { types: { 1: 0, 2: 0, 4: 0, 3: 1 }, generation: 4 };
    const context = { urls: 2, descriptors: 'all' } as const;
    const { of } = await pollRanges(cluster.api, { context });
    const dependent = of('crdb_node_dependent_ranges').filter((line) =>
      line.includes('quorum"} 30'),
    );
    expect(dependent).toHaveLength(2);
  });
});

test('a range whose node answers an older descriptor is not asked again and again', async () => {
  const cluster = fakeCluster([]);
  const state = ranges.createState();
  cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 }, generation: 10 });
  show(cluster, { holders: many(2, [1, 2, 3]) });
  await scan(cluster, state);
  cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 }, generation: 9 });
  cluster.askedDescriptors = [];
  await scan(cluster, state, 16);
  // Two reporters in the scan or after it.
  expect(cluster.askedDescriptors.length).toBeLessThanOrEqual(4);
});

test('the rate of descriptors follows that of the last requests slowly, but not those for few ranges', () => {
  const reading = new DescriptorReading();
  const rates = [
    [200, 1],
    [200, 1],
    [200, 2],
    [3, 5],
  ].map(([count = 0, seconds = 0]) => {
    reading.measured(count, seconds, 1);
    return Math.round(reading.perMinute ?? 0);
  });
  expect(rates).toEqual([12_000, 12_000, 10_000, 10_000]);
});
