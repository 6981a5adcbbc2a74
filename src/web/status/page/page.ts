import type { FindingSettings, Thresholds } from '../../../config/alert-settings.ts';
import { formatLiveNodes } from '../../../findings/nodes.ts';
import type { CollectorStatus } from '../../../findings/polls.ts';
import { type Finding, isProblem, NOT_CHECKED } from '../../../findings/problem.ts';
import { formatList } from '../../../format.ts';
import { clusterFlag, type ClusterStatus, type FindingStatus, type Status } from '../status.ts';
import {
  formatTime,
  frame,
  html,
  type Html,
  icon,
  type PageLinks,
  relativeTime,
  withCode,
} from './html.ts';
import { assistantState, collectorTable, nodeList, sessionTables, userFigures } from './panels.ts';
import { hotRanges, loadedTables, problemRanges, safeToStop } from './range-panels.ts';

/** The words for each state, the worst first. */
const STATE_TEXTS: Readonly<Record<ClusterStatus['state'], string>> = {
  problems: 'has problems',
  unknown: 'is unknown',
  healthy: 'is healthy',
};

/** The status page: every cluster in a line, one of them in full: the named one or the one in the worst state. */
export function renderPage(
  status: Status,
  { thresholds }: FindingSettings,
  links: PageLinks,
  name: string | undefined,
): string {
  const nowMs = Date.parse(status.at);
  const shown = chooseCluster(status.clusters, name);
  if (shown === undefined) {
    return frame('crdb-exporter', html`<h2>No cluster is configured</h2>`, status, links);
  }
  const main = html`${status.clusters.length > 1 && clusterTabs(status, shown)}
  ${headline(shown, nowMs)}${clusterDetails(shown, nowMs, clusterFlag(status.clusters, shown.name), thresholds)}`;
  return frame(`${shown.name} ${STATE_TEXTS[shown.state]}`, main, status, links);
}

function chooseCluster(clusters: readonly ClusterStatus[], name: string | undefined) {
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
          >${icon(lookOf(cluster))} <b>${cluster.name}</b>
          <span
            >${STATE_TEXTS[cluster.state]}${
              cluster.nodes &&
              `, ${formatLiveNodes(cluster.nodes)} nodes ${isPast(cluster, 'nodes') ? 'were' : ''} live`.replace(
                '  ',
                ' ',
              )
            }</span
          ></a
        >`,
    )}
  </nav>`;
}

/** The state, or how severe the worst problem is. */
function lookOf({ state, findings }: ClusterStatus): string {
  return state === 'problems' ? (findings.find(isProblem)?.level ?? state) : state;
}

function headline(cluster: ClusterStatus, nowMs: number): Html {
  const { name, state, since, findings, collectors } = cluster;
  const failing = collectors.filter((one) => one.state === 'failing').length;
  const waiting = collectors.filter((one) => one.state === 'waiting').length;
  const all = collectors.length;
  const polls =
    failing > 0
      ? `${failing} of ${all} collectors are failing`
      : waiting > 0
        ? `${waiting} of ${all} collectors have not polled yet`
        : `all ${all} collectors are ok`;
  const [worst = [], others = []] = [
    ...Map.groupBy(findings.filter(isProblem), ({ level }) => level).values(),
  ];
  const text =
    state === 'healthy'
      ? ''
      : state === 'problems'
        ? formatLevels(worst)
        : waiting > 0
          ? 'Not all of it has been polled yet,'
          : `The exporter cannot see ${cluster.apis[0]?.isUp ? 'all of ' : ''}it,`;
  return html`<section class="headline ${lookOf(cluster)}" aria-labelledby="state">
    <h2 id="state">${icon(lookOf(cluster))} ${name} ${STATE_TEXTS[state]}</h2>
    <p>
      ${text} <b>${duration(cluster, nowMs)}</b> (since
      ${formatTime(since)})${others.length > 0 && `, and ${formatLevels(others)}`}. Exporter:
      ${polls}.
    </p>
  </section>`;
}

interface Panel {
  /** `line` for content that is one line, `wide` for what needs the whole width. */
  readonly kind: 'line' | 'wide' | 'half';
  readonly title: string;
  /** The collector that its data is from. */
  readonly source?: CollectorStatus;
  /** The content is undefined without current data. */
  readonly content: Html | undefined;
}

function isPast({ collectors }: ClusterStatus, collector: string): boolean {
  return collectors.some(({ name, state }) => name === collector && state === 'failing');
}

/** A panel whose content lists nothing is a line. */
function kindOf(listed: object = []): Panel['kind'] {
  return Object.keys(listed).length > 0 ? 'half' : 'line';
}

