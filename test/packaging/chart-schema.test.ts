import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART } from './helm.ts';

const readYaml = (...names: readonly string[]): Record<string, unknown> =>
  parse(readFileSync(path.join(CHART, ...names), 'utf8'));
const isValid = new Ajv({ strict: false, allErrors: true }).compile(readYaml('values.schema.json'));
const DEFAULTS = readYaml('values.yaml');

const API = { urls: ['https://a:8080'] };
const withCluster = (api: object, more: object = {}): object => ({
  config: { clusters: [{ name: 'a', cluster_api: { ...API, ...api } }], ...more },
});

/** Where the schema refuses the values, which are laid over those of the chart as Helm does. */
function refused(values: object): readonly string[] {
  const merged = merge(DEFAULTS, merge(withCluster({}), values));
  if (isValid(merged)) return [];
  return (isValid.errors ?? []).map(({ instancePath }) => instancePath);
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function merge(below: object, above: object): Record<string, unknown> {
  const usual = new Map<string, unknown>(Object.entries(below));
  const entries = Object.entries(above).map(([key, value]): [string, unknown] => {
    const under = usual.get(key);
    return [key, isMap(value) && isMap(under) ? merge(under, value) : value];
  });
  return { ...below, ...Object.fromEntries(entries) };
}

const withHost = (host: object): object => ({ ingress: { enabled: true, hosts: [host] } });
const withMonitor = (monitor: object): object => ({
  monitor: { kind: 'ServiceMonitor', ...monitor },
});

/** What Kubernetes or the operator would refuse or drop. */
const FOR_KUBERNETES: readonly (readonly [place: string, values: object])[] = [
  ['/commonLabels/a', { commonLabels: { a: 'b c' } }],
  ['/commonLabels/a', { commonLabels: { a: 'b'.repeat(64) } }],
  ['/commonLabels', { commonLabels: { 'a b': 'c' } }],
  ['/podLabels/a', { podLabels: { a: '-b' } }],
  ['/podAnnotations', { podAnnotations: { 'a b': 'c' } }],
  ['/nodeSelector/a', { nodeSelector: { a: 'b c' } }],
  ['/rules/labels/a', { rules: { labels: { a: 'b c' } } }],
  ['/existingConfigMap', { existingConfigMap: 'My Map' }],
  ['/webConfig/secret', { webConfig: { secret: 'Web Secret' } }],
  ['/serviceAccountName', { serviceAccountName: 'A b' }],
  ['/priorityClassName', { priorityClassName: 'A b' }],
  ['/secrets/0', { secrets: ['a..b'] }],
  ['/image/repository', { image: { repository: '' } }],
  ['/image/repository', { image: { repository: 'registry/crdb:1.0' } }],
  ['/image/repository', { image: { repository: 'https://registry.example.com/crdb' } }],
  ['/image/repository', { image: { repository: 'registry/Crdb' } }],
  ['/image/pullSecrets/0', { image: { pullSecrets: [{ nam: 'x' }] } }],
  ['/env/0/name', { env: [{ name: 'A=B', value: 'x' }] }],
  ['/env/0/valueFrom', { env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: {} } }] }],
  ['/env/0/valueFrom', { env: [{ name: 'A', valueFrom: { secretRef: {} } }] }],
  ['/resources', { resources: { limit: { memory: '1Gi' } } }],
  ['/resources/limits', { resources: { limits: { ram: '1Gi' } } }],
  ['/resources/limits/memory', { resources: { limits: { memory: '512m' } } }],
  ['/resources/limits/memory', { resources: { limits: { memory: -1 } } }],
  ['/extraVolumes/0', { extraVolumes: [{ configMap: { name: 'a' } }] }],
  ['/extraVolumes/0', { extraVolumes: [{ name: 'a' }] }],
  ['/extraVolumeMounts/0', { extraVolumeMounts: [{ name: 'a' }] }],
  ['/extraArgs/0', { extraArgs: ['--log.level debug'] }],
  ['/livenessProbe', { livenessProbe: { tcpsocket: { port: 1 } } }],
  ['/livenessProbe', { livenessProbe: { periodSeconds: 20 } }],
  ['/readinessProbe', { readinessProbe: { exec: {}, httpGet: {} } }],
  ['/podSecurityContext', { podSecurityContext: { runAsNonroot: true } }],
  ['/securityContext', { securityContext: { readonlyRootFilesystem: true } }],
  ['/tolerations/0/operator', { tolerations: [{ key: 'a', operator: 'exists' }] }],
  ['/affinity', { affinity: { nodeAfinity: {} } }],
  ['/topologySpreadConstraints/0', { topologySpreadConstraints: [{ maxSkew: 1 }] }],
  ['/monitor/namespace', withMonitor({ namespace: 'My Namespace' })],
  ['/monitor/targetLabels/0', withMonitor({ targetLabels: ['a b'] })],
  ['/monitor/tlsConfig', withMonitor({ tlsConfig: { insecure_skip_verify: true } })],
  ['/monitor/basicAuth/username', withMonitor({ basicAuth: { username: 'ada' } })],
  ['/monitor/relabelings/0', withMonitor({ relabelings: [{ source_labels: ['a'] }] })],
  ['/monitor/namespaceSelector', withMonitor({ namespaceSelector: { matchLabels: {} } })],
  ['/dashboards/instanceSelector', { dashboards: { instanceSelector: { a: 'b' } } }],
  ['/ingress/className', { ingress: { className: 'My Class' } }],
  ['/ingress/hosts/0/host', withHost({ host: 'https://a.example.com' })],
  ['/ingress/hosts/0/host', withHost({ host: 'a.example.com:80' })],
  ['/ingress/hosts/0/host', withHost({ host: '10.0.0.1' })],
  ['/ingress/hosts/0/paths/0/path', withHost({ host: 'a', paths: [{ path: 'x' }] })],
  ['/ingress/hosts/0/paths', withHost({ host: 'a', paths: [] })],
  ['/ingress/tls/0', { ingress: { tls: [{ secret: 'x' }] } }],
  ['/networkPolicy/from/0', { networkPolicy: { from: [{ podSelctor: {} }] } }],
  ['/networkPolicy/from/0', { networkPolicy: { from: [{}] } }],
  [
    '/networkPolicy/from/0/ipBlock/cidr',
    { networkPolicy: { from: [{ ipBlock: { cidr: '10.0.0.0' } }] } },
  ],
  ['/rules/set/runbook_url', { rules: { set: { runbook_url: 'wiki' } } }],
];

