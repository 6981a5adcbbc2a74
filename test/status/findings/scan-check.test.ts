import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import type { NodesResult } from '../../../src/collectors/nodes/collector.ts';
import type { RangesResult } from '../../../src/collectors/ranges/scan-result.ts';
import {
  checkScan,
  compareScan,
  type Comparison,
  formatScanCheck,
  ScanHistory,
} from '../../../src/status/findings/scan-check.ts';
import { scannedNode } from '../../collectors/ranges/cluster.ts';
import { node, nodesResult, scannedRanges } from '../results.ts';

/** The counts of a store; a number: of its replicas. */
type Counted = number | Readonly<Record<string, number>> | undefined;

/** Stores 1, 2, … of node 1 with these counts; undefined: nothing of that store. */
function counted(...stores: readonly Counted[]): NodesResult {
  const listed = stores.flatMap((store, at) => {
    if (store === undefined) return [];
    const usual = { replicas: 1_000, 'ranges.unavailable': 0, 'ranges.underreplicated': 0 };
    const values = typeof store === 'number' ? { replicas: store } : store;
    return [[String(at + 1), new Map(Object.entries({ ...usual, ...values }))] as const];
  });
  return nodesResult(node(1, { stores: new Map(listed) }));
}

/** A scan of node 1 that read this many replicas of its stores 1, 2, …; undefined: nothing of that store. */
function read(...replicas: readonly (number | undefined)[]): RangesResult {
  const stores = replicas.flatMap((count, at) => {
    const store = { leases: 0, quiescent: 0, ticking: 0, problems: [], load: new Float64Array(9) };
    return count === undefined ? [] : [[at + 1, { ...store, replicas: count }] as const];
  });
  return scannedRanges({}, [{ ...scannedNode(1), stores: new Map(stores) }]);
}

/** The numbers that were read wrongly, by their names. */
function wrongIn(scan: RangesResult, ...counts: readonly NodesResult[]): readonly string[] {
  return compareScan(scan, counts).wrong.map(({ name }) => name);
}

function storesOf(scan: RangesResult, ...counts: readonly NodesResult[]): readonly Comparison[] {
  return compareScan(scan, counts).stores;
}

