import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { MAX_RANGES } from '../../../src/collectors/ranges/known-ranges.ts';
import { fakeCluster, pollRanges, replica } from './cluster.ts';
import { many, show } from './shown-ranges.ts';

/** Range 1 on stores 1 and 2 with the lease on store 1, range 2 on store 1 alone without a lease. */
function twoNodes() {
  return [
    {
      nodeId: 1,
      ranges: [
        replica({
          rangeId: 1,
          nodeId: 1,
          storeId: 1,
          lease: 1,
          epoch: 4,
          ticking: true,
          problems: { underreplicated: true, unavailable: false },
          stats: { queries_per_second: 12.5, writes_per_second: 2 },
        }),
        replica({ rangeId: 2, nodeId: 1, storeId: 1, problems: { no_raft_leader: true } }),
      ],
    },
    {
      nodeId: 2,
      ranges: [
        replica({
          rangeId: 1,
          nodeId: 2,
          storeId: 2,
          lease: 1,
          epoch: 4,
          quiescent: true,
          stats: { writes_per_second: 2 },
        }),
      ],
    },
  ];
}

describe('a complete scan', () => {
  test('treats a node without load like the others, as zeros are not sent', async () => {
    const busy = replica({
      rangeId: 3,
      nodeId: 3,
      storeId: 3,
      stats: { queries_per_second: 1, requests_per_second: 4 },
    });
    const idle = replica({ rangeId: 3, nodeId: 4, storeId: 4 });
    const nodes = [...twoNodes(), { nodeId: 3, ranges: [busy] }, { nodeId: 4, ranges: [idle] }];
    const state = ranges.createState();
    const { of } = await pollRanges(fakeCluster(nodes).api, { state });
    // Nodes 1 and 2 have load and are of a release that sends no details of it.
    expect(of('crdb_store_requests_per_second')).toEqual([
      '{node_id="3",store_id="3"} 4',
      '{node_id="4",store_id="4"} 0',
    ]);
    const quiet = fakeCluster([{ nodeId: 4, ranges: [idle] }]);
    const next = await pollRanges(quiet.api, { state });
    expect(next.of('crdb_store_requests_per_second')).toEqual(['{node_id="4",store_id="4"} 0']);
    const unknown = await pollRanges(quiet.api);
    expect(unknown.of('crdb_store_requests_per_second')).toEqual([]);
  });
});

describe('a partial scan', () => {
  const failing = { nodeId: 3, ranges: new RequestError('http', 'node_ranges: HTTP 500') };

  test('publishes the nodes that were read, lower bounds, and nothing about the whole', async () => {
    const { of, failure } = await pollRanges(fakeCluster([...twoNodes(), failing]).api);
    expect(failure).toBeUndefined();
    expect(of('crdb_range_replicas')).toHaveLength(2);
    expect(of('crdb_range_scan_nodes')).toContain('{state="failed",shard="0"} 1');
    expect(of('crdb_range_scan_node_success')).toContain('{node_id="3"} 0');
    expect(of('crdb_ranges')).toEqual([]);
    expect(of('crdb_ranges_by_replicas')).toEqual([]);
    // Lower bounds by their notes: the kind none is not one.
    expect(of('crdb_ranges_by_lease_kind')).toHaveLength(3);
    expect(of('crdb_range_table_ranges')).not.toEqual([]);
    expect(of('crdb_range_problem_ranges')).toContain('{problem="underreplicated",shard="0"} 1');
    expect(of('crdb_range_table_problem_ranges')).not.toEqual([]);
    expect(of('crdb_range_max_queries_per_second')).toEqual(['{shard="0"} 12.5']);
  });

  test('a node whose second page fails leaves no trace', async () => {
    const [first, second] = twoNodes();
    const torn = { nodeId: 2, pages: [second?.ranges ?? [], new RequestError('network', 'gone')] };
    const { of } = await pollRanges(fakeCluster([first ?? failing, torn]).api);
    expect(of('crdb_range_replicas')).toEqual(['{node_id="1",store_id="1"} 2']);
    expect(of('crdb_range_problem_ranges')).toContain('{problem="no_raft_leader",shard="0"} 1');
  });

  test('of less than half of the nodes fails with the most frequent reason', async () => {
    const timeout = { nodeId: 4, ranges: new RequestError('timeout', 'too slow') };
    const cluster = fakeCluster([...twoNodes(), failing, timeout, { ...timeout, nodeId: 5 }]);
    const { lines, failure } = await pollRanges(cluster.api);
    expect(failure?.reason).toBe('timeout');
    expect(failure?.message).toBe('ranges: 3 of 5 nodes were not read; too slow');
    expect(new Set(lines.map((line) => line.split('{')[0]))).toEqual(
      new Set(['crdb_range_scan_nodes', 'crdb_range_scan_node_success']),
    );
  });
});

