import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSettings } from '../../src/alerts/rule-settings.ts';
import { writeRules } from '../../src/alerts/rules-template.ts';
import { makeValuesSchema } from '../../tools/release/values-schema.ts';
import { hasProgram } from '../support/programs.ts';
import { helm, type KubernetesObject, ofKind, type PodSpec, readObjects, render } from './helm.ts';
import { ROOT } from './installed.ts';

const SECRET_FOLDER = '/etc/crdb-exporter/secrets/crdb';
const CONFIG = {
  clusters: [
    {
      name: 'prod',
      cluster_api: {
        urls: ['https://cockroachdb-public:8080'],
        username: 'exporter',
        password_file: `${SECRET_FOLDER}/password`,
      },
    },
  ],
};
const SMALLEST = { config: CONFIG };
const EVERYTHING = {
  config: { ...CONFIG, web: { telemetry_path: '/crdb' } },
  secrets: ['crdb', 'ca'],
  env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
  webConfig: { secret: 'web', scheme: 'https' },
  replicas: 2,
  monitor: {
    kind: 'ServiceMonitor',
    labels: { release: 'prometheus' },
    tlsConfig: { serverName: 'crdb' },
  },
  rules: {
    enabled: true,
    labels: { release: 'prometheus' },
    set: {
      runbook_url: 'https://wiki.corp.internal/crdb',
      disk: 0.25,
      disk_floor: 5_368_709_120,
      excluded_applications: 'pg_dump|"nightly".*',
      'severity.CrdbNodeUnavailable': 'critical',
      'severity.CrdbStoreDiskLow': 'warning',
      'severity.CrdbHotRange': 'off',
      'severity.CrdbHeartbeatSlow': 'info',
      'for.CrdbNodeDead': '10m',
      dashboard_url: 'https://grafana.corp.internal',
      'label.team': 'database & storage',
    },
  },
  dashboards: { enabled: true, annotations: { folder: 'CockroachDB' } },
  networkPolicy: { enabled: true, from: [{ podSelector: { matchLabels: { app: 'prometheus' } } }] },
  podAnnotations: { note: 'yes' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'monitoring', operator: 'Exists' }],
};
const SHARDS = { ...EVERYTHING, shards: 4, monitor: { kind: 'PodMonitor' } };
const CASES = { SMALLEST, EVERYTHING, SHARDS };
const HAS_HELM = hasProgram('helm');
/** What the chart renders with the values of a case. */
const RENDERED = new Map<object, readonly KubernetesObject[]>(
  Object.values(CASES).map((values) => [values, HAS_HELM ? render(values) : []]),
);

function rendered(values: object): readonly KubernetesObject[] {
  return RENDERED.get(values) ?? [];
}

function read(...names: readonly string[]): string {
  return readFileSync(path.join(ROOT, ...names), 'utf8');
}

function podsOf(objects: readonly KubernetesObject[]): readonly PodSpec[] {
  return objects.flatMap(({ spec }) => spec?.template?.spec ?? []);
}

describe("the chart's files", () => {
  test('have the version of the package', () => {
    const { version }: { readonly version: string } = JSON.parse(read('package.json'));
    expect(parse(read('config/kubernetes/chart/Chart.yaml'))).toMatchObject({
      version,
      appVersion: version,
    });
  });

  test('contain the generated values schema', () => {
    const exporter = JSON.parse(read('config/exporter.schema.json'));
    const schema: unknown = JSON.parse(read('config/kubernetes/chart/values.schema.json'));
    expect(schema).toEqual(makeValuesSchema(exporter));
  });
});

