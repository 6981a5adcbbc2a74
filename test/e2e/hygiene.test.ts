import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { ASSISTANT_PASSWORD, SQL_MARKER, startSimulator } from '../../src/simulator/index.ts';
import { everyCollector } from '../support/collectors.ts';
import { startTestExporter } from '../support/exporter.ts';

const MAX_APPLICATIONS = 5;
/** Names that labels of an exporter must not have: Prometheus sets them. */
const RESERVED_LABELS = ['job', 'instance', 'cluster', 'quantile'];

describe.each(['real', 'documented'] as const)(
  'what the exporter says of a %s cluster',
  (dialect) => {
    test('contains no SQL, key, client address, session id, password or token, and few series', async () => {
      await using simulator = await startSimulator({
        dialect,
        nodes: 5,
        ranges: 60,
        sessions: 300,
        metricKeys: 'useful',
        frozen: true,
      });
      simulator.world.provisionAssistant('us-east1');
      await using exporter = await startTestExporter({
        yaml: `${everyCollector({
          sessions: { max_applications: MAX_APPLICATIONS, include_internal: true },
          tables: { tables: ['movr.public.rides'] },
        })}clusters:
  - name: 'hygiene "quoted" \\ 🚕'
    cluster_api: { urls: ["${simulator.clusterUrl}"], username: ${simulator.username}, password: ${simulator.password} }
    cloud_api: { url: "${simulator.cloudUrl}", cluster_id: ${simulator.cloudClusterId}, token: ${simulator.cloudToken} }
`,
        intervalSeconds: 0.5,
      });
      const scrape = await exporter.until(
        (seen) =>
          seen.all('crdb_exporter_collector_success', {}).filter(({ value }) => value === 1)
            .length === COLLECTORS.length,
      );
      const openMetrics = await exporter.get('/metrics', {
        accept: 'application/openmetrics-text',
      });
      const all = (await exporter.get()).text + openMetrics.text + exporter.log();

      const planted = [SQL_MARKER, ASSISTANT_PASSWORD, simulator.password, simulator.cloudToken];
      expect(planted.filter((secret) => all.includes(secret))).toEqual([]);
      expect(all).not.toMatch(/\/Table\/|\/System\/|\/Meta/);
      const hosts = all.matchAll(/\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/g);
      expect(new Set(Array.from(hosts, ([host]) => host))).toEqual(new Set(['127.0.0.1']));

      const pairs = new Set(
        scrape
          .all('crdb_application_sessions')
          .map(({ labels }) => JSON.stringify([labels['application'], labels['user']])),
      );
      const listed = [...pairs].filter((pair) => !pair.startsWith('["other"'));
      expect(listed).toHaveLength(MAX_APPLICATIONS);
      const labels = scrape.samples.flatMap((sample) => Object.entries(sample.labels));
      expect(labels.filter(([, value]) => value.length > 128)).toEqual([]);
      const data = scrape.samples.filter(
        ({ name }) => !/^(?:process|nodejs|crdb_exporter)_/.test(name),
      );
      const names = new Set(data.flatMap((sample) => Object.keys(sample.labels)));
      expect(RESERVED_LABELS.filter((label) => names.has(label))).toEqual([]);
    });
  },
);
