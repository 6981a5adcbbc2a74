import { describe, expect, it } from 'vitest';
import { ClusterBudget } from '../../src/metrics/cluster-budget.ts';
import { counter, type Family, gauge, untyped } from '../../src/metrics/family.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { renderSnapshot, type Snapshot } from '../../src/metrics/snapshot.ts';
import type { Limit } from '../../src/vocabulary.ts';
import { parseExposition } from './parse-exposition.ts';

const HELP = 'A family of the test.';
const TOTAL = gauge({ name: 'crdb_whole', help: HELP, labels: ['status'] });
const NODE = gauge({ name: 'crdb_node', help: HELP, labels: ['node_id', 'status'] });
const STORE = gauge({ name: 'crdb_store', help: HELP, labels: ['node_id', 'store_id'] });
const KIND = counter({
  name: 'crdb_store_kinds_total',
  help: HELP,
  labels: ['node_id', 'store_id', 'kind'],
});
const HOT_LIST = { name: 'hot ranges', entry: ['range_id'] } as const;
const HOT = gauge({
  name: 'crdb_hot',
  help: HELP,
  labels: ['range_id', 'node_id', 'store_id'],
  list: HOT_LIST,
});
const HOT_CPU = gauge({ name: 'crdb_hot_cpu', help: HELP, labels: ['range_id'], list: HOT_LIST });
const BROKEN_LIST = { name: 'broken ranges', entry: ['range_id'] } as const;
const BROKEN = gauge({
  name: 'crdb_broken',
  help: HELP,
  labels: ['problem', 'range_id'],
  list: { ...BROKEN_LIST, per: 'problem' },
});
const REPORTER = gauge({
  name: 'crdb_broken_info',
  help: HELP,
  labels: ['range_id'],
  list: BROKEN_LIST,
});
const CHOSEN = untyped({
  name: 'crdb_node_metric',
  help: HELP,
  labels: ['node_id', 'key'],
  importance: 'chosen',
});

/** Writes `rows` label sets of each family, the least important family first. */
function setOf(rows: ReadonlyMap<Family, number>): SampleSet {
  const set = new SampleSet({});
  for (const [family, count] of rows) {
    for (let row = 1; row <= count; row += 1) {
      set.set(family, Object.fromEntries(family.labels.map((label) => [label, `${row}`])), row);
    }
  }
  return set;
}

const EACH_10 = new Map<Family, number>(
  [CHOSEN, HOT, HOT_CPU, KIND, STORE, NODE, TOTAL].map((family) => [family, 10]),
);

/** Series by family of what is shown. */
function countOf(shown: readonly Snapshot[]): Readonly<Record<string, number>> {
  const rendered = shown.flatMap(({ families }) => [...families.values()]);
  for (const { lines, series } of rendered) {
    expect(lines.toString().split('\n').length - 1).toBe(series);
  }
  return Object.fromEntries(rendered.map(({ family, series }) => [family.name, series]));
}

async function show(sets: readonly SampleSet[], maxSeries: number): Promise<readonly Snapshot[]> {
  const snapshots = await Promise.all(sets.map((set) => renderSnapshot(set)));
  const budget = new ClusterBudget(maxSeries, () => snapshots);
  return snapshots.map((snapshot) => budget.shown(snapshot));
}

const ALL = {
  crdb_node_metric: 10,
  crdb_hot: 10,
  crdb_hot_cpu: 10,
  crdb_store_kinds_total: 10,
  crdb_store: 10,
  crdb_node: 10,
  crdb_whole: 10,
};
const { crdb_node_metric: _, ...WITHOUT_CHOSEN } = ALL;
const HEADS = { ...WITHOUT_CHOSEN, crdb_hot: 5, crdb_hot_cpu: 5 };
const { crdb_store_kinds_total: _kinds, ...WITHOUT_KINDS } = HEADS;
const { crdb_store: _stores, ...WITHOUT_STORES } = WITHOUT_KINDS;
const { crdb_node: _nodes, ...WITHOUT_NODES } = WITHOUT_STORES;

