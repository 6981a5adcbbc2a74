import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FailureDomains } from '../../../src/collectors/ranges/failure-domains.ts';
import { Holders, MAX_NODE_ID } from '../../../src/collectors/ranges/holders.ts';
import type { ReplicaHistory } from '../../../src/collectors/ranges/lost-replicas.ts';
import { RangeTable } from '../../../src/collectors/ranges/range-table.ts';
import { PROBLEMS } from '../../../src/vocabulary.ts';

const nodeIds = fc.oneof(
  fc.integer({ min: 1, max: 6 }),
  fc.constantFrom(MAX_NODE_ID - 1, MAX_NODE_ID),
);
const actions = fc.array(
  fc.record({
    rangeId: fc.integer({ min: 1, max: 4 }),
    act: fc.constantFrom('add', 'add', 'add', 'remove', 'scan', 'counts'),
    nodeId: nodeIds,
    value: fc.integer({ min: 0, max: 255 }),
  }),
  { maxLength: 80 },
);

/** What a range is known to have. */
interface Model {
  readonly seen: Map<number, boolean>;
  counts: ReplicaHistory;
}

describe('the holders of a range', () => {
  test('are what was added and not removed, beside the counts', () => {
    fc.assert(
      fc.property(actions, (list) => {
        const table = new RangeTable();
        const holders = new Holders(table);
        const models = new Map<number, Model>();
        for (const { rangeId, act, nodeId, value } of list) {
          const slot = table.put(rangeId);
          const model = models.get(rangeId) ?? {
            seen: new Map(),
            counts: { lastHolders: 0, intended: 0, wasUnderreplicated: false },
          };
          models.set(rangeId, model);
          if (act === 'add') {
            holders.add(slot, nodeId);
            model.seen.set(nodeId, true);
          } else if (act === 'remove') {
            holders.remove(slot, nodeId);
            model.seen.delete(nodeId);
          } else if (act === 'scan') {
            table.seen[slot] = 0;
            for (const id of model.seen.keys()) model.seen.set(id, false);
          } else {
            model.counts = {
              lastHolders: value,
              intended: 255 - value,
              wasUnderreplicated: value > 7,
            };
            holders.setHistory(slot, model.counts);
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
          expect(holders.history(slot)).toEqual(model.counts);
        }
      }),
    );
  });

  test('counts above 255 are kept as 255', () => {
    const table = new RangeTable();
    const holders = new Holders(table);
    const slot = table.put(1);
    holders.setHistory(slot, { lastHolders: 400, intended: 256, wasUnderreplicated: true });
    expect(holders.history(slot)).toEqual({
      lastHolders: 255,
      intended: 255,
      wasUnderreplicated: true,
    });
  });
});

const NINE = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Scans of one range: what its nodes report, of which others are down. */
function scanOne(
  ...scans: readonly {
    readonly seen: readonly number[];
    readonly down: number[];
    readonly problems?: number;
  }[]
) {
  const table = new RangeTable();
  const holders = new Holders(table);
  const slot = table.put(1);
  let lost: number | undefined;
  let domains = new FailureDomains({ toScan: [], toSkip: [], localities: new Map() }, true);
  for (const { seen, down, problems = 0 } of scans) {
    table.seen.fill(0);
    table.problems[slot] = problems;
    for (const nodeId of seen) holders.add(slot, nodeId);
    const all = [...NINE, 70_000].filter((id) => !down.includes(id));
    domains = new FailureDomains({ toScan: all, toSkip: down, localities: new Map() }, true);
    lost = holders.settle(slot, seen.length, domains);
  }
  return { lost, domains, history: holders.history(slot) };
}

describe('a former holder that is down', () => {
  const whole = { seen: [1, 2, 3], down: [] };
  const problems = 1 << PROBLEMS.indexOf('underreplicated');

  test('is missing until the replica in its place is a voter', () => {
    const catchingUp = { seen: [1, 2, 4], down: [3], problems };
    for (const more of [[], [catchingUp], [catchingUp, catchingUp]]) {
      const { domains } = scanOne(whole, whole, catchingUp, ...more);
      expect(domains.nodes.get(1)).toMatchObject({ quorum: 1, withoutQuorum: 0 });
    }
  });

  test('is forgotten when it was replaced', () => {
    const before = { seen: [1, 2, 3, 4, 5], down: [] };
    const replaced = { seen: [1, 2, 3, 4, 6], down: [5] };
    const { domains } = scanOne(before, before, replaced, {
      seen: [1, 2, 3, 4],
      down: [5, 6],
      problems,
    });
    expect(domains.nodes.get(1)).toMatchObject({ quorum: 0, withoutQuorum: 0 });
  });
});

describe('a holder without a column', () => {
  test.each([
    ['a ninth one', NINE],
    ['one whose id is 70,000', [1, 2, 70_000]],
  ])('%s history as a replica', (_what, seen) => {
    expect(scanOne({ seen, down: [] }).history.lastHolders).toBe(seen.length);
  });

  test('keeps its range from being reported lost', () => {
    const whole = { seen: [1, 2, 70_000], down: [] };
    expect(scanOne(whole, whole, { seen: [], down: [1, 2, 70_000] }).lost).toBeUndefined();
    const others = { seen: [1, 2, 3], down: [] };
    expect(scanOne(others, others, { seen: [], down: [1, 2, 3] }).lost).toBe(1);
  });

  test('is forgotten once a scan finds all replicas in columns', () => {
    const moved = { seen: [1, 2, 3], down: [] };
    const before = { seen: [1, 2, 70_000], down: [] };
    expect(scanOne(before, moved, moved, { seen: [], down: [1, 2, 3] }).lost).toBe(1);
  });

  test('may be the only one', () => {
    const { domains, history, lost } = scanOne({ seen: [70_000], down: [] });
    expect([history.lastHolders, lost]).toEqual([1, undefined]);
    // Its node would have to say so, and cannot.
    expect(domains.nodes.get(70_000)).toMatchObject({ quorum: 0, allReplicas: 0 });
    expect(domains.unknownVoters.node).toBe(1);
  });
});
