import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HolderCounts } from '../../../src/collectors/ranges/failure-domains.ts';
import { HOLDER_WORDS, Holders, MAX_PLACES } from '../../../src/collectors/ranges/holders.ts';
import { RangeTable } from '../../../src/collectors/ranges/range-table.ts';
import { countMaps } from './maps.ts';

const nodeIds = fc.oneof(
  fc.integer({ min: 1, max: 9 }),
  fc.integer({ min: 1_020, max: 1_028 }),
  fc.constant(2 ** 40),
);
const actions = fc.array(
  fc.record({
    rangeId: fc.integer({ min: 1, max: 4 }),
    act: fc.constantFrom('add', 'add', 'add', 'remove', 'scan', 'counts', 'place'),
    nodeId: nodeIds,
    value: fc.integer({ min: 0, max: 15 }),
  }),
  { maxLength: 80 },
);

/** What a range is known to have. */
interface Model {
  readonly seen: Map<number, boolean>;
  counts: HolderCounts;
  place: number;
}

describe('the holders of a range', () => {
  test('are what was added and not removed, beside the counts and the place', () => {
    fc.assert(
      fc.property(actions, (list) => {
        const table = new RangeTable(HOLDER_WORDS);
        const holders = new Holders(table);
        const models = new Map<number, Model>();
        for (const { rangeId, act, nodeId, value } of list) {
          const slot = table.put(rangeId);
          const model = models.get(rangeId) ?? {
            seen: new Map(),
            counts: { last: 0, intended: 0, wasMissingSome: false },
            place: 0,
          };
          models.set(rangeId, model);
          if (act === 'add') {
            holders.add(slot, nodeId);
            model.seen.set(nodeId, true);
          } else if (act === 'remove') {
            holders.remove(slot, nodeId);
            model.seen.delete(nodeId);
          } else if (act === 'scan') {
            holders.beginScan(slot, slot + 1);
            for (const id of model.seen.keys()) model.seen.set(id, false);
          } else if (act === 'counts') {
            model.counts = { last: value, intended: 15 - value, wasMissingSome: value > 7 };
            holders.setCounts(slot, model.counts);
          } else {
            model.place = MAX_PLACES - 1 - value * 4_099;
            holders.setPlace(slot, model.place);
          }
        }
        for (const [rangeId, model] of models) {
          const slot = table.put(rangeId);
          const count = holders.read(slot);
          const found = holders.nodes
            .slice(0, count)
            .map((id, at) => [id, holders.seen[at]] as const);
          expect(new Map(found)).toEqual(model.seen);
          expect(found).toHaveLength(model.seen.size);
          expect(holders.counts(slot)).toEqual(model.counts);
          expect(holders.place(slot)).toBe(model.place);
        }
      }),
    );
  });

  test('counts above 15 are kept as 15', () => {
    const table = new RangeTable(HOLDER_WORDS);
    const holders = new Holders(table);
    const slot = table.put(1);
    holders.setCounts(slot, { last: 40, intended: 17, wasMissingSome: true });
    expect(holders.counts(slot)).toEqual({ last: 15, intended: 15, wasMissingSome: true });
  });

  test('take memory of their own only beyond six, or with ids above 1,023, and give it back', () => {
    const table = new RangeTable(HOLDER_WORDS);
    const holders = new Holders(table);
    const before = countMaps();
    const holdersOf = [
      [1_023, 1_022, 1, 2, 3, 4],
      [1, 2, 3, 4, 5, 6, 7],
      [1_024],
      [2 ** 40, 1_024, 1_025, 1, 2, 3, 4, 5, 6],
    ];
    for (const [range, ids] of holdersOf.entries()) {
      for (const nodeId of ids) holders.add(table.put(range + 1), nodeId);
    }
    expect(countMaps() - before).toBe(3);
    holders.remove(table.put(2), 7);
    holders.forget(table.put(4));
    expect(countMaps() - before).toBe(1);
    const left = [1, 2, 3, 4].map((rangeId) => holders.read(table.put(rangeId)));
    expect(left).toEqual([6, 6, 1, 6]);
  });
});
