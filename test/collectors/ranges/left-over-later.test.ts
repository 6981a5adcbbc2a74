import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import {
  type FakeCluster,
  fakeCluster,
  type PollGiven,
  pollRanges,
  statusError,
} from './cluster.ts';
import {
  A,
  B,
  healthy,
  LAST,
  leftOver,
  NOTHING_WRONG,
  scan,
  show,
  type Shown,
  showStuck,
  STUCK,
} from './overlaps.ts';

const LOST_QUORUM = { unavailable: true, no_lease: true, ...STUCK } as const;
const LEFT = leftOver(12, 70, LAST, { problems: LOST_QUORUM });
/** Another node than those of its descriptor has it, and nobody says why. */
const MOVED: Shown = { ...A, nodes: [1, 2, 4], described: [1, 2, 3], holder: 0 };

/** The figures of a scan, and how many ranges report each problem. */
async function scanNext(cluster: FakeCluster, state: ReturnType<typeof ranges.createState>) {
  const { figures, of, cluster: scanned } = await scan(cluster, 1, state);
  return { ...figures, problems: problemsIn(of), unreported: scanned?.unreported.size };
}

function problemsIn(of: (family: string) => readonly string[]): readonly string[] {
  return of('crdb_range_problem_ranges')
    .filter((line) => !line.endsWith(' 0'))
    .map((line) => line.replace(/.*problem="(\w+)".*\} (\d+)/v, '$1 $2'));
}

