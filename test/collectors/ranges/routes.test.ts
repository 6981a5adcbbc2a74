import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { type FakeNode, fakeCluster, pollRanges, replica, statusError } from './cluster.ts';

function node(nodeId: number, more: Partial<FakeNode> = {}): FakeNode {
  return { nodeId, ranges: [replica({ rangeId: nodeId, nodeId, storeId: nodeId })], ...more };
}

const AUTO = { options: { route: 'auto', concurrency: 1 } } as const;

describe('route auto', () => {
  test('lets each node prepare its own list', async () => {
    const cluster = fakeCluster([node(1), node(2)]);
    await pollRanges(cluster.api, AUTO);
    expect(cluster.asked.map(({ route, nodeId }) => [route, nodeId])).toEqual([
      ['proxy', '1'],
      ['proxy', '2'],
    ]);
  });

  test.each([400, 404, 502])(
    'queries the gateway when a proxied response is %d',
    async (status) => {
      const cluster = fakeCluster([node(1), node(2, { proxied: statusError(status) })]);
      const state = ranges.createState();
      const { of } = await pollRanges(cluster.api, { ...AUTO, state });
      expect(of('crdb_range_replicas')).toHaveLength(2);
      expect(cluster.asked.map(({ route }) => route)).toEqual(['proxy', 'proxy', 'gateway']);
      expect(state.gatewayOnly).toBe(false);
    },
  );

  test.each([401, 403, 500, 503])('does not query again when it is %d', async (status) => {
    const cluster = fakeCluster([node(1), node(2, { proxied: statusError(status) })]);
    const { of } = await pollRanges(cluster.api, AUTO);
    expect(cluster.asked.map(({ route }) => route)).toEqual(['proxy', 'proxy']);
    expect(of('crdb_range_scan_node_success')).toContain('{node_id="2"} 0');
  });

  test('uses the gateway for good when the server ignores remote_node_id', async () => {
    const own = node(1).ranges ?? [];
    const cluster = fakeCluster([node(1), node(2, { proxied: own }), node(3, { proxied: own })]);
    const state = ranges.createState();
    const { of } = await pollRanges(cluster.api, { ...AUTO, state });
    expect(of('crdb_range_replicas')).toEqual([
      '{node_id="1",store_id="1"} 1',
      '{node_id="2",store_id="2"} 1',
      '{node_id="3",store_id="3"} 1',
    ]);
    expect(of('crdb_ranges')).toEqual(['{shard="0"} 3']);
    expect(cluster.asked.map(({ route }) => route)).toEqual([
      'proxy',
      'proxy',
      'gateway',
      'gateway',
    ]);
    cluster.asked = [];
    await pollRanges(cluster.api, { ...AUTO, state });
    expect(cluster.asked.map(({ route }) => route)).toEqual(['gateway', 'gateway', 'gateway']);
  });

  test('counts nothing of a wrong response with a correct beginning', async () => {
    const mixed = [2, 1].map((nodeId) => replica({ rangeId: nodeId, nodeId, storeId: nodeId }));
    const cluster = fakeCluster([node(1), node(2, { proxied: mixed })]);
    const { of } = await pollRanges(cluster.api, AUTO);
    expect(of('crdb_range_replicas')).toEqual([
      '{node_id="1",store_id="1"} 1',
      '{node_id="2",store_id="2"} 1',
    ]);
    expect(of('crdb_ranges_by_replicas')).toContain('{replicas="1",shard="0"} 2');
  });

  test('queries the gateway, too, when a proxied response is empty: that proves nothing', async () => {
    const cluster = fakeCluster([node(1), node(2, { proxied: [] })]);
    const state = ranges.createState();
    const { of } = await pollRanges(cluster.api, { ...AUTO, state });
    expect(of('crdb_range_replicas')).toHaveLength(2);
    expect(state.gatewayOnly).toBe(false);
  });
});

