import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { stringify } from 'yaml';
import { SettingError } from '../src/alerts/rule-settings.ts';
import { writeBoard } from './boards.ts';

/** What a file of a dashboard holds, by the name of the format. */
const FORMATS: Readonly<Record<string, (board: Dashboard) => string>> = {
  json: writeBoard,
  configmap: (board) =>
    writeObject(board, 'v1', 'ConfigMap', { data: { [`${board.uid}.json`]: write(board) } }),
  'grafana-operator': (board) =>
    writeObject(board, 'grafana.integreatly.org/v1beta1', 'GrafanaDashboard', {
      spec: { instanceSelector: {}, json: write(board) },
    }),
};

/**
 * A file for Grafana (`json`), its sidecar (`configmap`) or its operator (`grafana-operator`), named after the uid of the dashboard.
 * Throws a SettingError on another format.
 */
export function writeFile(
  board: Dashboard,
  format: string,
): { readonly name: string; readonly text: string } {
  const render = FORMATS[format];
  if (render === undefined)
    throw new SettingError(`--format is one of ${Object.keys(FORMATS).join(', ')}, not ${format}`);
  return { name: `${board.uid}.${format === 'json' ? 'json' : 'yaml'}`, text: render(board) };
}

function writeObject(
  { uid }: Dashboard,
  apiVersion: string,
  kind: string,
  content: object,
): string {
  const metadata = { name: `crdb-exporter-dashboard-${uid}`, labels: { grafana_dashboard: '1' } };
  return stringify({ apiVersion, kind, metadata, ...content }, { lineWidth: 0 });
}

/** On one line: kubectl apply keeps a copy of each object in an annotation of at most 262,144 bytes. */
function write(board: Dashboard): string {
  return JSON.stringify(board);
}
