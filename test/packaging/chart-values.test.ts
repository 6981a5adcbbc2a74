import { describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { helm, helmBelowAnother, readObjects, render, renderNotes } from './helm.ts';

const CLUSTER = { name: 'a', cluster_api: { urls: ['https://crdb:8080'] } };
const CONFIG = { config: { clusters: [CLUSTER] } };
const UNREADABLE = { readinessProbe: { tcpSocket: { port: 'metrics' } } };

/** What replaces parts of the chart, for OpenShift, client certificates and configurations that are made elsewhere. */
const OWN = {
  image: { repository: 'registry.example.com/crdb-exporter', digest: `sha256:${'0'.repeat(64)}` },
  existingConfigMap: 'crdb-config',
  extraArgs: ['--log.level=debug'],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/ca', readOnly: true }],
  monitor: { kind: 'ServiceMonitor', metricRelabelings: [{ regex: 'job', action: 'labeldrop' }] },
  livenessProbe: { tcpSocket: { port: 'metrics' } },
  readinessProbe: { exec: { command: ['crdb-exporter', '--version'] } },
  podSecurityContext: { runAsNonRoot: true },
  securityContext: { allowPrivilegeEscalation: false },
  serviceAccountName: 'monitoring',
  commonLabels: { team: 'database' },
};

describe.skipIf(!hasProgram('helm'))('the chart (needs helm)', () => {
  test.each([
    ['without values of its own', {}, 'ConfigMap'],
    ['with global values and the usual condition', { enabled: true }, 'ConfigMap'],
    ['that its condition leaves out', { enabled: false }, undefined],
  ])('can be a dependency of another chart, %s', (_how, more, kind) => {
    const { stdout, stderr } = helmBelowAnother({
      global: { imageRegistry: 'registry.example.com' },
      'crdb-exporter': { ...CONFIG, ...more },
    });
    expect(stderr.replaceAll(/^.*found symbolic link.*\n/gm, '')).toBe('');
    const kinds = readObjects(stdout).map((object) => object.kind);
    expect(kinds.find((each) => each === 'ConfigMap')).toBe(kind);
  });

  test.each([
    ['a key without a value', { monitor: null }, "missing property 'monitor'"],
    ['a key without a value in another one', { webConfig: { scheme: null } }, "at '/webConfig'"],
    ['a number as a variable', { env: [{ name: 'A', value: 1 }] }, "at '/env/0/value'"],
    [
      'a type of paths',
      { ingress: { hosts: [{ host: 'a', paths: [{ path: '/', pathType: 'prefix' }] }] } },
      "at '/ingress/hosts/0/paths/0/pathType'",
    ],
    ['a tag with a space', { image: { tag: 'a b' } }, "at '/image/tag'"],
    [
      'an amount with a space',
      { resources: { limits: { memory: '512 MB' } } },
      "at '/resources/limits/memory'",
    ],
    [
      'TLS without a certificate',
      { webConfig: { scheme: 'https' } },
      'webConfig.scheme is https without webConfig.secret',
    ],
    [
      'clusters that are not read',
      { existingConfigMap: 'mine' },
      'config.clusters is not used beside existingConfigMap',
    ],
    [
      'a path without a slash',
      { config: { clusters: [CLUSTER], web: { telemetry_path: 'metrics' } } },
      "at '/config/web/telemetry_path'",
    ],
    [
      'two clusters of one name',
      { config: { clusters: [CLUSTER, CLUSTER] } },
      'config.clusters has two clusters with the name a',
    ],
    [
      'a critical limit that warns before the other one',
      { config: { clusters: [CLUSTER], thresholds: { disk: 0.05 } } },
      'disk_critical, 0.1, must be less than disk, 0.05',
    ],
    [
      'an expression that is none',
      { rules: { enabled: true, set: { excluded_applications: '(' } } },
      'rules.set.excluded_applications is not a regular expression: (',
    ],
    [
      'a request above the limit',
      { resources: { requests: { memory: '1Gi' } } },
      'resources.requests.memory, 1Gi, is more than resources.limits.memory, 512Mi',
    ],
    [
      'a flag that the monitor does not follow',
      { extraArgs: ['--web.telemetry-path=/x'] },
      'extraArgs has --web.telemetry-path: set config.web.telemetry_path',
    ],
    [
      'a cluster in flags',
      { extraArgs: ['--cluster.url=https://a'] },
      'extraArgs has --cluster.url: set config.clusters',
    ],
    [
      'a variable twice',
      { env: [{ name: 'POD_NAME', value: 'a' }] },
      'env has POD_NAME twice, or the chart sets it',
    ],
    [
      'a volume that the chart has',
      { extraVolumes: [{ name: 'config', emptyDir: {} }] },
      'extraVolumes has config twice, or the chart has such a volume',
    ],
    [
      'a mount without its volume',
      { extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }] },
      'extraVolumeMounts names the volume ca, which is not in extraVolumes',
    ],
  ])('refuses %s, by its place', (_what, values, reason) => {
    const { status, stderr } = helm('template', { ...CONFIG, ...values });
    expect(stderr).toContain(reason);
    expect(status).not.toBe(0);
  });

  test('says after the installation what it monitors, where, and how to test it', () => {
    const notes = renderNotes(CONFIG);
    expect(notes).toContain('crdb-exporter monitors 1 cluster(s).');
    expect(notes).toContain('http://localhost:10137/metrics   metrics');
    expect(notes).toContain('helm test mine');
  });

  test.each([
    [
      'clusters of another ConfigMap',
      { existingConfigMap: 'mine' },
      /^crdb-exporter monitors the clusters of the ConfigMap mine\.$/m,
    ],
    [
      'another path',
      { config: { ...CONFIG.config, web: { telemetry_path: '/crdb/metrics' } } },
      /localhost:10137\/crdb\/metrics {3}metrics$/m,
    ],
    ['no test', { ...CONFIG, ...UNREADABLE }, /metrics\n*$/],
    ['the first shard', { ...CONFIG, shards: 2 }, / pod\/mine-crdb-exporter-0-0 10137$/m],
    [
      'hosts, paths and their scheme',
      {
        ...CONFIG,
        ingress: {
          enabled: true,
          hosts: [{ host: 'a.example' }, { host: 'b.example', paths: [{ path: '/api/status' }] }],
          tls: [{ hosts: ['a.example'] }],
        },
      },
      /^ {2}https:\/\/a\.example\/\n {2}http:\/\/b\.example\/api\/status$/m,
    ],
  ])('says so of %s', (_what, values, line) => {
    expect(renderNotes(values)).toMatch(line);
  });

  test('lets its parts be replaced', () => {
    const objects = render(OWN);
    expect(objects.filter(({ kind }) => kind === 'ConfigMap')).toEqual([]);
    for (const { metadata } of objects) expect(metadata.labels).toMatchObject({ team: 'database' });
    expect(objects.find(({ kind }) => kind === 'ServiceMonitor')?.spec).toMatchObject({
      endpoints: [{ metricRelabelings: OWN.monitor.metricRelabelings }],
    });
    const [pod] = objects.flatMap(({ spec }) => spec?.template?.spec ?? []);
    expect(pod).toMatchObject({
      serviceAccountName: 'monitoring',
      securityContext: OWN.podSecurityContext,
      volumes: [{ name: 'config', configMap: { name: 'crdb-config' } }, ...OWN.extraVolumes],
    });
    const [container] = pod?.containers ?? [];
    const { livenessProbe, readinessProbe, securityContext } = OWN;
    expect(container).toMatchObject({
      image: `${OWN.image.repository}@${OWN.image.digest}`,
      livenessProbe,
      readinessProbe,
    });
    expect(container?.securityContext).toEqual(securityContext);
    expect(container?.args).toEqual(expect.arrayContaining(OWN.extraArgs));
    expect(container?.volumeMounts).toEqual(expect.arrayContaining(OWN.extraVolumeMounts));
  });
});
