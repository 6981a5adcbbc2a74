import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { request as forward } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { rulesOfOneInterval } from '../rules/rule-set.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';
import { serve, type TestServer } from '../support/http-server.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually, type Prometheus, startPrometheus } from '../support/prometheus.ts';
import { measureSlowness } from '../support/slowness.ts';

/** What failed to be scraped last is not there any more. */
const SECONDS = Math.floor(measureSlowness());
/** Rules are evaluated every second. */
const SELDOM = { interval: 500 };

function simulate(dialect: 'real' | 'documented'): Promise<Simulator> {
  // Ages, too, are the same at each poll.
  const nowMs = Date.now();
  const now = (): number => nowMs;
  return startSimulator({
    dialect,
    nodes: 5,
    ranges: 100,
    frozen: true,
    metricKeys: 'useful',
    now,
  });
}

async function watch(simulator: Simulator): Promise<TestExporter> {
  const exporter = await startTestExporter({
    yaml: `collectors: { users: { enabled: true } }\nclusters:\n${clusterYaml(simulator)}`,
  });
  await exporter.until((scrape) =>
    scrape.all('crdb_exporter_collector_success').every(({ value }) => value === 1),
  );
  return exporter;
}

/** A proxy that removes the Accept header: Prometheus prefers OpenMetrics. */
function withoutAccept(target: string): Promise<TestServer> {
  return serve((request, response) => {
    forward(target + (request.url ?? ''), { headers: { accept: 'text/plain' } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    }).end();
  });
}

function scrapeConfig(targets: Readonly<Record<string, string>>): string {
  const jobs = Object.entries(targets).map(
    ([job, host]) => `  - job_name: ${job}
    static_configs: [{ targets: ["${host}"] }]`,
  );
  return `global: { scrape_interval: ${SECONDS}s, scrape_timeout: ${SECONDS}s }\nscrape_configs:\n${jobs.join('\n')}\n`;
}

/** The values of a query by one label. */
async function byLabel(
  prometheus: Prometheus,
  label: string,
  expression: string,
): Promise<Readonly<Record<string, number>>> {
  const series = await prometheus.query(expression);
  return Object.fromEntries(series.map(({ labels, value }) => [labels[label], value]));
}

/** The names of the recorded series. */
async function recordedBy(prometheus: Prometheus): Promise<readonly string[]> {
  const series = await prometheus.query('count by (__name__) ({__name__=~"crdb_cluster.*:.*"})');
  return series.map(({ labels }) => labels['__name__'] ?? '').toSorted();
}

describe.skipIf(!hasProgram('prometheus'))('a real Prometheus', () => {
  test('stores what the simulated cluster is', async () => {
    await using simulator = await simulate('real');
    await using exporter = await watch(simulator);
    await using prometheus = await startPrometheus(
      scrapeConfig({ openmetrics: new URL(exporter.url).host }),
    );
    const S = 'job="openmetrics"';
    await eventually(async () => (await prometheus.query(`crdb_ranges{${S}}`))[0]);
    expect(await prometheus.query(`up{${S}}`)).toMatchObject([{ value: 1 }]);

    const truth = simulator.truth();
    const nodes = await byLabel(prometheus, 'status', `crdb_nodes{${S}} > 0`);
    expect(nodes).toEqual(truth.nodesByStatus);
    const stores = Object.fromEntries(
      truth.stores.map(({ storeId, replicas }) => [String(storeId), replicas]),
    );
    expect(await byLabel(prometheus, 'store_id', `crdb_range_replicas{${S}}`)).toEqual(stores);
    const leases = Object.fromEntries(
      truth.stores.map((store) => [String(store.storeId), store.leases]),
    );
    expect(await byLabel(prometheus, 'store_id', `crdb_range_leases{${S}}`)).toEqual(leases);
    expect(await prometheus.query(`crdb_ranges{${S}}`)).toMatchObject([
      { value: truth.ranges.distinct },
    ]);
    const problems = await byLabel(prometheus, 'problem', `crdb_range_problem_ranges{${S}} > 0`);
    const told = Object.entries(truth.ranges.problems).filter(([, count]) => count > 0);
    expect(problems).toEqual(Object.fromEntries(told));
    expect(await prometheus.query(`crdb_users{${S}}`)).toMatchObject([
      { value: truth.users.length },
    ]);
  });

  test('finds the same series and values in both formats', async () => {
    await using simulator = await simulate('documented');
    await using exporter = await watch(simulator);
    await using plain = await withoutAccept(exporter.url);
    await using prometheus = await startPrometheus(
      scrapeConfig({ openmetrics: new URL(exporter.url).host, text: new URL(plain.url).host }),
    );
    const DATA = '__name__=~"crdb_.+",__name__!~"crdb_exporter_.+"';
    await eventually(async () => {
      const jobs = await prometheus.query('count by (job) (crdb_ranges)');
      return jobs.length === 2 ? jobs : undefined;
    });
    const keysOf = async (job: string): Promise<readonly string[]> => {
      const series = await prometheus.query(`{${DATA},job="${job}"}`);
      return series
        .map(({ labels: { job: _job, instance: _instance, ...labels }, value }) =>
          JSON.stringify([labels, value]),
        )
        .toSorted();
    };
    const openMetrics = await keysOf('openmetrics');
    expect(openMetrics.length).toBeGreaterThan(200);
    expect(await keysOf('text')).toEqual(openMetrics);
  });

  // Prometheus 3 knows the feature, an older one ignores it.
  test('records the same series where types and units are labels', async () => {
    await using simulator = await simulate('real');
    await using exporter = await watch(simulator);
    await using folder = await mkdtempDisposable(path.join(tmpdir(), 'crdb-exporter-rules-'));
    const rules = path.join(folder.path, 'rules.yml');
    await writeFile(rules, rulesOfOneInterval());
    const target = { 'crdb-exporter': new URL(exporter.url).host };
    const config = `rule_files: [${rules}]\n${scrapeConfig(target)}`.replace(
      'global: {',
      'global: { evaluation_interval: 1s,',
    );
    await using usual = await startPrometheus(config);
    await using labelled = await startPrometheus(config, ['--enable-feature=type-and-unit-labels']);
    // Some follow from several others, or from a minute.
    await expect.poll(() => recordedBy(usual), SELDOM).toContain('crdb_cluster:crdb_health:code');
    const most = [
      'crdb_cluster_collector_shard:max_age_seconds:max',
      'crdb_cluster_node_id:crdb_safe_to_stop:bool',
      'crdb_cluster_node_store:crdb_store_replicas:min',
    ];
    await expect.poll(() => recordedBy(usual), SELDOM).toEqual(expect.arrayContaining(most));
    await expect
      .poll(async () => {
        const [all, found] = await Promise.all([recordedBy(usual), recordedBy(labelled)]);
        return all.filter((name) => !found.includes(name));
      }, SELDOM)
      .toEqual([]);
  });
});
