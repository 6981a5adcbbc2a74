import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { type FakeCluster, fakeCluster, pollRanges, replica, statusError } from './cluster.ts';
import { DEAD, many, minutes, scan, show } from './shown-ranges.ts';

/** What a scan says of lost ranges. */
function lostOf(polled: { readonly of: (family: string) => readonly string[] }): readonly string[] {
  return [
    ...polled.of('crdb_ranges_without_live_replica'),
    ...polled.of('crdb_range_key_space_gap').map((value) => `gap ${value}`),
  ];
}

/** Lets the lists of these nodes fail. */
function fail(cluster: FakeCluster, ...nodeIds: readonly unknown[]): void {
  cluster.nodes = cluster.nodes.map((node) =>
    nodeIds.includes(node.nodeId) ? { ...node, ranges: statusError(500) } : node,
  );
}

describe('ranges that serve nothing', () => {
  const five = { holders: many(5, [1, 2, 3]), nodes: [1, 2, 3] };

  test.each(['circuit_breaker_error', 'no_raft_leader', 'no_lease'])(
    'are those whose lease holder repeats %s',
    async (problem) => {
      const cluster = fakeCluster([]);
      show(cluster, { ...five, problems: { [problem]: true } });
      const { of } = await scan(cluster);
      expect(of('crdb_ranges_serving_nothing')).toEqual(['5']);
      expect(cluster.askedAgain).toEqual(['1: 1 2 3 4 5']);
    },
  );

  test('are those with a stuck replica while no replica remembers who holds the lease', async () => {
    const cluster = fakeCluster([]);
    show(cluster, five);
    cluster.nodes = cluster.nodes.map((node) => ({
      ...node,
      ranges: [1, 2, 3, 4, 5].map((rangeId) =>
        replica({
          rangeId,
          nodeId: node.nodeId,
          storeId: node.nodeId,
          problems: node.nodeId === 1 ? { circuit_breaker_error: true } : {},
        }),
      ),
    }));
    expect((await scan(cluster)).of('crdb_ranges_serving_nothing')).toEqual(['5']);
  });

  test('are none that report it once', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { ...five, problems: { no_raft_leader: true } });
    const [first, ...others] = cluster.nodes;
    const calm = fakeCluster([]);
    show(calm, five);
    cluster.nodes = [
      { ...first, nodeId: 1, ...(calm.nodes[0]?.ranges && { again: calm.nodes[0].ranges }) },
      ...others,
    ];
    const { of, unverified } = await scan(cluster);
    expect([of('crdb_ranges_serving_nothing'), unverified]).toEqual([['0'], 0]);
  });

  test('are none with a follower that is stuck, but the two others are needed', async () => {
    const cluster = fakeCluster([]);
    show(cluster, five);
    const stuck = cluster.nodes.map((node) =>
      node.nodeId === 3
        ? {
            ...node,
            ranges: [1, 2, 3, 4, 5].map((id) =>
              replica({
                rangeId: id,
                nodeId: 3,
                storeId: 3,
                problems: { circuit_breaker_error: true },
              }),
            ),
          }
        : node,
    );
    cluster.nodes = stuck;
    const { of, dependent } = await scan(cluster);
    expect(of('crdb_ranges_serving_nothing')).toEqual(['0']);
    expect(dependent).toEqual({ '1 quorum': 5, '2 quorum': 5 });
  });

  test('keep the data of their stuck replicas: no node has the last live one', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { ...five, holders: many(5, [1, 2]), down: { 3: DEAD } });
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
    cluster.nodes = cluster.nodes.map((node) => ({
      ...node,
      ranges: [1, 2, 3, 4, 5]
        .filter(() => node.nodeId !== 3)
        .map((rangeId) =>
          replica({
            rangeId,
            nodeId: node.nodeId,
            storeId: Number(node.nodeId),
            problems: { no_raft_leader: true },
          }),
        ),
    }));
    const { of, dependent } = await scan(cluster);
    expect(of('crdb_ranges_serving_nothing')).toEqual(['5']);
    expect(dependent).toEqual({ '1 without_quorum': 5, '2 without_quorum': 5 });
  });

  test('are not verified, and not said to serve, where no suspect answers a second time', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { ...five, problems: { no_raft_leader: true } });
    const [first, ...others] = cluster.nodes;
    cluster.nodes = [{ ...first, nodeId: 1, again: statusError(500) }, ...others];
    const { of, unverified } = await scan(cluster);
    expect([of('crdb_ranges_serving_nothing'), unverified]).toEqual([[], 5]);
  });

  test('are not verified where the second answer leaves a suspect out', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { ...five, problems: { no_raft_leader: true } });
    cluster.nodes = cluster.nodes.map((node) => ({ ...node, again: [] }));
    const { of, unverified } = await scan(cluster);
    expect([of('crdb_ranges_serving_nothing'), unverified]).toEqual([[], 5]);
  });
});

