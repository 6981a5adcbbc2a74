import { formatLiveNodes, type NodesStatus } from '../../../findings/nodes.ts';
import { type Finding, isProblem } from '../../../findings/problem.ts';
import { formatTable, type RangesStatus } from '../../../findings/ranges.ts';
import { formatRanges } from '../../../findings/safe-to-stop.ts';
import {
  formatDuration,
  formatList,
  formatNumber,
  formatPercent,
  formatRoughly,
} from '../../../format.ts';
import type { TrendStatus } from '../history.ts';
import { html, type Html, icon } from './html.ts';

type Format = (value: number) => string;

/** The tiles by the names of their trends; findings whose key begins with the last text are about them. */
const TILES: readonly (readonly [name: string, title: string, format: Format, keys?: string])[] = [
  ['sqlLatencyP99Seconds', 'SQL p99, slowest node', formatDuration],
  ['failedStatementsPerSecond', 'Failed statements/s', formatNumber],
  ['statementsPerSecond', 'Statements/s', formatNumber],
  ['liveNodes', 'Live nodes', formatNumber, 'nodes '],
  ['cpuRatio', 'Highest node CPU', formatPercent],
  ['queriesPerSecond', 'Queries per second', formatNumber],
  ['problemRanges', 'Range problems', formatNumber, 'ranges '],
  ['openSessions', 'Open sessions', formatNumber],
  ['oldestTransactionSeconds', 'Oldest transaction', formatRoughly, 'old transactions'],
];

/** The first tiles are what users notice. */
const USER_TILES = 3;

/** Tables that a tile names. */
const MAX_NAMED = 3;

const WIDTH = 120;
const HEIGHT = 28;

/** The most important figures, each with its state and its trend; nothing while none is known. */
export function trendTiles(
  trends: readonly TrendStatus[],
  findings: readonly Finding[],
  nodes: NodesStatus | undefined,
  isOld: (trend: string) => boolean = () => false,
  ranges?: RangesStatus,
): Html | undefined {
  if (trends.every(({ points }) => points.at(-1)?.value === undefined)) return undefined;
  const tiles = TILES.flatMap(([name, title, format, keys]) => {
    const trend = trends.find((one) => one.name === name);
    if (trend === undefined) return [];
    const value = trend.points.at(-1)?.value;
    const problem = findings.find((one) => isProblem(one) && keys && one.key.startsWith(keys));
    const isPast = isOld(name);
    const level = isPast
      ? 'past'
      : (problem?.level ?? (keys && value !== undefined ? 'healthy' : ''));
    const text = name === 'liveNodes' && nodes ? formatLiveNodes(nodes) : undefined;
    const shown = isPast ? '–' : value === undefined ? 'not known' : (text ?? format(value));
    return html`<li class="${level}">
      <span>${title}${problem && html` ${icon(problem.level)}`}</span
      ><b>${shown}</b>${trendLine(trend, format)}
    </li>`;
  });
  return html`<section aria-labelledby="figures-title">
    <h3 class="hidden" id="figures-title">Trends since the start</h3>
    <ul class="figures">
      ${tiles.slice(0, USER_TILES)}${ranges && tablesTile(ranges, isOld('problemRanges'))}${tiles.slice(USER_TILES)}
    </ul>
  </section>`;
}

/** The tables whose users wait; without some nodes there may be more. */
function tablesTile({ withoutQuorum, nodes }: RangesStatus, isPast: boolean): Html {
  const { tables, moreTables, otherRanges } = withoutQuorum;
  const count = tables.length + moreTables;
  const isPartial = nodes.failed > 0;
  const [isDamaged, isKnown] = [count + otherRanges > 0, !isPartial || count > 0];
  const level = isPast ? 'past' : isDamaged ? 'critical' : isKnown ? 'healthy' : '';
  const shown = isPast
    ? '–'
    : isKnown
      ? `${isPartial ? 'at least ' : ''}${formatNumber(count)}`
      : 'not known';
  const names = tables.slice(0, MAX_NAMED).map(({ id, name, ranges }) => {
    return `${name ?? formatTable(id)} (${formatRanges(ranges)})`;
  });
  const more = [
    ...names,
    ...(count > names.length ? [`${count - names.length} more`] : []),
    ...(otherRanges > 0 ? [`${formatRanges(otherRanges)} outside of known tables`] : []),
  ];
  return html`<li class="${level}">
    <span>Tables without quorum${!isPast && isDamaged && html` ${icon('critical')}`}</span
    ><b>${shown}</b><small class="place">${!isPast && formatList(more)}</small>
  </li>`;
}

/** A line with a gap where polls failed, above its scale and its span. */
function trendLine({ points }: TrendStatus, format: Format): Html | undefined {
  const values = points.flatMap(({ value }) => value ?? []);
  const first = points[0];
  if (first === undefined || values.length < 2) return undefined;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const label = `Since ${first.at.slice(11, 16)} UTC between ${format(low)} and ${format(high)}, now ${format(values.at(-1) ?? 0)}.`;
  const startMs = Date.parse(first.at);
  const spanMs = Math.max(1, Date.parse(points.at(-1)?.at ?? '') - startMs);
  const isSteady = format(low) === format(high);
  // A steady line is at the bottom when it is 0, else in the middle.
  const steady = high === 0 ? 0 : 0.5;
  const path = points.map(({ at, value }, index) => {
    if (value === undefined) return '';
    const x = ((Date.parse(at) - startMs) / spanMs) * WIDTH;
    const y = isSteady ? steady : (value - low) / (high - low);
    const place = `${Math.round(x)},${Math.round(HEIGHT - 2 - y * (HEIGHT - 4))}`;
    // The round ends of a line without length are a dot.
    return points[index - 1]?.value === undefined ? `M${place}h0` : `L${place}`;
  });
  const span = formatRoughly(Math.round(spanMs / 1000));
  const scale = isSteady ? `steady for ${span}` : `${format(low)} – ${format(high)} in ${span}`;
  return html`<svg
      class="trend"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${label}"
    >
      <path d="${path.join('')}" /></svg
    ><small>${scale}</small>`;
}
