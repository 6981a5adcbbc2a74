import path from 'node:path';
import { ROOT, run } from './programs.ts';

export const KUBERNETES = path.join(ROOT, 'config', 'kubernetes');
export const CHART = path.join(KUBERNETES, 'chart');

/** Any version that the chart allows; without it Helm assumes an old one. */
const FOR = ['--kube-version', '1.33.0'];

/** The manifests in the repository, with their values. */
export const EXAMPLES = ['single', 'shards'].map((name) => ({
  manifests: path.join(KUBERNETES, 'manifests', `${name}.yaml`),
  values: path.join(KUBERNETES, 'manifests', `${name}.values.yaml`),
}));

/** The manifests that the chart, a folder or file, renders with these values, without its tests. */
export function renderChart(chart: string, values: string): string {
  return run('helm', [
    'template',
    'crdb-exporter',
    chart,
    '--values',
    values,
    '--skip-tests',
    ...FOR,
  ]);
}

export function lintChart(chart: string, values: string): void {
  run('helm', ['lint', '--strict', chart, '--values', values, ...FOR]);
}
