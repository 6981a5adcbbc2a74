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
  const isSmall = list.length <= MAX_CARDS;
  const shown = list.length <= MAX_TILES ? list : list.filter((node) => !isWell(node));
  const draw = (node: NodeStatus): Html => (isSmall ? nodeCard(node, nowMs) : nodeTile(node));
  const regions = groupBy(list, ({ locality }) => locality.split(',')[0] ?? '');
  return html`<div class="map">
    ${Array.from(regions, ([region, nodes]) => {
      const zones = groupBy(nodes, ({ locality }) => locality.split(',').slice(1).join(', '));
      return html`<section class="region">
        <h4>${region || 'no locality'} <small>${nodes.length}</small></h4>
        ${Array.from(
          zones,
          ([zone, members]) =>
            html`<div class="zone">
              ${zone !== '' && html`<h5>${zone}</h5>`}
              <ul class="${isSmall ? 'cards' : 'tiles'}">
                ${members.filter((node) => shown.includes(node)).map(draw)}
              </ul>
              ${sayHidden(members.length - members.filter((node) => shown.includes(node)).length)}
            </div>`,
        )}
      </section>`;
    })}
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