describe('a scan and the counts of the nodes', () => {
  test.each([
    [100, 120, false],
    [100, 121, true],
    [100, 80, false],
    [100, 79, true],
    [5_000, 5_100, false],
    [5_000, 5_101, true],
    [5_000, 4_900, false],
    [5_000, 4_899, true],
  ])('where a store counts %i replicas and %i were read, disagree: %s', (own, found, expected) => {
    expect(wrongIn(read(found), counted(own))).toEqual(expected ? ['n1 s1'] : []);
  });

  test('are compared with the smallest and the largest count around the scan', () => {
    const around = [counted(1_000), counted(3_000), counted(2_000)];
    expect(wrongIn(read(2_900), ...around)).toEqual([]);
    expect(storesOf(read(900), ...around)).toEqual([
      { name: 'n1 s1', read: 900, least: 1_000, most: 3_000 },
    ]);
  });

  test('disagree where replicas of one store were lost and those of another read twice', () => {
    expect(wrongIn(read(500, 1_500), counted(1_000, 1_000))).toEqual(['n1 s1', 'n1 s2']);
  });

  test('disagree where the response of a node lacks a store', () => {
    expect(storesOf(read(1_000, undefined), counted(1_000, 1_000))).toContainEqual({
      name: 'n1 s2',
      read: 0,
      least: 1_000,
      most: 1_000,
    });
  });

  test('leave out stores without a fresh count, nodes that were not read and scans that failed', () => {
    const stores = new Map([['1', new Map<string, number>()]]);
    const without = nodesResult(node(1, { stores }));
    expect(storesOf(read(10), without)).toEqual([]);
    expect(storesOf(read(10))).toEqual([]);
    const stale = counted(1_000).nodes.map((one) => ({ ...one, isFresh: false }));
    expect(storesOf(read(10), nodesResult(...stale))).toEqual([]);
    const other = counted(1_000).nodes.map((one) => ({ ...one, id: 2 }));
    expect(storesOf(read(10), nodesResult(...other))).toEqual([]);
    const { summary, ...failed } = read(10);
    expect(summary?.ranges).toBeGreaterThan(0);
    expect(storesOf(failed, counted(1_000))).toEqual([]);
  });

  test('are summed up for the page, with leases only where all of these stores count them', () => {
    const scan = read(900, 990);
    const own = { 'replicas.leaseholders': 5 };
    const replicas = { read: 1_890, counted: 2_000 };
    const leases = { read: 0, counted: 10 };
    const summed = { replicas, leases, uncountedNodes: 0 };
    expect(checkScan(scan, counted(own, own))).toEqual(summed);
    const without = checkScan(scan, counted(own, 1_000));
    expect(without).toEqual({ ...summed, leases: undefined });
    expect(checkScan(scan, counted())).toBeUndefined();
    const two = { ...scan, scanned: [...scan.scanned, scannedNode(2)] };
    const partial = checkScan(two, counted(own, own));
    expect(partial).toEqual({ ...summed, uncountedNodes: 1 });
    expect(partial && formatScanCheck(partial)).toBe(
      '1,890 replicas read, the nodes count 2,000 (1 without current counts); 0 leases read, the nodes count 10 valid ones',
    );
    // A node has stopped between the scan and the counts, and its leases have moved.
    const moved = { ...summed, leases: { read: 579, counted: 679 } };
    expect(formatScanCheck(moved)).toContain(
      '579 leases read, the nodes count 679 valid ones at another time',
    );
  });

  test.each(['unavailable', 'underreplicated'] as const)(
    'compare ranges that are %s, of a complete scan of stores that all have fresh counts',
    (problem) => {
      const key = `ranges.${problem}`;
      const own = counted({ [key]: 60 }, { [key]: 40 });
      const scan = (ranges: number): RangesResult => {
        const { scanned } = read(1_000, 1_000);
        return scannedRanges({ problems: new Map([[problem, { ranges, listed: [] }]]) }, [
          ...scanned,
        ]);
      };
      const name = `${problem} ranges`;
      const { problems } = compareScan(scan(100), [own]);
      expect(problems).toContainEqual({ name, read: 100, least: 100, most: 100 });
      expect(wrongIn(scan(80), own)).toEqual([]);
      expect(wrongIn(scan(79), own)).toEqual([name]);
      expect(wrongIn(scan(121), own)).toEqual([name]);
      expect(wrongIn(scan(0), counted(1_000, 1_000), own)).toEqual([]);
      const failed = [{ nodeId: 2, wasQueried: true, failure: new RequestError('http', '') }];
      expect(wrongIn({ ...scan(0), failed }, own)).toEqual([]);
      expect(compareScan(scan(0), [counted({ [key]: 60 })]).problems).toEqual([]);
    },
  );
});

const MINUTE = 60_000;

/** How many scans disagree, by the finding. */
function wrongScans(history: ScanHistory): number {
  const [problem] = history.problems();
  return Number(/(\d+) of the last scans/.exec(problem?.text ?? '')?.[1] ?? 0);
}

/** A scan a minute that takes ten seconds, and counts every 30 s: how many scans disagree after this many minutes. */
function watch(
  minutes: number,
  { scan, own }: { scan: (minute: number) => number; own: (minute: number) => number },
  remembered = 15,
): readonly number[] {
  const history = new ScanHistory();
  return Array.from({ length: minutes }, (_, minute) => {
    const startMs = minute * MINUTE;
    history.addCounts(startMs, counted(own(minute)), remembered * MINUTE);
    history.addScan({
      startMs: startMs + 10_000,
      endMs: startMs + 20_000,
      result: read(scan(minute)),
    });
    history.addCounts(startMs + MINUTE / 2, counted(own(minute + 0.5)), remembered * MINUTE);
    return wrongScans(history);
  });
}