describe('routes gateway and proxy', () => {
  test.each(['gateway', 'proxy'] as const)(
    '%s: a response with ranges of another node fails that node',
    async (route) => {
      const cluster = fakeCluster([node(1), node(2, { ranges: node(1).ranges ?? [] })]);
      const { of } = await pollRanges(cluster.api, { options: { route } });
      expect(of('crdb_range_scan_node_success')).toEqual(['{node_id="1"} 1', '{node_id="2"} 0']);
      expect(of('crdb_range_replicas')).toEqual(['{node_id="1",store_id="1"} 1']);
      expect(of('crdb_ranges')).toEqual([]);
    },
  );

  test.each(['gateway', 'proxy'] as const)('%s: the URLs take turns', async (route) => {
    const cluster = fakeCluster([node(1), node(2), node(3)]);
    const state = ranges.createState();
    const given = { options: { route, concurrency: 1 }, state, context: { urls: 2 } };
    await pollRanges(cluster.api, given);
    await pollRanges(cluster.api, given);
    expect(cluster.asked.map(({ nodeId, firstUrl }) => [nodeId, firstUrl])).toEqual([
      ['1', 1],
      ['2', 0],
      ['3', 1],
      ['2', 1],
      ['3', 0],
      ['1', 0],
    ]);
  });
});

describe('route local', () => {
  const LOCAL = { options: { route: 'local' } } as const;

  test('queries the one URL for its own ranges, and for nothing else', async () => {
    const cluster = fakeCluster([node(7)]);
    const { of } = await pollRanges(cluster.api, LOCAL);
    expect(cluster.asked).toEqual([
      { nodeId: 'local', route: 'local', firstUrl: 0, offset: 'none' },
    ]);
    expect(of('crdb_range_replicas')).toEqual(['{node_id="7",store_id="7"} 1']);
    // Nothing is said about the whole cluster.
    expect(of('crdb_ranges')).toEqual([]);
    expect(of('crdb_ranges_by_replicas')).toEqual([]);
    expect(of('crdb_ranges_by_lease_kind')).toHaveLength(3);
    expect(of('crdb_range_problem_ranges')).toHaveLength(12);
  });

  test('knows the id of its node from the first range on', async () => {
    const empty = await pollRanges(fakeCluster([{ nodeId: 7, ranges: [] }]).api, LOCAL);
    expect(empty.of('crdb_range_scan_node_success')).toEqual([]);
    const cluster = fakeCluster([{ nodeId: 7, ranges: new RequestError('network', 'refused') }]);
    const state = ranges.createState();
    const early = await pollRanges(cluster.api, { ...LOCAL, state, shard: 'local' });
    expect(early.failure?.reason).toBe('network');
    expect(early.of('crdb_range_scan_node_success')).toEqual([]);
    expect(early.of('crdb_range_scan_nodes')).toContain('{state="failed",shard="local"} 1');
    const broken = cluster.nodes;
    cluster.nodes = [node(7)];
    await pollRanges(cluster.api, { ...LOCAL, state });
    cluster.nodes = broken;
    const late = await pollRanges(cluster.api, { ...LOCAL, state });
    // Another node may have taken the place of node 7.
    cluster.nodes = [{ nodeId: 8, ranges: [] }];
    const replaced = await pollRanges(cluster.api, { ...LOCAL, state });
    expect(replaced.of('crdb_range_scan_node_success')).toEqual([]);
    expect(late.of('crdb_range_scan_node_success')).toEqual(['{node_id="7"} 0']);
    expect(late.of('crdb_range_scan_nodes')).toContain('{state="failed",shard="0"} 1');
  });

  test('a response of two nodes fails: the URL is a load balancer', async () => {
    const pages = [node(7).ranges ?? [], node(8).ranges ?? []];
    const { failure } = await pollRanges(fakeCluster([{ nodeId: 7, pages }]).api, LOCAL);
    expect(failure?.reason).toBe('decode');
    expect(failure?.message).toContain('the response holds ranges of node 8');
  });
});
