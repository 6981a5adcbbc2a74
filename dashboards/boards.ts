import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { readSettings, SETTINGS, type Settings } from '#alerts';
import { exporter } from './exporter.ts';
import { fleet } from './fleet.ts';
import type { Limit } from './lib/style.ts';
import { jobVariable } from './lib/variables.ts';
import { load } from './load.ts';
import { nodes } from './nodes.ts';
import { overview } from './overview.ts';
import { ranges } from './ranges.ts';
import { sql } from './sql.ts';
import { tables } from './tables.ts';

/** All dashboards, in reading order, with the settings of the rules. */
export function buildBoards({ values }: Settings = readSettings([])): readonly Dashboard[] {
  const limit: Limit = (name) => Number(values[name]);
  const boards = [
    fleet(limit),
    overview(limit, values['runbook_url'] ?? ''),
    nodes(limit),
    ranges(limit),
    load(limit),
    tables(),
    sql(limit),
    exporter(limit),
  ];
  return boards.map((board) => adapt(board, values));
}

/** Links the alerts that descriptions name to their runbooks, where these are known; offers only the jobs of the setting. Rows are shared: copies. */
function adapt(
  board: Dashboard,
  { job = '', runbook_url: runbooks }: Settings['values'],
): Dashboard {
  const link = (panel: Panel): Panel => ({
    ...panel,
    description: (panel.description ?? '').replaceAll(/\bCrdb[A-Z]\w+/g, (alert) =>
      runbooks ? `[${alert}](${runbooks}/${alert}.md)` : alert,
    ),
  });
  const panels = (board.panels ?? []).map((item) =>
    'panels' in item ? { ...item, panels: item.panels.map(link) } : link(item),
  );
  const isUsual = job === JSON.stringify(SETTINGS['job']?.[1]);
  const list = (board.templating?.list ?? []).map((variable) =>
    variable.name !== 'job' || isUsual ? variable : jobVariable(job).build(),
  );
  return { ...board, panels, templating: { list } };
}