describe('a series budget', () => {
  it.each([
    [70, ALL],
    [Infinity, ALL],
    [69, WITHOUT_CHOSEN],
    [59, { ...WITHOUT_CHOSEN, crdb_hot: 9, crdb_hot_cpu: 9 }],
    [50, HEADS],
    [49, WITHOUT_KINDS],
    [39, WITHOUT_STORES],
    [29, WITHOUT_NODES],
    [19, { crdb_hot: 4, crdb_hot_cpu: 4, crdb_whole: 10 }],
    [11, { crdb_whole: 10 }],
    [1, { crdb_whole: 10 }],
  ])('of %d drops what is least important', async (maxSeries, expected) => {
    expect(countOf(await show([setOf(EACH_10)], maxSeries))).toEqual(expected);
    // The budget of one collector drops the same before its series are rendered.
    const dropped: number[] = [];
    const budget = new ClusterBudget(
      Infinity,
      () => [],
      (_family, _reason, series) => dropped.push(series),
    );
    const limits = new Set<Limit>();
    const snapshot = await budget.render(setOf(EACH_10), maxSeries, limits);
    expect(countOf([snapshot])).toMatchObject(expected);
    const count = dropped.reduce((sum, each) => sum + each, 0);
    expect(count).toBe(70 - Object.values(expected).reduce((sum, each) => sum + each, 0));
    expect(snapshot.series).toBe(70 - count);
    expect([...limits]).toEqual(count > 0 ? ['series'] : []);
  });

  it.each([0, 1])('does not depend on which collector polls last (%d)', async (last) => {
    const sets = [
      setOf(new Map<Family, number>([[TOTAL, 5]]).set(CHOSEN, 40)),
      setOf(new Map<Family, number>([[KIND, 20]]).set(STORE, 20)),
    ];
    const snapshots = await Promise.all(sets.map((set) => renderSnapshot(set)));
    const published = snapshots.filter((_snapshot, at) => at !== last);
    const budget = new ClusterBudget(60, () => [...published]);
    for (const snapshot of published) expect(budget.shown(snapshot)).toBe(snapshot);
    published.splice(last, 0, ...snapshots.slice(last, last + 1));
    expect(countOf(published.map((one) => budget.shown(one)))).toEqual({
      crdb_whole: 5,
      crdb_store_kinds_total: 20,
      crdb_store: 20,
    });
  });

  it('gives back what a collector that went away had', async () => {
    const [nodes, ranges] = [
      await renderSnapshot(setOf(new Map([[NODE, 8]]))),
      await renderSnapshot(setOf(new Map([[STORE, 8]]))),
    ];
    let published = [nodes, ranges];
    const budget = new ClusterBudget(10, () => published);
    expect(budget.shown(ranges).series).toBe(0);
    published = [ranges];
    expect(budget.shown(ranges)).toBe(ranges);
  });

  it('counts what is dropped of a snapshot once', async () => {
    const [nodes, ranges] = [
      await renderSnapshot(setOf(new Map([[NODE, 8]]))),
      await renderSnapshot(setOf(new Map([[HOT, 8]]))),
    ];
    let published = [ranges];
    const counted: [string, number][] = [];
    const budget = new ClusterBudget(
      14,
      () => published,
      (family, _reason, series) => counted.push([family, series]),
    );
    budget.countDropped();
    expect(counted).toEqual([]);
    published = [nodes, ranges];
    budget.countDropped();
    budget.countDropped();
    expect(counted).toEqual([['crdb_hot', 2]]);
  });

  it('counts each further series that is dropped of a snapshot', async () => {
    const snapshots = await Promise.all(
      [NODE, HOT, STORE].map((family) => renderSnapshot(setOf(new Map([[family, 8]])))),
    );
    let published = snapshots.slice(0, 2);
    const counted: (readonly unknown[])[] = [];
    const budget = new ClusterBudget(
      14,
      () => published,
      (...dropped) => counted.push(dropped),
    );
    budget.countDropped();
    published = snapshots;
    budget.countDropped();
    published = snapshots.slice(1, 2);
    budget.countDropped();
    expect(counted).toEqual([
      ['crdb_hot', 'budget', 2],
      ['crdb_hot', 'budget', 1],
      ['crdb_store', 'budget', 8],
    ]);
    expect(published.map((one) => budget.shown(one).series)).toEqual([8]);
    published = snapshots.slice(2);
    expect(published.map((one) => budget.shown(one).series)).toEqual([8]);
  });

  it.each([
    [undefined, 15, []],
    [20, 15, []],
    [12, 10, ['series']],
    [9, 9, ['series']],
  ])(
    'of %j for a collector, of 15 for the cluster, renders %i series',
    async (own, series, limits) => {
      const set = setOf(
        new Map<Family, number>([
          [TOTAL, series === 9 ? 9 : 10],
          [NODE, 5],
        ]),
      );
      set.set(TOTAL, { status: '1' }, 7);
      const dropped: (readonly unknown[])[] = [];
      const reached = new Set<Limit>();
      const budget = new ClusterBudget(
        15,
        () => [],
        (...one) => dropped.push(one),
      );
      expect((await budget.render(set, own, reached)).series).toBe(series);
      expect([...reached]).toEqual(limits);
      const merged = ['crdb_whole', 'duplicate', 1];
      expect(dropped).toEqual(series === 15 ? [merged] : [merged, ['crdb_node', 'budget', 5]]);
    },
  );

  it('of a cluster is also that of each collector', async () => {
    const budget = new ClusterBudget(4, () => []);
    const set = setOf(new Map<Family, number>([[NODE, 5]]).set(TOTAL, 1));
    expect((await budget.render(set, undefined, new Set())).series).toBe(1);
  });

  it('keeps the same entries of a list in each of its families, by problem', async () => {
    const set = new SampleSet({});
    for (const problem of ['a', 'b']) {
      for (let range = 1; range <= 9; range += 1) {
        const range_id = problem === 'a' ? `${range}` : `${20 - range}`;
        set.set(BROKEN, { problem, range_id }, 1);
        set.set(REPORTER, { range_id }, 1);
      }
    }
    const [shown] = await show([set], 2 * 2 * 5);
    const idsOf = (name: string, problem?: string): readonly (string | undefined)[] => {
      const family = shown?.families.get(name);
      const samples = family === undefined ? [] : parseExposition(family.lines.toString());
      return samples
        .filter(({ labels }) => problem === undefined || labels['problem'] === problem)
        .map(({ labels }) => labels['range_id']);
    };
    expect(idsOf('crdb_broken', 'a')).toEqual(['1', '2', '3', '4', '5']);
    expect(idsOf('crdb_broken', 'b')).toEqual(['19', '18', '17', '16', '15']);
    expect(idsOf('crdb_broken_info')).toEqual([...idsOf('crdb_broken')]);
  });
});
