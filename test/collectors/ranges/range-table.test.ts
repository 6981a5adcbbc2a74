import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createStagingTable,
  RangeTable,
  walk,
} from '../../../src/collectors/ranges/range-table.ts';
import { bytesOf } from './cluster.ts';

interface Value {
  readonly sequence: number;
  readonly problems: number;
  readonly presence: number;
}

function write(table: RangeTable, id: number, value: Value): void {
  const slot = table.put(id);
  table.sequences[slot] = value.sequence;
  table.problems[slot] = value.problems;
  table.presence[slot] = value.presence;
}

function contentOf(table: RangeTable): Map<number, Value> {
  const content = new Map<number, Value>();
  for (const [slot, id] of table.ids.entries()) {
    if (id === 0) continue;
    content.set(id, {
      sequence: table.sequences[slot] ?? -1,
      problems: table.problems[slot] ?? NaN,
      presence: table.presence[slot] ?? NaN,
    });
  }
  return content;
}

const values = fc.record({
  sequence: fc.integer({ min: 0, max: 0xffff_ffff }),
  problems: fc.integer({ min: 0, max: 0xffff }),
  presence: fc.integer({ min: -128, max: 127 }),
});
const entries = (maxId: number) =>
  fc.array(fc.tuple(fc.integer({ min: 1, max: maxId }), values), { maxLength: 400 });

describe('a range table', () => {
  test.each([500, 0xffff_ffff, 0x1_0000_0fff, Number.MAX_SAFE_INTEGER])(
    'holds what a Map holds (ids up to %d)',
    (maxId) => {
      fc.assert(
        fc.property(entries(maxId), (written) => {
          const table = new RangeTable();
          for (const [id, value] of written) write(table, id, value);
          const expected = new Map(written);
          expect(table.size).toBe(expected.size);
          expect(contentOf(table)).toEqual(expected);
          for (const [id, { sequence }] of expected) {
            expect(table.sequences[table.put(id)]).toBe(sequence);
          }
          expect(table.size).toBe(expected.size);
        }),
      );
    },
  );

  test('keeps exactly what pruning leaves, and stays usable', () => {
    fc.assert(
      fc.property(
        entries(5_000),
        fc.integer({ min: -128, max: 127 }),
        entries(5_000),
        (a, limit, b) => {
          const table = new RangeTable();
          for (const [id, value] of a) write(table, id, value);
          Array.from(table.prune(limit));
          const expected = new Map([...new Map(a)].filter(([, { presence }]) => presence > limit));
          expect(contentOf(table)).toEqual(expected);
          for (const [id, value] of b) {
            write(table, id, value);
            expected.set(id, value);
          }
          expect(contentOf(table)).toEqual(expected);
        },
      ),
    );
  });

  test('a new id has zero values, also where another one was pruned', () => {
    const table = new RangeTable();
    for (let id = 1; id <= 100; id += 1)
      write(table, id, { sequence: 7, problems: 7, presence: 7 });
    Array.from(table.prune(7));
    const slot = table.put(50);
    expect([table.sequences[slot], table.problems[slot], table.presence[slot]]).toEqual([0, 0, 0]);
  });

  test('takes at most 40 bytes a range from 1,000 ranges to 200,000', () => {
    const table = new RangeTable();
    let most = 0;
    for (let id = 1; id <= 200_000; id += 1) {
      const before = table.capacity;
      table.put(id);
      if (id >= 1_000 && table.capacity > before) most = Math.max(most, bytesOf(table) / id);
    }
    expect(most).toBeLessThanOrEqual(40);
    expect(table.size).toBe(200_000);
  });

  test('takes 34 bytes a slot, and 14 without holders', () => {
    const [table, staging] = [new RangeTable(), new RangeTable(false)];
    expect([bytesOf(table), bytesOf(staging)]).toEqual([32 * 34, 32 * 14]);
  });

  test.each([
    [0, 32],
    [28, 32],
    [29, 33],
    [1_000, 1_112],
  ])('for about %d ids has %d slots at once, and doubles them', (expected, capacity) => {
    const table = createStagingTable(expected);
    expect(table.capacity).toBe(capacity);
    while (table.capacity === capacity) table.put(table.size + 1);
    expect([table.size - 1, table.capacity]).toEqual([Math.floor(capacity * 0.9), 2 * capacity]);
  });

  // A table of 14 ids, from 1 on, with 32 slots: 28 ids fit.
  test.each([
    [1, 28, 32],
    [15, 14, 32],
    [15, 15, 34],
    [8, 21, 32],
    [8, 22, 34],
    [8, 60, 75],
  ])(
    'makes room for those ids of another one, from %d on %d, that it lacks',
    (first, count, slots) => {
      const [table, other] = [new RangeTable(), new RangeTable()];
      for (let id = 1; id <= 14; id += 1) table.put(id);
      for (let id = first; id < first + count; id += 1) other.put(id);
      Array.from(table.makeRoomFor(other));
      expect([table.capacity, table.size]).toEqual([slots, 14]);
    },
  );

  test.each([
    [100, 117],
    [28, 33],
    [1, 32],
    [0, 32],
  ])('gives memory back but for 5 % more than %d ids that are kept', (kept, capacity) => {
    const table = new RangeTable();
    for (let id = 1; id <= 1_000; id += 1) {
      write(table, id, { sequence: 1, problems: 1, presence: id <= kept ? 1 : 0 });
    }
    Array.from(table.prune(0));
    expect([table.capacity, table.size]).toEqual([capacity, kept]);
  });
});

test('ids above 32 bits are kept apart from the ids 2^32 below', () => {
  const ids = [5, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0005, 2 ** 52 + 5];
  const table = new RangeTable();
  for (const id of ids) table.put(id);
  expect(table.size).toBe(5);
  expect(table.ids.filter((id) => id !== 0).toSorted()).toEqual(Float64Array.from(ids));
  const other = new RangeTable();
  other.put(7);
  Array.from(other.makeRoomFor(table));
  for (const id of ids) other.put(id);
  expect(other.ids.filter((id) => id !== 0).toSorted()).toEqual(
    Float64Array.from([5, 7, ...ids.slice(1)]),
  );
});

test.each([0, 1, 4_096, 10_000])('a walk over %d slots visits each once, in order', (slots) => {
  const seen: number[] = [];
  const steps = Array.from(
    walk(slots, (from, to) => {
      for (let slot = from; slot < to; slot += 1) seen.push(slot);
    }),
  );
  expect(seen).toEqual(Array.from({ length: slots }, (_, slot) => slot));
  expect(steps).toHaveLength(Math.ceil(slots / 4_096));
});
