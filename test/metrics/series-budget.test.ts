import { describe, expect, it } from 'vitest';
import { counter, type Family, gauge, untyped } from '../../src/metrics/family.ts';
import { SampleSet } from '../../src/metrics/sample-set.ts';
import { fitBudget, type WithinBudget } from '../../src/metrics/series-budget.ts';

const HELP = 'A family of the test.';
const TOTAL = gauge({ name: 'crdb_whole', help: HELP, labels: ['status'] });
const NODE = gauge({ name: 'crdb_node', help: HELP, labels: ['node_id', 'status'] });
const SECOND_NODE = gauge({ name: 'crdb_second_node', help: HELP, labels: ['node_id'] });
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
const OTHER_LIST = gauge({
  name: 'crdb_user',
  help: HELP,
  labels: ['user'],
  list: { name: 'users', entry: ['user'] },
});
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

/** Series by family of what is left; what is missing is counted as dropped. */
function countOf(set: SampleSet, { families, dropped }: WithinBudget): Record<string, number> {
  const left = new Map(families.map(({ family, samples }) => [family.name, samples.size]));
  for (const { family, samples } of set.families()) {
    const missing = samples.size - (left.get(family.name) ?? 0);
    expect([family.name, dropped.get(family.name) ?? 0]).toEqual([family.name, missing]);
  }
  return Object.fromEntries(left);
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

/** What is left of the labels of a family. */
function labelsOf({ families }: WithinBudget, wanted: Family): readonly string[] {
  return families.flatMap(({ family, samples }) => (family === wanted ? [...samples.keys()] : []));
}

describe('a series budget', () => {
  it.each([
    [Infinity, ALL],
    [70, ALL],
    [69, WITHOUT_CHOSEN],
    [60, WITHOUT_CHOSEN],
    [59, HEADS],
    [50, HEADS],
    [49, WITHOUT_KINDS],
    [39, WITHOUT_STORES],
    [29, WITHOUT_NODES],
    [19, { crdb_hot: 5, crdb_whole: 10 }],
    [11, { crdb_whole: 10 }],
    [1, { crdb_whole: 10 }],
  ])('of %d drops what is least important, and counts it', (maxSeries, expected) => {
    const set = setOf(EACH_10);
    expect(countOf(set, fitBudget(set, maxSeries))).toEqual(expected);
  });

  it('drops the last family of a class first, as a whole', () => {
    const rows = new Map<Family, number>([[NODE, 10]]).set(SECOND_NODE, 2).set(TOTAL, 1);
    const set = setOf(rows);
    expect(countOf(set, fitBudget(set, 12))).toEqual({ crdb_node: 10, crdb_whole: 1 });
    expect(countOf(set, fitBudget(set, 10))).toEqual({ crdb_whole: 1 });
  });

  it('cuts all lists at the same time', () => {
    const set = setOf(new Map<Family, number>([[HOT, 9]]).set(OTHER_LIST, 7));
    expect(countOf(set, fitBudget(set, 15))).toEqual({ crdb_hot: 5, crdb_user: 5 });
    expect(countOf(set, fitBudget(set, 9))).toEqual({ crdb_hot: 5 });
  });

  it('keeps the entries that were written first in each family of a list', () => {
    const set = new SampleSet({});
    for (const range_id of ['9', '8', '7', '6', '5', '4', '3']) {
      // Some ranges have no value in one of the families.
      if (range_id !== '8') set.set(HOT, { range_id, node_id: '1', store_id: '1' }, 1);
      if (range_id !== '6') set.set(HOT_CPU, { range_id }, 1);
    }
    set.set(HOT_CPU, { range_id: '9' }, 2);
    const left = fitBudget(set, 9);
    expect(labelsOf(left, HOT).map((text) => text.slice(0, 12))).toEqual([
      'range_id="9"',
      'range_id="7"',
      'range_id="6"',
      'range_id="5"',
    ]);
    expect(labelsOf(left, HOT_CPU)).toEqual([
      'range_id="9"',
      'range_id="8"',
      'range_id="7"',
      'range_id="5"',
    ]);
  });

  it('keeps the first five ranges of each problem, with what else tells of them', () => {
    const set = new SampleSet({});
    const ranges = { a: [1, 2, 3, 4, 5, 6, 7], b: [7, 8, 9, 10, 11, 6] };
    for (const [problem, ids] of Object.entries(ranges)) {
      for (const id of ids) set.set(BROKEN, { problem, range_id: `${id}` }, 1);
    }
    for (let id = 1; id <= 11; id += 1) set.set(REPORTER, { range_id: `${id}` }, 1);
    const left = fitBudget(set, 20);
    const idsOf = (family: Family, start: string): readonly number[] =>
      labelsOf(left, family)
        .filter((text) => text.startsWith(start))
        .map((text) => Number(/range_id="(\d+)"/.exec(text)?.[1]));
    expect(idsOf(BROKEN, 'problem="a"')).toEqual([1, 2, 3, 4, 5]);
    expect(idsOf(BROKEN, 'problem="b"')).toEqual([7, 8, 9, 10, 11]);
    expect(idsOf(REPORTER, '')).toEqual([1, 2, 3, 4, 5, 7, 8, 9, 10, 11]);
  });
});
