import { describe, expect, test } from 'vitest';
import { checkQuery } from '../promql/check-query.ts';
import { findLabelMatches, findNameMatches } from '../promql/kept-names.ts';
import { knownSeries } from '../promql/known.ts';
import { BOARDS, fillVariables, PANELS } from './panels.ts';

const known = knownSeries();

describe('every query of a panel', () => {
  test.each(PANELS)('parses and uses known metrics and labels: $title', ({ queries }) => {
    const problems = queries.flatMap(({ expr }) => checkQuery(fillVariables(expr), known).problems);
    expect(problems).toEqual([]);
  });

  test.each(PANELS)('matches series by labels alone: $title', ({ queries }) => {
    const filled = queries.map(({ expr }) => fillVariables(expr));
    expect(filled.flatMap(findNameMatches)).toEqual([]);
    expect(filled.flatMap(findLabelMatches)).toEqual([]);
  });

  test.each(PANELS)('has the labels that its legend or columns show: $title', (placed) => {
    const results = placed.queries.map((query) => ({
      ...query,
      labels: checkQuery(fillVariables(query.expr), known).labels,
    }));
    for (const { legend, labels } of results) {
      const shown = Array.from(legend.matchAll(/{{(\w+)}}/g), ([, label = '']) => label);
      expect(shown.filter((label) => !labels.has(label))).toEqual([]);
    }
    const columns = Object.keys(renamedBy(placed.panel.transformations ?? []));
    const given = new Set(results.flatMap(({ labels }) => [...labels]));
    const unknown = columns.filter((name) => !name.startsWith('Value') && !given.has(name));
    expect(unknown).toEqual([]);
  });
});

test('cumulative buckets are in heatmaps, where Grafana subtracts each from the next one', () => {
  for (const { title, panel, queries } of PANELS) {
    for (const { expr, format } of queries) {
      const isBuckets = checkQuery(fillVariables(expr), known).labels.has('le');
      expect([title, panel.type === 'heatmap', format === 'heatmap']).toEqual([
        title,
        isBuckets,
        isBuckets,
      ]);
    }
  }
});

function renamedBy(
  transformations: readonly { readonly id: string; readonly options: unknown }[],
): object {
  const options = transformations.find(({ id }) => id === 'organize')?.options;
  const hasNames = typeof options === 'object' && options !== null && 'renameByName' in options;
  const names = hasNames ? options.renameByName : {};
  return typeof names === 'object' && names !== null ? names : {};
}

describe('every query of a variable or an annotation', () => {
  const texts = BOARDS.flatMap((board) => [
    ...(board.templating?.list ?? []).flatMap(({ name, definition }) => {
      const parts = /^label_values\((.*), (\w+)\)$/.exec(definition ?? '');
      return parts === null
        ? []
        : [{ title: `${board.title} / ${name}`, expr: parts[1] ?? '', label: parts[2] ?? '' }];
    }),
    ...(board.annotations?.list ?? []).map(({ name, expr = '' }) => {
      return { title: `${board.title} / ${name}`, expr, label: '' };
    }),
  ]);

  test.each(texts)('uses known metrics and labels: $title', ({ expr, label }) => {
    const { problems, labels } = checkQuery(expr, known);
    expect(problems).toEqual([]);
    expect(label === '' || labels.has(label)).toBe(true);
  });
});

// Grafana escapes for regular expressions only what may have several values: `shop.prod` would also match shop-prod.
test.each(BOARDS)('no variable with one value is in a regular expression: $title', (board) => {
  const { templating, annotations } = board;
  const variables = templating?.list ?? [];
  const ofOneValue = variables.filter(({ multi }) => multi !== true).map(({ name }) => name);
  const texts = [
    ...PANELS.filter((one) => one.board === board).flatMap(({ queries }) => queries),
    ...(annotations?.list ?? []),
    ...variables.map(({ definition }) => ({ expr: definition })),
  ].map(({ expr = '' }) => expr);
  const found = texts.filter((text) => ofOneValue.some((name) => text.includes(`~"$${name}"`)));
  expect(found).toEqual([]);
});
