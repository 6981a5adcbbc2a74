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

function failNode3(cluster: FakeCluster): void {
  cluster.nodes = cluster.nodes.map((node) =>
    node.nodeId === 3 ? { ...node, ranges: new Error('busy') } : node,
  );
}

function refuseDescriptors(cluster: FakeCluster): void {
  cluster.describe = () => {
    throw statusError(403);
  };
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
    const given: PollGiven = { state, clock: { wallMs: () => ms } };
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

  test('stays so where a node cannot be read', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [A, B, LEFT]);
    await scanNext(cluster, state);
    failNode3(cluster);
    for (let scans = 0; scans < 4; scans += 1) {
      const { cluster: scanned, of } = await pollRanges(cluster.api, { state });
      expect(scanned).toBeUndefined();
      expect(problemsIn(of)).toEqual([]);
      expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([]);
    }
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

const UNSPLIT: Shown = { ...A, nodes: [2], to: 40, lease: 0 };

describe('a range over the keys of others, where nothing can be verified,', () => {
  test.each<[name: string, hide: (cluster: FakeCluster) => void]>([
    ['as a node cannot be read', failNode3],
    ['as descriptors are refused', refuseDescriptors],
  ])('counts as what it reports only where others do, too (%s)', async (_, hide) => {
    const cluster = fakeCluster([]);
    const countScans = async (shown: readonly Shown[], scans = 4) => {
      const state = ranges.createState();
      show(cluster, shown);
      hide(cluster);
      const counts: number[] = [];
      for (let left = scans; left > 0; left -= 1) {
        const { of } = await pollRanges(cluster.api, { state });
        expect(of('crdb_range_key_space_gap').join()).not.toBe('1');
        counts.push(problemsIn(of).length);
      }
      return counts;
    };
    expect(await countScans([A, B, LEFT])).toEqual([0, 0, 0, 0]);
    // It may be the other one that is left over, or the keys may be old.
    const stuck = { ...A, problems: { no_raft_leader: true } } as const;
    const counted = (await countScans([stuck, B, LEFT])).map((count) => count > 1);
    expect(counted).toEqual([false, false, true, true]);
    expect(await countScans([UNSPLIT, { ...A, nodes: [1, 3] }, B, LEFT])).toEqual([0, 0, 4, 4]);
    // Keys are missing, so that nothing lies over others.
    expect(await countScans([A, { ...B, to: 70 }, { ...LEFT, to: 90 }], 1)).toEqual([4]);
  });

  test('counts as little where a range that stands has a stuck follower', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    showStuck(cluster, 'circuit_breaker_error', 1, [MOVED, LEFT]);
    for (let scans = 0; scans < 4; scans += 1) {
      const figures = await scanNext(cluster, state);
      expect(figures).toMatchObject({ servingNothing: 0, unreported: 0 });
      expect(figures.problems).toEqual(['circuit_breaker_error 1']);
    }
  });

  test('counts in a scan without a node only once it was seen in others', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [A, B]);
    await scanNext(cluster, state);
    show(cluster, [A, B, LEFT]);
    failNode3(cluster);
    const { of, cluster: scanned } = await pollRanges(cluster.api, { state });
    expect(scanned).toBeUndefined();
    expect(problemsIn(of)).toEqual([]);
    expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([]);
  });
});

/** Shows that range 12 was merged into B after nodes 1 and 3 were read, and before node 2, which keeps what is left of it. */
function merge(cluster: FakeCluster): void {
  show(cluster, [A, { ...B, to: 70, lease: 0 }, { ...LEFT, nodes: [1, 2, 3], problems: {} }]);
  cluster.nodes = cluster.nodes.map((node) => {
    if (!Array.isArray(node.ranges)) return node;
    const [a, b, left] = node.ranges;
    if (node.nodeId !== 2) return { ...node, again: [a, b] };
    return { ...node, ranges: [a, b, { ...left, problems: LOST_QUORUM }] };
  });
  const { describe: answer } = cluster;
  cluster.describe = (rangeId, nodeId) =>
    rangeId === LEFT.id && nodeId !== 2 ? undefined : answer(rangeId, nodeId);
}

describe('a range that was merged while nodes were read', () => {
  test.each([
    ['in a scan', (): void => undefined],
    ['where descriptors are refused', refuseDescriptors],
  ])('is not known %s, whatever is left of it reports', async (_, hide) => {
    const cluster = fakeCluster([]);
    merge(cluster);
    hide(cluster);
    const figures = await scanNext(cluster, ranges.createState());
    expect(figures).toMatchObject({ servingNothing: 0, unreported: 0, problems: [] });
    expect(figures.unverified).toBeGreaterThan(0);
  });

  test('is not known where another node cannot be read', async () => {
    const cluster = fakeCluster([]);
    merge(cluster);
    failNode3(cluster);
    const { of } = await pollRanges(cluster.api, { state: ranges.createState() });
    expect(problemsIn(of)).toEqual([]);
  });

  test('counts where all nodes still have it', async () => {
    const cluster = fakeCluster([]);
    merge(cluster);
    cluster.nodes = cluster.nodes.map((node) => ({ ...node, again: node.ranges ?? [] }));
    const { problems } = await scanNext(cluster, ranges.createState());
    expect(problems.length).toBe(4);
  });
});

describe('a range over the keys of others', () => {
  test('is not verified as long as no other one reports anything, whatever it reports', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [MOVED, B, LEFT]);
    for (let scans = 0; scans < 4; scans += 1) {
      const figures = await scanNext(cluster, state);
      const expected = { ...NOTHING_WRONG, complete: 0, unverified: 2, left: 0, problems: [] };
      expect(figures).toMatchObject(expected);
    }
    show(cluster, [A, B, LEFT]);
    const figures = await scanNext(cluster, state);
    expect(figures).toMatchObject({ ...NOTHING_WRONG, left: 1, problems: [] });
  });

  test('counts from the third scan on that cannot resolve it where another one reports a problem', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, [{ ...MOVED, problems: { no_raft_leader: true } }, B, LEFT]);
    const counts: boolean[] = [];
    for (let scans = 0; scans < 4; scans += 1) {
      const { problems, left } = await scanNext(cluster, state);
      expect(left).toBe(0);
      counts.push(problems.includes('unavailable 1'));
    }
    expect(counts).toEqual([false, false, true, true]);
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
    const given: PollGiven = { state, clock: { wallMs: () => ms } };
    show(cluster, [A, B]);
    await pollRanges(cluster.api, given);
    ms += 2 * 3_600_000;
    showStuck(cluster, 'no_raft_leader', 2);
    const { of } = await pollRanges(cluster.api, given);
    expect(of('crdb_ranges_serving_nothing')).toEqual(['0']);
  });

  test('is not taken for the leader where nobody can be asked and most of the others report nothing', async () => {
    for (const [stuck, expected] of [
      [[3], 0],
      [[2, 3], 1],
      [[1, 2, 3], 1],
    ] as const) {
      const cluster = fakeCluster([]);
      show(cluster, [A, { ...B, lease: 0, holder: 0 }]);
      cluster.nodes = cluster.nodes.map((node) => {
        const [a, b] = Array.isArray(node.ranges) ? node.ranges : [];
        if (!stuck.some((id) => id === node.nodeId)) return node;
        return { ...node, ranges: [a, { ...b, problems: { circuit_breaker_error: true } }] };
      });
      refuseDescriptors(cluster);
      expect((await scan(cluster)).figures.servingNothing).toBe(expected);
    }
  });
});
