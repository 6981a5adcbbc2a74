import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { RequestError } from '../../../src/http/errors.ts';
import { type FakeCluster, fakeCluster, pollRanges, replica } from './cluster.ts';

const DEAD = 1;
const DECOMMISSIONED = 5;

interface World {
  /** Node ids by range id. */
  readonly ranges: Readonly<Record<number, readonly number[]>>;
  /** Statuses and localities by node id; a node is live and without locality. */
  readonly nodes: Readonly<
    Record<number, { readonly status?: number; readonly locality?: string }>
  >;
  readonly problems?: Readonly<Record<number, string>>;
  readonly failing?: readonly number[];
}

/** Sets what the nodes of the cluster report. */
function show(cluster: FakeCluster, world: World): void {
  cluster.nodes = Object.entries(world.nodes).map(([id, node]) => ({
    nodeId: Number(id),
    ...node,
    ranges: world.failing?.includes(Number(id))
      ? new RequestError('http', 'HTTP 500')
      : elementsOf(world, Number(id)),
  }));
}

function elementsOf({ ranges: byId, problems }: World, nodeId: number): readonly unknown[] {
  return Object.entries(byId)
    .filter(([, nodeIds]) => nodeIds.includes(nodeId))
    .map(([id, nodeIds]) => {
      const problem = problems?.[Number(id)];
      const reports = problem !== undefined && nodeId === Math.min(...nodeIds);
      return replica({
        rangeId: Number(id),
        nodeId,
        storeId: nodeId,
        ...(reports && { problems: { [problem]: true } }),
      });
    });
}

/** Polls the worlds one after the other, with one exporter; the lines of the last poll. */
async function scan(...worlds: readonly World[]) {
  const cluster = fakeCluster([]);
  const state = ranges.createState();
  let polled;
  for (const world of worlds) {
    show(cluster, world);
    polled = await pollRanges(cluster.api, { state });
  }
  const of = polled?.of ?? (() => []);
  const quorum = (family: string): readonly string[] =>
    of(family)
      .filter((line) => line.includes('effect="quorum"'))
      .map((line) => line.replace(',effect="quorum"}', '}'));
  return {
    of,
    nodes: quorum('crdb_node_dependent_ranges'),
    localities: quorum('crdb_locality_dependent_ranges'),
    lost: of('crdb_ranges_without_live_replica'),
  };
}

const LIVE = { 1: {}, 2: {}, 3: {}, 4: {}, 5: {} };

describe('ranges that depend on a node', () => {
  test('are without quorum when too few of their holders are left, though no replica says so', async () => {
    const before = { ranges: { 1: [1, 2, 3] }, nodes: LIVE };
    const { of } = await scan(before, before, {
      ranges: { 1: [1] },
      nodes: { 1: {}, 2: { status: DEAD }, 3: { status: DEAD } },
      problems: { 1: 'underreplicated' },
    });
    expect(of('crdb_node_dependent_ranges')).toEqual([
      '{node_id="1",effect="quorum"} 0',
      '{node_id="1",effect="all_replicas"} 1',
      '{node_id="1",effect="without_quorum"} 1',
    ]);
  });

  test('are absent while a node cannot be read', async () => {
    const { of } = await scan({ ranges: { 1: [1, 2, 3] }, nodes: LIVE, failing: [5] });
    expect(of('crdb_node_dependent_ranges')).toEqual([]);
    expect(of('crdb_locality_dependent_ranges')).toEqual([]);
    expect(of('crdb_ranges_without_live_replica')).toEqual([]);
  });
});

describe('ranges that depend on a locality', () => {
  const nodes = {
    1: { locality: 'region=east,zone=a' },
    2: { locality: 'region=east,zone=a' },
    3: { locality: 'region=east,zone=b' },
    4: { locality: 'region=west,zone=a' },
    5: {},
  };

  test('are those with so many replicas there that the rest is no quorum', async () => {
    const { of, localities } = await scan({
      ranges: { 1: [1, 2, 4], 2: [1, 3, 4], 3: [1, 2] },
      nodes,
    });
    expect(localities).toEqual([
      '{tier="region",locality="region=east"} 3',
      '{tier="zone",locality="region=east,zone=a"} 2',
      '{tier="zone",locality="region=east,zone=b"} 0',
      '{tier="region",locality="region=west"} 0',
      '{tier="zone",locality="region=west,zone=a"} 0',
    ]);
    // Range 3 may have a replica elsewhere: an even number is one that moved.
    expect(of('crdb_locality_dependent_ranges')).toContain(
      '{tier="region",locality="region=east",effect="all_replicas"} 0',
    );
  });
});

