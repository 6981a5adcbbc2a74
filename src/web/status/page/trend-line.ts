import { html, type Html } from './html.ts';
import type { ClusterStatus } from '../status.ts';

const WIDTH = 120;
const HEIGHT = 28;

type Points = ClusterStatus['trends'][number]['points'];

/** The course of a figure as a line; a gap is a poll that failed. */
export function trendLine(points: Points, say: (value: number) => string): Html | undefined {
  const values = points.flatMap(({ value }) => value ?? []);
  const first = points[0];
  if (first === undefined || values.length < 2) return undefined;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const since = first.at.slice(11, 16);
  const label = `Since ${since} UTC between ${say(low)} and ${say(high)}, now ${say(values.at(-1) ?? 0)}.`;
  const lines = cutAtGaps(points).map((part) => drawPart(part, place(points, low, high)));
  return html`<svg
    class="trend"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    ${lines}
  </svg>`;
}

interface Spot {
  readonly at: string;
  readonly value: number;
}

function cutAtGaps(points: Points): readonly (readonly Spot[])[] {
  const parts: Spot[][] = [[]];
  for (const { at, value } of points) {
    if (value === undefined) parts.push([]);
    else parts.at(-1)?.push({ at, value });
  }
  return parts.filter((part) => part.length > 0);
}

function place(points: Points, low: number, high: number): (spot: Spot) => string {
  const from = Date.parse(points[0]?.at ?? '');
  const span = Math.max(1, Date.parse(points.at(-1)?.at ?? '') - from);
  // A line that does not move lies at the bottom when it is 0, else in the middle.
  const flat = high === 0 ? 0 : 0.5;
  return ({ at, value }) => {
    const x = ((Date.parse(at) - from) / span) * WIDTH;
    const y = high === low ? flat : (value - low) / (high - low);
    return `${Math.round(x)},${Math.round(HEIGHT - 2 - y * (HEIGHT - 4))}`;
  };
}

function drawPart(part: readonly Spot[], placeOf: (spot: Spot) => string): Html {
  const drawn = part.map(placeOf);
  // A single point has no length: it is drawn as a dot by its round ends.
  return html`<polyline
    points="${(drawn.length === 1 ? [...drawn, ...drawn] : drawn).join(' ')}"
  />`;
}
