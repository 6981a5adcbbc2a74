import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { watch } from '../../e2e/reload-support.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../../support/exporter.ts';
import { hasProgram } from '../../support/programs.ts';
import { eventually, startPrometheus } from '../../support/prometheus.ts';
import { fetchPath } from './fetch-path.ts';
import { startOrchard } from './orchard.ts';

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
  test('lists every node that has not left, including those that died while leaving, with its labels', async () => {
    await using simulator = await startSimulator(WORLD);
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}`,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const groups = await discover(exporter, '/sd/nodes');
    const statuses = groups.map(({ labels }) => labels['__meta_crdb_status'] ?? '');
    expect(statuses.toSorted()).toEqual([
      'dead',
      'decommissioned',
      'draining',
      'live',
      'live',
      'live',
    ]);
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

  test('is unavailable before the first successful poll, and keeps the last list while polls fail', async () => {
    await using simulator = await startSimulator(WORLD);
    const fault = simulator.fault({ endpoint: 'nodes', kind: 'status', status: 403 });
    let now = 1_000;
    await using exporter = await startTestExporter({
      yaml: `collectors: { nodes: { max_age: 10m } }\nclusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
      app: { clock: { wallMs: () => Date.now(), monotonicMs: () => now, runningMs: () => now } },
    });
    const early = await exporter.get('/sd/nodes');
    expect(early.status).toBe(503);
    expect(early.text).toBe('the nodes of sim are not known at present\n');
    fault.remove();
    await eventually(async () => (await exporter.get('/sd/nodes')).status === 200 || undefined);
    const known = await discover(exporter, '/sd/nodes');
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 403 });
    await exporter.until((scrape) => scrape.value('crdb_up') === 0);
    now += 601_000;
    expect((await exporter.scrape()).all('crdb_nodes')).toEqual([]);
    const kept = await discover(exporter, '/sd/nodes');
    expect(kept.map(({ targets }) => targets)).toEqual(known.map(({ targets }) => targets));
  });

  test('names hosts and addresses only', async () => {
    await using simulator = await startSimulator(WORLD);
    const good = ['db-1:26257', '10.0.0.1:26257', '[::1]:26257', 'crdb_1.crdb:26257', 'DB.a.:1'];
    const noHost = ['user@evil:26257', '[no address]:26257', '[fe80::1%eth0]:26257', 'a b', ''];
    const bad = ['evil/path:26257', ...noHost];
    const nodes = [...good, ...bad].map((address, at) => ({
      node_id: at + 1,
      liveness_status: 3,
      address: { address_field: address },
      locality: { tiers: [{ key: 'data-center', value: 'a' }] },
    }));
    const body = JSON.stringify({ nodes });
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 200, body });
    await using exporter = await startTestExporter({
      yaml: `collectors: { ranges: { enabled: false } }\nclusters:\n${clusterYaml(simulator)}`,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const found = await discover(exporter, '/sd/nodes');
    expect(found.flatMap(({ targets }) => targets)).toEqual([
      'db-1:8080',
      '10.0.0.1:8080',
      '[::1]:8080',
      'crdb_1.crdb:8080',
      'DB.a.:8080',
    ]);
    expect(found[0]?.labels['__meta_crdb_locality_data_center']).toBe('a');
  });

  test('leaves out a dead node whose address a live one has taken over', async () => {
    await using simulator = await startSimulator(WORLD);
    const nodes = ([3, 1, 1, 5] as const).map((liveness_status, at) => ({
      node_id: at + 1,
      liveness_status,
      address: { address_field: ['10.0.0.1:26257', '10.0.0.1:26257', '10.0.0.3:26257', ''][at] },
    }));
    const body = JSON.stringify({ nodes });
    simulator.fault({ endpoint: 'nodes', kind: 'status', status: 200, body });
    await using exporter = await startTestExporter({
      yaml: `collectors: { ranges: { enabled: false } }\nclusters:\n${clusterYaml(simulator)}`,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const found = await discover(exporter, '/sd/nodes');
    expect(found.map(({ labels }) => labels['__meta_crdb_node_id'])).toEqual(['1', '3']);
  });

  test('waits for each polled cluster, or an interval after its first failed poll', async () => {
    await using quick = await startSimulator(WORLD);
    await using slow = await startSimulator(WORLD);
    const fault = slow.fault({ endpoint: 'nodes', kind: 'status', status: 403 });
    let now = 1_000;
    const [quickYaml, slowYaml] = [quick, slow].map((simulator, index) =>
      clusterYaml(simulator, { name: index === 0 ? 'quick' : 'slow' }),
    );
    const ignored = '  - { name: c, poll: false, cluster_api: { urls: ["http://127.0.0.1:9"] } }\n';
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${quickYaml}${slowYaml}${ignored}`,
      intervalSeconds: 0.2,
      app: { clock: { wallMs: () => Date.now(), monotonicMs: () => now, runningMs: () => now } },
    });
    const quickTargets = async () =>
      (await discover(exporter, '/sd/nodes')).map(({ labels }) => labels['__meta_crdb_cluster']);
    await exporter.until(
      (scrape) =>
        scrape.all('crdb_nodes').length > 0 &&
        scrape.value('crdb_up', { crdb_cluster: 'slow' }) === 0,
    );
    const early = await exporter.get('/sd/nodes');
    expect(early).toMatchObject({
      status: 503,
      text: 'the nodes of slow are not known at present\n',
    });
    expect(early.headers.get('retry-after')).toBe('5');
    expect(await discover(exporter, '/sd/nodes?cluster=quick')).toHaveLength(6);
    now += 200;
    expect(new Set(await quickTargets())).toEqual(new Set(['quick']));
    expect(await exporter.get('/sd/nodes?cluster=slow')).toMatchObject({ status: 503 });
    fault.remove();
    await eventually(async () => (await quickTargets()).includes('slow') || undefined);
  });

  test('waits for a cluster that does not respond yet, also one that a reload adds', async () => {
    await using quick = await startSimulator(WORLD);
    await using silent = await startSimulator(WORLD);
    silent.fault({ endpoint: 'nodes', kind: 'hang' });
    const quickYaml = `clusters:\n${clusterYaml(quick, { name: 'quick' })}`;
    const both = `${quickYaml}${clusterYaml(silent, { name: 'silent' })}`;
    await using running = await watch(quickYaml);
    const { exporter } = running;
    await eventually(async () => (await exporter.get('/sd/nodes')).status === 200 || undefined);
    expect((await running.reload(both)).status).toBe(200);
    await eventually(async () => (silent.requests.inFlight.get('nodes') ?? 0) > 0 || undefined);
    expect(await exporter.get('/sd/nodes')).toMatchObject({
      status: 503,
      text: 'the nodes of silent are not known at present\n',
    });
    // What was known before stays known.
    expect((await running.reload(quickYaml)).status).toBe(200);
    expect(await discover(exporter, '/sd/nodes')).toHaveLength(6);
  });

  const port = 'port is a number from 1 to 65535\n';
  const unknown = 'the nodes of a are not known at present\n';
  test.each([
    ['', 503, unknown],
    ['?cluster=nobody', 404, 'unknown cluster; configured clusters: a, b\n'],
    ['?cluster=b', 503, 'the nodes of b are not known at present\n'],
    ['?cluster=a&cluster=b', 400, 'the parameter cluster is there more than once\n'],
    ['?port=1&port=2', 400, 'the parameter port is there more than once\n'],
    ['?port=0', 400, port],
    ['?port=65536', 400, port],
    ['?port=8080/metrics', 400, port],
  ])('%s is refused, or not known before a poll', async (query, status, text) => {
    await using exporter = await startTestExporter({
      yaml: `clusters:
  - { name: a, cluster_api: { urls: ["http://127.0.0.1:9"] } }
  - { name: b, poll: false, cluster_api: { urls: ["http://127.0.0.1:9"] } }`,
    });
    const answer = await exporter.get(`/sd/nodes${query}`);
    expect(answer).toMatchObject({ status, text });
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '5' : null);
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

  test.each([
    ['crdb-1.example:10137', true],
    ['[::1]:10137', true],
    ['a/b', false],
    ['a b', false],
  ])('is told to clients that name this exporter %s: %j', async (host, isTold) => {
    const { url } = await startOrchard();
    const { status, text } = await fetchPath(url, '/sd/clusters', { headers: { host } });
    const refusal = 'the Host header must name this exporter, as exporter:10137\n';
    expect([status, isTold ? JSON.parse(text)[0].targets : text]).toEqual(
      isTold ? [200, [host]] : [400, refusal],
    );
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
      return found.length === 6 ? found : undefined;
    });
    expect(nodes.map(({ labels }) => labels['node_id'] ?? '').toSorted()).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
    ]);
    const live = await eventually(
      async () => (await prometheus.query('crdb_nodes{job="clusters",status="live"}'))[0],
    );
    expect(live.labels).toMatchObject({ crdb_cluster: 'probed', instance: 'probed' });
    expect(live.value).toBe(simulator.truth().nodesByStatus['live']);
    // On a busy machine, one scrape in between takes longer than a second.
    await eventually(async () => {
      const up = await prometheus.query('up{job="clusters"}');
      return (up.length === 1 && up[0]?.value === 1) || undefined;
    });
  });
});