/** Five nodes, of which these are down. */
function down(...ids: readonly number[]): World['nodes'] {
  const status = (id: number) => (ids.includes(id) ? { status: DEAD } : {});
  return Object.fromEntries([1, 2, 3, 4, 5].map((id) => [id, status(id)]));
}

describe('ranges without a live replica', () => {
  const whole = { ranges: { 1: [1, 2, 3], 2: [3, 4, 5] }, nodes: LIVE };

  test('are counted and listed with their table while all their nodes are down', async () => {
    const { lost, of } = await scan(whole, { ranges: { 2: [4, 5] }, nodes: down(1, 2, 3) });
    expect(lost).toEqual(['1']);
    expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([
      '{problem="no_live_replica",range_id="1",table_id="104",index_id="1",shard="0"} 1000',
    ]);
    expect(of('crdb_problem_range_reporter_info')).toEqual([
      '{range_id="1",node_id="1",store_id="1",shard="0"} 1',
    ]);
    expect(of('crdb_problem_ranges_omitted')).toContain('{problem="no_live_replica",shard="0"} 0');
  });

  test('are not those that were dropped, merged or moved while a node is down', async () => {
    const dropped = { ranges: { 2: [4, 5] }, nodes: down(3) };
    expect((await scan(whole, dropped)).lost).toEqual(['0']);
    expect((await scan(whole, dropped, dropped)).lost).toEqual(['0']);
    expect((await scan(whole, whole, dropped, dropped)).lost).toEqual(['0']);
    const moved = { ranges: { 1: [4, 5], 2: [4, 5] }, nodes: down(3) };
    expect((await scan(whole, moved, { ...moved, nodes: down(3, 4) })).lost).toEqual(['0']);
  });

  test('are those with one holder, unless it was seen once and may have been split off', async () => {
    const split = { ranges: { ...whole.ranges, 3: [1] }, nodes: LIVE };
    const missing = { ...split, problems: { 3: 'underreplicated' } };
    const outage = { ...whole, nodes: down(1) };
    expect((await scan(whole, split, outage)).lost).toEqual(['0']);
    expect((await scan(whole, split, split, outage)).lost).toEqual(['1']);
    expect((await scan(whole, missing, outage)).lost).toEqual(['1']);
  });

  test('are those of nodes that died while they were being decommissioned', async () => {
    const dying = Object.fromEntries([1, 2, 3].map((id) => [id, { status: DECOMMISSIONED }]));
    const outage = { ranges: { 2: [4, 5] }, nodes: { ...LIVE, ...dying } };
    const { lost, of } = await scan(whole, outage);
    expect(lost).toEqual(['1']);
    expect(of('crdb_range_scan_nodes')).toContain('{state="skipped",shard="0"} 3');
  });

  test('are unknown while a node is down that was never read', async () => {
    const outage = { ranges: { 2: [4, 5] }, nodes: down(1, 2, 3) };
    const { lost, of } = await scan(outage);
    expect(lost).toEqual([]);
    expect(of('crdb_problem_ranges_omitted')).toHaveLength(12);
    expect((await scan({ ...whole, failing: [5] }, outage)).lost).toEqual(['1']);
  });

  test('of a node with several stores have a reporter without a store', async () => {
    const cluster = fakeCluster([
      { nodeId: 1, ranges: [1, 2].map((id) => replica({ rangeId: id, nodeId: 1, storeId: id })) },
      { nodeId: 2, ranges: [] },
    ]);
    const state = ranges.createState();
    await pollRanges(cluster.api, { state });
    cluster.nodes = [{ nodeId: 1, status: DEAD }, { nodeId: 2 }];
    const { of } = await pollRanges(cluster.api, { state });
    expect(of('crdb_problem_range_reporter_info')[0]).toBe(
      '{range_id="1",node_id="1",store_id="",shard="0"} 1',
    );
  });
});
