import { type AlertName, waitSeconds } from '#alerts';
import {
  type FailureReason,
  formatDuration,
  formatList,
  formatTime,
  SEVERITIES,
  type Severity,
} from '#base';
import { completeCommand } from '../commands.ts';
import { formatLiveNodes } from '../findings/node-problems.ts';
import { isProblem } from '../findings/problem.ts';
import { countByProblem, OUTAGES } from '../findings/range-problems.ts';
import type { ClusterStatus, CollectorStatus, Finding, Status } from '../findings/status.ts';
import {
  frame,
  html,
  type Html,
  icon,
  type PageLinks,
  type PageOrigin,
  relativeTime,
  withCode,
} from './html.ts';
import { nodeTable, reachability } from './node-panel.ts';
import {
  assistantState,
  collectorTable,
  queryTables,
  sessionTables,
  userFigures,
} from './panels.ts';
import {
  hotRanges,
  lastKnownRanges,
  loadedTables,
  problemRanges,
  safeToStop,
} from './range-panels.ts';

/** The words for each state, the worst first. */
const STATE_TEXTS: Readonly<Record<ClusterStatus['state'], string>> = {
  problems: 'has problems',
  unknown: 'is unknown',
  healthy: 'has nothing over a limit',
};

/** The status page: every cluster in a line, one of them in full: the named one or the one in the worst state. */
export function renderPage(status: Status, links: PageLinks, name: string | undefined): string {
  const nowMs = Date.parse(status.at);
  const shown = chooseCluster(status.clusters, name);
  if (shown === undefined) {
    return frame('crdb-exporter', html`<h2>No cluster is configured</h2>`, status, links);
  }
  const main = html`${status.clusters.length > 1 && clusterTabs(status, shown)}
    ${headline(shown, nowMs)}${userFigures(shown)}${findingList(shown, nowMs, status)}
    <div class="panels">${panels(shown, nowMs, status)}</div>`;
  return frame(`${shown.name}: ${titleWord(shown)}`, main, status, links);
}

/** `has nothing over a limit`, as far as one look can see: nobody is called healthy whose history is not known. */
function stateText(cluster: ClusterStatus): string {
  const { state, notRead } = cluster;
  const { level } = lastWorst(cluster) ?? {};
  const last = level === undefined ? '' : `, last known ${level}`;
  if (state !== 'healthy') return `${STATE_TEXTS[state]}${last}`;
  const text = hasSigns(cluster) ? 'has only information' : STATE_TEXTS[state];
  return `${text}${notRead.length > 0 ? ', as far as it is read' : ''}`;
}

/** Whether there is the condition of an alert of the cluster, but only as information. */
function hasSigns({ findings }: ClusterStatus): boolean {
  return findings.some(
    ({ about, level, alert }) => about !== 'exporter' && level === 'info' && alert !== undefined,
  );
}

/** The worst problem before the cluster could no longer be seen. */
function lastWorst({ state, lastKnown }: ClusterStatus) {
  return state === 'unknown' ? lastKnown?.worst : undefined;
}

/** The state for the tab of a browser: `outage` while ranges serve nothing, else how severe the worst problem is. */
function titleWord(cluster: ClusterStatus): string {
  const problems = cluster.ranges === undefined ? {} : countByProblem(cluster.ranges);
  const { verification } = cluster.ranges ?? {};
  const isOutage =
    cluster.state === 'problems' &&
    (OUTAGES.some((problem) => (problems[problem] ?? 0) > 0) ||
      (verification?.servingNothing ?? 0) > 0);
  if (isOutage) return 'outage';
  return cluster.state === 'problems'
    ? lookOf(cluster)
    : stateText(cluster).replace(/^(?:is|has) /, '');
}

function chooseCluster(clusters: readonly ClusterStatus[], name: string | undefined) {
  const named = clusters.find((cluster) => cluster.name === name);
  return named ?? clusters.toSorted((a, b) => rankOf(a) - rankOf(b))[0];
}

/** The worst state first, and of problems the most severe ones, known or last known. */
function rankOf(cluster: ClusterStatus): number {
  const level = levelOf(cluster);
  const state = level === undefined ? cluster.state : 'problems';
  return 10 * Object.keys(STATE_TEXTS).indexOf(state) + SEVERITIES.indexOf(level ?? 'info');
}

/** The severity of the worst problem, known or last known. */
function levelOf(cluster: ClusterStatus): Severity | undefined {
  const { state, findings } = cluster;
  return state === 'problems' ? findings.find(isProblem)?.level : lastWorst(cluster)?.level;
}

function clusterTabs({ clusters }: Status, shown: ClusterStatus): Html {
  return html`<nav class="tabs" aria-label="Clusters">
    ${clusters.map(
      (cluster) =>
        html`<a
          href="./?cluster=${encodeURIComponent(cluster.name)}"
          ${cluster === shown && html` aria-current="page"`}
          >${icon(lookOf(cluster))} <b>${cluster.name}</b>
          <span>${stateText(cluster)}${liveNodes(cluster)}</span></a
        >`,
    )}
  </nav>`;
}

