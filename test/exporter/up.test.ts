import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';

test.each([
  [60, 'nodes', 0],
  [60, 'sessions', 1],
  [30, 'nodes', 1],
  [30, 'sessions', 0],
] as const)(
  'with nodes every 60 s and sessions every %d s, crdb_up after a failure of %s is %d',
  async (interval, endpoint, up) => {
    await using simulator = await startSimulator({ nodes: 3, ranges: 12, metricKeys: 'useful' });
    simulator.fault({ endpoint, kind: 'status', status: 500 });
    const collectors = onlyCollectors({
      sessions: { interval: `${interval}s` },
      nodes: { interval: '60s' },
    });
    await using exporter = await startTestExporter({
      yaml: `${collectors}clusters:\n${clusterYaml(simulator)}`,
    });
    const scrape = await exporter.until(
      (seen) => seen.all('crdb_exporter_collector_last_attempt_timestamp_seconds').length === 2,
    );
    expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(up);
  },
);
