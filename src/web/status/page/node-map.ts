import { formatCount, formatNumber, formatPercent } from '../../../format.ts';
import type { NodesStatus, NodeStatus } from '../nodes.ts';
import { bar, html, type Html, icon, relativeTime } from './html.ts';

/** Up to here every node is a card, beyond it a tile. */
const MAX_CARDS = 40;
/** Beyond this healthy nodes are counted, not drawn. */
const MAX_TILES = 400;
const HEAT_STEPS = 5;

/** The nodes by locality with their liveness and load. */
export function nodeMap({ list }: NodesStatus, nowMs: number): Html {
  const kind = list.length <= MAX_CARDS ? 'cards' : 'tiles';
  const isShown = (node: NodeStatus): boolean => list.length <= MAX_TILES || !isHealthy(node);
  const drawZone = ([zone, nodes]: readonly [string, readonly NodeStatus[]]): Html => {
    const shown = nodes.filter(isShown);
    const hidden = nodes.length - shown.length;
    return html`<div class="zone of-${kind}">
      ${zone !== '' && html`<h5>${zone}</h5>`}
      <ul class="${kind}">
        ${shown.map((node) => (kind === 'cards' ? nodeCard(node, nowMs) : nodeTile(node)))}
      </ul>
      ${hidden > 0 && html`<p class="quiet">and ${formatCount(hidden)} healthy</p>`}
    </div>`;
  };
  const regions = groupBy(list, ({ locality }) => locality.split(',')[0] ?? '');
  return html`<div class="map">
    ${regions.map(([region, nodes]) => {
      const zones = groupBy(nodes, ({ locality }) => locality.split(',').slice(1).join(', '));
      return html`<section class="region">
        <h4>${region || 'no locality'} <small>${nodes.length}</small></h4>
        <div class="zones">${zones.map(drawZone)}</div>
      </section>`;
    })}
  </div>`;
}

function nodeCard(node: NodeStatus, nowMs: number): Html {
  const { id, status, cpuRatio, queriesPerSecond, sqlConnections, isStale, recordAt } = node;
  const figures = [
    queriesPerSecond !== undefined && `${formatNumber(queriesPerSecond)} q/s`,
    sqlConnections !== undefined && `${formatNumber(sqlConnections)} conns`,
  ].filter((figure) => figure !== false);
  const isSilent = (isStale || cpuRatio === undefined) && recordAt !== undefined;
  return html`<li class="card ${levelOf(node)}">
    <b>n${id}</b> <span class="state">${icon(levelOf(node))} ${status}</span>${
      cpuRatio !== undefined &&
      html`<span class="load">${bar(cpuRatio)}<span>${formatPercent(cpuRatio)} CPU</span></span>`
    }${figures.length > 0 && html`<span class="quiet">${figures.join(' · ')}</span>`}${
      isSilent && html`<span class="quiet">record ${relativeTime(recordAt, nowMs)} old</span>`
    }
  </li>`;
}

/** The tile of a healthy node shows only its load. */
function nodeTile(node: NodeStatus): Html {
  const { id, status, cpuRatio, isStale } = node;
  const load = cpuRatio === undefined ? '' : ` ${Math.round(cpuRatio * 100)}%`;
  const text = isStale ? 'stale' : status === 'live' ? '' : status;
  return html`<li class="${isHealthy(node) ? heat(cpuRatio) : levelOf(node)}">
    <b>${id}</b>${load}${text !== '' && ` ${text}`}
  </li>`;
}

function heat(cpuRatio = 0): string {
  return `h${Math.min(HEAT_STEPS - 1, Math.floor(cpuRatio * HEAT_STEPS))}`;
}

function isHealthy({ status, isStale }: NodeStatus): boolean {
  return status === 'live' && !isStale;
}

function levelOf({ status, isStale }: NodeStatus): string {
  if (status === 'dead' || status === 'unavailable') return 'trouble';
  if (isStale || status === 'unknown' || status === 'other') return 'warning';
  return status === 'live' ? 'live' : 'notice';
}

/** Groups in the order of their keys. */
function groupBy<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): readonly (readonly [string, readonly T[]])[] {
  return [...Map.groupBy(items, keyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