describe('lost ranges', () => {
  test('are those of the last descriptor that has no live node', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, {
      holders: [
        [1, 2, 3],
        [4, 5, 3],
        [1, 2, 3],
      ],
    });
    await scan(cluster, state);
    show(cluster, { holders: [[1, 2], [], [1, 2]], down: { 3: DEAD, 4: DEAD, 5: DEAD } });
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
    const polled = await scan(cluster, state, 1);
    expect(lostOf(polled)).toEqual(['1', 'gap 0']);
    expect(polled.of('crdb_problem_range_reporter_info')).toEqual([
      '{range_id="2",node_id="3",store_id="3",shard="0"} 1',
    ]);
    expect(polled.of('crdb_node_down_replicas')).toEqual([
      '{node_id="3"} 3',
      '{node_id="4"} 1',
      '{node_id="5"} 1',
    ]);
  });

  test('are lost since the first scan after one in which they were not, whatever is still down', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const sinceAt = async (minute: number, holder: readonly number[], down: readonly number[]) => {
      const holders = [[1, 2, 3], holder, [1, 2, 3]];
      show(cluster, { holders, down: Object.fromEntries(down.map((id) => [id, DEAD])) });
      const clock = { ...minutes(minute), wallMs: () => minute * 60_000 };
      const { of } = await pollRanges(cluster.api, { state, clock });
      return of('crdb_problem_range_first_seen_timestamp_seconds').map(
        (line) => line.split(' ')[1],
      );
    };
    expect(await sinceAt(0, [4, 5], [])).toEqual([]);
    expect(await sinceAt(1, [], [4, 5])).toEqual(['60']);
    expect(await sinceAt(2, [], [4, 5])).toEqual(['60']);
    expect(await sinceAt(3, [5], [4])).toEqual([]);
    expect(await sinceAt(4, [], [4, 5])).toEqual(['240']);
  });

  test('are not known, nor is a majority, where the node has come up during the scan', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: [[1, 2], [3], [1, 2], [1, 2, 3]] });
    const { describe: answer } = cluster;
    // The only voter of range 4 is on node 3.
    cluster.describe = (id, nodeId) =>
      id === 4 ? { types: { 1: 5, 2: 5, 3: 0 } } : answer(id, nodeId);
    await scan(cluster, state);
    show(cluster, { holders: [[1, 2], [], [1, 2], [1, 2]], down: { 3: DEAD } });
    const figures = async (minute: number) => {
      const polled = await scan(cluster, state, minute);
      const scanned = polled.cluster;
      return [...lostOf(polled), scanned?.unreported.size, scanned?.unverified];
    };
    expect(await figures(1)).toEqual(['1', 'gap 0', 1, 0]);
    cluster.hold = async () => {
      cluster.nodes = cluster.nodes.map((node) => ({ ...node, status: 3 }));
    };
    expect(await figures(2)).toEqual(['0', 'gap 0', 0, 1]);
  });

  describe.each<[moved: string, types: Readonly<Record<number, number>>]>([
    ['a voter', { 1: 0, 2: 0, 6: 0 }],
    ['two of its voters', { 1: 0, 6: 0, 7: 0 }],
  ])(
    'are none, nor is a majority in question, where %s moved to nodes that have joined since',
    (_moved, types) => {
      test.each([
        ['are listed again', undefined],
        ['cannot be listed again', statusError(500)],
      ])('and %s', async (_listed, nodesFailure) => {
        const cluster = fakeCluster([]);
        const state = ranges.createState();
        show(cluster, { holders: many(3, [1, 2, 3]) });
        await scan(cluster, state);
        cluster.describe = (id) => ({
          types: id === 2 ? types : { 1: 0, 2: 0, 3: 0 },
          generation: 2,
        });
        show(cluster, { holders: [[1, 2, 3], [1, 2, 3].filter((id) => id in types), [1, 2, 3]] });
        cluster.hold = async () => {
          cluster.nodesFailure = nodesFailure;
          if (cluster.nodes.length === 5)
            cluster.nodes = [
              ...cluster.nodes,
              { nodeId: 6, ranges: [] },
              { nodeId: 7, ranges: [] },
            ];
        };
        const { dependent, unverified, cluster: found } = await scan(cluster, state, 1);
        expect([dependent, unverified, found?.unreported.size]).toEqual([{}, 1, 0]);
      });
    },
  );

  test('are those of nodes that the list does not have any more, also where it cannot be read again', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, {
      holders: [
        [1, 2, 3],
        [4, 5],
        [1, 2, 3],
      ],
    });
    await scan(cluster, state);
    show(cluster, { holders: [[1, 2, 3], [], [1, 2, 3]], nodes: [1, 2, 3] });
    expect(lostOf(await scan(cluster, state, 1))).toEqual(['1', 'gap 0']);
    cluster.hold = async () => {
      cluster.nodesFailure = statusError(500);
    };
    expect(lostOf(await scan(cluster, state, 2))).toEqual(['1', 'gap 0']);
  });

  test('are none while the key space is complete, whatever was down before the start', async () => {
    const cluster = fakeCluster([]);
    show(cluster, { holders: many(4, [1, 2, 3]), down: { 4: 5, 5: DEAD } });
    expect(lostOf(await scan(cluster))).toEqual(['0', 'gap 0']);
  });

  test('are not known while it is not, and a member is down that was never proven; three scans confirm the gap', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, { holders: [[1, 2, 3], [], [1, 2, 3]], down: { 4: DEAD, 5: DEAD } });
    const scans = [0, 1, 2].map((minute) => async () => lostOf(await scan(cluster, state, minute)));
    for (const [index, next] of scans.entries())
      expect(await next()).toEqual([`gap ${index === 2 ? 1 : 0}`]);
  });

  test('that were merged before their nodes died are forgotten, as the key space is complete', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, {
      holders: [
        [1, 2, 3],
        [3, 4, 5],
      ],
    });
    await scan(cluster, state);
    show(cluster, { holders: [[1, 2]], down: { 3: DEAD, 4: DEAD, 5: DEAD } });
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 }, generation: 2 });
    expect(lostOf(await scan(cluster, state, 1))).toEqual(['0', 'gap 0']);
  });

  test('that were merged are no lost ones when their nodes go down later, and a range is being split', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const other = { holders: many(40, [1, 2, 3]) };
    show(cluster, { holders: [...many(40, [1, 2, 3]), [3, 4, 5]] });
    await scan(cluster, state);
    show(cluster, other);
    await scan(cluster, state, 1);
    show(cluster, { holders: many(40, [1, 2]), down: { 3: DEAD, 4: DEAD, 5: DEAD } });
    cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
    cluster.nodes = cluster.nodes.map((node) => ({
      ...node,
      ranges: Array.isArray(node.ranges) ? node.ranges.toSpliced(20, 1) : [],
    }));
    const polled = await scan(cluster, state, 2);
    expect(polled.of('crdb_range_key_space_complete')).toEqual(['0']);
    // Range 21 is missing, and its nodes are live; range 41 was merged long ago.
    expect(lostOf(polled)).toEqual(['0', 'gap 0']);
  });

  describe('beside one that was merged before its nodes died are told alone', () => {
    const others = many(20, [2, 3, 4]);

    /** What is said of a last range that is merged, and of two that are lost with nodes 1 and 5. `showMerged`: the scan between. */
    async function lostAfter(
      lastRange: readonly number[],
      showMerged: (cluster: FakeCluster) => void,
    ): Promise<readonly string[]> {
      const cluster = fakeCluster([]);
      const state = ranges.createState();
      show(cluster, { holders: [[1], [5], ...others, lastRange] });
      await scan(cluster, state);
      show(cluster, { holders: [[1], [5], ...others] });
      showMerged(cluster);
      await pollRanges(cluster.api, { state, clock: minutes(1) });
      const down = { 1: DEAD, 5: DEAD, ...(lastRange.includes(3) && { 3: DEAD }) };
      const left = others.map((ids) => ids.filter((id) => !(id in down)));
      show(cluster, { holders: [[], [], ...left], down });
      return lostOf(await scan(cluster, state, 2));
    }

    test.each([
      ['a scan that lacks another node', [1], [3]],
      ['a scan that lacks one of its nodes', [1, 3], [3]],
      ['a scan that fails, as it lacks most nodes', [1], [3, 4, 5]],
    ] as const)('by %s', async (_name, lastRange, failing) => {
      expect(await lostAfter(lastRange, (cluster) => fail(cluster, ...failing))).toEqual([
        '2',
        'gap 0',
      ]);
    });

    test.each([[[1]], [[1, 5]]])(
      'by a scan of all nodes that are up, while another range is lost already: nodes %j',
      async (lastRange) => {
        const lost = await lostAfter(lastRange, (cluster) => {
          show(cluster, { holders: [[1], [], ...others], down: { 5: DEAD } });
        });
        expect(lost).toEqual(['2', 'gap 0']);
      },
    );

    test('and are not forgotten by a scan that reads none of their nodes', async () => {
      expect(await lostAfter([2, 3, 4], (cluster) => fail(cluster, 1, 5))).toEqual(['2', 'gap 0']);
    });
  });
});
