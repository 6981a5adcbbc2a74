import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
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
    'are read as they are, with %i stores each and pages of a third of a node, in every scan',
    async (storesPerNode) => {
      await using simulator = await startSimulator({ ...WORLD, storesPerNode, seed: 11 });
      await using cluster = simulatedApi(simulator);
      const state = ranges.createState();
      const truth = simulator.truth();
      for (let scan = 0; scan < 4; scan += 1) {
        const polled = await pollRanges(cluster.api, {
          state,
          options: { route: 'auto', page_limit: 120 },
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
    // 360 replicas: 0.7 s.
    quirks: { replicaMicros: 2_000 },
  });
  await using cluster = simulatedApi(simulator, { headersMs: 500 });
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

const ORDER_CHANGED =
  'the servers list the stores of a node in another order on each page, so such nodes are read in one response: set collectors.ranges.page_limit to 0';

/** Scans of a node with these pages, which are its whole list to a request without a limit. */
async function scanPages(pages: readonly string[], whole: string, scans = 1) {
  const cluster = fakeCluster([{ nodeId: 1, pages: pages.map(list), ranges: list(whole) }]);
  const warnings: string[] = [];
  const state = ranges.createState();
  let lines: readonly string[] = [];
  for (let each = 0; each < scans; each += 1) {
    const options = { page_limit: 2 };
    const { of, warnings: found } = await pollRanges(cluster.api, { state, options });
    warnings.push(...found);
    lines = of('crdb_range_replicas').map((line) => line.replace('node_id="1",', ''));
  }
  const asked = cluster.asked.map(({ offset }) => offset).join(' ');
  return { lines, asked, warnings, errors: cluster.decodeErrors };
}

describe('a node that is read in pages', () => {
  test.each([
    ['a store comes back', ['1:1 1:2', '2:3 1:4']],
    ['a store comes back on a later page', ['1:1 2:1', '3:1 3:2', '1:5 1:6']],
    ['range ids fall', ['1:5 1:6', '1:1 1:2']],
    ['a replica comes twice', ['1:1 1:2', '1:1 1:2']],
    ['a whole store comes twice', ['1:1 2:1', '2:1 3:1', '1:1']],
    ['two replicas come twice', ['1:1 1:2', '1:1 1:2 1:3']],
  ])('is read in one response from then on when %s', async (_what, pages) => {
    const whole = '1:1 1:2 2:1';
    const { lines, asked, warnings, errors } = await scanPages(pages, whole, 2);
    expect(lines).toEqual(['{store_id="1"} 2', '{store_id="2"} 1']);
    expect(asked).toMatch(/^0 1 (2 )?none none$/);
    expect(warnings).toEqual([ORDER_CHANGED, ORDER_CHANGED]);
    expect(errors).toBe(0);
  });

  test('is read again once after a replica that comes twice at the border of two pages, which counts', async () => {
    const { lines, asked, warnings, errors } = await scanPages(
      ['1:1 1:2', '1:2 1:3'],
      '1:1 1:2 1:3',
      2,
    );
    expect(lines).toEqual(['{store_id="1"} 3']);
    expect(asked).toBe('0 1 none 0 1 none');
    expect(warnings).toEqual([]);
    expect(errors).toBe(2);
  });

  test('is right when its pages are runs of one store each', async () => {
    const { asked, warnings } = await scanPages(['2:1 2:5', '2:7 1:1', '1:2 3:1'], '1:1');
    expect([asked, warnings]).toEqual(['0 1 2', []]);
  });
});

test('replicas that come twice in one response count once, with a warning and wrong elements', async () => {
  const cluster = fakeCluster([{ nodeId: 1, ranges: list('1:1 1:2 1:2 1:1') }]);
  const { of, warnings } = await pollRanges(cluster.api);
  expect(of('crdb_range_replicas')).toEqual(['{node_id="1",store_id="1"} 2']);
  expect(warnings).toEqual([
    'ranges of node 1: replicas come twice in one response; each counts once',
  ]);
  expect([cluster.asked.length, cluster.decodeErrors]).toEqual([1, 2]);
});

test('a node whose response is cut unasked, in another order each time, is not read', async () => {
  const cluster = fakeCluster([{ nodeId: 1, pages: [list('1:1 2:1'), list('1:3')] }]);
  const { failure } = await pollRanges(cluster.api);
  expect(failure?.message).toContain('the response was cut');
  expect(cluster.asked.map(({ offset }) => offset)).toEqual(['none', '1']);
});
