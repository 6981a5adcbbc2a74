import { expect, test } from 'vitest';
import { gauge } from '../../src/metrics/family.ts';
import { readSamples } from '../../src/metrics/samples.ts';
import { Sheet } from '../../src/metrics/sheet.ts';
import { renderFamilies } from '../../src/metrics/snapshot.ts';

const FRUIT = gauge({ name: 'crdb_fruit', help: 'Fruit.', labels: ['kind', 'tree_2'] });
const BARE = gauge({ name: 'crdb_bare', help: 'No labels.', labels: [] });

test('samples are read back as they were written, whatever their labels hold', () => {
  const names = ['', 'a b', '"', '\\', '\\"', '{x="y"} 5', ',', 'ü 🍐', '</script>'];
  const sheet = new Sheet({ crdb_cluster: 'or"chard' });
  for (const [index, kind] of names.entries()) {
    sheet.set(FRUIT, { kind, tree_2: `${kind}!` }, index - 0.5);
  }
  const [rendered] = renderFamilies(sheet);
  expect(rendered && readSamples(rendered)).toEqual(
    names.map((kind, index) => ({
      labels: { crdb_cluster: 'or"chard', kind, tree_2: `${kind}!` },
      value: index - 0.5,
    })),
  );
});

test.each([Infinity, -Infinity, 1e300, -7, 0])('the value %d is read back', (value) => {
  const sheet = new Sheet({});
  sheet.set(BARE, {}, value);
  const [rendered] = renderFamilies(sheet);
  expect(rendered && readSamples(rendered)).toEqual([{ labels: {}, value }]);
});