describe('the choice of nodes', () => {
  test('only live, draining and decommissioning nodes are queried', async () => {
    const cluster = fakeCluster(
      [0, 1, 2, 3, 4, 5, 6, 7, null, 'LIVE'].map((status, at) => ({ nodeId: at + 1, status })),
    );
    const { of } = await pollRanges(cluster.api);
    expect(cluster.asked.map(({ nodeId }) => nodeId)).toEqual(['4', '5', '7']);
    expect(of('crdb_range_scan_nodes')).toContain('{state="skipped",shard="0"} 7');
  });

  test('a cluster without any node to query is a failure, not an empty cluster', async () => {
    const cluster = fakeCluster([{ nodeId: 1, status: 1 }]);
    const { lines, failure } = await pollRanges(cluster.api);
    expect(failure).toMatchObject({
      reason: 'other',
      message: 'ranges: no node is live, draining or decommissioning',
    });
    expect(lines).toEqual([
      'crdb_range_scan_nodes{state="scanned",shard="0"} 0',
      'crdb_range_scan_nodes{state="failed",shard="0"} 0',
      'crdb_range_scan_nodes{state="skipped",shard="0"} 1',
    ]);
  });
});

test('a lease without a sequence leaves none to count from', async () => {
  const state = ranges.createState();
  const element = replica({ rangeId: 1, nodeId: 1, storeId: 1 });
  const changes: (readonly string[])[] = [];
  for (const sequence of [undefined, 'x', 5]) {
    const lease_history = [{ replica: { node_id: 1, store_id: 1 }, sequence }];
    const nodes = [{ nodeId: 1, ranges: [{ ...element, lease_history }] }];
    const { of } = await pollRanges(fakeCluster(nodes).api, { state });
    changes.push(of('crdb_range_lease_changes_total'));
  }
  expect(changes).toEqual(changes.map(() => ['{shard="0"} 0']));
  expect(changes).toHaveLength(3);
});

test('localities beyond their limit are left out, which is noted as a limit', async () => {
  const locality = Array.from({ length: 7 }, (_, tier) => `tier${tier}=a`).join(',');
  const cluster = fakeCluster([]);
  show(cluster, { holders: many(3, [1, 2, 3]), nodes: [1, 2, 3] });
  cluster.nodes = cluster.nodes.map((node) => ({ ...node, locality }));
  const { of, context } = await pollRanges(cluster.api);
  expect(of('crdb_locality_dependent_ranges')).toHaveLength(6 * 2);
  expect([...context.limits]).toEqual(['items']);
});

test('a failure to list the nodes fails the poll', async () => {
  const { api } = fakeCluster([]);
  api.nodes = () => Promise.reject(new RequestError('auth', 'nodes: HTTP 401'));
  await expect(pollRanges(api)).rejects.toThrow('nodes: HTTP 401');
});

test('a node whose ranges would be more than 5,000,000 is not read, and leaves no trace', async () => {
  const cluster = fakeCluster([
    { nodeId: 1, ranges: [replica({ rangeId: 1, nodeId: 1, storeId: 1 })] },
  ]);
  const state = ranges.createState();
  await pollRanges(cluster.api, { state });
  cluster.nodes = [
    ...cluster.nodes,
    {
      nodeId: 2,
      ranges: [replica({ rangeId: 2, nodeId: 2, storeId: 2, problems: { no_lease: true } })],
    },
  ];
  state.known.map.size = MAX_RANGES;
  state.firstNodeId = 2;
  const { of, warnings } = await pollRanges(cluster.api, { state, options: { concurrency: 1 } });
  expect(warnings).toEqual([
    'ranges of node 2: the nodes of this exporter have more than 5,000,000 ranges: divide the nodes among shards, which know their own ranges only',
  ]);
  expect(of('crdb_ranges')).toEqual([]);
  expect(of('crdb_range_scan_node_success')).toEqual(['{node_id="1"} 1', '{node_id="2"} 0']);
  expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([]);
});
