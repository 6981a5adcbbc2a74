import { describe, expect, test } from 'vitest';
import { type RangeProblem, REPORTED_PROBLEMS } from '../../src/base/vocabulary.ts';
import { DependenceCounter } from '../../src/collectors/ranges/dependence.ts';
import type { RangesResult } from '../../src/collectors/ranges/scan-result.ts';
import type { ProblemSummary } from '../../src/collectors/ranges/scan-result.ts';
import { isDown, describeNodes } from '../../src/status/findings/node-problems.ts';
import { readRanges } from '../../src/status/findings/range-status.ts';
import { scannedNode } from '../collectors/ranges/cluster.ts';
import { tableIndexOf } from '../collectors/ranges/table-index.ts';
import { node, nodesResult, scannedRanges, WHOLE_SCAN } from './results.ts';

type Summary = NonNullable<RangesResult['summary']>;

/** A scan with this summary; its nodes held no replicas. */
function scanned(summary: Partial<Summary>, nodeIds: readonly number[] = [1, 2]): RangesResult {
  return scannedRanges(summary, nodeIds.map(scannedNode));
}

/** Of a scan of all nodes. */
function whole(
  domains: readonly (readonly [quorum: number, allReplicas: number])[],
): Partial<Summary> {
  const toScan = domains.map((_, at) => at + 1);
  const dependence = new DependenceCounter({
    toScan,
    toSkip: [],
    localities: new Map(),
    unreadable: 0,
  });
  for (const [at, [quorum, allReplicas]] of domains.entries()) {
    Object.assign(dependence.nodes.get(at + 1) ?? {}, { quorum, allReplicas });
  }
  return {
    cluster: { ...WHOLE_SCAN, dependence },
  };
}

test('nodes on which ranges depend are listed', () => {
  const domains = [
    [0, 0],
    [0, 1],
    [1, 0],
    [5, 2],
  ] as const;
  const { dependent } = readRanges(scanned({ ...whole(domains) }), undefined, undefined);
  expect(dependent).toEqual([
    { name: 'node 2', quorum: 0, lastReplica: 1, withoutQuorum: 0 },
    { name: 'node 3', quorum: 1, lastReplica: 0, withoutQuorum: 0 },
    { name: 'node 4', quorum: 5, lastReplica: 2, withoutQuorum: 0 },
  ]);
});

describe('what depends on nodes', () => {
  test('is known of a view of all ranges alone, and problems of any', () => {
    const problems = new Map<RangeProblem, ProblemSummary>([
      ['unavailable', { ranges: 1, listed: [] }],
      ['underreplicated', { ranges: 0, listed: [] }],
      ['overreplicated', { ranges: 2, listed: [] }],
    ]);
    const part = readRanges(scanned({ problems }), undefined, undefined);
    expect([part.problems, part.dependent]).toEqual([
      { unavailable: 1, overreplicated: 2 },
      undefined,
    ]);
    problems.set('no_live_replica', { ranges: 3, listed: [] });
    const all = readRanges(scanned({ problems, ...whole([]) }), undefined, undefined);
    expect(all.problems).toEqual({ unavailable: 1, overreplicated: 2, no_live_replica: 3 });
    expect(all.dependent).toEqual([]);
  });

  test('is not shown when a node that was read has gone down since', () => {
    const nodes = nodesResult(
      node(1),
      node(2, { livenessCode: 2 }),
      node(3, { livenessCode: 1 }),
      node(4, { livenessCode: 6 }),
    );
    const result = scanned({ ...whole([[0, 0]]) }, [1, 2, 4]);
    const down = describeNodes(nodes).list.filter(isDown);
    const ids = down.map(({ id }) => id);
    const { downSinceScan, dependent } = readRanges(result, undefined, ids);
    expect([downSinceScan, dependent]).toEqual([[2], undefined]);
  });
});