/** `, 8 of 9 nodes live`. */
function liveNodes(cluster: ClusterStatus): string {
  const nodes = cluster.lastKnown?.nodes ?? cluster.nodes;
  if (nodes === undefined) return '';
  return `, ${formatLiveNodes(nodes)} nodes ${isPast(cluster) ? 'were live' : 'live'}`;
}

/** Whether nobody knows which nodes are live now. */
function isPast({ collectors }: ClusterStatus): boolean {
  return collectors.some(({ name, state }) => name === 'nodes' && state === 'failing');
}

/** How severe the worst problem is, or the state: signs of trouble are not green. */
function lookOf(cluster: ClusterStatus): string {
  const { state } = cluster;
  const calm = state === 'healthy' && hasSigns(cluster) ? 'info' : state;
  return levelOf(cluster) ?? calm;
}

function headline(cluster: ClusterStatus, nowMs: number): Html {
  const { name, state, since, findings, collectors, notRead } = cluster;
  const count = (wanted: string) =>
    collectors.filter((collector) => collector.state === wanted).length;
  const [failing, waiting, all] = [count('failing'), count('waiting'), collectors.length];
  const polls =
    failing > 0
      ? `${failing} of ${all} collectors are failing`
      : waiting > 0
        ? `${waiting} of ${all} collectors have not polled yet`
        : all === 1
          ? 'the collector is ok'
          : `all ${all} collectors are ok`;
  const [severest = [], others = []] = [
    ...Map.groupBy(findings.filter(isProblem), ({ level }) => level).values(),
  ];
  const blind = `The exporter cannot see ${cluster.apis[0]?.isUp ? 'all of ' : ''}it,`;
  const texts = {
    healthy: '',
    problems: formatLevels(severest),
    unknown: waiting > 0 ? 'Not all of it has been polled yet,' : blind,
  };
  const worst = lastWorst(cluster);
  const last =
    worst &&
    html` Last known:
      <b>${worst.level} since ${formatTime(worst.since)}</b> (${relativeTime(worst.since, nowMs)}
      ago).`;
  return html`<section class="headline ${lookOf(cluster)}" aria-labelledby="state">
    <h2 id="state">${icon(lookOf(cluster))} ${name} ${stateText(cluster)}</h2>
    <p>
      ${texts[state]} <b>${duration(cluster, nowMs)}</b> (since
      ${formatTime(since)})${others.length > 0 && `, and ${formatLevels(others)}`}.${last} Exporter:
      ${polls}.${notRead.length > 0 && ` Not read by this exporter: ${formatList(notRead)}.`}
    </p>
  </section>`;
}

/** The first command of the runbook of CrdbClusterApiDown. */
const FIRST_STEP = "cockroach sql --url ... -e 'SELECT 1'";

/** Everything about one cluster; all that has no data is one line. */
function panels(
  cluster: ClusterStatus,
  nowMs: number,
  { clusters, commands }: Status,
): readonly Html[] {
  const { sessions, queries, assistant, collectors, findings, consoleUrl, lastKnown } = cluster;
  const nodes = lastKnown?.nodes ?? cluster.nodes;
  // Nothing that was last seen may lead to a decision: no ranges that depend on a node, no commands.
  const ranges = lastKnown?.ranges === undefined ? cluster.ranges : undefined;
  const pastRanges = lastKnown?.ranges && lastKnownRanges(lastKnown.ranges, nowMs);
  const source = (name: string) => collectors.find((collector) => collector.name === name);
  const details = {
    commandFor: (words: string) => completeCommand(words, commands, clusters.length, cluster.name),
    consoleUrl,
    isPartial: source('ranges')?.isPartial,
  };
  const lastSeenAt = isPast(cluster) ? source('nodes')?.lastSuccessAt : undefined;
  const network = !isPast(cluster) && cluster.network && reachability(cluster.network);
  const nodeContent = nodes && html`${nodeTable(nodes, findings, nowMs, lastSeenAt)}${network}`;
  /** Titles, the collectors that the data is from, what is listed, and the content. What lists nothing is one line. */
  const parts = [
    ['Nodes', 'nodes', nodes?.list, nodeContent],
    [
      'Problem ranges',
      'ranges',
      lastKnown?.ranges?.oldest ?? Object.keys(ranges?.problems ?? {}),
      pastRanges ?? (ranges && problemRanges(ranges, findings, nowMs, details)),
    ],
    ['Safe to stop', 'ranges', ranges?.dependent, ranges && safeToStop(cluster.safeToStop, ranges)],
    ['Tables', 'ranges', ranges?.tables, ranges && loadedTables(ranges, details)],
    ['Hottest ranges', 'ranges', ranges?.hottest, ranges && hotRanges(ranges, details)],
    ['Sessions', 'sessions', sessions?.applications, sessions && sessionTables(sessions, findings)],
    ['Queries', 'sql', queries, queries && queryTables(queries, nowMs)],
    ['Migration assistant', 'cloud', [], assistant && assistantState(assistant, nowMs)],
  ] as const;
  const missing: string[] = [];
  const shown = parts.flatMap(([title, collector, listed = [], content]) => {
    const from = source(collector);
    if (from !== undefined && content === undefined) missing.push(title);
    if (from === undefined || content === undefined) return [];
    const isLastKnown =
      content === pastRanges || (title === 'Nodes' && lastKnown?.nodes !== undefined);
    return [panel(title, listed.length > 0, content, nowMs, from, isLastKnown)];
  });
  const none = html`<p class="panel line quiet">No current data: ${formatList(missing)}.</p>`;
  const table = panel('Collectors', true, collectorTable(collectors, nowMs), nowMs);
  return [
    ...(lastKnown === undefined ? [] : [firstStep(collectors)]),
    ...(missing.length > 0 ? [none] : []),
    ...shown,
    table,
  ];
}

