import { describe, expect, test } from 'vitest';
import { isProblem, toFindings } from '../../../src/findings/problem.ts';
import { rangeProblems } from '../../../src/findings/range-problems.ts';
import type { ScanCheck } from '../../../src/findings/scan-check.ts';
import { countsOf } from '../../../src/findings/scan-history.ts';
import { node, nodesResult, RANGES } from './results.ts';

const WRONG: ScanCheck = {
  replicas: { read: 10_034, counted: 12_036 },
  leases: { read: 4_010, counted: 4_012 },
  unavailable: undefined,
  underreplicated: undefined,
  disagrees: true,
  disagreeingScans: 2,
  stores: [
    { nodeId: 3, storeId: 7, read: 800, least: 1_000, most: 1_000 },
    { nodeId: 4, storeId: 8, read: 3_000, least: 990, most: 1_001 },
  ],
};

function findingsOf(more: Partial<ScanCheck>) {
  const status = { ...RANGES, scanCheck: { ...WRONG, ...more } };
  return toFindings(rangeProblems(status, false), () => 0, 0);
}

describe('the finding about range scans', () => {
  test('names the alert, its severity, the totals and the stores', () => {
    const [finding, ...rest] = findingsOf({});
    expect(rest).toEqual([]);
    expect(finding).toMatchObject({
      alert: 'CrdbScanDisagrees',
      level: 'warning',
      about: 'exporter',
      text: 'The ranges are read wrongly: 10,034 replicas read, the nodes count 12,036; 2 of the last scans disagreed. n3 s7: 800 read, 1,000 counted and n4 s8: 3,000 read, 990 to 1,001 counted.',
    });
    expect(finding && isProblem(finding)).toBe(false);
  });

  test('is information after one scan, and stays after a good one', () => {
    expect(findingsOf({ disagreeingScans: 1 }).map(({ level }) => level)).toEqual(['info']);
    const good = { disagrees: false, stores: [] };
    expect(findingsOf(good).map(({ level }) => level)).toEqual(['warning']);
  });

  test('is absent while a scan waits for the next counts, and after a good scan', () => {
    expect(findingsOf({ disagreeingScans: 0 })).toEqual([]);
    expect(findingsOf({ disagreeingScans: 1, disagrees: false, stores: [] })).toEqual([]);
  });
});

test('stores of stale records have no counts', () => {
  const stores = new Map([['7', new Map([['replicas', 5]])]]);
  const counts = countsOf(
    nodesResult(node(1, { stores, isFresh: false }), node(2, { stores: new Map(stores) })),
  );
  expect([...counts]).toEqual([
    [
      '2/7',
      {
        nodeId: 2,
        storeId: 7,
        replicas: 5,
        leaseholders: undefined,
        unavailable: undefined,
        underreplicated: undefined,
      },
    ],
  ]);
});
