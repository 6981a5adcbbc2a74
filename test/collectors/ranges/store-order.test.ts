import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { fakeCluster, pollRanges, replica } from './cluster.ts';
import { expectDependence, expectRanges, expectStores } from './expectations.ts';
import { simulatedApi } from './simulated.ts';

/** Nodes of 360 replicas. */
const WORLD = {
  metricKeys: 'useful',
  nodes: 5,
  ranges: 600,
  replication: 3,
  faultyNodes: false,
  frozen: true,
} as const;

describe('nodes whose stores come in another order with each request', () => {
  test.each([2, 6])(
    'are read as they are, with %i stores each, in every scan',
    async (storesPerNode) => {
      await using simulator = await startSimulator({ ...WORLD, storesPerNode, seed: 11 });
      await using cluster = simulatedApi(simulator);
      const state = ranges.createState();
      const truth = simulator.truth();
      for (let scan = 0; scan < 4; scan += 1) {
        const polled = await pollRanges(cluster.api, {
          state,
          options: { route: 'auto' },
        });
        expect(polled.failure).toBeUndefined();
        expectStores(polled, truth);
        expectRanges(polled, truth);
        expectDependence(polled, truth);
      }
    },
  );
});

test('each node is one request, whose headers may take longer than other requests may', async () => {
  await using simulator = await startSimulator({
    ...WORLD,
    storesPerNode: 3,
    // 360 replicas: 2.2 s. The list of nodes takes less than 1.5 s on a busy machine, too.
    quirks: { replicaMicros: 6_000 },
  });
  await using cluster = simulatedApi(simulator, { headersMs: 1_500 });
  const polled = await pollRanges(cluster.api, { options: { route: 'auto' } });
  expect(polled.failure).toBeUndefined();
  expectRanges(polled, simulator.truth());
  const read = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'node_ranges');
  expect(read.map(({ path }) => path).toSorted()).toEqual(
    [1, 2, 3, 4, 5].map((id) => `/api/v2/nodes/local/ranges/?remote_node_id=${id}`),
  );
});

test('a node that prepares its list for longer than node_timeout fails, and leaves the others', async () => {
  await using simulator = await startSimulator({ ...WORLD, nodes: 3, ranges: 100, replication: 3 });
  await using cluster = simulatedApi(simulator);
  simulator.fault({ endpoint: 'node_ranges', node: 2, kind: 'slow', ms: 5_000 });
  const { of } = await pollRanges(cluster.api, { options: { route: 'auto', node_timeout: 1 } });
  expect(of('crdb_range_scan_node_success').toSorted()).toEqual([
    '{node_id="1"} 1',
    '{node_id="2"} 0',
    '{node_id="3"} 1',
  ]);
});

/** Replicas of node 1: `2:7` is that of range 7 on store 2. */
const list = (text: string): readonly unknown[] =>
  text.split(' ').map((each) => {
    const [storeId, rangeId] = each.split(':').map(Number);
    return replica({ nodeId: 1, storeId, rangeId });
  });

/** A scan sums up the failures of its nodes; its cause is one of them. */
function remedyOf({ cause }: RequestError): string | undefined {
  return cause instanceof RequestError ? cause.remedy : undefined;
}

/** What a scan of a node with these pages finds. */
async function scanPages(pages: readonly string[], page_limit = 2) {
  const cluster = fakeCluster([{ nodeId: 1, pages: pages.map(list) }]);
  const { of, failure } = await pollRanges(cluster.api, { options: { page_limit } });
  const lines = of('crdb_range_replicas').map((line) => line.replace('node_id="1",', ''));
  return { lines, failure: failure && `${failure.message}: ${remedyOf(failure)}` };
}

describe('a node that is read in pages', () => {
  test.each([
    ['a store comes back', ['1:1 1:2', '2:3 1:4']],
    ['a store comes back on a later page', ['1:1 2:1', '3:1 3:2', '1:5 1:6']],
    ['range ids fall', ['1:5 1:6', '1:1 1:2']],
    ['a replica comes twice', ['1:1 1:2', '1:1 1:2']],
    ['a whole store comes twice', ['1:1 2:1', '2:1 3:1', '1:1']],
    ['a replica comes twice at the border of two pages', ['1:1 1:2', '1:2 1:3']],
  ])('fails with its remedy when %s', async (_what, pages) => {
    const { lines, failure } = await scanPages(pages);
    expect(lines).toEqual([]);
    expect(failure).toMatch(
      /the pages do not fit together.*set collectors\.ranges\.page_limit to 0/,
    );
  });

  test('is right when its pages are runs of one store each', async () => {
    const { lines, failure } = await scanPages(['2:1 2:5', '2:7 1:1', '1:2 3:1']);
    expect(failure).toBeUndefined();
    expect(lines.toSorted()).toEqual(['{store_id="1"} 2', '{store_id="2"} 3', '{store_id="3"} 1']);
  });
});

test('a node that lists a replica twice in one response fails', async () => {
  const { lines, failure } = await scanPages(['1:1 1:2 1:1'], 0);
  expect(lines).toEqual([]);
  expect(failure).toContain('a replica is listed twice: look for a proxy');
});

test('a node whose response is cut unasked, in another order each time, is not read', async () => {
  const { failure } = await scanPages(['1:1 2:1', '1:3'], 0);
  expect(failure).toMatch(/the pages do not fit together.*look for a proxy that cuts responses$/);
});