describe('scans of a cluster', () => {
  test('that read wrongly are a problem from the second one on, in spite of a good one between', () => {
    const found = watch(7, {
      scan: (minute) => (minute % 2 === 0 ? 900 : 1_000),
      own: () => 1_000,
    });
    expect(found).toEqual([0, 0, 0, 2, 2, 3, 3]);
  });

  test.each([5, 15])('are forgotten after scan_minutes (%i)', (minutes) => {
    const world = { scan: (minute: number) => (minute < 3 ? 900 : 1_000), own: () => 1_000 };
    const found = watch(20, world, minutes);
    expect([found[4], found[minutes - 1], found[minutes + 3]]).toEqual([3, 3, 0]);
  });

  test.each([
    { name: 'fills by 600 replicas a minute', own: (minute: number) => 600 * minute },
    { name: 'is emptied', own: (minute: number) => Math.max(0, 9_000 - 600 * minute) },
    { name: 'splits all its ranges at once', own: (minute: number) => (minute < 7 ? 900 : 1_800) },
  ])('do not disagree while the store $name', ({ own }) => {
    // The scan sees the store 15 seconds after the record.
    const found = watch(20, { scan: (minute) => own(minute + 0.25), own });
    expect(new Set(found)).toEqual(new Set([0]));
  });

  test('are compared with counts from shortly before, during and after them', () => {
    const history = new ScanHistory();
    for (const startMs of [0, 200_000]) {
      history.addCounts(startMs, counted(3_000), 15 * MINUTE);
      history.addCounts(startMs + 70_000, counted(2_000), 15 * MINUTE);
      history.addScan({ startMs: startMs + 80_000, endMs: startMs + 90_000, result: read(3_000) });
      history.addCounts(startMs + 110_000, counted(2_000), 15 * MINUTE);
      history.addCounts(startMs + 160_000, counted(3_000), 15 * MINUTE);
    }
    expect(history.problems()).toMatchObject([
      {
        alert: 'CrdbScanDisagrees',
        about: 'exporter',
        text: "2 of the last scans disagree with the nodes' own counts. n1 s1: 3,000 read, 2,000 counted.",
      },
    ]);
  });

  test.each([
    ['rarer than the scans', 10],
    ['rarer than they are remembered', 40],
  ])('are compared with counts that are %s', (_what, minutes) => {
    const wrongAfter = (replicas: (at: number) => number): readonly number[] => {
      const history = new ScanHistory();
      return Array.from({ length: 6 }, (_, at) => {
        const countedMs = at * minutes * MINUTE;
        history.addCounts(countedMs, counted(1_000 + 500 * at), 15 * MINUTE);
        const endMs = countedMs + 5 * MINUTE;
        history.addScan({ startMs: endMs - 1_000, endMs, result: read(replicas(at)) });
        return wrongScans(history);
      });
    };
    expect(wrongAfter(() => 10)).toEqual([0, 0, 2, 3, 3, 3]);
    expect(wrongAfter((at) => 1_250 + 500 * at)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('are not compared without counts from after them, or from far after them alone', () => {
    const history = new ScanHistory();
    for (const startMs of [0, 1_000, 2_000]) {
      history.addScan({ startMs, endMs: startMs + 1_000, result: read(10) });
    }
    history.addCounts(4 * MINUTE, counted(1_000), 15 * MINUTE);
    expect(history.problems()).toEqual([]);
  });

  test('with a long interval are remembered for three scans', () => {
    const history = new ScanHistory();
    const after = [900, 900, 900, 1_000, 1_000].map((replicas, at) => {
      const endMs = at * 60 * MINUTE;
      history.addCounts(endMs - 20_000, counted(1_000), 15 * MINUTE);
      history.addScan({ startMs: endMs - 10_000, endMs, result: read(replicas) });
      history.addCounts(endMs + 15_000, counted(1_000), 15 * MINUTE);
      history.addCounts(endMs + 65_000, counted(1_000), 15 * MINUTE);
      return wrongScans(history);
    });
    expect(after).toEqual([0, 2, 3, 2, 0]);
  });
});
