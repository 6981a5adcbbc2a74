import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RangeMap, walk } from '../../../src/collectors/ranges/range-map.ts';
import { bytesOf } from './cluster.ts';

interface Value {
  readonly sequence: number;
  readonly problems: number;
  readonly found: number;
}

function write(map: RangeMap, id: number, value: Value): void {
  Array.from(map.reserve(map.size + 1));
  const slot = map.put(id);
  map.columns.sequences[slot] = value.sequence;
  map.columns.problems[slot] = value.problems;
  map.columns.found[slot] = value.found;
}

function foundAt(map: RangeMap, slot: number): number {
  return map.columns.found[slot] ?? 0;
}

function contentOf(map: RangeMap): Map<number, Value> {
  const content = new Map<number, Value>();
  for (const [slot, id] of map.columns.ids.entries()) {
    if (id === 0) continue;
    content.set(id, {
      sequence: map.columns.sequences[slot] ?? -1,
      problems: map.columns.problems[slot] ?? NaN,
      found: map.columns.found[slot] ?? NaN,
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

describe('a range map', () => {
  test.each([500, 0xffff_ffff])('holds what a Map holds (ids up to %d)', (maxId) => {
    fc.assert(
      fc.property(entries(maxId), (written) => {
        const map = new RangeMap();
        for (const [id, value] of written) write(map, id, value);
        expect(map.size).toBe(new Map(written).size);
        expect(contentOf(map)).toEqual(new Map(written));
      }),
    );
  });

  test('keeps exactly what pruning leaves, and stays usable', () => {
    fc.assert(
      fc.property(entries(5_000), entries(5_000), (a, b) => {
        const map = new RangeMap();
        for (const [id, value] of a) write(map, id, value);
        const kept = [...new Map(a)].filter(([, { found }]) => found > 0);
        Array.from(map.prune(kept.length, (slot) => foundAt(map, slot) > 0));
        expect(contentOf(map)).toEqual(new Map(kept));
        for (const [id, value] of b) write(map, id, value);
        expect(contentOf(map)).toEqual(new Map([...kept, ...b]));
      }),
    );
  });

  test('takes at most 48 bytes a range from 1,000 ranges to 200,000, and 10 more while a scan runs', () => {
    const map = new RangeMap();
    let most = 0;
    for (let id = 1; id <= 200_000; id += 1) {
      const before = map.capacity;
      Array.from(map.reserve(id));
      map.put(id);
      if (id >= 1_000 && map.capacity > before) most = Math.max(most, bytesOf(map) / id);
    }
    expect(most).toBeLessThanOrEqual(48);
    expect(map.size).toBe(200_000);
    const before = bytesOf(map);
    Array.from(map.beginScan());
    expect(bytesOf(map) - before).toBeLessThanOrEqual(10 * 200_000);
    map.endScan();
    expect(bytesOf(map)).toBe(before);
  });

  test('gives memory back but for 5 % more than the ids that are kept', () => {
    const map = new RangeMap();
    for (let id = 1; id <= 1_000; id += 1) {
      write(map, id, { sequence: 1, problems: 1, found: id <= 100 ? 1 : 0 });
    }
    Array.from(map.prune(100, (slot) => foundAt(map, slot) > 0));
    expect([map.capacity, map.size]).toEqual([117, 100]);
  });
});

describe('the places of a range', () => {
  test('hold the nodes that report it, until the next scan', () => {
    const map = new RangeMap();
    const slot = map.put(1);
    for (const nodeId of [7, 5, 7]) map.report(slot, nodeId);
    expect([map.nodeAt(slot, 0), map.nodeAt(slot, 1), map.nodeAt(slot, 2)]).toEqual([7, 5, 0]);
    expect(map.columns.reported[slot]).toBe(0b11);
    Array.from(map.beginScan());
    expect([map.nodeAt(slot, 0), map.columns.reported[slot]]).toEqual([0, 0]);
  });

  test('are 15, for node ids up to 65,535', () => {
    const map = new RangeMap();
    const [slot, other] = [map.put(1), map.put(2)];
    for (let nodeId = 1; nodeId <= 15; nodeId += 1)
      expect(map.report(slot, nodeId)).toBe(nodeId - 1);
    expect([map.report(slot, 16), map.report(other, 0x1_0000)]).toEqual([15, 15]);
    expect([8, 15].map((id) => map.report(slot, id))).toEqual([7, 14]);
    expect(map.report(other, 0xffff)).toBe(0);
    expect([map.nodeAt(slot, 14), map.nodeAt(slot, 15), map.reportedOf(slot)]).toEqual([
      15, 0, 0x7fff,
    ]);
    Array.from(map.beginScan());
    expect([map.nodeAt(slot, 14), map.reportedOf(slot)]).toEqual([0, 0]);
  });

  test('are 8 of further ranges once 100,000 have more', () => {
    const map = new RangeMap();
    const nine = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    Array.from(map.reserve(100_001));
    for (let id = 1; id <= 100_000; id += 1) map.place(map.put(id), nine, 0b1_1111_1111, 0);
    const last = map.put(100_001);
    expect([map.mostPlacesOf(1), map.mostPlacesOf(last)]).toEqual([15, 8]);
    for (const nodeId of nine) map.report(last, nodeId);
    expect(map.reportedOf(last)).toBe(0xff);
    // A map that is dropped makes room.
    map.place(map.put(1), nine.slice(1), 0xff, 0);
    expect(map.mostPlacesOf(last)).toBe(15);
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
