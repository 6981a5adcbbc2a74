import type { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { toRunbook } from './lib/links.ts';
import { SEVERITY } from './lib/style.ts';
import { table } from './lib/table.ts';

const FIRING = 'alertname=~"Crdb.+", alertname!="CrdbWatchdog", alertstate="firing"';

/** The alerts of the cluster, and those that concern all clusters, as CrdbMonitoringBlind. */
function firing(severity = ''): string {
  const own = `ALERTS{${FIRING}${severity}, crdb_cluster="$cluster"}`;
  return `(${own} or ALERTS{${FIRING}${severity}, crdb_cluster=""})`;
}

/** The number of the highest severity of each alert. */
const SEVERITIES = ['critical', 'warning', 'info']
  .map(
    (severity, index) => `${3 - index} * max by (alertname) ${firing(`, severity="${severity}"`)}`,
  )
  .join(' or ');

/** The alerts that fire, by name, with links to their runbooks where these are known. */
export function firingAlerts(runbooks: string): Table {
  return table('Firing alerts', {
    about: 'Alerts that fire for this cluster or for all; the worst first (ALERTS).',
    labels: { alertname: { title: 'alert', ...(runbooks && { links: [toRunbook(runbooks)] }) } },
    values: [
      {
        title: 'severity',
        unit: 'none',
        states: SEVERITY,
        expr: `${SEVERITIES} or 0 * max by (alertname) ${firing()}`,
      },
      { title: 'times', unit: 'short', expr: `count by (alertname) ${firing()}` },
    ],
    sortBy: ['severity', 'times'],
    empty: 'none',
    evidence: ['crdb_cluster:crdb_health:code{crdb_cluster="$cluster"} < 3', 'alertname'],
    width: 10,
  });
}
