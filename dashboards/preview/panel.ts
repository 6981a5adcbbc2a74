import type {
  Panel,
  ThresholdsConfig,
  ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { Series, Window } from './prometheus.ts';
import { formatValue } from './units.ts';

/** A query of a panel with the response of Prometheus. */
export interface Answered {
  readonly refId: string;
  readonly legend: string;
  readonly series: readonly Series[];
}

/** The HTML of a panel; `chart` is for Chart.js. */
export interface Drawn {
  readonly html: string;
  readonly chart?: object;
}

const PALETTE = [
  '#7eb26d',
  '#eab839',
  '#6ed0e0',
  '#ef843c',
  '#e24d42',
  '#1f78c1',
  '#ba43a9',
  '#705da0',
];

/** Draws a simple version of a panel: data, units, legend, colours. */
export function drawPanel(panel: Panel, answers: readonly Answered[], window: Window): Drawn {
  const isEmpty = answers.every(({ series }) => series.length === 0);
  if (panel.type === 'text') {
    const text = escapeHtml(panel.description ?? '');
    return {
      html: text
        .replaceAll(/\*\*(.+?)\*\*/g, '<b>$1</b>')
        .replaceAll(/`(.+?)`/g, '<code>$1</code>'),
    };
  }
  const { noValue = '' } = panel.fieldConfig?.defaults ?? {};
  if (isEmpty)
    return { html: `<b class="${noValue === 'no data' ? 'unknown' : ''}">${noValue}</b>` };
  if (panel.type === 'timeseries') return chartOf(panel, answers);
  if (panel.type === 'table') return { html: tableOf(panel, answers) };
  if (panel.type === 'heatmap') return { html: heatmapOf(answers, window) };
  if (panel.type === 'state-timeline') return { html: timelineOf(panel, answers, window) };
  return { html: valuesOf(panel, answers) };
}

function chartOf(panel: Panel, answers: readonly Answered[]): Drawn {
  const { defaults = {} } = panel.fieldConfig ?? {};
  const { unit = 'short' } = defaults;
  const isStacked = JSON.stringify(panel.fieldConfig).includes('"mode":"normal"');
  const lines = answers.flatMap(({ series, ...query }) => series.map((one) => ({ one, ...query })));
  const drawn = lines.map(({ one, legend, refId }, index) => {
    const override = overrideOf(panel, refId);
    const sign = override['custom.transform'] === 'negative-Y' ? -1 : 1;
    const colour = PALETTE[index % PALETTE.length];
    const dataset = {
      data: one.points.map(([x, y]) => ({ x, y: sign * y })),
      borderColor: colour,
      backgroundColor: colour,
      fill: isStacked,
      borderDash: 'custom.lineStyle' in override ? [6, 4] : [],
    };
    const last = one.points.at(-1)?.[1] ?? Number.NaN;
    const most = Math.max(...one.points.map(([, y]) => y));
    return { dataset, colour, last, most, name: nameOf(one, legend) };
  });
  const datasets = drawn.map(({ dataset }) => dataset);
  const limits = (defaults.thresholds?.steps ?? [])
    .filter(({ value }) => value !== null)
    .map(({ value, color }) => ({ value, color }));
  const { legend }: { readonly legend?: { readonly placement?: string } } = JSON.parse(
    JSON.stringify(panel.options ?? {}),
  );
  const isTable = legend?.placement === 'right';
  const nameCell = ({ colour, name }: (typeof drawn)[number]): string =>
    `<i style="background:${colour}"></i>${escapeHtml(name)}`;
  const rows = drawn
    .toSorted((a, b) => descending(a.last, b.last))
    .map((line) => {
      const values = [line.last, line.most].map((value) => formatValue(value, unit));
      return `<tr><td>${nameCell(line)}</td><td>${values.join('</td><td>')}</td></tr>`;
    });
  const key = isTable
    ? `<table class="legend"><tr><th></th><th>last</th><th>max</th></tr>${rows.join('')}</table>`
    : `<div class="legend">${drawn.map((line) => `<span>${nameCell(line)}</span>`).join('')}</div>`;
  const html = `<div class="chart${isTable ? '' : ' bottom'}"><div class="canvas"><canvas></canvas></div>${key}</div>`;
  return { html, chart: { datasets, limits, isStacked, unit } };
}

function valuesOf(panel: Panel, answers: readonly Answered[]): string {
  const isNames = JSON.stringify(panel.options ?? {}).includes('"textMode":"name"');
  const boxes = answers.flatMap(({ series, legend, refId }) =>
    series.map((one) => {
      const own = { ...panel.fieldConfig?.defaults, ...overrideOf(panel, refId) };
      const value = one.points.at(-1)?.[1] ?? Number.NaN;
      const state = stateOf(own.mappings, value);
      const colour = state?.color ?? limitColour(own.thresholds, value);
      const text = state?.text ?? formatValue(value, own.unit ?? 'short');
      const name = escapeHtml(nameOf(one, legend));
      const shown = isNames ? `<b>${name}</b>` : `<b>${escapeHtml(text)}</b> ${name}`;
      return `<div class="value" style="background:${colour}">${shown}</div>`;
    }),
  );
  return boxes.join('');
}

function timelineOf(panel: Panel, answers: readonly Answered[], window: Window): string {
  const rows = answers.flatMap(({ series, legend }) =>
    series.map((one) => {
      const blocks = one.points.map(([at, value]) => {
        const state = stateOf(panel.fieldConfig?.defaults.mappings, value);
        return blockOf(at, window, state?.color ?? '#808080', state?.text ?? String(value));
      });
      return lineOf(nameOf(one, legend), blocks);
    }),
  );
  return rows.join('');
}

/** One line for each bucket, the highest first, with what it has more than the next lower one. */
function heatmapOf(answers: readonly Answered[], window: Window): string {
  const buckets = answers
    .flatMap(({ series }) => series)
    .toSorted((a, b) => boundOf(a) - boundOf(b))
    .map((one, index, all) => {
      const below = new Map(all[index - 1]?.points);
      return { one, counts: one.points.map(([at, value]) => [at, value - (below.get(at) ?? 0)]) };
    });
  const most = Math.max(...buckets.flatMap(({ counts }) => counts.map(([, count = 0]) => count)));
  const rows = buckets.toReversed().map(({ one, counts }) => {
    const blocks = counts.map(([at = 0, count = 0]) =>
      blockOf(at, window, `rgb(242 149 62 / ${count / most})`, String(count)),
    );
    return lineOf(`${one.labels['le']}: ${counts.at(-1)?.[1] ?? ''}`, blocks);
  });
  return rows.join('');
}

function boundOf({ labels }: Series): number {
  return labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
}

function blockOf(
  at: number,
  { start, end, stepSeconds }: Window,
  colour: string,
  text: string,
): string {
  const left = ((at - start) / (end - start)) * 100;
  const share = (stepSeconds / (end - start)) * 100;
  return `<i title="${escapeHtml(text)}" style="left:${left}%;width:${share}%;background:${colour}"></i>`;
}

function lineOf(name: string, blocks: readonly string[]): string {
  return `<div class="line"><span>${escapeHtml(name)}</span><div>${blocks.join('')}</div></div>`;
}

/** What a table panel does with the fields of its queries. */
interface TableOptions {
  readonly transformations: readonly {
    readonly id: string;
    readonly options: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }[];
  readonly options: { readonly sortBy?: readonly { readonly displayName: string }[] };
}

type Row = Readonly<Record<string, string | number>>;

/** The columns of the panel; rows that share the labels that all queries have are one. */
function tableOf(panel: Panel, answers: readonly Answered[]): string {
  const table: TableOptions = JSON.parse(JSON.stringify(panel));
  const { renameByName: titles = {}, excludeByName: hidden = {} } =
    table.transformations.find(({ id }) => id === 'organize')?.options ?? {};
  const names = Object.keys(titles).filter((name) => hidden[name] !== true);
  const sorted = (table.options.sortBy ?? []).map(
    ({ displayName }) => names.find((name) => titles[name] === displayName) ?? '',
  );
  const rows = rowsOf(answers).toSorted((a, b) =>
    sorted.reduce((order, name) => order || descending(a[name], b[name]), 0),
  );
  const body = rows.map((row) =>
    names.map((name) => cellOf(panel, overrideOf(panel, String(titles[name])), row[name])),
  );
  const head = names.map((name) => `<th>${escapeHtml(String(titles[name]))}</th>`);
  return `<table>${[head, ...body].map((cells) => `<tr>${cells.join('')}</tr>`).join('')}</table>`;
}

function descending(a: string | number = -Infinity, b: string | number = -Infinity): number {
  return a === b ? 0 : Number(b) - Number(a);
}

function rowsOf(answers: readonly Answered[]): readonly Row[] {
  const rows = new Map<string, Row>();
  for (const { refId, series } of answers) {
    const field = answers.length === 1 ? 'Value' : `Value #${refId}`;
    for (const one of series) {
      const key = JSON.stringify(answers.length === 1 ? one.labels : keyOf(one, answers));
      rows.set(key, { ...rows.get(key), ...one.labels, [field]: one.points.at(-1)?.[1] ?? 0 });
    }
  }
  return [...rows.values()];
}

/** The panel's settings for one column, or for one query. */
function overrideOf(panel: Panel, name: string): Readonly<Record<string, unknown>> {
  const found = panel.fieldConfig?.overrides?.find(({ matcher }) => matcher.options === name);
  return Object.fromEntries((found?.properties ?? []).map(({ id, value }) => [id, value]));
}

function cellOf(
  panel: Panel,
  override: Readonly<Record<string, unknown>>,
  value: string | number | undefined,
): string {
  if (typeof value !== 'number') return `<td>${escapeHtml(value ?? '')}</td>`;
  const own = { ...panel.fieldConfig?.defaults, ...override };
  const state = stateOf(own.mappings, value);
  const isColoured = 'custom.cellOptions' in override;
  const colour = state?.color ?? limitColour(own.thresholds, value);
  const text = state?.text ?? formatValue(value, own.unit ?? 'short');
  return `<td${isColoured ? ` class="value" style="background:${colour}"` : ''}>${escapeHtml(text)}</td>`;
}

/** The labels that all queries of the table have. */
function keyOf({ labels }: Series, answers: readonly Answered[]): object {
  const shared = Object.entries(labels).filter(([name]) =>
    answers.every(({ series }) => series.length === 0 || series.some((one) => name in one.labels)),
  );
  return Object.fromEntries(shared);
}

function stateOf(
  mappings: readonly ValueMapping[] = [],
  value: number,
): { readonly text?: string; readonly color?: string } | undefined {
  const named: readonly {
    readonly type: string;
    readonly options: Record<string, object> & { readonly result?: object };
  }[] = JSON.parse(JSON.stringify(mappings));
  if (Number.isNaN(value)) return named.find(({ type }) => type === 'special')?.options.result;
  return named.find(({ type }) => type === 'value')?.options[String(value)];
}

function limitColour(thresholds: ThresholdsConfig | undefined, value: number): string {
  const steps = thresholds?.steps ?? [];
  const colour = steps.filter((step) => step.value === null || value >= step.value).at(-1)?.color;
  return colour === undefined || colour === 'text' ? '#444' : colour;
}

function nameOf({ labels }: Series, legend: string): string {
  if (legend === '__auto') return Object.values(labels).join(' ');
  return legend.replaceAll(/{{(\w+)}}/g, (_, label: string) => labels[label] ?? '');
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
