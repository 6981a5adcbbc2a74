import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoards } from '../../dashboards/boards.ts';

/** A panel with its dashboard; panels of rows are included, rows are not. */
export interface Placed {
  readonly board: Dashboard;
  readonly panel: Panel;
  readonly title: string;
  readonly queries: readonly PanelQuery[];
}

interface PanelQuery {
  readonly refId: string;
  readonly expr: string;
  readonly legend: string;
  readonly format: string;
  readonly instant: boolean;
  readonly datasource: unknown;
}

/** The data source of the variable. */
export const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' };

export const BOARDS = buildBoards();

/** Every value of the variables that Grafana reads from Prometheus. */
export const ALL_VALUES: Readonly<Record<string, string>> = {
  job: '.+',
  node: '.+',
  problem: '.+',
  application: '.+',
  user: '.+',
  collector: '.+',
  shard: '.+',
  instance: '.+',
  database: '.+',
  tier: 'region',
};

export const PANELS: readonly Placed[] = BOARDS.flatMap((board) =>
  (board.panels ?? []).flatMap((item) => {
    const panels: readonly Panel[] = 'panels' in item ? item.panels : [item];
    return panels.map((panel) => ({
      board,
      panel,
      title: `${board.title} / ${panel.title}`,
      queries: queriesOf(panel),
    }));
  }),
);

/** As in the JSON: the types of the SDK do not have the kind of query. */
function queriesOf(panel: Panel): readonly PanelQuery[] {
  const written: readonly Readonly<Record<string, unknown>>[] = JSON.parse(
    JSON.stringify(panel.targets ?? []),
  );
  return written.map((query) => ({
    refId: String(query['refId']),
    expr: String(query['expr']),
    legend: String(query['legendFormat']),
    format: String(query['format']),
    instant: query['instant'] === true,
    datasource: query['datasource'],
  }));
}

/** Replaces variables of Grafana and of the dashboards, as Grafana does. */
export function fillVariables(expr: string, values: Readonly<Record<string, string>> = {}): string {
  const all: Readonly<Record<string, string>> = {
    __rate_interval: '2m',
    __range: '1h',
    __interval: '30s',
    top: '10',
    ...values,
  };
  return expr.replaceAll(/\$(\w+)/g, (variable, name: string) => all[name] ?? variable);
}
