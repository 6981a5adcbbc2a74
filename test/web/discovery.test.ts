import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/index.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';
import { hasProgram } from '../support/programs.ts';
import { eventually, startPrometheus } from '../support/prometheus.ts';

interface Group {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

const WORLD = { nodes: 6, ranges: 30, metricKeys: 'useful', faultyNodes: true } as const;

async function discover(exporter: TestExporter, target: string): Promise<readonly Group[]> {
  const { status, text, headers } = await exporter.get(target);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('application/json');
  return JSON.parse(text);
}

describe('/sd/nodes', () => {
  test('lists every node that has not left, including dead ones, with its labels', async () => {
    await using simulator = await startSimulator(WORLD);
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}`,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const groups = await discover(exporter, '/sd/nodes');
    const statuses = groups.map(({ labels }) => labels['__meta_crdb_status'] ?? '');
    expect(statuses.toSorted()).toEqual(['dead', 'draining', 'live', 'live', 'live']);
    const info = (await exporter.scrape()).all('crdb_node_info', { node_id: '1' })[0]?.labels;
    const host = info?.['address']?.replace(/:\d+$/, '');
    expect(groups[0]).toMatchObject({
      targets: [`${host}:8080`],
      labels: {
        __meta_crdb_cluster: 'sim',
        __meta_crdb_node_id: '1',
        __meta_crdb_build_tag: info?.['build_tag'],
        __meta_crdb_locality: info?.['locality'],
        __meta_crdb_locality_region: expect.stringMatching(/./),
      },
    });
    const other = await discover(exporter, '/sd/nodes?cluster=sim&port=9090');
    expect(other[0]?.targets).toEqual([`${host}:9090`]);
  });

  test('is unavailable rather than empty before the first successful poll and when the data is too old', async () => {
    await using simulator = await startSimulator(WORLD);
    const fault = simulator.fault({ endpoint: 'nodes', kind: 'status', status: 403 });
    let now = 1_000;
    await using exporter = await startTestExporter({
      yaml: `collectors: { nodes: { max_age: 10m } }\nclusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
      app: { clock: { wallMs: () => Date.now(), monotonicMs: () => now } },
    });
    const early = await exporter.get('/sd/nodes');
    expect(early.status).toBe(503);
    expect(early.text).toBe('the nodes of sim are not known at present\n');
    fault.remove();
    await eventually(async () => (await exporter.get('/sd/nodes')).status === 200 || undefined);
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 403 });
    await exporter.until((scrape) => scrape.value('crdb_up') === 0);
    expect((await exporter.get('/sd/nodes')).status).toBe(200);
    now += 601_000;
    expect((await exporter.get('/sd/nodes')).status).toBe(503);
  });

  test('is unavailable rather than empty when the cluster names no node', async () => {
    await using simulator = await startSimulator(WORLD);
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 200, body: '{"nodes":[]}' });
    const yaml = `collectors: { ranges: { enabled: false } }\nclusters:\n${clusterYaml(simulator)}`;
    await using exporter = await startTestExporter({ yaml });
    const good = { collector: 'nodes' };
    await exporter.until((scrape) => scrape.value('crdb_exporter_collector_success', good) === 1);
    expect((await exporter.get('/sd/nodes')).status).toBe(503);
  });

  test('is unavailable as a whole while one of the polled clusters is not known', async () => {
    await using simulator = await startSimulator(WORLD);
    const dead = clusterYaml(
      { ...simulator, clusterUrls: ['http://127.0.0.1:9'] },
      { name: 'dead' },
    );
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}${dead}`,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const all = await exporter.get('/sd/nodes');
    expect(all).toMatchObject({
      status: 503,
      text: 'the nodes of dead are not known at present\n',
    });
    expect(await discover(exporter, '/sd/nodes?cluster=sim')).toHaveLength(5);
  });

  test.each([
    ['?cluster=nobody', 404],
    ['?port=0', 400],
    ['?port=65536', 400],
    ['?port=8080/metrics', 400],
    ['?port=', 400],
  ])('%s is refused', async (query, status) => {
    await using exporter = await startTestExporter({
      yaml: 'clusters: [{ name: a, cluster_api: { urls: ["http://127.0.0.1:9"] } }]',
    });
    expect((await exporter.get(`/sd/nodes${query}`)).status).toBe(status);
  });
});

describe('/sd/clusters', () => {
  test('lists every cluster at the requested address, before any poll', async () => {
    await using exporter = await startTestExporter({
      yaml: `clusters:
  - { name: a, cluster_api: { urls: ["http://127.0.0.1:9"] } }
  - { name: b, poll: false, cluster_api: { urls: ["http://127.0.0.1:9"] } }`,
    });
    const { host } = new URL(exporter.url);
    const target = (name: string, poll: string): Group => ({
      targets: [host],
      labels: { __meta_crdb_cluster: name, __meta_crdb_poll: poll, __param_cluster: name },
    });
    expect(await discover(exporter, '/sd/clusters')).toEqual([
      target('a', 'true'),
      target('b', 'false'),
    ]);
  });
});

describe.skipIf(!hasProgram('prometheus'))('a real Prometheus', () => {
  test('discovers the nodes, and the clusters that it then probes', async () => {
    await using simulator = await startSimulator({ ...WORLD, frozen: true });
    const probed = `${clusterYaml(simulator, { name: 'probed' })}    poll: false\n`;
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}${probed}`,
      intervalSeconds: 1,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    await using prometheus = await startPrometheus(`
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs:
  - job_name: nodes
    http_sd_configs: [{ url: "${exporter.url}/sd/nodes", refresh_interval: 1s }]
    relabel_configs: [{ source_labels: [__meta_crdb_node_id], target_label: node_id }]
  - job_name: clusters
    metrics_path: /probe
    params: { "collect[]": [nodes, sessions] }
    http_sd_configs: [{ url: "${exporter.url}/sd/clusters", refresh_interval: 1s }]
    relabel_configs:
      - { source_labels: [__meta_crdb_poll], regex: "false", action: keep }
      - { source_labels: [__meta_crdb_cluster], target_label: instance }
`);
    const nodes = await eventually(async () => {
      const found = await prometheus.query('up{job="nodes"}');
      return found.length === 5 ? found : undefined;
    });
    expect(nodes.map(({ labels }) => labels['node_id'] ?? '').toSorted()).toEqual([
      '1',
      '2',
      '3',
      '5',
      '6',
    ]);
    const live = await eventually(
      async () => (await prometheus.query('crdb_nodes{job="clusters",status="live"}'))[0],
    );
    expect(live.labels).toMatchObject({ crdb_cluster: 'probed', instance: 'probed' });
    expect(live.value).toBe(simulator.truth().nodesByStatus['live']);
    expect(await prometheus.query('up{job="clusters"}')).toMatchObject([{ value: 1 }]);
  });
});