/** The panels of the collectors that are on. */
function describePanels(
  cluster: ClusterStatus,
  nowMs: number,
  flag: string,
  thresholds: Thresholds,
): readonly Panel[] {
  const { nodes, ranges, sessions, assistant, collectors, findings } = cluster;
  const old = (name: string): string | undefined => {
    const source = collectors.find((one) => one.name === name);
    return source?.state === 'failing' ? source.lastSuccessAt : undefined;
  };
  const details = { flag, consoleUrl: cluster.consoleUrl };
  const stop = ranges && safeToStop(cluster.safeToStop, ranges);
  const problems = ranges && problemRanges(ranges, findings, nowMs, details);
  const rows = [
    ['wide', 'Nodes', 'nodes', nodes && nodeList(nodes, nowMs, old('nodes'))],
    [kindOf(ranges?.problems), 'Problem ranges', 'ranges', problems],
    [kindOf(ranges?.dependent), 'Safe to stop', 'ranges', stop],
    [kindOf(ranges?.tables), 'Tables', 'ranges', ranges && loadedTables(ranges)],
    [kindOf(ranges?.hottest), 'Hottest ranges', 'ranges', ranges && hotRanges(ranges, details)],
    [
      kindOf(sessions?.applications),
      'Sessions',
      'sessions',
      sessions && sessionTables(sessions, thresholds),
    ],
    ['line', 'Migration assistant', 'cloud', assistant && assistantState(assistant, nowMs)],
  ] as const;
  return rows.flatMap(([kind, title, collector, content]) => {
    const source = collectors.find(({ name }) => name === collector);
    return source === undefined ? [] : [{ kind, title, source, content }];
  });
}

/** Everything about one cluster, the most urgent first; all that has no data is one line. */
function clusterDetails(
  cluster: ClusterStatus,
  nowMs: number,
  flag: string,
  thresholds: Thresholds,
): Html {
  const panels = describePanels(cluster, nowMs, flag, thresholds);
  const missing = panels.filter(({ content }) => content === undefined);
  const shown = panels.filter(({ content }) => content !== undefined);
  const halves = shown.filter(({ kind }) => kind === 'half');
  const last = halves.length % 2 === 1 ? halves.at(-1) : undefined;
  const table = collectorTable(cluster.collectors, nowMs);
  const all: readonly Panel[] = [
    ...shown.map((one) => (one === last ? ({ ...one, kind: 'wide' } as const) : one)),
    { kind: 'wide', title: 'Collectors', content: table },
  ];
  return html`${userFigures(cluster)}${findingList(cluster, nowMs)}
    <div class="panels">
      ${
        missing.length > 0 &&
        html`<p class="panel line quiet">
          No current data: ${formatList(missing.map(({ title }) => title))}.
        </p>`
      }
      ${all.map((one) => panel(one, nowMs))}
    </div>`;
}

function panel({ kind, title, source, content }: Panel, nowMs: number): Html {
  const id = title.toLowerCase().replaceAll(' ', '-');
  const isFailing = source?.state === 'failing';
  return html`<section class="panel ${kind}" id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${title}</h3>
    ${
      source?.lastSuccessAt !== undefined &&
      html`<p class="age${isFailing && ' old'}">
        ${isFailing && icon('warning')} ${relativeTime(source.lastSuccessAt, nowMs)}
        old${isFailing && ': polls are failing'}
      </p>`
    }
    ${content}
  </section>`;
}

/** The other findings unfold, so that the panels below are in sight. */
const MAX_UNFOLDED = 6;

/** Present without findings, too, so that a live page keeps its structure. */
function findingList({ findings, state }: ClusterStatus, nowMs: number): Html {
  const [first, more] = [findings.slice(0, MAX_UNFOLDED), findings.slice(MAX_UNFOLDED)];
  const none = state === 'unknown' ? 'There is not enough data yet.' : 'No problems found.';
  const unchecked = Object.keys(NOT_CHECKED).filter((name) => name !== 'CrdbWatchdog');
  return html`<section class="findings" aria-labelledby="findings-title">
    <h3 id="findings-title">Findings</h3>
    ${first.length === 0 && html`<p class="quiet">${none}</p>`}
    ${
      state === 'healthy' &&
      html`<details class="unchecked">
        <summary>${unchecked.length} alerts are not checked here</summary>
        <p class="quiet">Prometheus evaluates them: ${unchecked.join(', ')}.</p>
      </details>`
    }
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

function findingItem(finding: FindingStatus, nowMs: number): Html {
  const { about, alert, level, text, next } = finding;
  const subject = about === 'exporter' ? `${level}, of the exporter` : level;
  return html`<li class="${level}">
    ${icon(about === 'exporter' ? 'unknown' : level)}
    <div>
      <strong><span class="hidden">${subject}: </span>${text}</strong>
      <span class="advice">${withCode(next)}</span>${
        alert && html` <small class="alert">${alert}</small>`
      }${linkList(finding)}
    </div>
    <span class="since">${duration(finding, nowMs)}</span>
  </li>`;
}

/** The links of a finding, as far as they are configured. */
function linkList({ runbookUrl, dashboardUrl, rangeReports = [] }: FindingStatus): Html {
  const links = [
    ['Runbook', runbookUrl] as const,
    ['Dashboard', dashboardUrl] as const,
    ...rangeReports.map(({ rangeId, url }) => [`r${rangeId} in DB Console`, url] as const),
  ];
  return html`${links.map(
    ([title, url]) => url !== undefined && html` <small><a href="${url}">${title}</a></small>`,
  )}`;
}

/** `1 critical, 2 warnings and 5 info`. */
function formatLevels(findings: readonly Finding[]): string {
  const levels = Map.groupBy(findings, ({ level }) => level);
  const counts = Array.from(
    levels,
    ([level, { length }]) => `${length} ${level}${level === 'warning' && length > 1 ? 's' : ''}`,
  );
  return formatList(counts);
}

/** `for 5 min`; what the first polls found may have lasted longer. */
function duration(
  { since, mayBeOlder }: Pick<ClusterStatus, 'since' | 'mayBeOlder'>,
  nowMs: number,
) {
  return html`for ${mayBeOlder && 'at least '}${relativeTime(since, nowMs)}`;
}
