import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Dashboard, Panel, Threshold } from '@grafana/grafana-foundation-sdk/dashboard';
import { describe, expect, test } from 'vitest';
import { buildBoards } from '../../dashboards/boards.ts';
import { readSettings } from '../../src/alerts/rule-settings.ts';
import { NUMBERS, otherValue } from '../rules/other-values.ts';
import { PANELS } from './panels.ts';

const RUNBOOKS = path.join(import.meta.dirname, '..', '..', 'docs', 'runbooks');
/** Settings of alerts on what no panel shows with a threshold. */
const WITHOUT_PANEL = new Set([
  'batch_transaction_age',
  'session_storm',
  'session_storm_growth',
  'session_leak',
  'session_leak_growth',
  'latency_growth',
  'nodes_down',
  'ca_days',
  'ca_critical_days',
  'short_certificate',
  'short_certificate_critical',
  'short_certificate_hours',
  'short_certificate_critical_hours',
  'disk_floor',
  'disk_filling',
  'disk_filling_critical',
  'capacity',
  'underreplicated',
  'quorum_risk',
  'scan_minutes',
  'daily_restarts',
  'hotspot_cpu',
  'hotspot_cpu_only',
  'liveness_changes',
  'liveness_changes_critical',
  'lock_waiters',
  'memory_growing',
  'stopped_queries',
]);

/** The limits of all panels and columns: those of one place in a text. */
function limitsOf(boards: readonly Dashboard[]): readonly string[] {
  const steps = JSON.stringify(boards).match(/"steps":\[.*?\]/g) ?? [];
  return steps.flatMap((text) =>
    Array.from(text.matchAll(/"value":([\d.e+-]+)/g), ([, one = '']) => one),
  );
}

/** Of faults any counts, of builds the second one; a whole is 1. */
const FIXED = ['1', '2'];

describe('settings of the rules', () => {
  const usual = limitsOf(buildBoards());
  /** The places of the limits that each setting moves. */
  const moved = new Map(
    NUMBERS.map((name) => {
      const changed = limitsOf(buildBoards(readSettings([`${name}=${otherValue(name)}`])));
      return [name, usual.flatMap((limit, place) => (changed[place] === limit ? [] : [place]))];
    }),
  );

  test.each(NUMBERS)('%s moves limits, if a panel has them', (name) => {
    expect(moved.get(name)?.length !== 0).toBe(!WITHOUT_PANEL.has(name));
  });

  test('move every limit of a colour, where not any fault counts', () => {
    const movable = new Set([...moved.values()].flat());
    expect(usual.length).toBeGreaterThan(50);
    expect(usual.filter((limit, place) => !FIXED.includes(limit) && !movable.has(place))).toEqual(
      [],
    );
  });

  test('choose jobs and runbooks', () => {
    const boards = buildBoards(readSettings(['job=team-.*', 'runbook_url=https://wiki.example']));
    const job = boards[0]?.templating?.list?.find(({ name }) => name === 'job');
    expect(job?.definition).toBe('label_values(crdb_up{job=~"team-.*"}, job)');
    expect(job?.allValue).toBe('team-.*');
    const text = JSON.stringify(boards);
    expect(text).toContain('[CrdbStoreDiskLow](https://wiki.example/CrdbStoreDiskLow.md)');
    expect(JSON.stringify(buildBoards())).not.toMatch(/runbooks?\/|\]\(http/);
  });
});

test('descriptions name alerts that have a runbook', () => {
  const named = PANELS.flatMap(
    ({ panel }) => (panel.description ?? '').match(/\bCrdb[A-Z]\w+/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((alert) => !existsSync(path.join(RUNBOOKS, `${alert}.md`)))).toEqual([]);
});

/** The thresholds of a panel and of its columns and queries. */
function stepsOf({ fieldConfig }: Panel): readonly Threshold[] {
  const own = fieldConfig?.defaults.thresholds?.steps ?? [];
  const others = (fieldConfig?.overrides ?? []).flatMap(({ properties }) => properties);
  const chosen = others.filter(({ id }) => id === 'thresholds').map(({ value }) => value);
  const steps: readonly { readonly steps: readonly Threshold[] }[] = JSON.parse(
    JSON.stringify(chosen),
  );
  return [...own, ...steps.flatMap((one) => one.steps)];
}

test('panels with limits name the alert that has them', () => {
  const coloured = PANELS.filter(({ panel }) =>
    stepsOf(panel).some(({ color }) => ['orange', 'red'].includes(color)),
  );
  expect(coloured.length).toBeGreaterThan(30);
  const nameless = coloured.filter(({ panel }) => !/\bCrdb[A-Z]\w+/.test(panel.description ?? ''));
  expect(nameless.map(({ title }) => title)).toEqual([]);
});
