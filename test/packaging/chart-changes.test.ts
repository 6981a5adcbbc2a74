import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildBoards } from '../../dashboards/boards.ts';
import { readSettings } from '../../src/alerts/rule-settings.ts';
import { startOrchard } from '../exporter/routes/orchard.ts';
import { createAuthority } from '../support/certificates.ts';
import { hasProgram } from '../support/programs.ts';
import { type KubernetesObject, ofKind, render } from './helm.ts';
import { ROOT } from './installed.ts';

const CLUSTERS = [{ name: 'prod', cluster_api: { urls: ['http://cockroachdb:8080'] } }];
const SMALLEST = { config: { clusters: CLUSTERS } };
const MONITOR = { ...SMALLEST, monitor: { kind: 'ServiceMonitor' } };

function templateOf(config: object): unknown {
  return render({ config: { clusters: CLUSTERS, ...config } }).flatMap(
    ({ spec }) => spec?.template ?? [],
  );
}

function endpointOf(monitor: object): unknown {
  const [object] = ofKind(render({ ...MONITOR, monitor }), 'ServiceMonitor');
  return Array.isArray(object?.spec?.['endpoints']) ? object.spec['endpoints'][0] : undefined;
}

function labelsOf(objects: readonly KubernetesObject[], kind: string) {
  return ofKind(objects, kind)[0]?.metadata.labels;
}

