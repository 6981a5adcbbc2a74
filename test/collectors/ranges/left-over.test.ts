import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { encodeKey, fakeCluster, pollRanges } from './cluster.ts';
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

describe('a replica that a merge left behind', () => {
  test.each<[name: string, left: readonly Shown[], others?: readonly Shown[]]>([
    ['has no lease history', [leftOver(12, 70, LAST)]],
    ['remembers that it held the lease', [leftOver(12, 70, LAST, { lease: 2 })]],
    ['remembers a lease of another node', [leftOver(12, 70, LAST, { lease: 3 })]],
    ['has no flag', [leftOver(12, 70, LAST, { problems: {} })]],
    [
      'reports a lost quorum',
      [leftOver(12, 70, 80, { problems: { unavailable: true, ...STUCK } })],
    ],
    ['names members that are gone', [leftOver(12, 70, 80, { described: [2, 6, 7] })]],
    ['names two dead nodes', [leftOver(12, 70, 80, { described: [2, 4, 5] })]],
    ['begins with the first key', [leftOver(12, 0, 20)]],
    ['begins where the other begins', [leftOver(12, 50, 60)]],
    ['has the keys of the other', [leftOver(12, 50, LAST)]],
    ['lies over two ranges', [leftOver(12, 30, 70)]],
    ['has all keys', [leftOver(12, 0, LAST)]],
    ['is on the node with the lease of the other', [leftOver(12, 60, 70, { nodes: [1] })]],
    ['is on two nodes', [leftOver(12, 60, 70, { nodes: [2, 3], described: [1, 2, 3, 6, 7] })]],
    ['is one of several', [leftOver(12, 60, 70), leftOver(13, 20, 30, { nodes: [3] })]],
    ['lies in another one', [leftOver(12, 55, 90), leftOver(13, 60, 70, { nodes: [3] })]],
    ['is of a chain of merges', [12, 13, 14, 15].map((id) => leftOver(id, 5 * id, 5 * id + 5))],
    [
      'lies over idle ranges, whose replicas have forgotten the lease',
      [leftOver(12, 70, LAST)],
      [A, B].map((range) => ({ ...range, lease: 0, holder: 0 })),
    ],
  ])('that %s is counted as such, and judged no more', async (_, left, others = [A, B]) => {
    const cluster = fakeCluster([]);
    show(cluster, [...others, ...left], [4, 5]);
    const { figures, cluster: scanned, of } = await scan(cluster, 4);
    expect(figures).toEqual({ ...NOTHING_WRONG, left: left.length });
    expect(scanned?.leftOver.toSorted((a, b) => a.rangeId - b.rangeId)).toEqual(
      left.map(({ id, nodes }) => ({ rangeId: id, nodeIds: nodes, tableIndex: 104 * 2 ** 16 + 1 })),
    );
    const dependent = of('crdb_node_dependent_ranges').filter((line) => !line.endsWith(' 0'));
    expect(dependent).toEqual([]);
    expect(of('crdb_node_down_replicas').filter((line) => !line.endsWith(' 0'))).toEqual([]);
    expect(of('crdb_range_problem_ranges').filter((line) => !line.endsWith(' 0'))).toEqual([]);
    expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([]);
    expect(of('crdb_problem_ranges_omitted').filter((line) => !line.endsWith(' 0'))).toEqual([]);
    // The nodes count it, too.
    const flags = left.flatMap(({ problems = {} }) => Object.keys(problems));
    expect(of('crdb_range_problem_replicas').length > 0).toBe(flags.length > 0);
    expect(of('crdb_ranges')).toEqual([`{shard="0"} ${2 + left.length}`]);
  });

  test('is not known where the range over its keys is not verified, and never a gap', async () => {
    const cluster = fakeCluster([]);
    const moved = { ...B, described: [1, 2, 4], holder: 0 };
    show(cluster, [A, moved, leftOver(12, 70, LAST)]);
    const { figures, cluster: scanned } = await scan(cluster, 4);
    expect(figures).toEqual({ ...NOTHING_WRONG, complete: 0, unverified: 2, left: 0 });
    expect(scanned?.keySpace.overlapping).toMatchObject([{ rangeId: 12, nodeIds: [2] }]);
  });

  test('is not known where no descriptor is read, and never a gap', async () => {
    const cluster = fakeCluster([]);
    show(cluster, [A, B, leftOver(12, 70, LAST)]);
    const state = ranges.createState();
    const options = { descriptor_max_age: 0 };
    for (let scans = 0; scans < 4; scans += 1) {
      const { of } = await pollRanges(cluster.api, { state, options });
      expect(of('crdb_range_key_space_gap')).toEqual(['0']);
      expect(of('crdb_ranges_serving_nothing')).toEqual(['0']);
      expect(of('crdb_ranges_left_over')).toEqual(['0']);
    }
  });

  test('hides no range that serves nothing, nor one that is missing', async () => {
    const cluster = fakeCluster([]);
    const broken = { ...B, problems: STUCK, holder: 0 };
    show(cluster, [A, broken, leftOver(12, 70, 80)]);
    expect((await scan(cluster)).figures).toMatchObject({ servingNothing: 1, left: 0 });
    show(cluster, [A, leftOver(12, 70, LAST)]);
    expect((await scan(cluster, 3)).figures).toMatchObject({ complete: 0, gap: 1, left: 0 });
  });

  test('hides no range that is missing and ends where it ends', async () => {
    const cluster = fakeCluster([]);
    show(cluster, [A, healthy(11, 50, 70), leftOver(12, 50, LAST, { problems: {} })]);
    expect((await scan(cluster, 3)).figures).toMatchObject({ complete: 0, gap: 1, left: 0 });
  });

  test('hides no lost range whose keys it has', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const first = { ...healthy(10, 0, 50), nodes: [1, 2, 3] };
    const left = leftOver(12, 50, LAST, { nodes: [1], described: [1, 2, 4], problems: {} });
    const own = { id: 11, from: 50, to: LAST, nodes: [4, 5], lease: 4, holder: 4 };
    show(cluster, [first, own, left]);
    expect((await pollRanges(cluster.api, { state })).of('crdb_ranges_left_over')).toEqual(['1']);
    for (let scans = 0; scans < 3; scans += 1) {
      show(cluster, [first, { ...own, nodes: [] }, left], [4, 5]);
      const { of } = await pollRanges(cluster.api, { state });
      expect(of('crdb_ranges_without_live_replica')).toEqual(['1']);
      expect(of('crdb_range_key_space_complete')).toEqual(['0']);
    }
  });

  test.each([
    ['unavailable', { unavailable: true, ...STUCK }],
    ['nothing', {}],
  ] as const)('that reports %s is no outage once it was known', async (_, problems) => {
    const cluster = fakeCluster([]);
    const left = leftOver(12, 70, 80, { described: [2, 6, 7], problems });
    const moved = { ...B, described: [1, 2, 4], holder: 0 };
    const state = ranges.createState();
    const outages = async (shown: readonly Shown[]) => {
      show(cluster, shown);
      const { of, cluster: scanned } = await pollRanges(cluster.api, { state });
      const reported = of('crdb_range_problem_ranges').filter((line) => !line.endsWith(' 0'));
      return { reported, stuck: scanned?.servingNothing, unreported: scanned?.unreported.size };
    };
    const none = { reported: [], stuck: 0, unreported: 0 };
    expect(await outages([A, B, left])).toEqual(none);
    for (let scans = 0; scans < 4; scans += 1)
      expect(await outages([A, moved, left])).toEqual(none);
  });

  test('of which there is no proof yet is no outage', async () => {
    const cluster = fakeCluster([]);
    const left = leftOver(12, 70, 80, { problems: { unavailable: true }, described: [2, 6, 7] });
    show(cluster, [A, { ...B, described: [1, 2, 4], holder: 0 }, left]);
    const state = ranges.createState();
    const counts: string[] = [];
    for (let scans = 0; scans < 4; scans += 1) {
      const { of } = await pollRanges(cluster.api, { state });
      counts.push(
        ...of('crdb_range_problem_ranges').filter((line) => line.includes('"unavailable"')),
      );
    }
    const unavailable = '{problem="unavailable",shard="0"}';
    expect(new Set(counts)).toEqual(new Set([`${unavailable} 0`]));
  });

  test('is no outage either where a node could not be read', async () => {
    const cluster = fakeCluster([]);
    show(cluster, [A, B, leftOver(12, 70, 80, { problems: { unavailable: true, ...STUCK } })]);
    const state = ranges.createState();
    await pollRanges(cluster.api, { state });
    const [first, ...others] = cluster.nodes;
    if (first === undefined) throw new Error('no node');
    cluster.nodes = [{ ...first, ranges: new Error('busy') }, ...others];
    const { of } = await pollRanges(cluster.api, { state });
    expect(of('crdb_range_problem_ranges').filter((line) => !line.endsWith(' 0'))).toEqual([]);
  });

  test('is none of a range that was split while the keys of the other could not be read again', async () => {
    const cluster = fakeCluster([]);
    // Node 1 listed B before the split, and nodes 2 and 3 both halves of it.
    const right = { ...healthy(12, 70, LAST), nodes: [2, 3], described: [1, 2, 3], holder: 0 };
    show(cluster, [A, B, right]);
    const [first, ...others] = cluster.nodes;
    if (first === undefined) throw new Error('no node');
    cluster.nodes = [{ ...first, again: new Error('busy') }, ...others];
    const { figures } = await scan(cluster);
    expect(figures).toMatchObject({ complete: 0, unverified: 1, left: 0 });
  });

  test('is none of a range that a majority of its voters reports, or of one that was split where others have not seen it', async () => {
    const cluster = fakeCluster([]);
    show(cluster, [A, B, leftOver(12, 70, LAST, { nodes: [2, 3] })]);
    expect((await scan(cluster)).figures).toMatchObject({ complete: 0, unverified: 1, left: 0 });
    // Node 1 has not applied the split of B, nobody holds its lease, and the other half is on node 3 alone.
    show(cluster, [A, { ...B, lease: 0, holder: 0 }, leftOver(12, 70, LAST, { nodes: [3] })], [2]);
    cluster.nodes = cluster.nodes.map((node) =>
      node.nodeId === 3 && Array.isArray(node.ranges)
        ? {
            ...node,
            ranges: node.ranges.map((each: { readonly desc: { readonly range_id: unknown } }) =>
              each.desc.range_id === B.id
                ? { ...each, desc: { ...each.desc, end_key: encodeKey(70) } }
                : each,
            ),
          }
        : node,
    );
    expect((await scan(cluster)).figures).toMatchObject({ complete: 0, left: 0 });
  });

  test('is known where two other ranges were merged after their lists were read', async () => {
    const cluster = fakeCluster([]);
    const left = leftOver(12, 10, 20);
    show(cluster, [A, B, left]);
    const merged = cluster.nodes.map(({ ranges: listed }) => listed ?? []);
    show(cluster, [A, { ...B, to: 70 }, healthy(13, 70, LAST), left]);
    cluster.nodes = cluster.nodes.map((node, at) => ({ ...node, again: merged[at] ?? [] }));
    const { describe: answer } = cluster;
    cluster.describe = (rangeId, nodeId) => (rangeId === 13 ? undefined : answer(rangeId, nodeId));
    expect((await scan(cluster)).figures).toEqual({ ...NOTHING_WRONG, left: 1 });
  });

  test('is known while another range serves nothing whose lease is valid, and does not count for it', async () => {
    const cluster = fakeCluster([]);
    const problems = { unavailable: true, ...STUCK } as const;
    // Of the voters of B node 1 holds the lease, node 2 is dead and node 3 is stuck.
    showStuck(cluster, 'circuit_breaker_error', 1, [
      A,
      leftOver(12, 10, 20, { nodes: [3], problems }),
    ]);
    cluster.nodes = cluster.nodes.map((node) => ({ ...node, status: node.nodeId === 2 ? 1 : 3 }));
    const { figures, of } = await scan(cluster, 4);
    expect(figures).toEqual({ ...NOTHING_WRONG, servingNothing: 1, left: 1 });
    expect(of('crdb_range_problem_ranges').filter((line) => !line.endsWith(' 0'))).toEqual([
      '{problem="circuit_breaker_error",shard="0"} 1',
    ]);
  });

  test('is told from a range without a majority whose lease is still valid, wherever they lie', async () => {
    const problems = { unavailable: true, ...STUCK } as const;
    for (const [from, to] of [
      [50, LAST],
      [50, 70],
      [60, 70],
      [70, LAST],
    ] as const) {
      const cluster = fakeCluster([]);
      const broken = { ...B, problems, nodes: [1], described: [1, 4, 5] };
      show(cluster, [A, broken, leftOver(12, from, to, { problems })], [4, 5]);
      const { figures, cluster: scanned, of } = await scan(cluster);
      expect(figures).toEqual({ ...NOTHING_WRONG, servingNothing: 1, left: 1 });
      expect(scanned?.leftOver).toMatchObject([{ rangeId: 12 }]);
      expect(of('crdb_range_problem_ranges').filter((line) => line.endsWith(' 1'))).toHaveLength(3);
    }
  });

  test('is found among any ranges, and no gap is taken for one', async () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: LAST - 1 }), {
      minLength: 2,
      maxLength: 20,
    });
    const span = fc.tuple(fc.nat(LAST), fc.nat(LAST)).filter(([a, b]) => a !== b);
    await fc.assert(
      fc.asyncProperty(
        cuts,
        fc.array(fc.tuple(span, fc.constantFrom([1], [2], [3])), { minLength: 1, maxLength: 5 }),
        fc.option(fc.nat(LAST)),
        async (at, left, missing) => {
          const bounds = [0, ...at, LAST].toSorted((a, b) => a - b);
          const all = bounds
            .slice(1)
            .map((to, index) => healthy(index + 1, bounds[index] ?? 0, to));
          const others = missing === null ? all : all.toSpliced(missing % all.length, 1);
          const leftOvers = left.map(([[a, b], nodes], index) =>
            leftOver(101 + index, Math.min(a, b), Math.max(a, b), { nodes }),
          );
          const cluster = fakeCluster([]);
          show(cluster, [...others, ...leftOvers]);
          const { figures } = await scan(cluster);
          expect(figures).toMatchObject(
            missing === null ? { ...NOTHING_WRONG, left: left.length } : { complete: 0, left: 0 },
          );
        },
      ),
      { numRuns: 40 },
    );
  });
});

