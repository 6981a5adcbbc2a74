import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { hasProgram } from '../support/programs.ts';
import {
  CHART,
  compile,
  helm,
  HELM_4,
  helmBelowAnother,
  type KubernetesObject,
  ofKind,
  type PodTemplate,
  readObjects,
  render,
  validate,
  VALIDATOR,
} from './helm.ts';

const FOLDER = path.join(CHART, 'ci');
/** The values of `ci/`, by their file. */
const SETS = readdirSync(FOLDER).map((name): readonly [string, object] => [
  name,
  parse(readFileSync(path.join(FOLDER, name), 'utf8')),
]);
const HAS_HELM = hasProgram('helm');
const RENDERED = new Map(SETS.map(([name, values]) => [name, HAS_HELM ? render(values) : []]));

function rendered(name: string): readonly KubernetesObject[] {
  return RENDERED.get(name) ?? [];
}

function templatesOf(objects: readonly KubernetesObject[]): readonly PodTemplate[] {
  return objects.flatMap(({ spec }) => spec?.template ?? []);
}

describe.skipIf(!HAS_HELM)('the chart (needs helm) with values of ci/', () => {
  test('has ten sets of values', () => {
    expect(SETS.length).toBeGreaterThanOrEqual(10);
  });

  test.each(SETS)('passes helm lint with %s', (_name, values) => {
    const { status, stdout } = helm('lint', values);
    expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
    expect(stdout).not.toContain('[INFO]');
  });

  test.each(SETS)('names each object of %s once', (name) => {
    const ids = rendered(name).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(ids.length).toBeGreaterThan(2);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test.each(SETS)('selects all pods of %s but that of helm test', (name) => {
    const objects = rendered(name);
    const selector = ofKind(objects, 'Service')[0]?.spec?.['selector'];
    expect(Object.keys(selector ?? {})).toHaveLength(2);
    const pods = templatesOf(objects);
    expect(pods.length).toBeGreaterThan(0);
    for (const { metadata } of pods) expect(metadata.labels).toMatchObject(selector ?? {});
    for (const { metadata } of ofKind(objects, 'Pod'))
      expect(metadata.labels).not.toMatchObject(selector ?? {});
  });

  test.each(SETS)('gives volumes of %s names that Kubernetes takes', (name) => {
    for (const { spec } of templatesOf(rendered(name))) {
      const volumes = spec.volumes.map((volume) => volume.name);
      expect(volumes).toEqual([...new Set(volumes)]);
      for (const volume of volumes) expect(volume).toMatch(/^[a-z\d]([-a-z\d]{0,61}[a-z\d])?$/);
      for (const { volumeMounts } of spec.containers)
        expect(volumes).toEqual(expect.arrayContaining(volumeMounts.map((mount) => mount.name)));
    }
  });

  test('matches the types of the Prometheus operator', () => {
    const typed = [...RENDERED.values()]
      .flat()
      .filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com/'));
    const kinds = new Set(typed.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(['PodMonitor', 'PrometheusRule', 'ServiceMonitor']));
    const [first] = ofKind(typed, 'ServiceMonitor');
    const mistyped = first ? [{ ...first, spec: { ...first.spec, a: 1 } }] : [];
    const errors = compile([...typed, ...mistyped]).match(/error TS.*/g);
    expect(errors).toEqual([
      expect.stringContaining("does not exist in type 'IServiceMonitorSpec'"),
    ]);
  });
});

describe.skipIf(!HAS_HELM || !hasProgram(VALIDATOR))(
  'manifests of the chart (needs helm and kubernetes-validate)',
  () => {
    test('are valid for Kubernetes, and invalid with an unknown member', () => {
      const native = [...RENDERED.values()]
        .flat()
        .filter(({ apiVersion }) => !/coreos|grafana/.test(apiVersion));
      const [first] = ofKind(native, 'Service');
      const wrong = { ...first, spec: { ...first?.spec, prots: [] } };
      const { status, output } = validate([...native, wrong]);
      expect(status).not.toBe(0);
      expect(output.match(/ passed for resource /g)).toHaveLength(native.length);
    });
  },
);

describe.skipIf(!HAS_HELM || !hasProgram(HELM_4))(
  'the chart in Helm 4 (needs helm and helm4)',
  () => {
    test.each(SETS)('passes helm lint with %s, and renders the same objects', (name, values) => {
      const { status, stdout } = helm('lint', values, HELM_4);
      expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
      expect(render(values, HELM_4)).toEqual(rendered(name));
    });

    test('can be a dependency of another chart, and renders the same objects there', () => {
      const values = {
        global: { registry: 'a' },
        'crdb-exporter': { ...SETS[0]?.[1], enabled: true },
      };
      const [three, four] = (['helm', HELM_4] as const).map((program) =>
        readObjects(helmBelowAnother(values, program).stdout),
      );
      expect(four?.length).toBeGreaterThan(2);
      expect(four).toEqual(three);
    });
  },
);
