import { DashboardLinkBuilder } from '@grafana/grafana-foundation-sdk/dashboard';

/** The variables that every dashboard has, and the time. */
const CARRIED =
  '${datasource:queryparam}&${job:queryparam}&${cluster:queryparam}&${console:queryparam}&${__url_time_range}';

/** From a value to another of our dashboards: `set` gives variables of that one, as `var-node=…`. */
export function toBoard(title: string, uid: string, set = ''): DashboardLinkBuilder {
  const url = `/d/${uid}?${set === '' ? '' : `${set}&`}${CARRIED}`;
  return new DashboardLinkBuilder(title).url(url);
}

/** To a page of DB Console; only useful where the variable `console` is set. */
export function toConsole(title: string, page: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(`DB Console: ${title}`)
    .url(`\${console}/#/${page}`)
    .targetBlank(true);
}

/** The node of a table's row, or of a series. */
export const NODE_OF_ROW = 'var-node=${__data.fields.node_id}';
export const NODE_OF_SERIES = 'var-node=${__field.labels.node_id}';
