import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
  RowBuilder,
  type VariableModel,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DATA_SOURCE } from './panels.ts';
import {
  clustersVariable,
  clusterVariable,
  consoleVariable,
  dataSourceVariable,
  jobVariable,
  R,
  R_MANY,
  S,
  S_MANY,
} from './variables.ts';

export interface Row {
  readonly title: string;
  readonly collapsed?: boolean;
  readonly panels: readonly Builder<Panel>[];
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  /** The question that the dashboard answers. */
  readonly question: string;
  /** Whether it shows several clusters, not one. */
  readonly showsMany?: boolean;
  /** Its own, which follow data source, job and cluster. */
  readonly variables: readonly Builder<VariableModel>[];
  readonly rows: readonly Row[];
}

const TAG = 'cockroachdb';

/** A dashboard: the common settings, and its rows. */
export function buildBoard(settings: Board): Dashboard {
  const { uid, title, question, showsMany = false, variables, rows } = settings;
  const selector = showsMany ? S_MANY : S;
  const board = new DashboardBuilder(`CockroachDB / ${title}`)
    .uid(uid)
    .description(question)
    .tags([TAG])
    .readonly()
    .time({ from: 'now-1h', to: 'now' })
    .refresh('1m')
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .variables([
      dataSourceVariable(),
      jobVariable(),
      showsMany ? clustersVariable() : clusterVariable(),
      ...variables,
      ...(showsMany ? [] : [consoleVariable()]),
    ])
    .annotations(annotations(selector, showsMany ? R_MANY : R))
    .links([
      new DashboardLinkBuilder('CockroachDB')
        .type(DashboardLinkType.Dashboards)
        .tags([TAG])
        .asDropdown(true)
        .includeVars(true)
        .keepTime(true),
    ]);
  for (const row of rows) addRow(board, row);
  return finished(board.build());
}

function addRow(board: DashboardBuilder, { title, collapsed = false, panels }: Row): void {
  const row = new RowBuilder(title).collapsed(collapsed);
  if (collapsed) {
    // The panels of a collapsed row are members of the row.
    for (const panel of panels) row.withPanel(panel);
    board.withRow(row);
    return;
  }
  board.withRow(row);
  for (const panel of panels) board.withPanel(panel);
}

/**
 * Numbers the panels in reading order, because Grafana would renumber them at each import. Removes `placement`, whose
 * default hides links and annotations in a menu, and the footer of tables, which Grafana 13 stores elsewhere.
 */
function finished(board: Dashboard): Dashboard {
  const panels = (board.panels ?? []).flatMap((panel) =>
    'panels' in panel ? [panel, ...panel.panels] : [panel],
  );
  for (const [index, panel] of panels.entries()) {
    panel.id = index + 1;
    if (panel.type === 'table' && 'options' in panel) delete panel.options.footer;
  }
  for (const shown of [...(board.links ?? []), ...(board.annotations?.list ?? [])]) {
    delete shown.placement;
  }
  return board;
}

function annotations(scope: string, cluster: string): AnnotationQueryBuilder[] {
  return [
    annotation(
      'Restarts',
      'blue',
      `max by (crdb_cluster, node_id) (changes(crdb_node_started_timestamp_seconds{${scope}}[5m])) > 0`,
      '{{crdb_cluster}}: n{{node_id}} restarted',
    ),
    annotation(
      'Builds',
      'purple',
      `max by (crdb_cluster) (changes(crdb_build_tags{${scope}}[5m])) > 0`,
      '{{crdb_cluster}}: the number of builds changed',
    ),
    annotation(
      'Alerts',
      'red',
      `max by (crdb_cluster, alertname, severity) (ALERTS{alertname=~"Crdb.+", alertstate="firing", severity=~"critical|warning", ${cluster}})`,
      '{{crdb_cluster}}: {{alertname}}',
    ),
  ];
}

function annotation(
  name: string,
  colour: string,
  expr: string,
  titleFormat: string,
): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name(name)
    .datasource(DATA_SOURCE)
    .enable(true)
    .iconColor(colour)
    .expr(expr)
    .titleFormat(titleFormat)
    .step('30s');
}
