import { describe, expect, test } from 'vitest';
import { toFindings } from '../../src/findings/problem.ts';
import {
  compareScan,
  type Counts,
  countsOf,
  type ScanCounts,
  ScanHistory,
  scanProblems,
  type StoreCounts,
} from '../../src/findings/scan-check.ts';
import { node, nodesResult, WRONG_SCAN } from '../web/status/results.ts';

/** Stores 1, 2, … of node 1 with these replicas, or all their numbers; undefined: nothing of that store. */
function counted(...stores: readonly (number | Partial<StoreCounts> | undefined)[]): Counts {
  return new Map(
    stores.flatMap((one, at) => {
      if (one === undefined) return [];
      const usual = { replicas: 1_000, leases: 300, unavailable: 0, underreplicated: 0 };
      const numbers = typeof one === 'number' ? { replicas: one } : one;
      return [[`n1 s${at + 1}`, { nodeId: 1, storeId: at + 1, ...usual, ...numbers }] as const];
    }),
  );
}

/** A scan of node 1 that read so many replicas of its stores 1, 2, …; undefined: nothing of that store. */
function read(...replicas: readonly (number | undefined)[]): ScanCounts {
  const stores = counted(
    ...replicas.map((count) =>
      count === undefined ? undefined : { replicas: count, leases: 100 },
    ),
  );
  return { nodes: new Set([1]), stores, problems: { unavailable: 0, underreplicated: 0 } };
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
    expect(compareScan(read(found), [counted(own)])?.disagrees).toBe(expected);
  });

  test('are compared with the smallest and the largest count around the scan', () => {
    const around = [counted(1_000), counted(3_000), counted(2_000)];
    expect(compareScan(read(2_900), around)?.disagrees).toBe(false);
    expect(compareScan(read(900), around)).toMatchObject({
      replicas: { read: 900, counted: 2_000 },
      stores: [{ nodeId: 1, storeId: 1, read: 900, least: 1_000, most: 3_000 }],
    });
  });

  test('disagree where replicas of one store were lost and those of another read twice', () => {
    const comparison = compareScan(read(500, 1_500), [counted(1_000, 1_000)]);
    expect(comparison?.replicas).toEqual({ read: 2_000, counted: 2_000 });
    expect(comparison?.stores.map(({ storeId }) => storeId)).toEqual([1, 2]);
  });

  test('disagree where the response of a node lacks a store', () => {
    expect(compareScan(read(1_000, undefined), [counted(1_000, 1_000)])?.stores).toEqual([
      { nodeId: 1, storeId: 2, read: 0, least: 1_000, most: 1_000 },
    ]);
  });

  test('leave out stores without a fresh count, and are not compared without any', () => {
    const stale = [counted(1_000, 1_000), counted({ replicas: undefined }, 1_000)];
    expect(compareScan(read(10, 1_000), stale)?.disagrees).toBe(false);
    expect(compareScan(read(10), [counted({ replicas: undefined })])).toBeUndefined();
    expect(compareScan(read(10), [])).toBeUndefined();
    expect(compareScan({ ...read(10), nodes: new Set([2]) }, [counted(1_000)])).toBeUndefined();
  });

  test('never disagree about leases', () => {
    const comparison = compareScan(read(1_000), [counted({ leases: 900 })]);
    expect(comparison).toMatchObject({ leases: { read: 100, counted: 900 }, disagrees: false });
  });

  test.each(['unavailable', 'underreplicated'] as const)(
    'compare ranges that are %s, of a complete scan of stores that all have fresh counts',
    (problem) => {
      const own = counted({ [problem]: 60 }, { [problem]: 40 });
      const scan = (ranges: number): ScanCounts => ({
        ...read(1_000, 1_000),
        problems: { unavailable: 0, underreplicated: 0, [problem]: ranges },
      });
      expect(compareScan(scan(100), [own])?.[problem]).toEqual({ read: 100, counted: 100 });
      expect(compareScan(scan(80), [own])?.disagrees).toBe(false);
      expect(compareScan(scan(79), [own])?.disagrees).toBe(true);
      expect(compareScan(scan(121), [own])?.disagrees).toBe(true);
      expect(compareScan(scan(0), [counted(1_000, 1_000), own])?.disagrees).toBe(false);
      expect(compareScan({ ...scan(0), problems: undefined }, [own])?.disagrees).toBe(false);
      expect(compareScan(scan(0), [counted({ [problem]: 60 })])?.[problem]).toBeUndefined();
    },
  );
});

const MINUTE = 60_000;

