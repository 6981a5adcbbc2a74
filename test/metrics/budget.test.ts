import { describe, expect, it } from 'vitest';
import { applyBudget } from '../../src/metrics/budget.ts';
import type { Family } from '../../src/metrics/family.ts';
import { gauge, untyped } from '../../src/metrics/family.ts';
import { Sheet } from '../../src/metrics/sheet.ts';
import { renderFamilies, renderSnapshot } from '../../src/metrics/snapshot.ts';

const HELP = 'A family of the test.';
const LISTED = untyped({ name: 'crdb_node_metric', help: HELP, labels: ['id'], dropOrder: 1 });
const HOT = gauge({ name: 'crdb_hot', help: HELP, labels: ['id'], dropOrder: 2 });
const FIRST = gauge({ name: 'crdb_first', help: HELP, labels: ['id'] });
const LAST = gauge({ name: 'crdb_last', help: HELP, labels: ['id'] });

function sheetOf(...families: readonly (readonly [Family<'id'>, number])[]): Sheet {
  const sheet = new Sheet({});
  for (const [family, count] of families) {
    for (let id = 1; id <= count; id += 1) {
      sheet.set(family, { id: String(id) }, id);
    }
  }
  return sheet;
}

function kept(sheet: Sheet): Record<string, number> {
  return Object.fromEntries(renderFamilies(sheet).map((one) => [one.family.name, one.series]));
}

describe('a budget', () => {
  it.each([
    [20, {}],
    [19, { crdb_node_metric: 1 }],
    [14, { crdb_node_metric: 5, crdb_hot: 1 }],
    [9, { crdb_node_metric: 5, crdb_hot: 5, crdb_last: 1 }],
    [3, { crdb_node_metric: 5, crdb_hot: 5, crdb_last: 5, crdb_first: 2 }],
    [0, { crdb_node_metric: 5, crdb_hot: 5, crdb_last: 5, crdb_first: 5 }],
    [Infinity, {}],
  ])('of %d drops listed keys first, then hot rows, then what came last', (maxSeries, expected) => {
    const sheet = sheetOf([FIRST, 5], [LISTED, 5], [HOT, 5], [LAST, 5]);
    expect(Object.fromEntries(applyBudget({ sheet, maxSeries }))).toEqual(expected);
    expect(sheet.series).toBe(Math.min(20, maxSeries));
  });

  it('drops the youngest samples of a family', () => {
    const sheet = sheetOf([FIRST, 3]);
    applyBudget({ sheet, maxSeries: 2 });
    expect(renderFamilies(sheet)[0]?.lines.toString()).toBe(
      'crdb_first{id="1"} 1\ncrdb_first{id="2"} 2\n',
    );
  });

  it('counts the other collectors of the cluster', async () => {
    const others = [await renderSnapshot(sheetOf([LAST, 6]))];
    const sheet = sheetOf([FIRST, 5]);
    expect([...applyBudget({ sheet, maxSeries: 10, others })]).toEqual([['crdb_first', 1]]);
  });

  it('does not let less important series elsewhere push out more important ones', async () => {
    const listed = await renderSnapshot(sheetOf([LISTED, 9], [HOT, 1]));
    const ranges = sheetOf([FIRST, 8], [HOT, 4]);
    const dropped = applyBudget({ sheet: ranges, maxSeries: 10, others: [listed] });
    expect([...dropped]).toEqual([['crdb_hot', 3]]);
    // At its next poll the other collector gives way.
    const next = sheetOf([LISTED, 9], [HOT, 1]);
    const others = [await renderSnapshot(ranges)];
    expect(Object.fromEntries(applyBudget({ sheet: next, maxSeries: 10, others }))).toEqual({
      crdb_node_metric: 9,
    });
    expect(kept(next)).toEqual({ crdb_node_metric: 0, crdb_hot: 1 });
  });
});
