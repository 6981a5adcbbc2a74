import { html, type Html } from './html.ts';
import { age, bar, mark } from './marks.ts';
import type { NodeStatus, NodesStatus } from '../nodes.ts';
import { sayNumber, sayPercent } from '../words.ts';

/** Up to here every node gets a card, beyond it a tile. */
const MAX_CARDS = 40;
/** Beyond this, tiles of nodes that are well would only make the page long; they are counted. */
const MAX_TILES = 400;
const HEAT_STEPS = 5;

/** The nodes by locality: where they are, whether they live, what they bear. */
export function nodeMap({ list }: NodesStatus, nowMs: number): Html {
  const regions = groupBy(list, ({ locality }) => locality.split(',')[0] ?? '');
  const isSmall = list.length <= MAX_CARDS;
  const drawn: Drawing = {
    kind: isSmall ? 'cards' : 'tiles',
    draw: (node) => (isSmall ? nodeCard(node, nowMs) : nodeTile(node)),
    isShown: (node) => list.length <= MAX_TILES || !isWell(node),
  };
  return html`<div class="map">${Array.from(regions, (region) => drawRegion(region, drawn))}</div>`;
}

interface Drawing {
  readonly kind: 'cards' | 'tiles';
  readonly draw: (node: NodeStatus) => Html;
  readonly isShown: (node: NodeStatus) => boolean;
}

function drawRegion(
  [region, nodes]: readonly [string, readonly NodeStatus[]],
  drawing: Drawing,
): Html {
  const zones = groupBy(nodes, ({ locality }) => locality.split(',').slice(1).join(', '));
  return html`<section class="region">
    <h4>${region || 'no locality'} <small>${nodes.length}</small></h4>
    <div class="zones">${Array.from(zones, (zone) => drawZone(zone, drawing))}</div>
  </section>`;
}

function drawZone(
  [zone, nodes]: readonly [string, readonly NodeStatus[]],
  { kind, draw, isShown }: Drawing,
): Html {
  const shown = nodes.filter(isShown);
  return html`<div class="zone of-${kind}">
    ${zone !== '' && html`<h5>${zone}</h5>`}
    <ul class="${kind}">
      ${shown.map(draw)}
    </ul>
    ${sayHidden(nodes.length - shown.length)}
  </div>`;
}

function sayHidden(count: number): Html | undefined {
  return count === 0 ? undefined : html`<p class="quiet">and ${sayNumber(count)} that are well</p>`;
}

function nodeCard(node: NodeStatus, nowMs: number): Html {
  const { id, status, cpuRatio, queriesPerSecond, sqlConnections, isStale, recordAt } = node;
  const figures = [
    queriesPerSecond !== undefined && `${sayNumber(queriesPerSecond)} q/s`,
    sqlConnections !== undefined && `${sayNumber(sqlConnections)} conns`,
  ].filter((figure) => figure !== false);
  const isSilent = (isStale || cpuRatio === undefined) && recordAt !== undefined;
  return html`<li class="card ${levelOf(node)}">
    <b>n${id}</b> <span class="state">${mark(levelOf(node))} ${status}</span>${
      cpuRatio !== undefined &&
      html`<span class="load">${bar(cpuRatio)}<span>${sayPercent(cpuRatio)} CPU</span></span>`
    }${figures.length > 0 && html`<span class="quiet">${figures.join(' · ')}</span>`}${
      isSilent && html`<span class="quiet">record ${age(recordAt, nowMs)} old</span>`
    }
  </li>`;
}

/** A tile says of a live node only how busy it is. */
function nodeTile(node: NodeStatus): Html {
  const { id, status, cpuRatio, isStale } = node;
  const load = cpuRatio === undefined ? '' : ` ${Math.round(cpuRatio * 100)}%`;
  const text = isStale ? 'stale' : status === 'live' ? '' : status;
  return html`<li class="${isWell(node) ? heat(cpuRatio) : levelOf(node)}">
    <b>${id}</b>${load}${text !== '' && ` ${text}`}
  </li>`;
}

function heat(cpuRatio: number | undefined): string {
  if (cpuRatio === undefined) return 'h0';
  return `h${Math.min(HEAT_STEPS - 1, Math.floor(cpuRatio * HEAT_STEPS))}`;
}

function isWell({ status, isStale }: NodeStatus): boolean {
  return status === 'live' && !isStale;
}

function levelOf({ status, isStale }: NodeStatus): string {
  if (status === 'dead' || status === 'unavailable') return 'trouble';
  if (isStale || status === 'unknown' || status === 'other') return 'warning';
  return status === 'live' ? 'live' : 'notice';
}

function groupBy<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = Map.groupBy(items, keyOf);
  return new Map([...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
