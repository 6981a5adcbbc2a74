import path from 'node:path';
import { ROOT, run } from './programs.ts';

export const KUBERNETES = path.join(ROOT, 'config', 'kubernetes');
export const CHART = path.join(KUBERNETES, 'chart');

/** Any that the chart allows: nothing in it depends on the version, but Helm assumes an old one of its own. */
const FOR = ['--kube-version', '1.33.0'];

/** Values of the manifests that are in the repository: one for each kind of set-up. */
export const EXAMPLES = ['single', 'shards'].map((name) => ({
  manifests: path.join(KUBERNETES, 'manifests', `${name}.yaml`),
  values: path.join(KUBERNETES, 'manifests', `${name}.values.yaml`),
}));

/** What the chart, a folder or file, makes of the values. */
export function renderChart(chart: string, values: string): string {
  return run('helm', ['template', 'crdb-exporter', chart, '--values', values, ...FOR]);
}

export function lintChart(chart: string, values: string): void {
  run('helm', ['lint', '--strict', chart, '--values', values, ...FOR]);
}
