import { beforeAll, describe, expect, test } from 'vitest';
import type { AlertName } from '../../../src/alerts/alerts.ts';
import { NOT_EVALUATED } from '../../../src/status/findings/not-evaluated.ts';
import { hasProgram } from '../../support/programs.ts';
import { alertsWithoutHistory } from '../history.ts';
import { clusterOf, disagreements, type Views, watchSickClusters } from './page-and-alerts.ts';
import { SICK_CLUSTERS } from './sick-clusters.ts';

/** Alerts without a history that one exporter cannot know, and why. */
const NOT_ON_THE_PAGE: Readonly<Partial<Record<AlertName, string>>> = {
  CrdbWatchdog: 'it says that Prometheus and Alertmanager work',
  CrdbExporterDown: 'an exporter that is down has no page',
  CrdbExportersDisagree: 'it compares exporters',
  CrdbClusterNameShared: 'it compares exporters',
  CrdbShardsMissing: 'it counts exporters',
};

test('every alert without a history has a finding and a cluster in which it holds, or a reason', () => {
  const known = SICK_CLUSTERS.flatMap(({ alerts }) => alerts);
  const missing = alertsWithoutHistory().filter((alert) => {
    const [name = ''] = alert.split(' ');
    return (
      !known.includes(alert) && name !== 'CrdbConfigReloadFailed' && !(name in NOT_ON_THE_PAGE)
    );
  });
  expect(missing).toEqual([]);
  expect(NOT_EVALUATED).toEqual(expect.arrayContaining(Object.keys(NOT_ON_THE_PAGE)));
});

describe.skipIf(!hasProgram('promtool'))('page, JSON and alerts of a cluster', () => {
  let views: Views;

  beforeAll(async () => {
    views = await watchSickClusters();
  }, 600_000);

  test.each(SICK_CLUSTERS)('agree: $name', (cluster) => {
    expect(disagreements(cluster, views)).toEqual([]);
    const page = views.pages.get(cluster.name);
    for (const { alert = '' } of clusterOf(cluster.name, views).findings)
      expect.soft(page).toContain(alert);
    for (const { labels, annotations } of views.alerts) {
      if (labels['crdb_cluster'] !== cluster.name) continue;
      expect.soft(annotations['summary']).toContain(cluster.name);
      expect.soft(Object.values(annotations).join(' ')).not.toMatch(/<no value>|<error|%!|\{\{/);
    }
  });

  test('a healthy cluster says what was not evaluated', () => {
    const page = views.pages.get('calm');
    expect(page).toContain('calm is healthy');
    for (const alert of NOT_EVALUATED) expect(page).toContain(alert);
  });
});
