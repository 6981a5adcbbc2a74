import { beforeAll, describe, expect, test } from 'vitest';
import { hasProgram } from '../../support/programs.ts';
import { alertsWithoutHistory } from '../history.ts';
import {
  clusterOf,
  disagreements,
  NOT_ON_THE_PAGE,
  type Views,
  watchSickClusters,
} from './page-and-alerts.ts';
import { SICK_CLUSTERS } from './sick-clusters.ts';

test('every alert without a history has a finding and a cluster in which it holds, or a reason', () => {
  const known = SICK_CLUSTERS.flatMap(({ alerts }) => alerts);
  // The configuration is that of all clusters: test/e2e/reload-answer.test.ts has its page.
  const others = [...Object.keys(NOT_ON_THE_PAGE), 'CrdbConfigReloadFailed'];
  const missing = alertsWithoutHistory().filter(
    (alert) => !known.includes(alert) && !others.includes(alert.split(' ', 1)[0] ?? ''),
  );
  expect(missing).toEqual([]);
});

describe.skipIf(!hasProgram('promtool'))('page, JSON and alerts of a cluster', () => {
  let views: Views;

  beforeAll(async () => {
    views = await watchSickClusters();
  }, 1_800_000);

  test.each(SICK_CLUSTERS)('agree: $name', (cluster) => {
    expect(disagreements(cluster, views)).toEqual([]);
    const page = views.pages.get(cluster.name);
    const holding = views.alerts.filter(
      ({ labels }) =>
        labels['crdb_cluster'] === cluster.name &&
        !['exporter', 'api'].includes(labels['component'] ?? ''),
    );
    const isCalm = page?.includes(`${cluster.name} has nothing over a limit`);
    expect(isCalm ? holding : []).toEqual([]);
    for (const { alert = '' } of clusterOf(cluster.name, views).findings)
      expect.soft(page).toContain(alert);
    for (const { labels, annotations } of views.alerts) {
      if (labels['crdb_cluster'] !== cluster.name) continue;
      expect.soft(annotations['summary']).toContain(cluster.name);
      expect.soft(Object.values(annotations).join(' ')).not.toMatch(/<no value>|<error|%!|\{\{/);
    }
  });

  test('a cluster with nothing over a limit is not called healthy: alerts with a history are of Prometheus', () => {
    const page = views.pages.get('calm');
    expect(page).toContain('calm has nothing over a limit');
    expect(page).toContain('Alerts that need a history, or several exporters, are evaluated');
    expect(page).not.toMatch(/ healthy[ ,<]/);
  });
});
