import { formatNumber, formatPercent, formatRoughly } from '../../../format.ts';
import { html, type Html } from './html.ts';

type Format = (value: number) => string;
type Points = readonly { readonly at: string; readonly value: number | undefined }[];

/** By the names in the history. */
const TILES: readonly (readonly [name: string, title: string, format: Format])[] = [
  ['liveNodes', 'Live nodes', formatNumber],
  ['cpuRatio', 'Highest node CPU', formatPercent],
  ['queriesPerSecond', 'Queries per second', formatNumber],
  ['problemRanges', 'Range problems', formatNumber],
  ['openSessions', 'Open sessions', formatNumber],
  ['oldestTransactionSeconds', 'Oldest transaction', formatRoughly],
];

const WIDTH = 120;
const HEIGHT = 28;

/** The most important figures, each with its trend. */
export function trendTiles(
  trends: readonly { readonly name: string; readonly points: Points }[],
): Html {
  const tiles = TILES.flatMap(([name, title, format]) => {
    const points = trends.find((trend) => trend.name === name)?.points;
    if (points === undefined) return [];
    const value = points.at(-1)?.value;
    return html`<li>
      <span>${title}</span
      ><b>${value === undefined ? '–' : format(value)}</b>${trendLine(points, format)}
    </li>`;
  });
  return html`<section aria-labelledby="figures-title">
    <h3 class="hidden" id="figures-title">Trends since the start</h3>
    <ul class="figures">
      ${tiles}
    </ul>
  </section>`;
}

/** A line with a gap where polls failed. */
function trendLine(points: Points, format: Format): Html | undefined {
  const values = points.flatMap(({ value }) => value ?? []);
  const first = points[0];
  if (first === undefined || values.length < 2) return undefined;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const label = `Since ${first.at.slice(11, 16)} UTC between ${format(low)} and ${format(high)}, now ${format(values.at(-1) ?? 0)}.`;
  const startMs = Date.parse(first.at);
  const spanMs = Math.max(1, Date.parse(points.at(-1)?.at ?? '') - startMs);
  // A constant line is at the bottom when it is 0, else in the middle.
  const constant = high === 0 ? 0 : 0.5;
  const path = points.map(({ at, value }, index) => {
    if (value === undefined) return '';
    const x = ((Date.parse(at) - startMs) / spanMs) * WIDTH;
    const y = high === low ? constant : (value - low) / (high - low);
    const place = `${Math.round(x)},${Math.round(HEIGHT - 2 - y * (HEIGHT - 4))}`;
    // The round ends of a line without length are a dot.
    return points[index - 1]?.value === undefined ? `M${place}h0` : `L${place}`;
  });
  return html`<svg
    class="trend"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    <path d="${path.join('')}" />
  </svg>`;
}
