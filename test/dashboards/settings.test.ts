import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { describe, expect, test } from 'vitest';
import { buildBoards } from '../../dashboards/boards.ts';
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
  'disk_floor',
  'disk_filling',
  'disk_filling_critical',
  'capacity',
  'underreplicated',
  'quorum_risk',
  'scan_minutes',
  'changefeed_lag_critical',
  'daily_restarts',
  'disk_latency',
  'disk_slow',
  'heartbeat',
  'heartbeat_critical',
  'hotspot_cpu',
  'hotspot_cpu_only',
  'idle_transactions',
  'liveness_changes',
  'liveness_changes_critical',
  'lock_waiters',
  'memory_full',
  'memory_growing',
  'stopped_queries',
]);

/** The thresholds of all panels and columns. */
function thresholdsOf(boards: readonly Dashboard[]): readonly string[] {
  return JSON.stringify(boards).match(/"steps":\[.*?\]/g) ?? [];
}

describe('settings of the rules', () => {
  const usual = thresholdsOf(buildBoards());

  test.each(NUMBERS)('%s moves thresholds, if a panel has them', (name) => {
    const changed = thresholdsOf(buildBoards([`${name}=${otherValue(name)}`]));
    expect(changed.some((steps, index) => steps !== usual[index])).toBe(!WITHOUT_PANEL.has(name));
  });

  test('choose jobs and runbooks', () => {
    const [board] = buildBoards(['job=team-.*', 'runbook_url=https://wiki.example']);
    const job = board?.templating?.list?.find(({ name }) => name === 'job');
    expect(job?.definition).toBe('label_values(crdb_up{job=~"team-.*"}, job)');
    expect(job?.allValue).toBe('team-.*');
    const text = JSON.stringify(buildBoards(['runbook_url=https://wiki.example']));
    expect(text).toContain('[CrdbStoreDiskLow](https://wiki.example/CrdbStoreDiskLow.md)');
    expect(text).not.toContain('github.com');
  });

  test('are checked as those of the rules', () => {
    expect(() => buildBoards(['dsik=0.5'])).toThrow('did you mean disk?');
    expect(() => buildBoards(['cpu=90'])).toThrow('write 0.9 for 90 %');
  });
});

test('descriptions name alerts that have a runbook', () => {
  const named = PANELS.flatMap(({ panel }) =>
    Array.from((panel.description ?? '').matchAll(/\[(Crdb\w+)\]/g), ([, alert = '']) => alert),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((alert) => !existsSync(path.join(RUNBOOKS, `${alert}.md`)))).toEqual([]);
});
