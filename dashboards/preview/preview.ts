// Draws every dashboard as a plain page with real data, for development: it shows which panels are filled and how, not what
// Grafana would draw.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoards } from '../boards.ts';
import { type Cell, writePage } from './page.ts';
import { type Answered, drawPanel } from './panel.ts';
import { query, type Window } from './prometheus.ts';

const USAGE = `Usage: npm run dashboards:preview -- [PROMETHEUS_URL] [CLUSTER] [FOLDER] [MINUTES]

Queries Prometheus for the last MINUTES (15) of CLUSTER (demo), and writes a page for each dashboard to FOLDER (preview).
PROMETHEUS_URL is http://127.0.0.1:9090 unless given. It draws panels roughly as Grafana does; collapsed rows are open.
`;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h', default: false } },
});
if (flags.help) {
  process.stdout.write(USAGE);
  process.exit();
}
const [url = 'http://127.0.0.1:9090', cluster = 'demo', folder = 'preview', minutes = '15'] =
  positionals;
const end = Math.floor(Date.now() / 1000);
const WINDOW: Window = { start: end - Number(minutes) * 60, end, stepSeconds: 10 };

/** Values of Grafana's variables and of ours; those of lists are all. */
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
      cells.push(...(await repeated(board, item)));
      continue;
    }
    cells.push(headOf(item));
    for (const panel of item.panels) cells.push(...(await repeated(board, panel)));
  }
  return cells;
}

function headOf({ title = '', collapsed }: RowPanel): Cell {
  const name = collapsed ? `${title} (a collapsed row)` : title;
  return { title: name, width: 24, height: 1, html: '' };
}

/** A panel, or one for each value of the variable that it is repeated by. */
async function repeated(board: Dashboard, panel: Panel): Promise<readonly Cell[]> {
  const { repeat, maxPerRow = 1 } = panel;
  if (repeat === undefined) return [await cellOf(panel, VALUES)];
  const variable = board.templating?.list?.find(({ name }) => name === repeat);
  const values = (variable?.options ?? []).flatMap(({ value }) => value);
  const cells = values
    .filter((value) => value !== '$__all')
    .map((value) => cellOf(panel, { ...VALUES, [repeat]: value }, 24 / maxPerRow));
  return Promise.all(cells);
}

async function cellOf(
  panel: Panel,
  values: Readonly<Record<string, string>>,
  width = panel.gridPos?.w ?? 24,
): Promise<Cell> {
  const targets: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
    readonly instant?: boolean;
  }[] = JSON.parse(JSON.stringify(panel.targets ?? []));
  const answers: Answered[] = [];
  for (const { refId, expr, legendFormat, instant = false } of targets) {
    const filled = fill(expr, values);
    answers.push({
      refId,
      legend: legendFormat,
      series: await query(url, filled, WINDOW, instant),
    });
  }
  return {
    title: fill(panel.title ?? '', values),
    width,
    height: panel.gridPos?.h ?? 8,
    ...drawPanel(panel, answers, WINDOW),
  };
}

function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(\w+)/g, (variable, name: string) =>
    /^\d/.test(name) ? variable : (values[name] ?? '.+'),
  );
}
