import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findNearest } from '../../src/base/nearest-word.ts';
import { BOARDS, DATA_SOURCE, fillVariables, PANELS, type Placed } from './panels.ts';

const LINT = path.join(import.meta.dirname, '..', '..', 'dashboards', '.lint');
const WITH_UNIT = ['stat', 'timeseries', 'table', 'bargauge', 'heatmap', 'piechart'];

const UNITS = Object.values(units).filter((unit) => typeof unit === 'string');

/** Units of the panel and of its columns. */
function unitsOf({ fieldConfig }: Panel): readonly string[] {
  const own = fieldConfig?.defaults.unit;
  const columns = (fieldConfig?.overrides ?? [])
    .flatMap(({ properties }) => properties)
    .filter(({ id }) => id === 'unit')
    .map(({ value }) => String(value));
  return own === undefined ? columns : [own, ...columns];
}

function unknownUnit(title: string, unit: string): string {
  const nearest = findNearest(unit, UNITS);
  const suggestion = nearest === undefined ? '' : `, did you mean ${nearest}?`;
  return `${title}: unknown unit ${unit}${suggestion}`;
}

interface Exclusion {
  readonly entries?: readonly { readonly dashboard: string; readonly panel: string }[];
}
const excused: { readonly exclusions: Readonly<Record<string, Exclusion>> } = parse(
  readFileSync(LINT, 'utf8'),
);

function isExcused(rule: string, { board, panel }: Placed): boolean {
  const entries = excused.exclusions[rule]?.entries ?? [];
  return entries.some((one) => one.dashboard === board.title && one.panel === panel.title);
}

/** Titles of the panels that break a rule of grafana/dashboard-linter and are not excused in dashboards/.lint. */
function breaking(rule: string, isBroken: (placed: Placed) => boolean): readonly string[] {
  return PANELS.filter(
    (placed) => placed.panel.type !== 'text' && isBroken(placed) && !isExcused(rule, placed),
  ).map(({ title }) => title);
}

describe('every panel', () => {
  test('has a title and a description', () => {
    const nameless = PANELS.filter(({ panel }) => !panel.title || !panel.description);
    expect(nameless).toEqual([]);
  });

  test('queries the selected data source', () => {
    const chosen = JSON.stringify(DATA_SOURCE);
    expect(
      breaking('panel-datasource-rule', ({ panel, queries }) =>
        [panel.datasource, ...queries.map(({ datasource }) => datasource)].some(
          (source) => JSON.stringify(source) !== chosen,
        ),
      ),
    ).toEqual([]);
  });

  test('has a unit', () => {
    expect(
      breaking(
        'panel-units-rule',
        ({ panel }) => WITH_UNIT.includes(panel.type) && !panel.fieldConfig?.defaults.unit,
      ),
    ).toEqual([]);
  });

  test('has only units that Grafana knows', () => {
    const unknown = PANELS.flatMap(({ title, panel }) =>
      unitsOf(panel).map((unit) => ({ title, unit })),
    ).filter(({ unit }) => !UNITS.some((known) => known === unit));
    expect(unknown.map(({ title, unit }) => unknownUnit(title, unit))).toEqual([]);
    expect(unknownUnit('Overview / Load', 'percentunits')).toBe(
      'Overview / Load: unknown unit percentunits, did you mean percentunit?',
    );
  });

  test('has queries', () => {
    expect(breaking('panel-no-targets-rule', ({ queries }) => queries.length === 0)).toEqual([]);
  });

  test('selects job in every series', () => {
    expect(
      breaking('target-job-rule', ({ queries }) =>
        queries.some(({ expr }) => {
          const all = expr.match(/\b(?:crdb|process|nodejs|ALERTS)[\w:]*{/g) ?? [];
          const scoped = expr.match(/\b(?:crdb|process|nodejs)_\w+{job=~"\$job"/g) ?? [];
          return all.length === 0 || scoped.length !== all.length;
        }),
      ),
    ).toEqual([]);
  });

  test('uses $__rate_interval for counters', () => {
    expect(
      breaking('target-rate-interval-rule', ({ queries }) =>
        queries.some(({ expr }) =>
          /\b(?:rate|irate|increase)\([^[]*\[(?!\$__rate_interval\])/.test(expr),
        ),
      ),
    ).toEqual([]);
  });

  test('uses topk only at one moment: now, or the end of the time range', () => {
    expect(
      breaking('topk', ({ queries }) =>
        queries.some(
          ({ expr, instant }) =>
            !instant &&
            // One name for each id is not a choice of lines.
            (expr.match(/(?:top|bottom)k(?! by \(table_id\) \(1,)/g) ?? []).length !==
              expr.split(/(?<!:1m)\] @ end\(\)/).length - 1,
        ),
      ),
    ).toEqual([]);
  });

  test('queries table format in tables', () => {
    expect(
      breaking(
        'table',
        ({ panel, queries }) =>
          panel.type === 'table' &&
          queries.some(({ format, instant }) => format !== 'table' || !instant),
      ),
    ).toEqual([]);
  });

  test('knows whether there is data before it calls nothing good', () => {
    const trusting = PANELS.filter(
      ({ panel, queries }) =>
        ![undefined, 'no data', 'not known'].includes(panel.fieldConfig?.defaults.noValue) &&
        !queries[0]?.expr.includes('or label_replace(absent('),
    );
    expect(trusting.map(({ title }) => title)).toEqual([]);
  });

  test('uses only variables of its dashboard', () => {
    const unknown = PANELS.flatMap(({ board, title, queries }) => {
      const known = new Set((board.templating?.list ?? []).map(({ name }) => name));
      const used = queries.flatMap(({ expr }) => fillVariables(expr).match(/\$(?!\d)\w+/g) ?? []);
      return used.filter((name) => !known.has(name.slice(1))).map((name) => `${title}: ${name}`);
    });
    expect(unknown).toEqual([]);
  });
});

describe('every data link', () => {
  const links = PANELS.flatMap(({ title, panel }) =>
    Array.from(
      JSON.stringify(panel.fieldConfig ?? {}).matchAll(/"url":"([^"]*)"/g),
      ([, url = '']) => ({ title, url }),
    ),
  );
  const inside = links.filter(({ url }) => url.startsWith('/d/'));
  const outside = links.filter(({ url }) => !url.startsWith('/d/'));

  test.each(inside)('of $title sets only variables of its target: $url', ({ url }) => {
    const target = /^\/d\/(crdb-[a-z]+)\?/.exec(url)?.[1];
    const board = BOARDS.find(({ uid }) => uid === target);
    const known = new Set((board?.templating?.list ?? []).map(({ name }) => name));
    const set = Array.from(
      url.matchAll(/var-(\w+)=|\$\{(\w+):queryparam\}/g),
      ([, a, b]) => a ?? b,
    );
    expect(set.length).toBeGreaterThan(2);
    expect(set.filter((name) => !known.has(name ?? ''))).toEqual([]);
    expect(url).toContain('${__url_time_range}');
  });

  test('to other sites leads to DB Console', () => {
    expect(outside.length).toBeGreaterThan(0);
    const isKnown = /^\$\{console\}\/#\//;
    expect(outside.filter(({ url }) => !isKnown.test(url))).toEqual([]);
  });
});

test('every exclusion is still needed', () => {
  const named = Object.values(excused.exclusions).flatMap(({ entries = [] }) => entries);
  const titles = new Set(PANELS.map(({ title }) => title));
  expect(named.filter(({ dashboard, panel }) => !titles.has(`${dashboard} / ${panel}`))).toEqual(
    [],
  );
});