test('tables are those with most queries, without the sums of others, and with CPU where every node sends it', () => {
  const load = { ranges: 3, writes: 2, cpuNanos: 1.5e9 };
  const loads = new Map([
    ['none', { ...load, queries: 50 }],
    ['104', { ...load, queries: 10 }],
    ['105', { ...load, queries: 40 }],
    ['other', { ...load, queries: 70 }],
  ]);
  const shown = { ids: ['104', '105'], loads, problems: new Map() };
  const { tables } = readRanges(scanned({ tables: shown, hasTableCpu: true }), undefined);
  expect(tables.map(({ id }) => id)).toEqual(['105', '104']);
  expect(tables[0]).toEqual({
    id: '105',
    name: undefined,
    ranges: 3,
    queriesPerSecond: 40,
    writesPerSecond: 2,
    cpuSecondsPerSecond: 1.5,
    sizeBytes: undefined,
  });
  const { tables: without } = readRanges(scanned({ tables: shown }), undefined);
  expect(without.map((table) => table.cpuSecondsPerSecond)).toEqual([undefined, undefined]);
});

/** This many unavailable ranges, and 9 with each other problem. */
function unavailable(count: number): number[] {
  return REPORTED_PROBLEMS.map((_, at) => (at === 0 ? count : 9));
}

test('tables without quorum are those of unavailable and of lost ranges', () => {
  const lost = {
    rangeId: 9,
    nodeId: 4,
    storeId: 0,
    firstSeenSeconds: 1,
    tableIndex: tableIndexOf('/Table/103/1'),
  };
  const problemsByTable = new Map([
    [-1, unavailable(1)],
    [0, unavailable(2)],
    ...Array.from({ length: 12 }, (_, at) => [100 + at, unavailable(20 - at)] as const),
    [200, unavailable(0)],
  ]);
  const problems = new Map([['no_live_replica', { ranges: 3, listed: [lost] }] as const]);
  const { withoutQuorum } = readRanges(
    scanned({ problemsByTable, problems }),
    undefined,
    undefined,
  );
  const { tables, otherRanges, unnamedRanges } = withoutQuorum;
  // Two of the lost ranges are not in the list.
  expect([tables.length, otherRanges, unnamedRanges]).toEqual([12, 2, 3]);
  expect(withoutQuorum.tables.map(({ id, ranges }) => [id, ranges]).slice(0, 5)).toEqual([
    ['100', 20],
    ['101', 19],
    ['102', 18],
    ['103', 18],
    ['104', 16],
  ]);
});

test('replicas whose problems could not be read are counted, whether or not all nodes were read', () => {
  const nodes = [1, 2].map((id) => ({ ...scannedNode(id), withoutProblems: 6 * id }));
  for (const cluster of [WHOLE_SCAN, undefined])
    expect(readRanges(scannedRanges({ cluster }, nodes), undefined).withoutProblems).toBe(18);
  expect(readRanges(scanned({}), undefined).withoutProblems).toBeUndefined();
});

describe('a range of several tables', () => {
  const listed = { rangeId: 9, nodeId: 4, storeId: 4, tableIndex: tableIndexOf('/Table/104/1') };
  const load = { queries: 2900, writes: 0, cpuSeconds: undefined };
  const lastOf = (lastTableId: number | undefined, names?: ReadonlyMap<string, string>) => {
    const hot = [{ ...listed, ...load, lastTableId }];
    const tables = names && { tables: [], names, discovery: undefined };
    return readRanges(scanned({ hot }), tables, undefined).hottest[0]?.lastTable;
  };

  test.each([
    [undefined, undefined, undefined],
    [131, undefined, '131'],
    // The first table is not among the names: others may not be either.
    [131, new Map([['131', 'movr.public.z']]), 'movr.public.z'],
    [
      131,
      new Map([
        ['104', 'movr.public.a'],
        ['131', 'movr.public.z'],
      ]),
      'movr.public.z',
    ],
    [
      131,
      new Map([
        ['104', 'movr.public.a'],
        ['120', 'movr.public.y'],
      ]),
      'movr.public.y',
    ],
    // The tables 105 to 131 were dropped.
    [
      131,
      new Map([
        ['104', 'movr.public.a'],
        ['132', 'movr.public.b'],
      ]),
      undefined,
    ],
  ])('to %s is named by its last one: %s', (lastTableId, names, expected) => {
    expect(lastOf(lastTableId, names)).toBe(expected);
  });
});
