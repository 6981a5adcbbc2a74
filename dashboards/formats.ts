import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { stringify } from 'yaml';

/** For Grafana, for its sidecar, or for its operator. */
export type Format = 'json' | 'configmap' | 'grafana-operator';

/** The file of a dashboard, named after its uid. */
export function writeBoard(
  board: Dashboard,
  format: Format = 'json',
): { readonly name: string; readonly text: string } {
  const uid = board.uid ?? '';
  if (format === 'json')
    return { name: `${uid}.json`, text: `${JSON.stringify(board, undefined, 2)}\n` };
  // On one line: kubectl apply keeps a copy of each object in an annotation of at most 262,144 bytes.
  const json = JSON.stringify(board);
  const object =
    format === 'configmap'
      ? { apiVersion: 'v1', kind: 'ConfigMap', content: { data: { [`${uid}.json`]: json } } }
      : {
          apiVersion: 'grafana.integreatly.org/v1beta1',
          kind: 'GrafanaDashboard',
          content: { spec: { instanceSelector: {}, json } },
        };
  const { apiVersion, kind, content } = object;
  const metadata = { name: `crdb-exporter-dashboard-${uid}`, labels: { grafana_dashboard: '1' } };
  const text = stringify({ apiVersion, kind, metadata, ...content }, { lineWidth: 0 });
  return { name: `${uid}.yaml`, text };
}
