import { type Arbitrary, assert, constant, integer, oneof, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { Family } from '../../src/metrics/family.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { fitBudget, type WithinBudget } from '../../src/metrics/series-budget.ts';

/** How many values each label has in a world of the property below. */
interface World {
  readonly nodes: number;
  readonly stores: number;
  readonly entries: number;
  readonly keys: number;
  readonly maxSeries: number;
}

const KNOWN_VALUES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
const FEW = KNOWN_VALUES.slice(0, 3);

const worlds: Arbitrary<World> = record({
  nodes: constant(400),
  stores: integer({ min: 1, max: 8 }),
  entries: integer({ min: 0, max: 40 }),
  keys: integer({ min: 0, max: 5 }),
  maxSeries: oneof(integer({ min: 500, max: 5_000 }), integer({ min: 5_000, max: 300_000 })),
});

function numbered(length: number): readonly string[] {
  return Array.from({ length }, (_each, at) => `${at + 1}`);
}

/** Lists that have entries of their own for each kind, in all of their families. */
const PER_LISTS: ReadonlySet<string | undefined> = new Set(
  COLLECTORS.flatMap(({ families }) => families).flatMap(({ list }) =>
    list?.per === undefined ? [] : list.name,
  ),
);

/** Label sets of a family in that world: by node and store, by entry, and three values of any other label. */
function* labelSets(family: Family, world: World): Iterable<Record<string, string>> {
  const { list, labels } = family;
  const entries = list === undefined ? [''] : numbered(world.entries);
  const isByStore = list === undefined && labels.includes('store_id');
  const isByNode = isByStore || (list === undefined && labels.includes('node_id'));
  const own = ['node_id', 'store_id', 'shard', ...(list?.entry ?? [])];
  const isPer = PER_LISTS.has(list?.name);
  const kinds = isPer || labels.some((label) => !own.includes(label)) ? FEW : [''];
  for (const kind of labels.includes('key') ? numbered(world.keys) : kinds) {
    for (const node of isByNode ? numbered(world.nodes) : ['1']) {
      for (const store of isByStore ? numbered(world.stores) : ['1']) {
        for (const entry of entries) {
          const named = isPer ? `${kind} ${entry}` : entry;
          const ids: Record<string, string> = { node_id: node, store_id: `${node}-${store}` };
          yield Object.fromEntries(
            labels.map((label) => [
              label,
              list?.entry.includes(label) === true ? named : (ids[label] ?? kind),
            ]),
          );
        }
      }
    }
  }
}

function fillSet(families: readonly Family[], world: World): SampleSet {
  const set = new SampleSet({ crdb_cluster: 'test' });
  for (const family of families) {
    for (const labels of labelSets(family, world)) set.set(family, labels, 1);
  }
  return set;
}

/** Entries of a list that are left, by list, as one text for each of its families. */
function entriesOf({ families }: WithinBudget): ReadonlyMap<string, readonly string[]> {
  const byList = new Map<string, string[]>();
  for (const { family, samples } of families) {
    const { list } = family;
    if (list === undefined) continue;
    const names = Array.from(samples.keys(), (text) =>
      list.entry.map((label) => new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(text)?.[1]).join(),
    );
    const texts = byList.get(list.name) ?? [];
    byList.set(list.name, [...texts, [...new Set(names)].toSorted().join(' / ')]);
  }
  return byList;
}

describe('the collectors', () => {
  const all = COLLECTORS.flatMap(({ families }) => families);

  it('never lose a family of the whole cluster, at any budget from 500 series up', () => {
    const whole = all.filter(({ importance }) => importance === 'cluster');
    expect(whole.length).toBeGreaterThan(20);
    const worldProperty = property(worlds, (world) => {
      for (const { families } of COLLECTORS) {
        const set = fillSet(families, world);
        const left = fitBudget(set, world.maxSeries);
        const counts = new Map(left.families.map((one) => [one.family.name, one.samples.size]));
        for (const family of families.filter((one) => whole.includes(one))) {
          const expected = [...labelSets(family, world)].length;
          expect([family.name, counts.get(family.name)]).toEqual([family.name, expected]);
        }
        const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
        expect(total).toBeLessThanOrEqual(world.maxSeries);
        for (const [list, texts] of entriesOf(left)) {
          expect([list, new Set(texts).size]).toEqual([list, 1]);
        }
      }
    });
    assert(worldProperty, { numRuns: 8 });
  }, 300_000);

  it('declare what is dropped when', () => {
    const of = (importance: string): readonly string[] =>
      all.filter((family) => family.importance === importance).map(({ name }) => name);
    expect(of('chosen')).toEqual(['crdb_node_metric', 'crdb_store_metric']);
    expect(of('store_and_kind').toSorted()).toEqual([
      'crdb_range_problem_replicas',
      'crdb_store_replicate_queue',
      'crdb_store_slow_requests',
    ]);
    expect(of('cluster')).toEqual(
      expect.arrayContaining(['crdb_nodes', 'crdb_ranges', 'crdb_range_problem_ranges']),
    );
    // Labels with a value for each of something unbounded make no family of the whole cluster.
    const labels = new Set(
      all.filter(({ importance }) => importance === 'cluster').flatMap((family) => family.labels),
    );
    expect(
      [...labels].filter((label) =>
        /node|store|range|table|database|key|user|application/.test(label),
      ),
    ).toEqual([]);
  });
});
