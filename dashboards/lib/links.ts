import { DashboardLinkBuilder } from '@grafana/grafana-foundation-sdk/dashboard';

/** The variables of every dashboard, and the time range. The address of DB Console follows from the cluster. */
const CARRIED =
  '${datasource:queryparam}&${job:queryparam}&${cluster:queryparam}&${__url_time_range}';

/** A link to another dashboard; `set` sets its variables, for example `var-node=…`. */
export function toBoard(title: string, uid: string, set = ''): DashboardLinkBuilder {
  const url = `/d/${uid}?${set === '' ? '' : `${set}&`}${CARRIED}`;
  return new DashboardLinkBuilder(title).url(url);
}

/** A link from the row of a cluster to its dashboard. */
export function toCluster(title: string, uid: string): DashboardLinkBuilder {
  const carried = CARRIED.replace('${cluster:queryparam}&', '');
  return new DashboardLinkBuilder(title).url(
    `/d/${uid}?var-cluster=\${__data.fields.crdb_cluster:percentencode}&${carried}`,
  );
}

/** A link to a page of DB Console; needs the variable `console`. */
export function toConsole(title: string, page: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(`DB Console: ${title}`)
    .url(`\${console}/#/${page}`)
    .targetBlank(true);
}

/** A link from the row of an alert to its runbook. */
export function toRunbook(folder: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder('Runbook')
    .url(`${folder}/\${__data.fields.alertname}.md`)
    .targetBlank(true);
}

/** The node of a table row, or of a series. */
export const NODE_OF_ROW = 'var-node=${__data.fields.node_id}';
export const NODE_OF_SERIES = 'var-node=${__field.labels.node_id}';
