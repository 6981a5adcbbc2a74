import { formatCount, formatList } from '../../../format.ts';
import type { HealthIssue } from '../health.ts';
import type { ClusterStatus, Status } from '../status.ts';
import { formatTime, html, type Html, icon, relativeTime, withCode } from './html.ts';
import { nodeMap } from './node-map.ts';
import {
  assistantState,
  collectorTable,
  hotRanges,
  problemRanges,
  sessionTables,
} from './tables.ts';
import { trendTiles } from './trends.ts';

/** By state, the worst first. */
const STATE_TEXTS: Readonly<Record<ClusterStatus['state'], string>> = {
  trouble: 'has problems',
  warning: 'needs attention',
  unknown: 'has no data yet',
  well: 'is healthy',
};
const LEVEL_TEXTS = { trouble: 'critical', warning: 'warning', notice: 'info' } as const;

/** The other findings unfold, so that the panels below are in sight. */
const MAX_UNFOLDED = 6;

/** URLs on every page; those of assets have a query that changes with the content. */
export interface PageLinks {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
  readonly telemetryPath: string;
}

/** The status page: every cluster in a line, one of them in full: the named one or the one in the worst state. */
export function renderPage(status: Status, links: PageLinks, name: string | undefined): string {
  const nowMs = Date.parse(status.at);
  const shown = chooseCluster(status.clusters, name);
  if (shown === undefined) {
    return frame('crdb-exporter', html`<h2>No cluster is configured</h2>`, status, links);
  }
  const main = html`${status.clusters.length > 1 && clusterTabs(status, shown)}
  ${headline(shown, status, nowMs)}${clusterDetails(shown, nowMs)}`;
  return frame(`${shown.name} ${STATE_TEXTS[shown.state]}`, main, status, links);
}