/** A scan a minute that takes ten seconds, and counts every 30 s: the alerts that both make of so many minutes. */
function watch(
  minutes: number,
  { scan, own }: { scan: (minute: number) => number; own: (minute: number) => number },
): { readonly history: ScanHistory; readonly disagreeing: readonly (number | undefined)[] } {
  const history = new ScanHistory();
  const disagreeing = Array.from({ length: minutes }, (_, minute) => {
    const startMs = minute * MINUTE;
    history.addCounts(startMs, counted(own(minute)));
    history.addScan({
      startMs: startMs + 10_000,
      endMs: startMs + 20_000,
      scan: read(scan(minute)),
    });
    history.addCounts(startMs + MINUTE / 2, counted(own(minute + 0.5)));
    return history.read()?.disagreeingScans;
  });
  return { history, disagreeing };
}

describe('scans of a cluster', () => {
  test('that read wrongly are counted, and a good one between them changes nothing', () => {
    const { disagreeing } = watch(5, {
      scan: (minute) => (minute % 2 === 0 ? 900 : 1_000),
      own: () => 1_000,
    });
    expect(disagreeing).toEqual([1, 1, 2, 2, 3]);
  });

  test('are forgotten after 15 minutes', () => {
    const { disagreeing } = watch(20, {
      scan: (minute) => (minute < 3 ? 900 : 1_000),
      own: () => 1_000,
    });
    expect([disagreeing[2], disagreeing[14], disagreeing.at(-1)]).toEqual([3, 3, 0]);
  });

  test.each([
    { name: 'fills by 600 replicas a minute', own: (minute: number) => 600 * minute },
    { name: 'is emptied', own: (minute: number) => Math.max(0, 9_000 - 600 * minute) },
    { name: 'splits all its ranges at once', own: (minute: number) => (minute < 7 ? 900 : 1_800) },
  ])('do not disagree while the store $name', ({ own }) => {
    // The scan sees the store 15 seconds after the record.
    const { disagreeing } = watch(20, { scan: (minute) => own(minute + 0.25), own });
    expect(new Set(disagreeing)).toEqual(new Set([0]));
  });

  test('are judged with counts from after their end', () => {
    const history = new ScanHistory();
    history.addCounts(0, counted(1_000));
    history.addScan({ startMs: 1_000, endMs: 2_000, scan: read(1_400) });
    expect(history.read()).toMatchObject({ disagrees: true, disagreeingScans: 0 });
    history.addCounts(11_000, counted(1_000));
    expect(history.read()?.disagreeingScans).toBe(0);
    history.addCounts(13_000, counted(1_500));
    expect(history.read()).toMatchObject({ disagrees: false, disagreeingScans: 0 });
  });

  test('are not compared with counts from long before or after them', () => {
    const history = new ScanHistory();
    history.addCounts(0, counted(1_000));
    history.addCounts(60_000, counted(2_000));
    history.addScan({ startMs: 80_000, endMs: 90_000, scan: read(1_000) });
    history.addCounts(110_000, counted(2_000));
    expect(history.read()).toMatchObject({ disagrees: true, disagreeingScans: 1 });
    history.addCounts(500_000, counted(1_000));
    expect(history.read()?.disagrees).toBe(true);
  });

  test('with a long interval are remembered for three scans', () => {
    const history = new ScanHistory();
    const after = [900, 1_000, 900, 1_000, 1_000].map((replicas, at) => {
      const endMs = at * 60 * MINUTE;
      history.addCounts(endMs - 20_000, counted(1_000));
      history.addScan({ startMs: endMs - 10_000, endMs, scan: read(replicas) });
      history.addCounts(endMs + 15_000, counted(1_000));
      return history.read()?.disagreeingScans;
    });
    expect(after).toEqual([1, 1, 2, 1, 1]);
  });
});

test('stores of stale records have no counts', () => {
  const stores = new Map([['7', new Map([['replicas', 5]])]]);
  const counts = countsOf(nodesResult(node(1, { stores, isFresh: false }), node(2, { stores })));
  expect([...counts.keys()]).toEqual(['n2 s7']);
});

function levels(more: Partial<typeof WRONG_SCAN>): readonly string[] {
  const problems = scanProblems({ ...WRONG_SCAN, ...more });
  return toFindings(problems, () => 0, 0).map(({ level }) => level);
}

test('the finding names the totals and the stores, is information after one scan and stays after a good one', () => {
  const good = { disagrees: false, stores: [] };
  expect(scanProblems({ ...WRONG_SCAN, disagreeingScans: 2 })).toMatchObject([
    {
      alert: 'CrdbScanDisagrees',
      about: 'exporter',
      text: expect.stringMatching(
        /^The ranges are read wrongly: 1,800 replicas read, the nodes count 2,036; 2 of the last scans disagreed\. n\d s\d: /,
      ),
    },
  ]);
  expect(levels({ disagreeingScans: 2 })).toEqual(['warning']);
  expect(levels({ disagreeingScans: 1 })).toEqual(['info']);
  expect(levels({ ...good, disagreeingScans: 2 })).toEqual(['warning']);
  expect(levels({ disagreeingScans: 0 })).toEqual([]);
  expect(levels({ ...good, disagreeingScans: 1 })).toEqual([]);
});
