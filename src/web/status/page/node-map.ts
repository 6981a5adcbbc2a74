import type { Thresholds } from '../../../config/alert-settings.ts';
import {
  nodeLevel,
  type NodesStatus,
  type NodeStatus,
  stateText,
} from '../../../findings/nodes.ts';
import { formatCount, formatNumber, formatPercent, formatRoughly } from '../../../format.ts';
import { bar, html, type Html, icon, relativeTime } from './html.ts';

/** Up to here every node is a card, beyond it a tile. */
const MAX_CARDS = 40;
/** Beyond this healthy nodes are counted, not drawn. */
const MAX_TILES = 400;
const HEAT_STEPS = 5;

/** The nodes by locality with their liveness and load. */
export function nodeMap(
  { list }: NodesStatus,
  thresholds: Thresholds,
  nowMs: number,
  lastSeenAt?: string,
): Html {
  const kind = list.length <= MAX_CARDS ? 'cards' : 'tiles';
  const isShown = (node: NodeStatus): boolean => list.length <= MAX_TILES || !isHealthy(node);
  const drawZone = ([zone, nodes]: readonly [string, readonly NodeStatus[]]): Html => {
    // Among hundreds of tiles the unhealthy nodes come first.
    const first = (node: NodeStatus) => Number(kind === 'tiles' && isHealthy(node));
    const shown = nodes.filter(isShown).toSorted((a, b) => first(a) - first(b));
    const hidden = nodes.length - shown.length;
    return html`<div class="zone of-${kind}">
      ${zone !== '' && html`<h5>${zone}</h5>`}
      <ul class="${kind}">
        ${shown.map((node) => {
          if (lastSeenAt !== undefined) return oldNode(node, kind, lastSeenAt, nowMs);
          return kind === 'cards' ? nodeCard(node, thresholds, nowMs) : nodeTile(node, nowMs);
        })}
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

function nodeCard(node: NodeStatus, thresholds: Thresholds, nowMs: number): Html {
  const { id, build, queriesPerSecond, sqlConnections, isStale, recordAt } = node;
  const figures = [
    queriesPerSecond !== undefined && `${formatNumber(queriesPerSecond)} q/s`,
    sqlConnections !== undefined && `${formatNumber(sqlConnections)} conns`,
  ].filter((figure) => figure !== false);
  const isSilent = (isStale || node.cpuRatio === undefined) && recordAt !== undefined;
  return html`<li class="card ${nodeLevel(node)}">
    <b>n${id}</b> <span class="state">${icon(nodeLevel(node))} ${stateText(node)}</span>${[
      meter('CPU', node.cpuRatio, thresholds.cpu),
      meter('Mem', node.memoryUsedRatio, thresholds.memory),
      meter('Disk', node.storeUsedRatio, 1 - thresholds.disk),
    ]}${isSilent && html`<span class="quiet">record ${relativeTime(recordAt, nowMs)} old</span>`}
    ${[figures.join(' · '), build].map((line) => line && html`<span class="quiet">${line}</span>`)}
  </li>`;
}

function meter(title: string, ratio: number | undefined, high: number): Html | undefined {
  if (ratio === undefined) return undefined;
  return html`<span class="load${ratio > high && ' high'}"
    ><span>${title}</span>${bar(ratio)}<span>${formatPercent(ratio)}</span></span
  >`;
}

/** A node while the polls fail: what it was, without a colour or figures. */
function oldNode(
  node: NodeStatus,
  kind: 'cards' | 'tiles',
  lastSeenAt: string,
  nowMs: number,
): Html {
  return kind === 'cards'
    ? html`<li class="card past">
        <b>n${node.id}</b>
        <span class="state"
          >${icon('unknown')} last seen ${stateText(node)} ${relativeTime(lastSeenAt, nowMs)}
          ago</span
        >
      </li>`
    : html`<li class="past"><b>${node.id}</b> was ${stateText(node)}</li>`;
}

/** The tile of a healthy node shows only its load. */
function nodeTile(node: NodeStatus, nowMs: number): Html {
  const { id, status, cpuRatio, isStale, recordAt } = node;
  const load = cpuRatio === undefined ? '' : ` ${Math.round(cpuRatio * 100)}%`;
  const age = recordAt ? ` ${formatRoughly((nowMs - Date.parse(recordAt)) / 1000)}` : '';
  const text = isStale ? `stale${age}` : status === 'live' ? '' : stateText(node);
  return html`<li class="${isHealthy(node) ? heat(cpuRatio) : nodeLevel(node)}">
    <b>${id}</b>${load}${text !== '' && ` ${text}`}
  </li>`;
}

function heat(cpuRatio = 0): string {
  return `h${Math.min(HEAT_STEPS - 1, Math.floor(cpuRatio * HEAT_STEPS))}`;
}

function isHealthy({ status, isStale }: NodeStatus): boolean {
  return status === 'live' && !isStale;
}

/** Groups in the order of their keys. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string) {
  return [...Map.groupBy(items, keyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
