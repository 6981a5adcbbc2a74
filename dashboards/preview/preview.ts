// `npm run dashboards:preview -- PROMETHEUS_URL CLUSTER FOLDER [MINUTES]`: every dashboard as a plain page with real data.
// For development: shows which panels are filled and how; it does not draw what Grafana would.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoards } from '../boards.ts';
import { type Cell, writePage } from './page.ts';
import { type Answered, drawPanel } from './panel.ts';
import { query, type Window } from './prometheus.ts';

const [url = 'http://127.0.0.1:9090', cluster = 'demo', folder = 'preview', minutes = '15'] =
  process.argv.slice(2);
const end = Math.floor(Date.now() / 1000);
const WINDOW: Window = { start: end - Number(minutes) * 60, end, stepSeconds: 10 };

/** Values of Grafana's variables and of ours. */
const VALUES: Readonly<Record<string, string>> = {
  __rate_interval: '2m',
  __range: `${minutes}m`,
  __interval: '30s',
  cluster,
  tier: 'region',
  top: '10',
};

const chartLibrary = readFileSync(
  createRequire(import.meta.url)
    .resolve('chart.js')
    .replace(/chart\.cjs$/, 'chart.umd.js'),
  'utf8',
);
mkdirSync(folder, { recursive: true });
for (const board of buildBoards()) {
  const page = writePage(board.title ?? '', await cellsOf(board), chartLibrary);
  const file = path.join(folder, `${board.uid}.html`);
  writeFileSync(file, page);
  process.stdout.write(`${file}\n`);
}

async function cellsOf(board: Dashboard): Promise<readonly Cell[]> {
  const cells: Cell[] = [];
  for (const item of board.panels ?? []) {
    if (!('panels' in item)) {
      cells.push(await cellOf(item));
      continue;
    }
    cells.push(headOf(item));
    for (const panel of item.panels) cells.push(await cellOf(panel));
  }
  return cells;
}

function headOf({ title = '' }: RowPanel): Cell {
  return { title, width: 24, height: 1, html: '' };
}

async function cellOf(panel: Panel): Promise<Cell> {
  const targets: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly instant?: boolean;
  }[] = JSON.parse(JSON.stringify(panel.targets ?? []));
  const answers: Answered[] = [];
  for (const { refId, expr, legendFormat, instant = false } of targets) {
    const filled = expr.replaceAll(/\$(\w+)/g, (text, name: string) =>
      /^\d/.test(name) ? text : (VALUES[name] ?? '.+'),
    );
    answers.push({
      refId,
      legend: legendFormat,
      series: await query(url, filled, WINDOW, instant),
    });
  }
  return {
    title: panel.title ?? '',
    width: panel.gridPos?.w ?? 24,
    height: panel.gridPos?.h ?? 8,
    ...drawPanel(panel, answers, WINDOW),
  };
}
