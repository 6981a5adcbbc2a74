import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';
import { serve, type TestServer } from '../support/http-server.ts';

/** Answers in which every number but the ids is `value`. */
function answersOf(value: string): Readonly<Record<string, string>> {
  const metrics = `{"sql.conns":${value},"sys.rss":${value},"schedules.BACKUP.last-completed-time":${value},"seconds_until_license_expiry":${value}}`;
  const stores = `{"1":{"capacity":${value},"capacity.available":${value}}}`;
  const times = `"started_at":${value},"updated_at":${value}`;
  const sizes = `"num_cpus":${value},"total_system_memory":${value}`;
  const node = `{"node_id":1,"liveness_status":3,${times},${sizes},"metrics":${metrics},"store_metrics":${stores}}`;
  const work = `{"start":"2026-01-01T00:00:00Z","elapsed_time":${value},"phase":${value},"num_retries":${value}}`;
  const session = `{"node_id":1,"username":"u","alloc_bytes":${value},"start":"9999-12-31T23:59:59Z","active_txn":${work},"active_queries":[${work}]}`;
  const stats = `{"queries_per_second":${value},"cpu_time_per_second":${value}}`;
  const lease = `{"epoch":${value},"sequence":${value},"replica":{"node_id":1,"store_id":1}}`;
  const range = `{"desc":{"range_id":1},"source_node_id":1,"source_store_id":1,"stats":${stats},"lease_history":[${lease}]}`;
  const table = `{"db_name":"d","table_name":"t","table_id":1,"replication_size_bytes":${value},"range_count":${value},"last_updated":"0001-01-02T00:00:00Z"}`;
  return {
    login: '{"session":"dG9r"}',
    ranges: `{"ranges":[${range}]}`,
    nodes: `{"nodes":[${node}]}`,
    sessions: `{"sessions":[${session}]}`,
    table_metadata: `{"results":[${table}],"pagination_info":{"total_results":${value}}}`,
  };
}

function serveNumbers(value: string): Promise<TestServer> {
  const answers = Object.entries(answersOf(value));
  return serve(({ url = '' }, response) => {
    const found = answers.find(([endpoint]) => url.includes(endpoint));
    response.setHeader('date', 'Sat, 31 Dec 275761 00:00:00 GMT');
    response.end(found?.[1] ?? '{}');
  });
}

const COLLECTORS = ['nodes', 'sessions', 'ranges', 'tables'];

test.each(['1e30', '-1e30', '9223372036854775807', '1.5'])(
  'a cluster whose numbers are all %s takes nothing away from another cluster',
  async (value) => {
    await using good = await startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
    await using odd = await serveNumbers(value);
    const login = { clusterUrls: [odd.url], username: 'u', password: 'p' };
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(login, { name: 'odd' })}${clusterYaml(good, { name: 'good' })}`,
      intervalSeconds: 0.3,
    });
    const polls = 'crdb_exporter_polls_total';
    const seen = await exporter.until((scrape) =>
      ['odd', 'good'].every((crdb_cluster) =>
        COLLECTORS.every(
          (collector) => (scrape.value(polls, { crdb_cluster, collector }) ?? 0) >= 2,
        ),
      ),
    );
    for (const collector of COLLECTORS) {
      const labels = { crdb_cluster: 'good', collector };
      expect(seen.value('crdb_exporter_collector_success', labels)).toBe(1);
    }
    const [page, json] = [await exporter.get('/?cluster=odd'), await exporter.get('/api/status')];
    expect([page.status, json.status]).toEqual([200, 200]);
    const { clusters } = JSON.parse(json.text);
    expect(clusters.map(({ nodes }: { nodes?: { list: [] } }) => nodes?.list.length)).toEqual([
      1, 3,
    ]);
    // A time that is none is absent.
    const started = 'crdb_node_started_timestamp_seconds';
    const [time = 0] = seen.all(started, { crdb_cluster: 'odd' }).map((sample) => sample.value);
    expect(time).toBeGreaterThanOrEqual(0);
    expect(time).toBeLessThan(2 ** 64 / 1e9);
    expect(exporter.log()).not.toMatch(/unexpected error|level=fatal/);
  },
);