/** A page around its main content, with links to the other pages. */
export function frame(
  title: string,
  main: Html,
  { version, startedAt, at }: Pick<Status, 'version' | 'startedAt' | 'at'>,
  links: PageLinks,
): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · crdb-exporter</title>
        <link rel="icon" href="${links.icon}" type="image/svg+xml" />
        <link rel="stylesheet" href="${links.style}" />
        <script src="${links.script}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <h1><a href="/">crdb-exporter</a></h1>
          <p class="quiet">${version} · up ${relativeTime(startedAt, Date.parse(at))}</p>
          <nav aria-label="All pages">
            <a href="${links.telemetryPath}">Metrics</a> <a href="/api/status">Status as JSON</a>
            <a href="/config">Configuration</a> <a href="/sd/nodes">Discovery: nodes</a>
            <a href="/sd/clusters">clusters</a> <a href="/-/healthy">Health</a>
            <a href="/-/ready">Readiness</a>
          </nav>
        </header>
        <main id="main">${main}</main>
        <footer>
          <p>
            As of <data id="at" value="${at}">${formatTime(at)}</data>. <a href="">Refresh</a>
            <span id="live" role="status"></span>
          </p>
        </footer>
      </body>
    </html> `.text;
}

function chooseCluster(
  clusters: readonly ClusterStatus[],
  name: string | undefined,
): ClusterStatus | undefined {
  const named = clusters.find((cluster) => cluster.name === name);
  return named ?? clusters.toSorted((a, b) => rankOf(a) - rankOf(b))[0];
}

function rankOf({ state }: ClusterStatus): number {
  return Object.keys(STATE_TEXTS).indexOf(state);
}

function clusterTabs({ clusters }: Status, shown: ClusterStatus): Html {
  return html`<nav class="tabs" aria-label="Clusters">
    ${clusters.map(
      (cluster) =>
        html`<a
          href="/?cluster=${encodeURIComponent(cluster.name)}"
          ${cluster === shown && html` aria-current="page"`}
          >${icon(cluster.state)} <b>${cluster.name}</b>
          <span>${STATE_TEXTS[cluster.state]}${formatLiveNodes(cluster)}</span></a
        >`,
    )}
  </nav>`;
}

function formatLiveNodes({ nodes }: ClusterStatus): string {
  if (nodes === undefined) return '';
  return `, ${nodes.byStatus['live'] ?? 0} of ${formatCount(nodes.list.length)} nodes live`;
}

function headline({ name, state, since }: ClusterStatus, status: Status, nowMs: number): Html {
  const { good, failing, waiting } = status.collectors;
  const all = good + failing + waiting;
  const collectors =
    failing > 0
      ? `${failing} of ${all} collectors are failing`
      : waiting > 0
        ? `${waiting} of ${all} collectors have not polled yet`
        : `all ${all} collectors are ok`;
  return html`<section class="headline ${state}" aria-labelledby="state">
    <h2 id="state">${icon(state)} ${name} ${STATE_TEXTS[state]}</h2>
    <p>for ${relativeTime(since, nowMs)}, as seen by this exporter. Exporter: ${collectors}.</p>
  </section>`;
}

/** Everything about one cluster, the most urgent first. Collectors that are off have no panel. */
function clusterDetails(cluster: ClusterStatus, nowMs: number): Html {
  const { nodes, ranges, sessions, assistant, collectors } = cluster;
  const names = new Set(collectors.map(({ name }) => name));
  const sessionsWidth = names.has('cloud') ? 'broad' : 'wide';
  return html`${findingList(cluster, nowMs)}${trendTiles(cluster.trends)}
    <div class="panels">
      ${[
        names.has('nodes') && panel('Nodes', 'wide', nodes && nodeMap(nodes, nowMs)),
        names.has('ranges') && panel('Problem ranges', '', ranges && problemRanges(ranges, nowMs)),
        names.has('ranges') && panel('Hottest ranges', '', ranges && hotRanges(ranges)),
        names.has('sessions') &&
          panel('Sessions', sessionsWidth, sessions && sessionTables(sessions)),
        names.has('cloud') &&
          panel('Migration assistant', 'narrow', assistant && assistantState(assistant, nowMs)),
        panel('Collectors', 'wide', collectorTable(collectors, nowMs)),
      ]}
    </div>`;
}

function panel(title: string, kind: string, content: Html | undefined): Html {
  const id = title.toLowerCase().replaceAll(' ', '-');
  return html`<section class="panel ${kind}" id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${title}</h3>
    ${content ?? html`<p class="quiet">No current data: see the collectors below.</p>`}
  </section>`;
}

/** Present without findings, too, so that a live page keeps its structure. */
function findingList({ findings, state }: ClusterStatus, nowMs: number): Html {
  const [first, more] = [findings.slice(0, MAX_UNFOLDED), findings.slice(MAX_UNFOLDED)];
  const none = state === 'unknown' ? 'There is no data yet.' : 'No problems found.';
  return html`<section class="findings" aria-labelledby="findings-title">
    <h3 id="findings-title">Findings</h3>
    ${first.length === 0 && html`<p class="quiet">${none}</p>`}
    <ul>
      ${first.map((finding) => findingItem(finding, nowMs))}
    </ul>
    ${
      more.length > 0 &&
      html`<details>
        <summary>${more.length} more: ${formatLevels(more)}</summary>
        <ul>
          ${more.map((finding) => findingItem(finding, nowMs))}
        </ul>
      </details>`
    }
  </section>`;
}

function findingItem(finding: ClusterStatus['findings'][number], nowMs: number): Html {
  const { level, text, next, since } = finding;
  return html`<li class="${level}">
    ${icon(level)}
    <div>
      <strong><span class="hidden">${LEVEL_TEXTS[level]}: </span>${text}</strong>
      <span class="advice">${withCode(next)}</span>
    </div>
    <span class="since">for ${relativeTime(since, nowMs)}</span>
  </li>`;
}

/** `1 critical, 2 warnings and 5 info`. */
function formatLevels(findings: readonly HealthIssue[]): string {
  const levels = Map.groupBy(findings, ({ level }) => level);
  const counts = Array.from(levels, ([level, { length }]) => {
    const plural = level === 'warning' && length > 1 ? 's' : '';
    return `${length} ${LEVEL_TEXTS[level]}${plural}`;
  });
  return formatList(counts);
}
