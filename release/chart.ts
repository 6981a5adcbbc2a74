// `npm run chart`: writes what the Helm chart takes from elsewhere: the version and the schema of its values, and the
// manifests for those without Helm. Needs helm.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, run } from './programs.ts';
import { makeValuesSchema } from './values-schema.ts';

const KUBERNETES = path.join(ROOT, 'config', 'kubernetes');
const CHART = path.join(KUBERNETES, 'chart');
/** The newest whose types the tests know is no matter: nothing in the chart depends on it. */
const KUBERNETES_VERSION = '1.33.0';

writeVersion();
writeSchema();
for (const name of ['single', 'shards']) writeManifests(name);

function writeVersion(): void {
  const file = path.join(CHART, 'Chart.yaml');
  const manifest: { readonly version: string } = JSON.parse(read(path.join(ROOT, 'package.json')));
  writeFileSync(
    file,
    read(file).replace(/^(version|appVersion): .*$/gm, `$1: ${manifest.version}`),
  );
}

function writeSchema(): void {
  const exporter: Readonly<Record<string, unknown>> = JSON.parse(
    read(path.join(ROOT, 'config', 'exporter.schema.json')),
  );
  const schema = JSON.stringify(makeValuesSchema(exporter), null, 2);
  writeFileSync(path.join(CHART, 'values.schema.json'), `${schema}\n`);
}

function writeManifests(name: string): void {
  const values = path.join(KUBERNETES, 'manifests', `${name}.values.yaml`);
  const args = ['--values', values, '--kube-version', KUBERNETES_VERSION];
  const manifests = run('helm', ['template', 'crdb-exporter', CHART, ...args]);
  writeFileSync(path.join(KUBERNETES, 'manifests', `${name}.yaml`), manifests);
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}
