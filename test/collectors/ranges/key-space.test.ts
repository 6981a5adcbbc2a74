import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { type FakeCluster, fakeCluster, LAST_KEY, pollRanges, replica } from './cluster.ts';

/** A range of the key space between two numbers; 0 is the first key and 100 the last. */
interface Span {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

const LAST = 100;

/** Both forms of bytes in JSON. */
type Dialect = 'base64' | 'integers';

function keyOf(position: number, dialect: Dialect): unknown {
  if (position === LAST) return dialect === 'base64' ? LAST_KEY : [255, 255];
  const bytes = Buffer.from(`/Table/${position}`);
  return dialect === 'base64' ? bytes.toString('base64') : [...bytes];
}

function elementOf(
  { id, from, to }: Span,
  nodeId: number,
  leaseNodeId = 1,
  dialect: Dialect = 'base64',
) {
  const element = replica({
    rangeId: id,
    nodeId,
    storeId: nodeId,
    lease: leaseNodeId,
    sequence: 1,
  });
  const start = from === 0 ? undefined : keyOf(from, dialect);
  Object.assign(Object(element['desc']), { start_key: start, end_key: keyOf(to, dialect) });
  return element;
}

/** Shows these ranges on three nodes. */
function show(cluster: FakeCluster, spans: readonly Span[], dialect?: Dialect): void {
  cluster.nodes = [1, 2, 3].map((nodeId) => ({
    nodeId,
    ranges: spans.map((span) => elementOf(span, nodeId, 1, dialect)),
  }));
}

function spansOf(cuts: readonly number[]): readonly Span[] {
  const bounds = [0, ...new Set(cuts), LAST].toSorted((a, b) => a - b);
  return bounds.slice(1).map((to, at) => ({ id: at + 1, from: bounds[at] ?? 0, to }));
}

async function scanOf(cluster: FakeCluster, state = ranges.createState()) {
  const { of, failure } = await pollRanges(cluster.api, { state });
  expect(failure).toBeUndefined();
  return [...of('crdb_range_key_space_complete'), ...of('crdb_range_key_space_gap')].join(' ');
}

const cuts = fc.uniqueArray(fc.integer({ min: 1, max: LAST - 1 }), { minLength: 1, maxLength: 30 });

describe('the key space', () => {
  test('is complete when the ranges join, in both forms of keys, whatever their ids', async () => {
    await fc.assert(
      fc.asyncProperty(
        cuts,
        fc.constantFrom<Dialect>('base64', 'integers'),
        fc.infiniteStream(fc.nat(1_000)),
        async (at, dialect, random) => {
          const spans = spansOf(at).map((span, index) => ({
            ...span,
            id: 1_001 * index + 1 + Number(random.next().value),
          }));
          const cluster = fakeCluster([]);
          show(cluster, spans, dialect);
          expect(await scanOf(cluster)).toBe('1 0');
        },
      ),
      { numRuns: 30 },
    );
  });

  test('stays complete through splits and merges between scans', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(cuts, { minLength: 2, maxLength: 5 }), async (history) => {
        const cluster = fakeCluster([]);
        const state = ranges.createState();
        for (const at of history) {
          show(cluster, spansOf(at));
          expect(await scanOf(cluster, state)).toBe('1 0');
        }
      }),
      { numRuns: 30 },
    );
  });

  test('has a gap where any range is missing, confirmed by the third scan that finds it', async () => {
    await fc.assert(
      fc.asyncProperty(cuts, fc.nat(), async (at, which) => {
        const spans = spansOf(at);
        const cluster = fakeCluster([]);
        show(cluster, spans.toSpliced(which % spans.length, 1));
        const state = ranges.createState();
        expect(await scanOf(cluster, state)).toBe('0 0');
        expect(await scanOf(cluster, state)).toBe('0 0');
        expect(await scanOf(cluster, state)).toBe('0 1');
        show(cluster, spans);
        expect(await scanOf(cluster, state)).toBe('1 0');
      }),
      { numRuns: 30 },
    );
  });

  test('has no confirmed gap while it is another one in each scan', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const spans = spansOf([10, 20, 30, 40, 50, 60, 70]);
    for (const missing of [0, 2, 4, 6, 1]) {
      show(cluster, spans.toSpliced(missing, 1));
      expect(await scanOf(cluster, state)).toBe('0 0');
    }
  });

  test('is read again where a range was split during the scan', async () => {
    const [left, right] = [
      { id: 1, from: 0, to: 50 },
      { id: 2, from: 50, to: LAST },
    ];
    const whole = { id: 1, from: 0, to: LAST };
    const cluster = fakeCluster([]);
    cluster.nodes = [
      // The list of the node that holds the lease is older than the split.
      {
        nodeId: 1,
        ranges: [elementOf(whole, 1)],
        again: [elementOf(left, 1), elementOf(right, 1)],
      },
      { nodeId: 2, ranges: [elementOf(left, 2), elementOf(right, 2)] },
    ];
    expect(await scanOf(cluster)).toBe('1 0');
    expect(cluster.askedAgain.toSorted()).toEqual(['1: 1', '2: 2']);
  });

  test('loses a range that was merged during the scan', async () => {
    const whole = { id: 1, from: 0, to: LAST };
    const right = { id: 2, from: 50, to: LAST };
    const cluster = fakeCluster([]);
    cluster.nodes = [
      { nodeId: 1, ranges: [elementOf(whole, 1)] },
      {
        nodeId: 2,
        ranges: [elementOf({ ...whole, to: 50 }, 2), elementOf(right, 2, 2)],
        again: [elementOf(whole, 2)],
      },
    ];
    // No node sends a descriptor of it any more.
    const { describe: describeUsual } = cluster;
    cluster.describe = (rangeId, nodeId) =>
      rangeId === 2 ? undefined : describeUsual(rangeId, nodeId);
    const { of } = await pollRanges(cluster.api);
    expect(of('crdb_range_key_space_complete')).toEqual(['1']);
    expect(of('crdb_ranges')).toEqual(['{shard="0"} 1']);
  });

  test('loses a range that was merged during the scan, also where the list with the lease is the older one', async () => {
    const whole = { id: 1, from: 0, to: LAST };
    const right = elementOf({ id: 2, from: 50, to: LAST }, 1);
    const cluster = fakeCluster([]);
    cluster.nodes = [
      {
        nodeId: 1,
        ranges: [elementOf({ ...whole, to: 50 }, 1), right],
        again: [elementOf(whole, 1)],
      },
      { nodeId: 2, ranges: [elementOf(whole, 2)] },
    ];
    const { of } = await pollRanges(cluster.api, { options: { descriptor_max_age: 0 } });
    expect(of('crdb_range_key_space_complete')).toEqual(['1']);
    expect(of('crdb_ranges')).toEqual(['{shard="0"} 1']);
    expect(cluster.askedAgain).toEqual(['1: 1', '1: 2']);
  });

  test('is read again in three rounds at most, whatever is merged during the scan', async () => {
    const whole = { id: 1, from: 0, to: LAST };
    const cluster = fakeCluster([]);
    cluster.nodes = [
      {
        nodeId: 1,
        ranges: spansOf([10, 20, 30, 40, 50, 60, 70, 80, 90]).map((span) => elementOf(span, 1)),
        again: [elementOf(whole, 1)],
      },
      { nodeId: 2, ranges: [elementOf(whole, 2)] },
    ];
    const { of } = await pollRanges(cluster.api, { options: { descriptor_max_age: 0 } });
    expect(of('crdb_range_key_space_complete')).toEqual(['0']);
    expect(cluster.askedAgain).toEqual(['1: 1', '1: 2 10', '1: 3 9']);
  });

  test('is that of the replica with the lease, when another store of its node has an old one', async () => {
    const cluster = fakeCluster([]);
    const spans = spansOf([20, 50]);
    show(cluster, spans);
    const [, second] = spans;
    const [node, ...others] = cluster.nodes;
    if (second === undefined || node === undefined) throw new Error('no range');
    const old = { ...elementOf({ ...second, to: LAST }, 1), source_store_id: 11 };
    const listed = Array.isArray(node.ranges) ? node.ranges : [];
    for (const ofNode of [
      [...listed, old],
      [old, ...listed],
    ]) {
      cluster.nodes = [{ ...node, ranges: ofNode }, ...others];
      expect(await scanOf(cluster)).toBe('1 0');
    }
  });

  test('is read where the lease is younger, when an old replica on another store claims an older one', async () => {
    // Range 2 was moved from store 13 to store 3, and has taken over its right neighbour since.
    const old = { ...elementOf({ id: 2, from: 20, to: 40 }, 3, 13), source_store_id: 13 };
    const now = [
      { id: 1, from: 0, to: 20 },
      { id: 2, from: 20, to: LAST },
    ].map((span) => {
      const element = elementOf(span, 3, 3);
      const lease_history = [{ replica: { node_id: 3, store_id: 3 }, sequence: 2 }];
      return { ...element, lease_history };
    });
    for (const listed of [
      [...now, old],
      [old, ...now],
    ]) {
      const cluster = fakeCluster([{ nodeId: 3, ranges: listed }]);
      const state = ranges.createState();
      for (const _ of [1, 2, 3]) expect(await scanOf(cluster, state)).toBe('1 0');
    }
  });

  test('has no gap where a returned node holds what is left of a merged range', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    show(cluster, spansOf([20, 50]));
    const left = elementOf({ id: 9, from: 20, to: 70 }, 4);
    cluster.nodes = [...cluster.nodes, { nodeId: 4, ranges: [left] }];
    cluster.describe = (id) =>
      id === 9
        ? { types: { 1: 0, 2: 0, 4: 0 }, isLeaseholder: false }
        : { types: { 1: 0, 2: 0, 3: 0 } };
    for (let scans = 0; scans < 4; scans += 1) expect(await scanOf(cluster, state)).toBe('1 0');
  });

  test('is not known, and no range is forgotten, when the ids of nodes do not fit', async () => {
    const cluster = fakeCluster([]);
    const state = ranges.createState();
    const spans = spansOf([20, 50]);
    cluster.nodes = [70_001, 70_002].map((nodeId, at) => ({
      nodeId,
      ranges: spans.map((span) =>
        elementOf(at === 0 && span.id === 2 ? { ...span, to: 90 } : span, nodeId, 70_002),
      ),
    }));
    const { of } = await pollRanges(cluster.api, { state });
    expect([of('crdb_ranges'), of('crdb_ranges_unverified')]).toEqual([['{shard="0"} 3'], ['3']]);
  });

  test('is that of the replica with the lease, when a returned node still has an old one', async () => {
    const spans = spansOf([50]);
    const cluster = fakeCluster([]);
    show(cluster, spans);
    const old = { id: 1, from: 0, to: 70 };
    cluster.nodes = [...cluster.nodes, { nodeId: 4, ranges: [elementOf(old, 4)] }];
    expect(await scanOf(cluster)).toBe('1 0');
  });
});
