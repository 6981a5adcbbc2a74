import { html, type Html } from './html.ts';
import type { ClusterStatus } from '../status.ts';
import { trendLine } from './trend-line.ts';
import { sayNumber, sayPercent, sayRoughly } from '../words.ts';

interface Tile {
  /** As in the history. */
  readonly name: string;
  readonly title: string;
  readonly say: (value: number) => string;
}

const TILES: readonly Tile[] = [
  { name: 'liveNodes', title: 'Live nodes', say: sayNumber },
  { name: 'cpuRatio', title: 'Busiest node, CPU', say: sayPercent },
  { name: 'queriesPerSecond', title: 'Queries per second', say: sayNumber },
  { name: 'problemRanges', title: 'Range problems', say: sayNumber },
  { name: 'openSessions', title: 'Open sessions', say: sayNumber },
  { name: 'oldestTransactionSeconds', title: 'Oldest transaction', say: sayRoughly },
];

/** The figures that tell most, each with its course since the start. */
export function figureTiles({ trends }: ClusterStatus): Html {
  const tiles = TILES.flatMap(({ name, title, say }) => {
    const points = trends.find((trend) => trend.name === name)?.points;
    if (points === undefined) return [];
    const value = points.at(-1)?.value;
    return html`<li>
      <span>${title}</span><b>${value === undefined ? '–' : say(value)}</b>${trendLine(points, say)}
    </li>`;
  });
  return html`<section aria-labelledby="figures-title">
    <h3 class="hidden" id="figures-title">Figures since the start</h3>
    <ul class="figures">
      ${tiles}
    </ul>
  </section>`;
}
