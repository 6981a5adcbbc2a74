import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RangeTable, walk } from '../../../src/collectors/ranges/range-table.ts';
import { bytesOf } from './cluster.ts';

interface Value {
  readonly sequence: number;
  readonly problems: number;
  readonly found: number;
}

function write(table: RangeTable, id: number, value: Value): void {
  Array.from(table.reserve(table.size + 1));
  const slot = table.put(id);
  table.columns.sequences[slot] = value.sequence;
  table.columns.problems[slot] = value.problems;
  table.columns.found[slot] = value.found;
}

function foundAt(table: RangeTable, slot: number): number {
  return table.columns.found[slot] ?? 0;
}

function contentOf(table: RangeTable): Map<number, Value> {
  const content = new Map<number, Value>();
  for (const [slot, id] of table.columns.ids.entries()) {
    if (id === 0) continue;
    content.set(id, {
      sequence: table.columns.sequences[slot] ?? -1,
      problems: table.columns.problems[slot] ?? NaN,
      found: table.columns.found[slot] ?? NaN,
    });
  }
  return content;
}

const values = fc.record({
  sequence: fc.integer({ min: 0, max: 0xffff_ffff }),
  problems: fc.integer({ min: 0, max: 0xffff }),
  found: fc.integer({ min: 0, max: 2 }),
});
const entries = (maxId: number) =>
  fc.array(fc.tuple(fc.integer({ min: 1, max: maxId }), values), { maxLength: 400 });

describe('a range table', () => {
  test.each([500, 0xffff_ffff])('holds what a Map holds (ids up to %d)', (maxId) => {
    fc.assert(
      fc.property(entries(maxId), (written) => {
        const table = new RangeTable();
        for (const [id, value] of written) write(table, id, value);
        expect(table.size).toBe(new Map(written).size);
        expect(contentOf(table)).toEqual(new Map(written));
      }),
    );
  });

  test('keeps exactly what pruning leaves, and stays usable', () => {
    fc.assert(
      fc.property(entries(5_000), entries(5_000), (a, b) => {
        const table = new RangeTable();
        for (const [id, value] of a) write(table, id, value);
        const kept = [...new Map(a)].filter(([, { found }]) => found > 0);
        Array.from(table.prune(kept.length, (slot) => foundAt(table, slot) > 0));
        expect(contentOf(table)).toEqual(new Map(kept));
        for (const [id, value] of b) write(table, id, value);
        expect(contentOf(table)).toEqual(new Map([...kept, ...b]));
      }),
    );
  });

  test('takes at most 48 bytes a range from 1,000 ranges to 200,000, and 10 more while a scan runs', () => {
    const table = new RangeTable();
    let most = 0;
    for (let id = 1; id <= 200_000; id += 1) {
      const before = table.capacity;
      Array.from(table.reserve(id));
      table.put(id);
      if (id >= 1_000 && table.capacity > before) most = Math.max(most, bytesOf(table) / id);
    }
    expect(most).toBeLessThanOrEqual(48);
    expect(table.size).toBe(200_000);
    const before = bytesOf(table);
    Array.from(table.beginScan());
    expect(bytesOf(table) - before).toBeLessThanOrEqual(10 * 200_000);
    table.endScan();
    expect(bytesOf(table)).toBe(before);
  });

  test('gives memory back but for 5 % more than the ids that are kept', () => {
    const table = new RangeTable();
    for (let id = 1; id <= 1_000; id += 1) {
      write(table, id, { sequence: 1, problems: 1, found: id <= 100 ? 1 : 0 });
    }
    Array.from(table.prune(100, (slot) => foundAt(table, slot) > 0));
    expect([table.capacity, table.size]).toEqual([117, 100]);
  });
});

describe('the places of a range', () => {
  test('hold the nodes that report it, until the next scan', () => {
    const table = new RangeTable();
    const slot = table.put(1);
    for (const nodeId of [7, 5, 7]) table.report(slot, nodeId);
    expect([table.nodeAt(slot, 0), table.nodeAt(slot, 1), table.nodeAt(slot, 2)]).toEqual([
      7, 5, 0,
    ]);
    expect(table.columns.reported[slot]).toBe(0b11);
    Array.from(table.beginScan());
    expect([table.nodeAt(slot, 0), table.columns.reported[slot]]).toEqual([0, 0]);
  });

  test('are 15, for node ids up to 65,535', () => {
    const table = new RangeTable();
    const [slot, other] = [table.put(1), table.put(2)];
    for (let nodeId = 1; nodeId <= 15; nodeId += 1)
      expect(table.report(slot, nodeId)).toBe(nodeId - 1);
    expect([table.report(slot, 16), table.report(other, 0x1_0000)]).toEqual([15, 15]);
    expect([8, 15].map((id) => table.report(slot, id))).toEqual([7, 14]);
    expect(table.report(other, 0xffff)).toBe(0);
    expect([table.nodeAt(slot, 14), table.nodeAt(slot, 15), table.reportedOf(slot)]).toEqual([
      15, 0, 0x7fff,
    ]);
    Array.from(table.beginScan());
    expect([table.nodeAt(slot, 14), table.reportedOf(slot)]).toEqual([0, 0]);
  });

  test('are 8 of further ranges once 100,000 have more', () => {
    const table = new RangeTable();
    const nine = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    Array.from(table.reserve(100_001));
    for (let id = 1; id <= 100_000; id += 1) table.place(table.put(id), nine, 0b1_1111_1111, 0);
    const last = table.put(100_001);
    expect([table.mostPlacesOf(1), table.mostPlacesOf(last)]).toEqual([15, 8]);
    for (const nodeId of nine) table.report(last, nodeId);
    expect(table.reportedOf(last)).toBe(0xff);
    // A table that is dropped makes room.
    table.place(table.put(1), nine.slice(1), 0xff, 0);
    expect(table.mostPlacesOf(last)).toBe(15);
  });
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
