import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from './installed.ts';

export const CHART = path.join(ROOT, 'config', 'kubernetes', 'chart');

/** A Kubernetes object; only members that tests use are typed. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>> & { readonly template?: PodTemplate };
}

export interface PodTemplate {
  readonly metadata: KubernetesObject['metadata'];
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly env?: readonly Readonly<Record<string, unknown>>[];
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly volumeMounts: readonly { readonly name: string; readonly readOnly?: boolean }[];
  }[];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string; readonly defaultMode: number };
  }[];
}

export interface HelmAnswer {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Helm 4 beside that of the PATH, which is Helm 3 in CI. */
export const HELM_4 = 'helm4';

/** Runs helm on the chart with these values. */
export function helm(
  command: 'lint' | 'template',
  values: object,
  program: 'helm' | typeof HELM_4 = 'helm',
): HelmAnswer {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-chart-'));
  try {
    const file = path.join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    const target = command === 'template' ? ['crdb-exporter', CHART] : ['--strict', CHART];
    const args = [command, ...target, '--kube-version', '1.33.0', '--values', file];
    return spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs `helm template` on another chart that has this one as a dependency, with these values of the other chart. */
export function helmBelowAnother(
  values: object,
  program: 'helm' | typeof HELM_4 = 'helm',
): HelmAnswer {
  const folder = makeFolder();
  const dependencies = [
    { name: 'crdb-exporter', version: '*', condition: 'crdb-exporter.enabled' },
  ];
  const parent = { apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies };
  writeFileSync(path.join(folder, 'Chart.yaml'), JSON.stringify(parent));
  writeFileSync(path.join(folder, 'values.yaml'), JSON.stringify(values));
  cpSync(CHART, path.join(folder, 'charts', 'crdb-exporter'), {
    recursive: true,
    dereference: true,
  });
  const args = ['template', 'parent', folder, '--kube-version', '1.33.0'];
  return spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

/** What `helm install` prints at its end with these values. It needs a cluster for that, so another chart renders the text. */
export function renderNotes(values: object): string {
  const folder = makeFolder();
  cpSync(CHART, folder, { recursive: true, dereference: true });
  cpSync(path.join(CHART, 'templates', 'NOTES.txt'), path.join(folder, 'notes'));
  const notes = '{ kind: Notes, text: {{ tpl (.Files.Get "notes") . | toJson }} }';
  writeFileSync(path.join(folder, 'templates', 'notes.yaml'), notes);
  const file = path.join(folder, 'mine.json');
  writeFileSync(file, JSON.stringify(values));
  const only = ['--show-only', 'templates/notes.yaml'];
  const args = ['template', 'mine', folder, '--kube-version', '1.33.0', '--values', file, ...only];
  const { status, stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  const { text }: { readonly text: string } = parse(stdout);
  return text;
}

/** The objects that the chart renders with these values. */
export function render(
  values: object,
  program: 'helm' | typeof HELM_4 = 'helm',
): readonly KubernetesObject[] {
  const { status, stdout, stderr } = helm('template', values, program);
  if (status !== 0) throw new Error(stderr);
  return readObjects(stdout);
}

export function readObjects(yaml: string): readonly KubernetesObject[] {
  const documents = parseAllDocuments(yaml, { version: '1.1' });
  if (!Array.isArray(documents)) return [];
  const objects: readonly (KubernetesObject | null)[] = documents.map((document) => {
    if (document.errors.length > 0) throw new Error(String(document.errors[0]));
    return document.toJS();
  });
  return objects.filter((object) => object !== null);
}

export function ofKind(
  objects: readonly KubernetesObject[],
  kind: string,
): readonly KubernetesObject[] {
  return objects.filter((object) => object.kind === kind);
}

/** Checks objects against the schemas of Kubernetes. */
export const VALIDATOR = 'kubernetes-validate';

function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-chart-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** What the validator of Kubernetes says of these objects. */
export function validate(objects: readonly unknown[]): { status: number | null; output: string } {
  const file = path.join(makeFolder(), 'objects.yaml');
  writeFileSync(file, objects.map((object) => `---\n${JSON.stringify(object)}\n`).join(''));
  const { status, stdout, stderr } = spawnSync(VALIDATOR, ['--strict', file], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

/** Errors of the compiler for these objects as literals of their types; unknown keys are errors. */
export function compile(objects: readonly KubernetesObject[]): string {
  const models = path.join(ROOT, 'node_modules/@kubernetes-models/prometheus-operator');
  const source = objects.map(
    (object, index) =>
      `import type { I${object.kind} as T${index} } from ${JSON.stringify(`${models}/${object.apiVersion}/${object.kind}.js`)};
export const o${index}: T${index} = ${JSON.stringify(object)};`,
  );
  const file = path.join(makeFolder(), 'objects.ts');
  writeFileSync(file, source.join('\n'));
  const flags = '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext'.split(' ');
  const tsc = path.join(ROOT, 'node_modules/.bin/tsc');
  return spawnSync(tsc, [...flags, '--types', '', file], { encoding: 'utf8' }).stdout;
}
