import { expect, test } from 'vitest';
import { inSlices } from '../../../src/base/time-slice.ts';
import { forgetRanges } from '../../../src/collectors/ranges/cluster-scan.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { ReplicaColumns } from '../../../src/collectors/ranges/replica.ts';
import { encodeKey, type FakeCluster, fakeCluster, LAST_KEY, replica } from './cluster.ts';
import { DEAD, many, scan, show } from './shown-ranges.ts';
import { tableIndexOf } from './table-index.ts';

/** Index 1 of table 1; of table 2 it is twice as much. */
const FIRST_INDEX = tableIndexOf('/Table/1');

/** Ranges that join, each in a table of its own, whose ids and whose indexes' ids rise from `first` on. */
function showTables(
  cluster: FakeCluster,
  {
    first,
    count,
    nodes,
    down = [],
  }: {
    readonly first: number;
    readonly count: number;
    readonly nodes: readonly number[];
    readonly down?: readonly number[];
  },
): void {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  cluster.nodes = [...nodes, ...down].map((nodeId) => ({
    nodeId,
    status: down.includes(nodeId) ? DEAD : 3,
    ranges: nodes.slice(0, 3).includes(nodeId)
      ? ids.map((rangeId, at) =>
          replica({
            rangeId,
            nodeId,
            storeId: 10 * nodeId,
            lease: 10 * (nodes[0] ?? 0),
            leaseNodeId: nodes[0] ?? 0,
            sequence: 1,
            key: `/Table/${rangeId}/2`,
            keys: [
              at === 0 ? undefined : encodeKey(rangeId),
              at === count - 1 ? LAST_KEY : encodeKey(rangeId + 1),
            ],
            problems: nodeId === nodes[0] && at >= count - 2 ? { raft_log_too_large: true } : {},
          }),
        )
      : [],
  }));
  cluster.describe = () => ({ types: Object.fromEntries(nodes.slice(0, 3).map((id) => [id, 0])) });
}

test('a year of tables that come and go leaves no trace, and each keeps its name', async () => {
  const state = ranges.createState();
  const { known } = state;
  const sizes: (readonly number[])[] = [];
  // Each day 500 of 1,000 ranges are dropped with their tables, and as many are created.
  for (let day = 0; day < 365; day += 1) {
    await inSlices(known.beginScan());
    const columns = new ReplicaColumns();
    for (let rangeId = 500 * day + 1; rangeId <= 500 * day + 1_000; rangeId += 1) {
      const index = columns.append();
      columns.rangeIds[index] = rangeId;
      columns.tableIndexes[index] = rangeId * FIRST_INDEX;
      columns.problems[index] = rangeId % 100 === 0 ? 1 : 0;
    }
    await inSlices(known.commit(1, columns));
    await forgetRanges(state, () => false);
    const { problemsByTable } = await inSlices(known.count());
    const tables = Array.from({ length: 10 }, (_, at) => 500 * day + 100 * (at + 1));
    expect([...problemsByTable.keys()].toSorted((a, b) => a - b)).toEqual(tables);
    columns.free();
    sizes.push([known.map.capacity, known.tableIndexes.size]);
  }
  const most = (from: number, to: number): readonly number[] =>
    [0, 1].map((at) => Math.max(...sizes.slice(from, to).map((size) => size[at] ?? 0)));
  expect(most(300, 365)).toEqual(most(10, 75));
});

/** The tables with problem ranges. */
function tablesOf({ of }: Awaited<ReturnType<typeof scan>>) {
  return of('crdb_range_table_problem_ranges').map((line) => /table_id="(\w+)"/.exec(line)?.[1]);
}

test('beyond the most table indexes problems count for other tables, which a warning says, until there are fewer', async () => {
  const cluster = fakeCluster([]);
  const state = ranges.createState();
  const options = { descriptor_max_age: 0 };
  const { tableIndexes } = state.known;
  for (let table = 1; table < 65_530; table += 1) tableIndexes.numberOf(table * FIRST_INDEX);
  showTables(cluster, { first: 70_001, count: 20, nodes: [1, 2, 3] });
  const full = await scan(cluster, state, 0, options);
  expect([tablesOf(full), full.warnings]).toEqual([
    ['other'],
    [expect.stringContaining('65,534 indexes of tables')],
  ]);
  expect([...full.context.limits]).toEqual(['items']);
  const next = await scan(cluster, state, 1, options);
  expect([tablesOf(next), next.warnings]).toEqual([['70019', '70020'], []]);
});

test('ranges that come and go with their tables and zones are forgotten', async () => {
  const cluster = fakeCluster([]);
  const state = ranges.createState();
  const sizes: number[] = [];
  for (let at = 0; at < 48; at += 1) {
    // The first node of the ranges dies, is replaced, and leaves the list; then the zone of each table is changed.
    const first = Math.floor(at / 2);
    const nodes = [first + 3, first + 4, first + 5];
    showTables(cluster, { first: 1 + 40 * at, count: 120, nodes, down: [first + 2] });
    cluster.describe = () => ({
      types: Object.fromEntries(nodes.map((id, place) => [id, place < 2 ? 0 : (at % 2) * 5])),
      generation: at + 1,
    });
    const { of, unverified } = await scan(cluster, state, 16 * at, { top_tables: 200 });
    expect([unverified, of('crdb_range_table_problem_ranges').join()]).toEqual([
      0,
      expect.not.stringContaining('other'),
    ]);
    sizes.push(state.known.map.capacity);
  }
  const most = (from: number, to: number): number => Math.max(...sizes.slice(from, to));
  expect(most(36, 48)).toBe(most(12, 24));
});

test('ranges are verified, and need the nodes that they need, also after years', async () => {
  const cluster = fakeCluster([]);
  const state = ranges.createState();
  cluster.describe = () => ({ types: { 1: 0, 2: 0, 3: 0 } });
  const DAY = 1_440;
  for (let day = 0; day < 4_000; day += 100) {
    show(cluster, { holders: many(5, [1, 2, 3]) });
    await scan(cluster, state, day * DAY);
    cluster.askedDescriptors = [];
    const calm = await scan(cluster, state, day * DAY + 1);
    expect([calm.unverified, calm.dependent, cluster.askedDescriptors]).toEqual([0, {}, []]);
    show(cluster, { holders: many(5, [1, 2]), down: { 3: DEAD } });
    const { unverified, dependent } = await scan(cluster, state, day * DAY + 2);
    expect([unverified, dependent]).toEqual([0, { '1 quorum': 5, '2 quorum': 5 }]);
    expect(cluster.askedDescriptors).toHaveLength(1);
  }
});
