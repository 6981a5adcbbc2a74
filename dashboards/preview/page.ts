import { type Drawn, escapeHtml } from './panel.ts';
import { formatValue, roundValue } from './units.ts';

/** A panel with its size on the grid of 24 columns. */
export interface Cell extends Drawn {
  readonly title: string;
  readonly width: number;
  readonly height: number;
}

const STYLE = `
body { background: #111217; color: #ccccdc; font: 12px sans-serif; margin: 8px }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: 30px; gap: 6px }
section { background: #181b1f; border: 1px solid #2c2f34; padding: 4px; overflow: hidden; display: flex; flex-direction: column }
section.row { background: none; border: none }
h2 { font-size: 12px; margin: 0 0 4px } .body { flex: 1; min-height: 0; position: relative; overflow: hidden }
.value { color: #fff; text-shadow: 0 0 2px #000 } div.value { padding: 4px; margin: 1px; font-size: 13px }
.unknown { color: #b877d9 } table { border-collapse: collapse; font-size: 11px } td, th { padding: 1px 6px; text-align: left; border-bottom: 1px solid #2c2f34 }
.line { display: flex; height: 15px } .line span { width: 25% } .line div { position: relative; flex: 1 } .line i { position: absolute; height: 13px }
.chart { display: flex; height: 100% } .canvas { position: relative; flex: 1; min-width: 0 } .legend { flex: none; max-width: 45%; overflow: hidden; align-self: start } .legend i { display: inline-block; width: 9px; height: 9px; margin-right: 4px }
.bottom { flex-direction: column } .bottom .canvas { min-height: 0 } .bottom .legend { max-width: none } .bottom .legend span { margin-right: 10px }
`;

/** Runs in the page; `CHARTS` has its data. */
const SCRIPT = `
${roundValue.toString()}
${formatValue.toString()}
for (const [id, { datasets, limits, isStacked, unit }] of Object.entries(CHARTS)) {
  const times = datasets.flatMap(({ data }) => data.map(({ x }) => x));
  const ends = [Math.min(...times), Math.max(...times)];
  const lines = limits.map(({ value, color }) => ({ data: ends.map((x) => ({ x, y: value })), borderColor: color, borderDash: [3, 3], stack: 'limit ' + value }));
  new Chart(document.querySelector('#' + id + ' canvas'), {
    type: 'line',
    data: { datasets: [...datasets, ...lines] },
    options: {
      animation: false, maintainAspectRatio: false, parsing: false, pointRadius: 0, borderWidth: 1.5,
      plugins: { legend: { display: false } },
      scales: {
        x: { type: 'linear', min: ends[0], max: ends[1], ticks: { maxTicksLimit: 5, color: '#999', callback: (x) => new Date(x * 1000).toISOString().slice(11, 19) } },
        y: { stacked: isStacked, suggestedMin: 0, ticks: { maxTicksLimit: 5, color: '#999', callback: (y) => formatValue(y, unit) }, grid: { color: '#2c2f34' } },
      },
    },
  });
}
`;

/** One dashboard as a page that needs no server; `chartLibrary` is the text of Chart.js. */
export function writePage(title: string, cells: readonly Cell[], chartLibrary: string): string {
  const sections = cells.map(
    ({ title: name, width, height, html }, index) =>
      `<section id="p${index}" class="${html === '' ? 'row' : 'panel'}" style="grid-column:span ${width};grid-row:span ${height}"><h2>${escapeHtml(name)}</h2><div class="body">${html}</div></section>`,
  );
  const charts = Object.fromEntries(
    cells.flatMap(({ chart }, index) => (chart === undefined ? [] : [[`p${index}`, chart]])),
  );
  const data = JSON.stringify(charts).replaceAll('<', '\\u003c');
  return `<!doctype html><meta charset="utf-8"><title>${escapeHtml(title)}</title><style>${STYLE}</style>
<h1>${escapeHtml(title)} (a preview: not Grafana)</h1><main>${sections.join('\n')}</main>
<script>${chartLibrary}</script><script>const CHARTS = ${data};${SCRIPT}</script>
`;
}