describe('what was proved to be left over', () => {
  test.each<[name: string, shown: readonly Shown[], down: readonly number[], expected: object]>([
    ['another range is not verified', [MOVED, B, LEFT], [], { complete: 1, unverified: 1 }],
    [
      'the range over its keys is not verified',
      [A, { ...B, nodes: [1, 2, 4], described: [1, 2, 3], holder: 0 }, LEFT],
      [],
      { unverified: 1 },
    ],
    [
      'its own replica is all that its node has left',
      [A, B, { ...LEFT, problems: STUCK }],
      [3],
      {},
    ],
    ['it has no descriptor any more', [A, B, { ...LEFT, described: [] }], [], {}],
    ['another one comes', [A, B, LEFT, leftOver(13, 10, 20, { nodes: [3] })], [], { left: 2 }],
    ['a range is missing', [B, LEFT], [], { complete: 0 }],
    ['the range over its keys is missing', [A, LEFT], [], { complete: 0 }],
    ['the keys join with it alone', [A, { ...B, to: 70 }, LEFT], [], { complete: 0 }],
  ])('stays so where %s', async (_, shown, down, expected) => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [A, B, LEFT]);
    await scanNext(cluster, state);
    show(cluster, shown, down);
    expect(await scanNext(cluster, state)).toMatchObject({
      ...NOTHING_WRONG,
      left: 1,
      problems: [],
      unreported: 0,
      ...expected,
    });
  });

  test('stays so while another range serves nothing, which counts alone', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [A, B, LEFT]);
    await scanNext(cluster, state);
    for (const lost of [A, B]) {
      const others = [A, B].filter(({ id }) => id !== lost.id);
      const broken = { ...lost, nodes: [1], described: [1, 4, 5], holder: 0 };
      show(cluster, [...others, { ...broken, problems: LOST_QUORUM }, LEFT], [4, 5]);
      const { problems, servingNothing, left } = await scanNext(cluster, state);
      expect(problems.toSorted()).toEqual(
        Object.keys(LOST_QUORUM)
          .map((name) => `${name} 1`)
          .toSorted(),
      );
      expect({ servingNothing, left }).toEqual({ servingNothing: 1, left: 1 });
    }
  });

  test('stays so after a pause, when all descriptors are too old, and while its node is down', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    let ms = 0;
    const given: PollGiven = { state, context: { nowMs: () => ms } };
    show(cluster, [A, B, LEFT]);
    await pollRanges(cluster.api, given);
    ms += 2 * 3_600_000;
    const { of, cluster: scanned } = await pollRanges(cluster.api, given);
    expect(of('crdb_ranges_left_over')).toEqual(['1']);
    expect(problemsIn(of)).toEqual([]);
    expect(scanned?.keySpace.isComplete).toBe(true);
    show(cluster, [MOVED, B], [2]);
    expect((await pollRanges(cluster.api, given)).of('crdb_ranges_left_over')).toEqual(['0']);
    show(cluster, [MOVED, B, LEFT]);
    expect((await pollRanges(cluster.api, given)).of('crdb_ranges_left_over')).toEqual(['1']);
  });

  test('stays so where a node cannot be read, but not for ever where nothing was proved', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [A, B, LEFT]);
    await scanNext(cluster, state);
    const fail = (): void => {
      cluster.nodes = cluster.nodes.map((node) =>
        node.nodeId === 3 ? { ...node, ranges: new Error('busy') } : node,
      );
    };
    fail();
    for (let scans = 0; scans < 4; scans += 1) {
      const { cluster: scanned, of } = await pollRanges(cluster.api, { state });
      expect(scanned).toBeUndefined();
      expect(problemsIn(of)).toEqual([]);
      expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([]);
    }
    const other = ranges.createState();
    show(cluster, [MOVED, B, LEFT]);
    await scanNext(cluster, other);
    fail();
    const counts: number[] = [];
    for (let scans = 0; scans < 3; scans += 1) {
      counts.push(problemsIn((await pollRanges(cluster.api, { state: other })).of).length);
    }
    expect(counts).toEqual([0, 4, 4]);
  });

  test.each<[name: string, shown: readonly Shown[], expected: object]>([
    [
      'its node holds a valid lease',
      [A, B, { ...LEFT, holder: 2 }],
      { complete: 0, unverified: 1 },
    ],
    ['it stands', [A, B, healthy(12, 70, LAST)], { complete: 0 }],
    ['another node reports it, too', [MOVED, B, { ...LEFT, nodes: [2, 4] }], { complete: 0 }],
    ['it has a new generation', [MOVED, B, { ...LEFT, generation: 9 }], { complete: 0 }],
    ['it has other keys', [MOVED, B, { ...LEFT, from: 60 }], { complete: 0 }],
  ])('is disproved where %s', async (_, shown, expected) => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [A, B, LEFT]);
    await scanNext(cluster, state);
    show(cluster, shown);
    const figures = await scanNext(cluster, state);
    expect(figures).toMatchObject({ gap: 0, left: 0, ...expected });
  });
});