/** With these no exporter would start. */
const FOR_EXPORTER: readonly (readonly [place: string, values: object])[] = [
  ['/config/web/telemetry_path', { config: { web: { telemetry_path: '/sd/x' } } }],
  ['/config/web/external_url', { config: { web: { external_url: 'crdb.example.com' } } }],
  ['/config/collectors/nodes/interval', { config: { collectors: { nodes: { interval: '' } } } }],
];

describe('the schema of the values', () => {
  test.each([...FOR_KUBERNETES, ...FOR_EXPORTER])('refuses at %s: %j', (place, values) => {
    expect(refused(values)).toContain(place);
  });

  test('accepts the values of the chart with a cluster, and those of ci/', () => {
    const sets = readdirSync(path.join(CHART, 'ci')).map((name) => readYaml('ci', name));
    for (const values of [{}, ...sets]) expect(refused(values)).toEqual([]);
  });

  test.each([
    [{ image: { repository: 'registry.example.com:5000/team/crdb-exporter' } }],
    [{ image: { repository: 'localhost/crdb' } }],
    [{ commonLabels: { 'app.kubernetes.io/part-of': '', a: 'B_c.d-1' } }],
    [{ resources: { requests: { cpu: '50m' }, limits: { memory: 1e9, 'example.com/gpu': 1 } } }],
    [{ resources: { limits: { memory: '1e9', cpu: 0.5 } } }],
    [{ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }] }],
    [withHost({ host: '*.example.com', paths: [{ path: '/', pathType: 'Exact' }] })],
    [withMonitor({ relabelings: [{ action: 'Drop', sourceLabels: ['a'], regex: 'b' }] })],
    [withCluster({ username: 'a', password_env: 'B' })],
    [withCluster({ token_file: '/a' })],
    [withCluster({ urls: ['http://a', 'http://b/x'], tls: { server_name: '::1' } })],
  ])('accepts %j', (values) => {
    expect(refused(values)).toEqual([]);
  });
});