/** Above what was last seen. */
function firstStep(collectors: readonly CollectorStatus[]): Html {
  return html`<p class="panel line">
    ${icon('unknown')}
    <span
      >The API ${describeFailing(collectors)}: what was seen last may have changed. First:
      ${withCode(`\`${FIRST_STEP}\``)}, as an application does.</span
    >
  </p>`;
}

/** How the API of the cluster fails. */
function describeFailing(collectors: readonly CollectorStatus[]): string {
  const ofCluster = collectors.filter(({ api }) => api === 'cluster');
  const isAny = (...reasons: readonly FailureReason[]): boolean =>
    ofCluster.some(({ error }) => error !== undefined && reasons.includes(error.reason));
  if (isAny('auth')) return 'refuses the login';
  return isAny('network', 'timeout') ? 'does not respond' : 'is failing';
}

function panel(
  title: string,
  isList: boolean,
  content: Html,
  nowMs: number,
  source?: CollectorStatus,
  isLastKnown = false,
): Html {
  const id = title.toLowerCase().replaceAll(' ', '-');
  const isFailing = source?.state === 'failing';
  const isWide = title === 'Nodes' || title === 'Collectors';
  const kind = isWide ? 'wide' : isList ? 'half' : 'line';
  const look = `panel ${kind}${isLastKnown ? ' past' : ''}`;
  return html`<section class="${look}" id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${title}${isLastKnown && ', last known'}</h3>
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

/** A calm page says which alerts it does not evaluate. */
const HISTORY_IS_OF_PROMETHEUS =
  'Alerts that need a history, or several exporters, are evaluated by Prometheus alone.';

/** Present without findings, too, so that a live page keeps its structure. */
function findingList(
  { findings, state }: ClusterStatus,
  nowMs: number,
  { commands: { variables } }: Status,
): Html {
  const [first, more] = [findings.slice(0, MAX_UNFOLDED), findings.slice(MAX_UNFOLDED)];
  const none = state === 'unknown' ? 'There is not enough data yet.' : 'No problems found.';
  return html`<section class="findings" aria-labelledby="findings-title">
    <h3 id="findings-title">Findings</h3>
    ${first.length === 0 && html`<p class="quiet">${none}</p>`}
    ${state === 'healthy' && html`<p class="quiet">${HISTORY_IS_OF_PROMETHEUS}</p>`}
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
    ${
      variables.length > 0 &&
      html`<p class="quiet">
        Commands need the secrets of this exporter in ${formatList(variables)}.
      </p>`
    }
  </section>`;
}

function findingItem(finding: Finding, nowMs: number): Html {
  const { about, alert, level, text, next } = finding;
  const subject = about === 'exporter' ? `${level}, of the exporter` : level;
  return html`<li class="${level}">
    ${icon(about === 'exporter' ? 'unknown' : level)}
    <div>
      <strong><span class="hidden">${subject}: </span>${text}</strong>
      <span class="advice">${withCode(next)}</span>${
        alert && html` <small class="alert">${alert}${describeWait(alert, level)}</small>`
      }${linkList(finding)}
    </div>
    <span class="since">${duration(finding, nowMs)}</span>
  </li>`;
}

/** ` fires after 1 h`: an alert waits while the page shows its condition at once. */
function describeWait(alert: AlertName, level: Severity): string {
  const seconds = waitSeconds(alert, level);
  return seconds === 0 ? '' : ` fires after ${formatDuration(seconds)}`;
}

/** The links of a finding, as far as they are configured. */
function linkList({ runbookUrl, dashboardUrl, rangeReports = [] }: Finding): Html {
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
function duration({ since, mayBeOlder }: Pick<Finding, 'since' | 'mayBeOlder'>, nowMs: number) {
  return html`for ${mayBeOlder && 'at least '}${relativeTime(since, nowMs)}`;
}

/** The running configuration as YAML, whose secrets are hidden. */
export function renderConfig(yaml: string, origin: PageOrigin, links: PageLinks): string {
  const main = html`<h2>Running configuration</h2>
    <p class="quiet">
      The active settings, by the keys of the configuration file. Secrets are hidden.
    </p>
    <pre class="panel" tabindex="0">${yaml}</pre>`;
  return frame('Configuration', main, origin, links);
}
