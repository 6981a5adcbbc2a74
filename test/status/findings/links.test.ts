import { expect, test } from 'vitest';
import { linkFinding } from '../../../src/status/findings/problem.ts';
import { DEFAULT_FINDING_SETTINGS } from '../finding-settings.ts';

const LINKS = { ...DEFAULT_FINDING_SETTINGS.links, dashboard_url: 'https://grafana.example' };

test.each([
  ['', 'runbooks/CrdbNodeDead'],
  ['https://wiki.example', 'https://wiki.example/CrdbNodeDead.md'],
])('with the address "%s" of a copy the runbook is %s', (runbook_url, expected) => {
  const finding = { about: 'nodes', alert: 'CrdbNodeDead' } as const;
  const { runbookUrl } = linkFinding(finding, { ...LINKS, runbook_url }, { name: 'a' }, 'runbooks');
  expect(runbookUrl).toBe(expected);
});

test.each([
  ['the dashboard of its alert', { about: 'nodes', alert: 'CrdbSessionMemoryHigh' }, 'crdb-sql'],
  ['that of its part of the cluster, without an alert', { about: 'nodes' }, 'crdb-nodes'],
] as const)('a finding leads to %s', (_what, finding, uid) => {
  const { dashboardUrl } = linkFinding(finding, LINKS, { name: 'a b' }, 'runbooks');
  expect(dashboardUrl).toBe(`https://grafana.example/d/${uid}?var-cluster=a%20b`);
});