describe.skipIf(!HAS_HELM)('the chart (needs helm)', () => {
  test.each([
    ['without a cluster', {}, "missing property 'clusters'"],
    ['with a mistyped key', { ...SMALLEST, replcas: 2 }, "additional properties 'replcas'"],
    [
      'with a mistyped key of the configuration',
      { config: { ...CONFIG, loging: {} } },
      "additional properties 'loging'",
    ],
    [
      'with a password, which would be readable in a ConfigMap',
      { config: { clusters: [{ name: 'a', cluster_api: { urls: ['http://a'], password: 'x' } }] } },
      "additional properties 'password'",
    ],
    [
      'with an invalid duration',
      { config: { ...CONFIG, collectors: { nodes: { interval: 'often' } } } },
      "'often' does not match pattern",
    ],
    ['with a secret without a name', { ...SMALLEST, secrets: [''] }, "'/secrets/0'"],
  ])('is rejected %s', (_what, values, reason) => {
    const { status, stderr } = helm('template', values);
    expect(stderr).toContain(reason);
    expect(status).not.toBe(0);
  });

  test.each(Object.entries(CASES))('keeps pods restricted with %s', (_name, values) => {
    const pods = podsOf(rendered(values));
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(pod.containers[0]?.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('mounts secrets read-only, only for the group of the exporter', () => {
    const [pod] = podsOf(rendered(EVERYTHING));
    const secrets = pod?.volumes.flatMap(({ secret }) => secret ?? []) ?? [];
    expect(secrets).toEqual(
      ['crdb', 'ca', 'web'].map((secretName) => ({ secretName, defaultMode: 0o440 })),
    );
    const mounts = pod?.containers[0]?.volumeMounts ?? [];
    expect(mounts.length).toBe(4);
    expect(mounts.filter(({ readOnly }) => readOnly !== true)).toEqual([]);
  });

  test('writes a valid configuration', () => {
    const schema = JSON.parse(read('config/exporter.schema.json'));
    const isValid = new Ajv({ strict: false }).compile(schema);
    const [config] = ofKind(rendered(EVERYTHING), 'ConfigMap');
    const written: unknown = parse(config?.data?.['exporter.yml'] ?? '');
    expect([isValid(written), isValid.errors]).toEqual([true, null]);
    expect(written).toEqual(EVERYTHING.config);
  });

  test('has one StatefulSet per replica when it is sharded', () => {
    const objects = rendered(SHARDS);
    expect(ofKind(objects, 'Deployment')).toEqual([]);
    const sets = ofKind(objects, 'StatefulSet');
    expect(sets.map(({ metadata }) => metadata.name)).toEqual([
      'crdb-exporter-0',
      'crdb-exporter-1',
    ]);
    for (const set of sets) {
      expect(set.spec).toMatchObject({ replicas: 4, podManagementPolicy: 'Parallel' });
      const [index, count] = set.spec?.template?.spec.containers[0]?.env ?? [];
      const fieldPath = "metadata.labels['apps.kubernetes.io/pod-index']";
      expect(index).toEqual({
        name: 'CRDB_EXPORTER_SHARD_INDEX',
        valueFrom: { fieldRef: { fieldPath } },
      });
      expect(count).toEqual({ name: 'CRDB_EXPORTER_SHARD_COUNT', value: '4' });
    }
    expect(ofKind(objects, 'Service')[0]?.spec).toMatchObject({ clusterIP: 'None' });
  });

  const links = { runbook_url: 'https://wiki.corp.internal/crdb/', dashboard_url: '' };
  const LIMITED = { config: { ...CONFIG, thresholds: { disk: 0.25 }, links } };
  const LIMITS = ['disk=0.25', 'runbook_url=https://wiki.corp.internal/crdb'];
  const SET = Object.entries(EVERYTHING.rules.set).map((pair) => pair.join('='));
  test.each([
    ['of config/prometheus', { ...SMALLEST, rules: { enabled: true } }, []],
    ['that the command writes', EVERYTHING, SET],
    [
      'with limits and links of the configuration',
      { ...LIMITED, rules: { enabled: true } },
      LIMITS,
    ],
    [
      'with the runbooks that the exporter serves',
      {
        config: { ...CONFIG, web: { external_url: 'https://ops.example/crdb/' } },
        rules: { enabled: true },
      },
      ['runbook_url=https://ops.example/crdb/runbooks'],
    ],
  ])('includes the rules %s', (_, values, pairs) => {
    const [rule] = ofKind(render(values), 'PrometheusRule');
    // Helm writes a large number in another way.
    const spec = JSON.stringify(rule?.spec).replaceAll('5.36870912e+09', '5368709120');
    expect(JSON.parse(spec)).toEqual(parse(writeRules(readSettings(pairs))));
  });

  test('refuses limits of rules that differ from those of the configuration', () => {
    const other = { ...LIMITED, rules: { enabled: true, set: { disk: 0.3 } } };
    expect(() => render(other)).toThrow(/rules\.set\.disk differs from config/);
  });

  test('includes every dashboard, each small enough for kubectl apply', () => {
    const all = readdirSync(path.join(ROOT, 'dashboards'));
    const files = all.filter((name) => name.endsWith('.json'));
    const maps = ofKind(rendered(EVERYTHING), 'ConfigMap').filter(
      ({ metadata }) => metadata.labels['grafana_dashboard'] === '1',
    );
    const shown = Object.assign({}, ...maps.map(({ data }) => data));
    expect(Object.keys(shown).toSorted()).toEqual(files.toSorted());
    for (const file of files) {
      expect(JSON.parse(shown[file])).toEqual(JSON.parse(read('dashboards', file)));
    }
    // Of 262,144 bytes, which the annotation with a copy of the object may have.
    for (const map of maps) expect(Buffer.byteLength(JSON.stringify(map))).toBeLessThan(200_000);
  });

  test('accepts the values of docs/installation.md', () => {
    const [, example = ''] =
      /```yaml\n(# values\.yaml\n[^]*?)```/.exec(read('docs/installation.md')) ?? [];
    const kinds = new Set(render(parse(example)).map(({ kind }) => kind));
    for (const kind of ['Deployment', 'ServiceMonitor', 'PrometheusRule'])
      expect(kinds).toContain(kind);
  });

  test.each(['single', 'shards'])(
    'gives the committed manifests/%s.yaml (npm run chart)',
    (name) => {
      const folder = path.join('config/kubernetes/manifests', name);
      const objects = render(parse(read(`${folder}.values.yaml`)));
      expect(objects.filter(({ kind }) => kind !== 'Pod')).toEqual(
        readObjects(read(`${folder}.yaml`)),
      );
    },
  );
});