describe('a range over the keys of others', () => {
  test('is not verified in the first scans that cannot resolve it, whatever it reports, and counts from the third on', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [MOVED, B, LEFT]);
    for (const scans of [1, 2, 3, 4]) {
      const { problems, ...figures } = await scanNext(cluster, state);
      expect(figures).toMatchObject({ ...NOTHING_WRONG, complete: 0, unverified: 2, left: 0 });
      expect(problems.length).toBe(scans < 3 ? 0 : 4);
    }
    show(cluster, [A, B, LEFT]);
    expect(await scanNext(cluster, state)).toMatchObject({
      ...NOTHING_WRONG,
      left: 1,
      problems: [],
    });
  });

  test('is not without a quorum in the first scan after a death', async () => {
    const cluster = fakeCluster([]);
    // Node 3 has returned, and has not seen yet that B was split; the holder of the lease was on node 2.
    const left = { ...B, lease: 0, holder: 0, nodes: [1, 3], described: [1, 2, 3] };
    const right: Shown = {
      id: 12,
      from: 70,
      to: LAST,
      nodes: [1],
      described: [1, 2, 3],
      holder: 1,
    };
    show(cluster, [{ ...A, nodes: [1, 3], described: [1, 2, 3] }, left, right], [2]);
    const figures = await scanNext(cluster, ranges.createState());
    expect(figures).toMatchObject({ complete: 0, servingNothing: 0, unreported: 0, problems: [] });
    expect(figures.unverified).toBeGreaterThan(0);
  });

  const BROKEN = { problems: LOST_QUORUM, holder: 0, nodes: [1], described: [1, 4, 5] } as const;
  test.each<[name: string, real: readonly Shown[], left: readonly Shown[]]>([
    ['ends where it ends', [{ ...B, ...BROKEN }], [LEFT]],
    ['begins where it begins', [{ ...B, ...BROKEN }], [leftOver(12, 50, 70)]],
    ['has its keys', [{ ...B, ...BROKEN }], [leftOver(12, 50, LAST)]],
    ['has its keys, and the lower id', [{ ...B, ...BROKEN }], [leftOver(2, 50, LAST)]],
    ['lies within', [{ ...B, ...BROKEN }], [leftOver(12, 60, 70)]],
    [
      'is of a chain over it',
      [{ ...B, ...BROKEN }],
      [leftOver(12, 50, 70), leftOver(13, 70, LAST)],
    ],
    [
      'lies over it and another',
      [
        { ...healthy(11, 50, 70), ...BROKEN },
        { ...healthy(13, 70, LAST), ...BROKEN },
      ],
      [leftOver(12, 50, LAST)],
    ],
  ])('hides no range without a majority where it %s', async (_, real, left) => {
    for (const flags of [STUCK, LOST_QUORUM, {}]) {
      const cluster = fakeCluster([]);
      show(cluster, [A, ...real, ...left.map((each) => ({ ...each, problems: flags }))], [4, 5]);
      const { problems, complete } = await scanNext(cluster, ranges.createState());
      expect(complete).toBe(0);
      const unavailable = problems.find((problem) => problem.startsWith('unavailable'));
      expect(Number(unavailable?.split(' ')[1])).toBeGreaterThanOrEqual(real.length);
    }
  });
});

describe('a stuck replica', () => {
  test.each([1, 2, 3])(
    'is not taken for the leader while node %d, the holder, cannot be asked',
    async (holder) => {
      for (const problem of ['circuit_breaker_error', 'no_raft_leader']) {
        const cluster = fakeCluster([]);
        showStuck(cluster, problem, holder);
        const { describe: answer } = cluster;
        cluster.describe = (rangeId, nodeId) => {
          if (nodeId === holder) throw statusError(500);
          return answer(rangeId, nodeId);
        };
        const { unverified, servingNothing, left } = (await scan(cluster)).figures;
        expect(servingNothing).toBe(0);
        expect(unverified).toBeGreaterThan(0);
        expect(left).toBe(0);
      }
    },
  );

  test('is not taken for the leader where other requests fail, and the holder answers', async () => {
    const cluster = fakeCluster([]);
    showStuck(cluster, 'no_raft_leader', 2);
    const { describe: answer } = cluster;
    cluster.describe = (rangeId, nodeId) => {
      if (nodeId === 1) throw statusError(500);
      return answer(rangeId, nodeId);
    };
    const { figures } = await scan(cluster);
    // A was not read, and of B only the answer of node 2.
    expect(figures).toMatchObject({ servingNothing: 0, unverified: 1 });
  });

  test('is not taken for the leader after a pause, when all descriptors are too old', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    let ms = 0;
    const given: PollGiven = { state, context: { nowMs: () => ms } };
    show(cluster, [A, B]);
    await pollRanges(cluster.api, given);
    ms += 2 * 3_600_000;
    showStuck(cluster, 'no_raft_leader', 2);
    const { of } = await pollRanges(cluster.api, given);
    expect(of('crdb_ranges_serving_nothing')).toEqual(['0']);
  });

  test('is taken for the leader where descriptors are refused', async () => {
    const cluster = fakeCluster([]);
    showStuck(cluster, 'no_raft_leader', 2);
    cluster.describe = () => {
      throw statusError(403);
    };
    expect((await scan(cluster)).figures.servingNothing).toBe(1);
  });
});
