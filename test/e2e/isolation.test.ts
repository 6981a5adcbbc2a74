import { describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import {
  clusterYaml,
  type Scrape,
  startTestExporter,
  withCollectors,
} from '../support/exporter.ts';
import { refusing } from '../support/http-server.ts';

function simulate(): Promise<Simulator> {
  // In a running simulation the series differ from poll to poll: other ranges are hot, other sessions idle.
  return startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful', frozen: true });
}

function seriesOf(scrape: Scrape, cluster: string): readonly string[] {
  return scrape.samples
    .filter(({ labels, name }) => labels['crdb_cluster'] === cluster && !/_exporter_/.test(name))
    .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
    .toSorted();
}

describe('isolation of failures', () => {
  test('a second cluster keeps all its series while the first is down', async () => {
    await using first = await simulate();
    await using second = await simulate();
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(first, { name: 'first' })}${clusterYaml(second, { name: 'second' })}`,
      intervalSeconds: 0.3,
      // Its data expires soon, that of the second cluster never.
      adapt: (config) => withCollectors(config, (each) => ({ ...each, max_age: 1 }), 'first'),
    });
    const ups = { api: 'cluster' };
    const both = await exporter.until((scrape) =>
      ['nodes', 'ranges', 'sessions', 'network'].every((collector) =>
        ['first', 'second'].every(
          (crdb_cluster) =>
            scrape.value('crdb_exporter_collector_success', { crdb_cluster, collector }) === 1,
        ),
      ),
    );
    const kept = seriesOf(both, 'second');
    expect(kept.length).toBeGreaterThan(100);
    await first.close();
    await exporter.until((scrape) => {
      expect(seriesOf(scrape, 'second')).toEqual(kept);
      expect(scrape.value('crdb_up', { ...ups, crdb_cluster: 'second' })).toBe(1);
      // Besides crdb_up there are only crdb_cluster_info and crdb_network_checked, which no poll brings.
      return (
        scrape.value('crdb_up', { ...ups, crdb_cluster: 'first' }) === 0 &&
        seriesOf(scrape, 'first').length === 3
      );
    });
  });
});

describe('a cluster that is down at start', () => {
  test('is reported, and is exported once it is up', async () => {
    const url = await refusing();
    await using exporter = await startTestExporter({
      yaml: `clusters:\n  - name: late\n    cluster_api: { urls: ["${url}"] }\n`,
      intervalSeconds: 0.2,
    });
    const down = await exporter.until((scrape) => scrape.value('crdb_up') === 0);
    expect(down.all('crdb_exporter_collector_success').length).toBeGreaterThan(1);
    expect(down.all('crdb_exporter_collector_last_success_timestamp_seconds')).toEqual([]);
    expect(exporter.log()).toMatch(/level=warn .*reason=network/);
    await using simulator = await startSimulator({
      nodes: 3,
      ranges: 30,
      metricKeys: 'useful',
      insecure: true,
      listen: { host: '127.0.0.1', port: Number(new URL(url).port) },
    });
    const up = await exporter.until((scrape) => scrape.value('crdb_up') === 1);
    expect(up.all('crdb_nodes').length).toBeGreaterThan(0);
    expect(simulator.requests.count('login')).toBe(0);
  });

  test('is skipped, not queued, while its breaker is open', async () => {
    await using exporter = await startTestExporter({
      yaml: `clusters:\n  - name: down\n    cluster_api: { urls: ["${await refusing()}"] }\n`,
      intervalSeconds: 0.2,
      // A stopped clock keeps the breaker open.
      app: { clock: { wallMs: () => Date.now(), monotonicMs: () => 0, runningMs: () => 0 } },
    });
    const seen = await exporter.until(
      (scrape) =>
        (scrape.value('crdb_exporter_polls_skipped_total', {
          collector: 'nodes',
          reason: 'breaker_open',
        }) ?? 0) > 2,
    );
    expect(seen.value('crdb_exporter_breaker_state', { state: 'open' })).toBe(1);
    expect(exporter.log()).toMatch(/all URLs fail; poll skipped, next attempt in \d+ s/);
    expect(seen.value('crdb_up')).toBe(0);
  });
});

describe('old data', () => {
  test('disappears at its max_age while the outcome series stay', async () => {
    await using simulator = await simulate();
    let now = 1_000;
    await using exporter = await startTestExporter({
      yaml: `collectors: { nodes: { max_age: 10m } }\nclusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
      app: { clock: { wallMs: () => Date.now(), monotonicMs: () => now, runningMs: () => now } },
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 403 });
    const failing = await exporter.until((scrape) => scrape.value('crdb_up') === 0);
    expect(failing.all('crdb_nodes').length).toBeGreaterThan(0);
    now += 601_000;
    const expired = await exporter.scrape();
    expect(expired.all('crdb_nodes')).toEqual([]);
    expect(expired.value('crdb_exporter_series', { collector: 'nodes' })).toBe(0);
    expect(
      expired.value('crdb_exporter_collector_last_success_timestamp_seconds', {
        collector: 'nodes',
      }),
    ).toBeGreaterThan(0);
  });
});
