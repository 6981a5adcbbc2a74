import { describe, expect, test } from 'vitest';
import {
  HotCandidates,
  HotList,
  type HotRange,
} from '../../../src/collectors/ranges/hot-ranges.ts';

const LENGTH = 2;

/** Queries by range id -> ids of the list. */
function choose(hot: HotList, queries: Readonly<Record<number, number>>): number[] {
  const candidates = new HotCandidates(LENGTH, hot);
  for (const [id, rate] of Object.entries(queries)) offer(candidates, Number(id), rate);
  return hot.update(candidates, LENGTH).map(({ rangeId }) => rangeId);
}

/** A list that has these ranges. */
function listOf(queries: Readonly<Record<number, number>>): HotList {
  const hot = new HotList();
  choose(hot, queries);
  return hot;
}

function offer(candidates: HotCandidates, rangeId: number, queries: number, nodeId = 1): void {
  if (!candidates.wants(rangeId, queries, undefined)) return;
  const none = { place: 0, writes: 0, cpuSeconds: undefined };
  candidates.add({ rangeId, nodeId, storeId: nodeId, queries, ...none });
}

describe('the hot list', () => {
  test('begins with the hottest ranges, ties by id', () => {
    expect(choose(new HotList(), { 1: 5, 2: 9, 3: 9, 4: 1 })).toEqual([2, 3]);
  });

  test('keeps a member that is beaten by less than 20 %', () => {
    const hot = new HotList();
    choose(hot, { 1: 100, 2: 50 });
    expect(choose(hot, { 1: 100, 2: 50, 3: 59 })).toEqual([1, 2]);
  });

  test('keeps a member that is beaten by exactly 20 %, or not at all for three scans', () => {
    for (const rate of [60, 50]) {
      const hot = listOf({ 1: 100, 2: 50 });
      choose(hot, { 1: 100, 2: 50, 3: rate });
      expect(choose(hot, { 1: 100, 2: 50, 3: rate })).toEqual([1, 2]);
    }
    const hot = listOf({ 1: 100, 2: 50 });
    for (let scan = 0; scan < 4; scan += 1) {
      expect(choose(hot, { 1: 100, 2: 50, 3: 50 })).toEqual([1, 2]);
    }
  });

  test('adds a range at once that beats the last by more', () => {
    const hot = new HotList();
    choose(hot, { 1: 100, 2: 50 });
    expect(choose(hot, { 1: 100, 2: 50, 3: 61 })).toEqual([1, 3]);
  });

  test('adds a range that has been above the last for three scans', () => {
    const hot = new HotList();
    choose(hot, { 1: 100, 2: 50 });
    expect(choose(hot, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 2]);
    expect(choose(hot, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 2]);
    expect(choose(hot, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 3]);
  });

  test('makes a range wait again once it was below the last', () => {
    const hot = new HotList();
    choose(hot, { 1: 100, 2: 50 });
    choose(hot, { 1: 100, 2: 50, 3: 55 });
    choose(hot, { 1: 100, 2: 50, 3: 45 });
    choose(hot, { 1: 100, 2: 50, 3: 55 });
    expect(choose(hot, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 2]);
    expect(choose(hot, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 3]);
  });

  test('fills the place of a member that is gone or idle at once', () => {
    const hot = new HotList();
    choose(hot, { 1: 100, 2: 50 });
    expect(choose(hot, { 1: 0, 2: 50, 3: 1 })).toEqual([2, 3]);
    expect(choose(hot, { 3: 1 })).toEqual([3]);
  });

  test('is filled up with ranges without queries, always the same ones', () => {
    const hot = new HotList();
    expect(choose(hot, { 5: 0, 6: 3, 7: 0, 8: 0, 9: 0 })).toEqual([6, 5]);
    expect(choose(hot, { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0 })).toEqual([5, 6]);
  });

  test('can be of length 0', () => {
    const hot = new HotList();
    const candidates = new HotCandidates(0, hot);
    offer(candidates, 1, 100);
    expect(hot.update(candidates, 0)).toEqual([]);
  });
});

function replica(rangeId: number, queries: number, cpuSeconds: number, nodeId = 1): HotRange {
  return { rangeId, nodeId, storeId: nodeId, place: 0, queries, writes: 0, cpuSeconds };
}

test('a range with few queries and much CPU is on the list, and a moved lease keeps it there', () => {
  const hot = new HotList();
  const scan = (...replicas: readonly HotRange[]) => {
    const candidates = new HotCandidates(1, hot);
    for (const one of replicas) {
      if (candidates.wants(one.rangeId, one.queries, one.cpuSeconds)) candidates.add(one);
    }
    return hot.update(candidates, 1).map(({ rangeId, nodeId }) => [rangeId, nodeId]);
  };
  const busy = replica(1, 900, 0.1);
  expect(scan(busy, replica(2, 3, 1.2), replica(3, 800, 0.2))).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(scan(busy, replica(2, 3, 1.1, 5), replica(3, 800, 1.15))).toEqual([
    [1, 1],
    [2, 5],
  ]);
});

describe('candidates', () => {
  test('with the same load are sorted by id', () => {
    const candidates = new HotCandidates(LENGTH, new HotList());
    for (const id of [5, 3, 9, 1]) offer(candidates, id, 7);
    expect(candidates.byQueries.list().map(({ id }) => id)).toEqual([1, 3, 5, 9]);
  });

  test('hold the hottest and every member of any number that is added', () => {
    const candidates = new HotCandidates(LENGTH, listOf({ 1: 2, 2: 1 }));
    for (let id = 1; id <= 10_000; id += 1) offer(candidates, id, id);
    const ids = candidates.byQueries.list().map(({ id }) => id);
    expect(ids).toEqual([10_000, 9_999, 9_998, 9_997, 2, 1]);
  });

  test('of several nodes are merged, with one entry for a range that two of them claim', () => {
    const all = new HotCandidates(LENGTH, new HotList());
    const other = new HotCandidates(LENGTH, new HotList());
    offer(all, 1, 10, 1);
    offer(other, 1, 12, 2);
    offer(other, 5, 11, 2);
    all.addAll(other);
    expect(all.byQueries.list().map(({ id, range }) => [id, range.nodeId])).toEqual([
      [1, 2],
      [5, 2],
    ]);
  });

  test('are no longer wanted once enough hotter ones were seen', () => {
    const candidates = new HotCandidates(LENGTH, listOf({ 3: 1 }));
    for (let id = 100; id <= 200; id += 1) offer(candidates, id, id);
    // The fourth of those up to 194: the list is cut when it is four times as long as needed.
    expect(candidates.byQueries.floor).toBe(191);
    expect([191, 192].map((rate) => candidates.wants(1, rate, undefined))).toEqual([false, true]);
    expect(candidates.wants(3, 50, undefined)).toBe(true);
    expect(candidates.wants(1, 500, undefined)).toBe(true);
  });
});
