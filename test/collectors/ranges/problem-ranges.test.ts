import { describe, expect, test } from 'vitest';
import {
  MAX_REMEMBERED,
  ProblemHistory,
  type ProblemRange,
  ProblemReports,
} from '../../../src/collectors/ranges/problem-ranges.ts';

const UNAVAILABLE = 1;
const OTHER = 1 << 11;

interface Report {
  readonly rangeId: number;
  readonly problems?: number;
  readonly nodeId?: number;
  readonly storeId?: number;
}

/** One scan at `nowSeconds`; returns the ranges reported unavailable, oldest first. */
function scan(
  history: ProblemHistory,
  nowSeconds: number,
  reported: readonly Report[],
  unread: readonly number[] = [],
): readonly ProblemRange[] {
  const reports = new ProblemReports(history);
  for (const { rangeId, problems = UNAVAILABLE, nodeId = 1, storeId = 1 } of reported) {
    reports.add(rangeId, problems, { nodeId, storeId, place: 0 });
  }
  return history.update(reports, nowSeconds, new Set(unread))[0] ?? [];
}

const timesOf = (ranges: readonly ProblemRange[]) =>
  ranges.map(({ rangeId, firstSeenSeconds }) => [rangeId, firstSeenSeconds]);

describe('first-seen times', () => {
  test('are kept while a range is reported', () => {
    const history = new ProblemHistory();
    scan(history, 100, [{ rangeId: 9 }]);
    expect(timesOf(scan(history, 200, [{ rangeId: 3 }, { rangeId: 9 }]))).toEqual([
      [9, 100],
      [3, 200],
    ]);
  });

  test('start again when a problem was gone', () => {
    const history = new ProblemHistory();
    scan(history, 100, [{ rangeId: 9 }]);
    scan(history, 200, []);
    expect(timesOf(scan(history, 300, [{ rangeId: 9 }]))).toEqual([[9, 300]]);
  });

  test('of ranges whose reporter could not be read are kept, but not listed', () => {
    const history = new ProblemHistory();
    scan(history, 100, [{ rangeId: 9, nodeId: 4 }]);
    expect(scan(history, 200, [], [4])).toEqual([]);
    expect(timesOf(scan(history, 300, [{ rangeId: 9, nodeId: 4 }]))).toEqual([[9, 100]]);
  });

  test('belong to one problem each', () => {
    const history = new ProblemHistory();
    scan(history, 100, [{ rangeId: 9, problems: OTHER }]);
    expect(timesOf(scan(history, 200, [{ rangeId: 9, problems: OTHER | UNAVAILABLE }]))).toEqual([
      [9, 200],
    ]);
    expect(history.byProblem[11]?.get(9)?.firstSeenSeconds).toBe(100);
  });

  test('of equal age are sorted by range id', () => {
    const shown = scan(new ProblemHistory(), 100, [{ rangeId: 11 }, { rangeId: 2 }]);
    expect(timesOf(shown)).toEqual([
      [2, 100],
      [11, 100],
    ]);
  });
});

test('the reporter listed is the lowest node, and on it the lowest store', () => {
  const [shown] = scan(new ProblemHistory(), 100, [
    { rangeId: 9, nodeId: 10, storeId: 1 },
    { rangeId: 9, nodeId: 2, storeId: 8 },
    { rangeId: 9, nodeId: 2, storeId: 7 },
    { rangeId: 9, nodeId: 2, storeId: 9 },
    { rangeId: 9, nodeId: 3, storeId: 1 },
  ]);
  expect(shown).toEqual({ rangeId: 9, firstSeenSeconds: 100, nodeId: 2, storeId: 7, place: 0 });
});

test('the reports of a node are added to those of the scan', () => {
  const history = new ProblemHistory();
  const all = new ProblemReports(history);
  const one = new ProblemReports(history);
  all.add(9, UNAVAILABLE, { nodeId: 2, storeId: 2, place: 0 });
  one.add(9, UNAVAILABLE, { nodeId: 1, storeId: 1, place: 0 });
  all.addAll(one);
  expect(all.of(0).get(9)?.nodeId).toBe(1);
});

describe('a cluster where very many ranges have a problem', () => {
  const many = Array.from({ length: 20_000 }, (_, at) => ({ rangeId: 20_000 - at }));

  test('lists the lowest ids and remembers no more than the maximum', () => {
    const history = new ProblemHistory();
    const shown = scan(history, 100, many);
    expect(timesOf(shown.slice(0, 2))).toEqual([
      [1, 100],
      [2, 100],
    ]);
    expect(history.byProblem[0]?.size).toBe(MAX_REMEMBERED);
  });

  test('does not lose an old one among new ones with lower ids', () => {
    const history = new ProblemHistory();
    scan(history, 50, [{ rangeId: 1_000_000 }]);
    const shown = scan(history, 100, [{ rangeId: 1_000_000 }, ...many]);
    expect(timesOf(shown.slice(0, 2))).toEqual([
      [1_000_000, 50],
      [1, 100],
    ]);
  });

  test('keeps the reports of the lowest new ids and of old ones, once there are too many', () => {
    const history = new ProblemHistory();
    scan(history, 50, [{ rangeId: 1_000_000 }, { rangeId: 5, problems: OTHER }]);
    const reports = new ProblemReports(history);
    const add = (rangeId: number): void =>
      reports.add(rangeId, UNAVAILABLE, { nodeId: 1, storeId: 1, place: 0 });
    add(1_000_000);
    for (let rangeId = 4_000; rangeId > 1; rangeId -= 1) add(rangeId);
    expect(reports.of(0).size).toBe(4_000);
    add(1);
    const lowest = Array.from({ length: 1_000 }, (_, at) => at + 1);
    expect([...reports.of(0).keys()].toSorted((a, b) => a - b)).toEqual([...lowest, 1_000_000]);
  });

  test('remembers the oldest ones, those of unread nodes among them', () => {
    const history = new ProblemHistory();
    scan(history, 50, [{ rangeId: 30_000, nodeId: 4 }]);
    scan(history, 100, many, [4]);
    const lowest = Array.from({ length: 999 }, (_, at) => at + 1);
    expect([...(history.byProblem[0]?.keys() ?? [])]).toEqual([30_000, ...lowest]);
  });
});
