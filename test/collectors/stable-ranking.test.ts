import { describe, expect, test } from 'vitest';
import { interleave, StableRanking } from '../../src/collectors/stable-ranking.ts';

const LENGTH = 2;

/** Values by id -> ids of the list. */
function choose(list: StableRanking, values: Readonly<Record<number, number>>): readonly number[] {
  list.begin(LENGTH);
  for (const [id, value] of Object.entries(values)) list.add({ id: Number(id), value });
  return list.end().map(({ id }) => id);
}

/** A list that has these entries. */
function listOf(values: Readonly<Record<number, number>>): StableRanking {
  const list = new StableRanking();
  choose(list, values);
  return list;
}

describe('a list with hysteresis', () => {
  test('begins with the largest entries, ties by id', () => {
    expect(choose(new StableRanking(), { 1: 5, 2: 9, 3: 9, 4: 1 })).toEqual([2, 3]);
  });

  test('keeps a member that is beaten by exactly 20 %, or not at all for three scans', () => {
    for (const rate of [60, 50]) {
      const list = listOf({ 1: 100, 2: 50 });
      choose(list, { 1: 100, 2: 50, 3: rate });
      expect(choose(list, { 1: 100, 2: 50, 3: rate })).toEqual([1, 2]);
    }
    const list = listOf({ 1: 100, 2: 50 });
    for (let scan = 0; scan < 4; scan += 1) {
      expect(choose(list, { 1: 100, 2: 50, 3: 50 })).toEqual([1, 2]);
    }
  });

  test('adds a range at once that beats the last by more', () => {
    const list = new StableRanking();
    choose(list, { 1: 100, 2: 50 });
    expect(choose(list, { 1: 100, 2: 50, 3: 61 })).toEqual([1, 3]);
  });

  test('adds an entry that has been above the last for three scans', () => {
    const list = new StableRanking();
    choose(list, { 1: 100, 2: 50 });
    expect(choose(list, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 2]);
    expect(choose(list, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 2]);
    expect(choose(list, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 3]);
  });

  test('makes an entry wait again once it was below the last', () => {
    const list = new StableRanking();
    choose(list, { 1: 100, 2: 50 });
    choose(list, { 1: 100, 2: 50, 3: 55 });
    choose(list, { 1: 100, 2: 50, 3: 45 });
    choose(list, { 1: 100, 2: 50, 3: 55 });
    expect(choose(list, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 2]);
    expect(choose(list, { 1: 100, 2: 50, 3: 55 })).toEqual([1, 3]);
  });

  test('lets entries wait beside as many larger ones that come and go', () => {
    const list = new StableRanking();
    choose(list, { 1: 100, 2: 50 });
    choose(list, { 1: 100, 2: 50, 3: 54, 4: 53, 5: 52, 6: 51 });
    choose(list, { 1: 100, 2: 50, 5: 52, 6: 51 });
    expect(choose(list, { 1: 100, 2: 50, 5: 52, 6: 51 })).toEqual([1, 5]);
  });

  test('is filled up with entries of 0, always the same ones', () => {
    const list = new StableRanking();
    expect(choose(list, { 5: 0, 6: 3, 7: 0, 8: 0, 9: 0 })).toEqual([6, 5]);
    expect(choose(list, { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0 })).toEqual([5, 6]);
  });

  test('can be of length 0', () => {
    const list = new StableRanking();
    list.begin(0);
    list.add({ id: 1, value: 100 });
    expect(list.end()).toEqual([]);
  });
});

test('a list no longer wants an entry once enough larger ones were added, unless it is a member', () => {
  const list = listOf({ 3: 1 });
  list.begin(LENGTH);
  for (let id = 100; id <= 10_000; id += 1) list.add({ id, value: id });
  expect([1, 9_999].map((value) => list.wants(1, value))).toEqual([false, true]);
  expect(list.wants(3, 50)).toBe(true);
  expect(list.end().map(({ id }) => id)).toEqual([10_000, 9_999]);
});

test('lists are interleaved, and each item comes once', () => {
  expect(interleave([[1, 2, 3], [4, 2], []])).toEqual([1, 4, 2, 3]);
});