test('a range of which one node has not seen the split hides no left-over', async () => {
  const [cluster, state] = [fakeCluster([]), ranges.createState()];
  const showAll = (more: readonly Shown[]): void => {
    const split = [healthy(10, 0, 30), { ...healthy(13, 30, 50), nodes: [1, 2] }];
    show(cluster, [...split, B, ...more]);
    cluster.nodes = cluster.nodes.map((node) => {
      if (node.nodeId !== 3 || !Array.isArray(node.ranges)) return node;
      const [first, ...others]: readonly { desc?: object }[] = node.ranges;
      const desc = { ...first?.desc, end_key: encodeKey(50) };
      return { ...node, ranges: [{ ...first, desc }, ...others] };
    });
  };
  showAll([]);
  await scan(cluster, 1, state);
  showAll([leftOver(12, 70, LAST)]);
  expect((await scan(cluster, 1, state)).figures).toEqual({ ...NOTHING_WRONG, left: 1 });
});

describe('a stuck follower', () => {
  test.each([1, 2])(
    'is no leader where node %d answers that it holds the lease, and no list has one',
    async (holder) => {
      for (const problem of ['circuit_breaker_error', 'no_raft_leader']) {
        const cluster = fakeCluster([]);
        showStuck(cluster, problem, holder);
        const { figures, of } = await scan(cluster);
        expect(figures).toEqual({ ...NOTHING_WRONG, left: 0 });
        expect(of('crdb_node_dependent_ranges').filter((line) => line.endsWith(' 1'))).toEqual([
          '{node_id="1",effect="quorum"} 1',
          '{node_id="2",effect="quorum"} 1',
        ]);
      }
    },
  );

  test.each([2, 3])(
    'is no leader where node %d holds the lease, and the descriptor has another order than the lists',
    async (holder) => {
      const cluster = fakeCluster([]);
      show(cluster, [A, { ...B, nodes: [1, 2, 3, 4], lease: 0, problems: {} }]);
      cluster.nodes = cluster.nodes.map((node) =>
        node.nodeId === 4 && Array.isArray(node.ranges)
          ? { ...node, ranges: node.ranges.map((each: object) => ({ ...each, problems: STUCK })) }
          : node,
      );
      const describeA = cluster.describe;
      // The non-voter of node 1 comes last.
      cluster.describe = (rangeId, nodeId) =>
        rangeId === B.id
          ? { types: { 1: 5, 2: 0, 3: 0, 4: 0 }, isLeaseholder: nodeId === holder }
          : describeA(rangeId, nodeId);
      const { figures } = await scan(cluster);
      expect(figures).toEqual({ ...NOTHING_WRONG, left: 0 });
    },
  );

  test.each([
    ['is the holder where it answers so', 3, { servingNothing: 1, unverified: 0 }],
    ['may be the holder where nobody says who is', 0, { servingNothing: 0, unverified: 1 }],
  ])('%s', async (_, holder, expected) => {
    const cluster = fakeCluster([]);
    showStuck(cluster, 'no_raft_leader', holder);
    expect((await scan(cluster)).figures).toMatchObject(expected);
  });
});

test('a range over the keys of another one is not verified while both are without a majority', async () => {
  const cluster = fakeCluster([]);
  const lostQuorum = { unavailable: true } as const;
  const over = { ...A, nodes: [1, 3], described: [1, 2, 3, 4, 5], holder: 0, problems: lostQuorum };
  const left = { ...over, id: 12, from: 20, to: 50 };
  show(cluster, [over, B, left], [2, 4, 5]);
  for (const scans of [1, 3]) {
    const { figures } = await scan(cluster, scans);
    expect([figures.complete, figures.left, figures.unverified !== 0]).toEqual([0, 0, true]);
  }
});
