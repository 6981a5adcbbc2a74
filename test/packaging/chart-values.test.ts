import { describe, expect, test } from 'vitest';
import { hasProgram } from '../support/programs.ts';
import { helmBelowAnother, readObjects, render } from './helm.ts';

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
    const config = { clusters: [{ name: 'a', cluster_api: { urls: ['https://crdb:8080'] } }] };
    const { stdout, stderr } = helmBelowAnother({
      global: { imageRegistry: 'registry.example.com' },
      'crdb-exporter': { config, ...more },
    });
    expect(stderr.replaceAll(/^.*found symbolic link.*\n/gm, '')).toBe('');
    const kinds = readObjects(stdout).map((object) => object.kind);
    expect(kinds.find((each) => each === 'ConfigMap')).toBe(kind);
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
