import {
  type GridPos,
  VariableRefresh,
  VariableType,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { describe, expect, test } from 'vitest';
import { writeBoard } from '../../dashboards/formats.ts';
import { expectGolden } from '../support/golden.ts';
import { BOARDS, DATA_SOURCE, PANELS } from './panels.ts';

describe.each(BOARDS)('$title', (board) => {
  const variables = board.templating?.list ?? [];
  const items = (board.panels ?? []).flatMap((item) =>
    'panels' in item ? [item, ...item.panels] : [item],
  );

  test('is the committed file', async () => {
    await expectGolden(
      writeBoard(board).text,
      `dashboards/${board.uid}.json`,
      'npm run dashboards',
    );
  });

  test('is a Grafana dashboard, not editable and without an id', () => {
    expect(board).toMatchObject({
      editable: false,
      graphTooltip: 1,
      refresh: '1m',
      tags: ['cockroachdb'],
      timezone: 'browser',
      schemaVersion: expect.any(Number),
      time: { from: 'now-1h', to: 'now' },
    });
    expect(board.id).toBeUndefined();
    expect(board.uid).toMatch(/^crdb-[a-z]+$/);
  });

  test('begins with data source and job; one of a cluster ends with DB Console', () => {
    expect(variables.map(({ name }) => name).slice(0, 3)).toEqual(['datasource', 'job', 'cluster']);
    // Links would take the address of one cluster along to another one: Grafana keeps a value of the URL.
    const isOfOne = variables.find(({ name }) => name === 'cluster')?.multi !== true;
    expect(variables.at(-1)?.name === 'console').toBe(isOfOne);
    expect(JSON.stringify(board)).not.toContain('console:queryparam');
    expect(variables[0]).toMatchObject({ type: 'datasource', query: 'prometheus' });
    expect(variables[1]).toMatchObject({
      label: 'Job',
      multi: true,
      includeAll: true,
      allValue: '.+',
    });
  });

  test('reloads the values of its variables when the time range changes', () => {
    const asked = variables.filter(({ type }) => type === VariableType.Query);
    expect(asked.filter(({ refresh }) => refresh !== VariableRefresh.OnTimeRangeChanged)).toEqual(
      [],
    );
    expect(asked.map(({ datasource }) => datasource)).toEqual(asked.map(() => DATA_SOURCE));
  });

  test('uses only the selected data source', () => {
    const named = Array.from(
      writeBoard(board).text.matchAll(/"uid": "([^"]*)"/g),
      ([, uid]) => uid,
    );
    expect(named.length).toBeGreaterThan(items.length);
    expect(new Set(named)).toEqual(new Set([board.uid, DATA_SOURCE.uid]));
  });

  test('has unique ids and titles', () => {
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
    expect(new Set(items.map(({ title }) => title)).size).toBe(items.length);
  });

  test('has panels that fit the grid and do not overlap', () => {
    const open = (board.panels ?? []).filter((item) => item.type !== 'row');
    const collapsed = (board.panels ?? []).flatMap((item) =>
      'panels' in item ? [item.panels] : [],
    );
    for (const panels of [open, ...collapsed]) {
      const cells = panels.flatMap(({ gridPos }) => cellsOf(gridPos));
      expect(new Set(cells).size).toBe(cells.length);
      const isTooFar = panels.filter(({ gridPos }) => (gridPos?.x ?? 0) + (gridPos?.w ?? 0) > 24);
      expect(isTooFar.map(({ title }) => title)).toEqual([]);
    }
  });
});

test('Nodes, with all its graphs, has at most 30 queries open', () => {
  const nodes = BOARDS.find(({ uid }) => uid === 'crdb-nodes');
  const open = PANELS.filter(({ panel }) => nodes?.panels?.includes(panel));
  expect(open.length).toBeGreaterThan(5);
  expect(open.flatMap(({ queries }) => queries).length).toBeLessThanOrEqual(30);
  const rows = nodes?.panels?.filter((item) => 'panels' in item) ?? [];
  expect(rows.map(({ title, collapsed }) => [title, collapsed])).toEqual([
    ['All nodes', false],
    ['Hardware', true],
    ['SQL', true],
    ['Storage', true],
    ['Replication', true],
    ['Metrics of collectors.nodes.metrics', true],
  ]);
});

/** The grid cells that a panel covers. */
function cellsOf({ x, y, w, h }: GridPos = { x: 0, y: 0, w: 0, h: 0 }): readonly string[] {
  return Array.from(
    { length: w * h },
    (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`,
  );
}