describe.skipIf(!hasProgram('helm'))('the chart (needs helm)', () => {
  let usual: unknown;
  beforeAll(() => {
    usual = templateOf({});
  });

  test.each([
    ['web', { web: { telemetry_path: '/m' } }],
    ['log.format', { log: { format: 'json' } }],
  ])('replaces the pods when %s changes', (_key, config) => {
    expect(templateOf(config)).not.toEqual(usual);
  });

  test.each([
    ['clusters', { clusters: [{ ...CLUSTERS[0], name: 'other' }] }],
    ['collectors', { collectors: { nodes: { interval: '15s' } } }],
    ['log.level', { log: { level: 'debug' } }],
    ['thresholds', { thresholds: { disk: 0.3 } }],
  ])('leaves the pods, which reload, when %s changes', (_key, config) => {
    expect(templateOf(config)).toEqual(usual);
  });

  test('takes the labels of the values before its own', () => {
    const objects = render({
      ...SMALLEST,
      commonLabels: { 'app.kubernetes.io/managed-by': 'argocd', team: 'database' },
      monitor: { kind: 'PodMonitor', labels: { team: 'monitoring' } },
    });
    const common = { 'app.kubernetes.io/managed-by': 'argocd', team: 'database' };
    expect(labelsOf(objects, 'Deployment')).toMatchObject(common);
    expect(labelsOf(objects, 'PodMonitor')).toMatchObject({ ...common, team: 'monitoring' });
  });

  test.each([
    ['commonLabels', { commonLabels: { 'app.kubernetes.io/name': 'other' } }],
    ['podLabels', { podLabels: { 'app.kubernetes.io/name': 'other' } }],
  ])('refuses %s that would not select the pods', (_key, labels) => {
    expect(() => render({ ...SMALLEST, ...labels })).toThrow(
      'the label app.kubernetes.io/name selects the pods and is always crdb-exporter',
    );
  });

  test('leaves the timeout of a scrape to Prometheus, which keeps it below the interval', () => {
    const endpoint = endpointOf({ kind: 'ServiceMonitor', interval: '5s' });
    expect(endpoint).toMatchObject({ interval: '5s' });
    expect(endpoint).not.toHaveProperty('scrapeTimeout');
  });

  test.each([
    ['5s', '10s'],
    ['900ms', '1s'],
    ['1m', '61s'],
  ])('refuses the interval %s with the timeout %s', (interval, scrapeTimeout) => {
    const monitor = { kind: 'ServiceMonitor', interval, scrapeTimeout };
    expect(() => endpointOf(monitor)).toThrow(
      `monitor.scrapeTimeout ${scrapeTimeout} is longer than monitor.interval ${interval}`,
    );
  });

  test.each([
    ['1m', '60s'],
    ['', '10s'],
  ])('takes the interval "%s" with the timeout %s', (interval, scrapeTimeout) => {
    expect(endpointOf({ kind: 'PodMonitor', interval, scrapeTimeout })).toBeUndefined();
    expect(endpointOf({ kind: 'ServiceMonitor', interval, scrapeTimeout })).toMatchObject({
      scrapeTimeout,
    });
  });

  // The operator gives each series the label endpoint, the port: of requests it would replace the endpoint of the cluster's API.
  test('keeps the labels of the exporter', () => {
    expect(endpointOf({ kind: 'ServiceMonitor' })).toMatchObject({ honorLabels: true });
  });

  test('passes the settings of a monitor on', () => {
    const relabelings = [
      { sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' },
    ];
    const monitor = {
      kind: 'ServiceMonitor',
      namespace: 'monitoring',
      honorLabels: true,
      targetLabels: ['team'],
      podTargetLabels: ['zone'],
      relabelings,
    };
    const [object] = ofKind(render({ ...MONITOR, monitor }), 'ServiceMonitor');
    expect(object?.metadata.namespace).toBe('monitoring');
    expect(object?.spec).toMatchObject({
      namespaceSelector: { matchNames: ['default'] },
      targetLabels: ['team'],
      podTargetLabels: ['zone'],
      endpoints: [
        { honorLabels: true, relabelings: [{ targetLabel: 'instance' }, ...relabelings] },
      ],
    });
    const chosen = { ...monitor, namespaceSelector: { any: true } };
    expect(
      ofKind(render({ ...MONITOR, monitor: chosen }), 'ServiceMonitor')[0]?.spec,
    ).toMatchObject({ namespaceSelector: { any: true } });
    expect(() => render({ ...MONITOR, monitor: { ...monitor, kind: 'PodMonitor' } })).toThrow(
      'a PodMonitor has monitor.podTargetLabels',
    );
  });

  test('writes the dashboards for the Grafana operator, with the runbooks of the configuration', () => {
    const objects = render({
      config: { clusters: CLUSTERS, links: { runbook_url: 'https://wiki.example.com/crdb/' } },
      dashboards: {
        enabled: true,
        kind: 'GrafanaDashboard',
        folder: 'CockroachDB',
        instanceSelector: { matchLabels: { dashboards: 'grafana' } },
      },
    });
    const boards = ofKind(objects, 'GrafanaDashboard');
    const withRunbooks = buildBoards(readSettings(['runbook_url=https://wiki.example.com/crdb']));
    const folder = path.join(ROOT, 'dashboards');
    const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
    expect(boards).toHaveLength(files.length);
    for (const [index, { metadata, spec }] of boards.entries()) {
      const { json, ...others } = spec ?? {};
      expect(others).toEqual({
        instanceSelector: { matchLabels: { dashboards: 'grafana' } },
        allowCrossNamespaceImport: false,
        folder: 'CockroachDB',
      });
      const uid = path.basename(files[index] ?? '', '.json');
      expect(metadata.name).toContain(uid);
      const board = withRunbooks.find((one) => one.uid === uid);
      expect(JSON.parse(String(json))).toEqual(JSON.parse(JSON.stringify(board)));
    }
  });

  test('opens the status page by an Ingress with at least one host', () => {
    const ingress = { enabled: true, className: 'nginx', hosts: [{ host: 'crdb.example.com' }] };
    const [object] = ofKind(render({ ...SMALLEST, ingress }), 'Ingress');
    const service = { name: 'crdb-exporter', port: { name: 'metrics' } };
    expect(object?.spec).toEqual({
      ingressClassName: 'nginx',
      rules: [
        {
          host: 'crdb.example.com',
          http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] },
        },
      ],
    });
    expect(() => render({ ...SMALLEST, ingress: { enabled: true } })).toThrow('/ingress/hosts');
  });

  test.each(['http', 'https'])('tests an installation over %s: helm test', async (scheme) => {
    const [pod] = ofKind(render({ ...SMALLEST, webConfig: { secret: 'web', scheme } }), 'Pod');
    expect(pod?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'test' });
    const { cert, key } = await (await createAuthority()).issue({ name: 'a', sans: ['dns:a'] });
    const { app, url } = await startOrchard({
      webConfig:
        scheme === 'http' ? '' : 'tls_server_config: { cert_file: a.crt, key_file: a.key }\n',
      files: { 'a.crt': cert, 'a.key': key },
    });
    const [container] = JSON.parse(JSON.stringify(pod?.spec?.['containers']));
    const run = async (): Promise<unknown> => {
      const [program, ...args] = container.command.map((word: string) =>
        word.replace(`${scheme}://crdb-exporter:10137`, url),
      );
      expect(program).toBe('/usr/local/bin/node');
      const names = (container.env ?? []).map(({ name, value }: Named) => [name, value]);
      const env = { ...process.env, ...Object.fromEntries(names) };
      const [code] = await once(spawn(process.execPath, args, { env }), 'exit');
      return code;
    };
    expect(await run()).toBe(0);
    await app.stop();
    expect(await run()).toBe(1);
  });
});

interface Named {
  readonly name: string;
  readonly value: string;
}
