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
        Array.from(table.prune(kept.length));
        expect(contentOf(table)).toEqual(new Map(kept));
        for (const [id, value] of b) write(table, id, value);
        expect(contentOf(table)).toEqual(new Map([...kept, ...b]));
      }),
    );
  });

  test('takes at most 40 bytes a range from 1,000 ranges to 200,000', () => {
    const table = new RangeTable();
    let most = 0;
    for (let id = 1; id <= 200_000; id += 1) {
      const before = table.capacity;
      Array.from(table.reserve(id));
      table.put(id);
      if (id >= 1_000 && table.capacity > before) most = Math.max(most, bytesOf(table) / id);
    }
    expect(most).toBeLessThanOrEqual(40);
    expect(table.size).toBe(200_000);
  });

  test('gives memory back but for 5 % more than the ids that are kept', () => {
    const table = new RangeTable();
    for (let id = 1; id <= 1_000; id += 1) {
      write(table, id, { sequence: 1, problems: 1, found: id <= 100 ? 1 : 0 });
    }
    Array.from(table.prune(100));
    expect([table.capacity, table.size]).toEqual([117, 100]);
  });
});

describe('the holders of a range', () => {
  const scans = fc.array(fc.array(fc.constantFrom(1, 2, 3, 4, 5, 6, 0xffff), { maxLength: 8 }), {
    minLength: 1,
    maxLength: 6,
  });

  test('are all nodes that have reported it, those of this scan first', () => {
    fc.assert(
      fc.property(scans, (history) => {
        const table = new RangeTable();
        const slot = table.put(1);
        for (const nodeIds of history) {
          table.columns.reporting.fill(0);
          for (const nodeId of nodeIds) table.addHolder(slot, nodeId);
        }
        const holders: number[] = [];
        const count = table.readHolders(slot, holders);
        const reporting = new Set(history.at(-1));
        expect(table.columns.reporting[slot]).toBe(reporting.size);
        expect(new Set(holders.slice(0, reporting.size))).toEqual(reporting);
        expect(new Set(holders)).toEqual(new Set(history.flat()));
        expect(holders).toHaveLength(count);
        table.replaceFormer(slot, [77]);
        expect(holders.slice(0, table.readHolders(slot, holders))).toEqual([
          ...holders.slice(0, reporting.size),
          77,
        ]);
      }),
    );
  });

  test('without a column are a ninth one and ids above 65,535', () => {
    const table = new RangeTable();
    const [slot, other] = [table.put(1), table.put(2)];
    for (let nodeId = 1; nodeId <= 8; nodeId += 1) table.addHolder(slot, nodeId);
    expect(table.hasUnplaced(slot)).toBe(false);
    table.addHolder(slot, 9);
    table.addHolder(other, 0x1_0000);
    expect([table.hasUnplaced(slot), table.hasUnplaced(other)]).toEqual([true, true]);
    expect(table.hasHolders(other)).toBe(false);
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
