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
  readonly flags: number;
  readonly count: number;
}

function write(table: RangeTable, id: number, value: Value): void {
  const slot = table.put(id);
  table.sequences[slot] = value.sequence;
  table.flags[slot] = value.flags;
  table.counts[slot] = value.count;
}

function contentOf(table: RangeTable): Map<number, Value> {
  const content = new Map<number, Value>();
  for (const [slot, id] of table.ids.entries()) {
    if (id === 0) continue;
    content.set(id, {
      sequence: table.sequences[slot] ?? -1,
      flags: table.flags[slot] ?? -1,
      count: table.counts[slot] ?? -1,
    });
  }
  return content;
}

const values = fc.record({
  sequence: fc.integer({ min: 0, max: 0xffff_ffff }),
  flags: fc.integer({ min: 0, max: 0xffff }),
  count: fc.integer({ min: 0, max: 0xff }),
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
        fc.integer({ min: 0, max: 255 }),
        entries(5_000),
        (a, limit, b) => {
          const table = new RangeTable();
          for (const [id, value] of a) write(table, id, value);
          Array.from(table.prune((count) => count < limit));
          const expected = new Map([...new Map(a)].filter(([, { count }]) => count < limit));
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
    for (let id = 1; id <= 100; id += 1) write(table, id, { sequence: 7, flags: 7, count: 7 });
    Array.from(table.prune(() => false));
    const slot = table.put(50);
    expect([table.sequences[slot], table.flags[slot], table.counts[slot]]).toEqual([0, 0, 0]);
  });

  test('takes at most 40 bytes a range from 1,000 ranges to 2,000,000', () => {
    const table = new RangeTable();
    let most = 0;
    for (let id = 1; id <= 2_000_000; id += 1) {
      const before = table.capacity;
      table.put(id);
      if (id >= 1_000 && table.capacity > before) most = Math.max(most, bytesOf(table) / id);
    }
    expect(most).toBeLessThanOrEqual(40);
    expect(table.size).toBe(2_000_000);
  });

  test('is full at 88 % of its slots, and grows by 6 %', () => {
    const table = new RangeTable();
    const capacities = Array.from({ length: 56 }, (_, at) => {
      table.put(at + 1);
      return table.capacity;
    });
    const sizes = [...Map.groupBy(capacities, (capacity) => capacity)];
    expect(sizes.map(([capacity, { length }]) => [capacity, length])).toEqual([
      [32, 28],
      [34, 1],
      [37, 3],
      [40, 3],
      [43, 2],
      [46, 3],
      [49, 3],
      [52, 2],
      [56, 4],
      [60, 3],
      [64, 4],
    ]);
    expect(bytesOf(table)).toBe(table.capacity * 33);
    expect(bytesOf(new RangeTable(false))).toBe(32 * 13);
  });

  test.each([
    [0, 32],
    [28, 32],
    [29, 33],
    [1_000, 1_137],
  ])('for about %d ids has %d slots at once, and doubles them', (expected, capacity) => {
    const table = createStagingTable(expected);
    expect(table.capacity).toBe(capacity);
    while (table.capacity === capacity) table.put(table.size + 1);
    expect([table.size - 1, table.capacity]).toEqual([Math.floor(capacity * 0.88), 2 * capacity]);
  });

  // A table of 14 ids, from 1 on, with 32 slots: 28 ids fit.
  test.each([
    [1, 28, 32],
    [15, 14, 32],
    [15, 15, 34],
    [8, 21, 32],
    [8, 22, 34],
    [8, 60, 77],
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
    [100, 121],
    [28, 34],
    [1, 32],
    [0, 32],
  ])('gives memory back but for 6 % more than %d ids that are kept', (kept, capacity) => {
    const table = new RangeTable();
    for (let id = 1; id <= 1_000; id += 1) {
      write(table, id, { sequence: 1, flags: 1, count: id <= kept ? 1 : 0 });
    }
    Array.from(table.prune((count) => count === 1));
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
