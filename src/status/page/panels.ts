import {
  formatBytes,
  formatCount,
  formatCounted,
  formatDuration,
  formatList,
  formatNodes,
  formatRanges,
  plural,
} from '#base';
import type {
  AssistantStatus,
  ClusterStatus,
  CollectorStatus,
  Finding,
  QueryStatus,
  SessionsStatus,
} from '../findings/status.ts';
import {
  type Column,
  html,
  type Html,
  icon,
  known,
  MAX_ROWS,
  relativeTime,
  table,
} from './html.ts';

/** Whether users are affected: their statements, and the tables that they cannot use. Nothing on data that may be old. */
export function userFigures({
  sqlLoad,
  nodes,
  ranges,
  collectors,
  findings,
}: ClusterStatus): Html | false {
  const isCurrent = (name: string): boolean =>
    collectors.some((collector) => collector.name === name && collector.state === 'ok');
  const load = isCurrent('nodes') ? sqlLoad : undefined;
  const scan = isCurrent('ranges') ? ranges : undefined;
  if (load === undefined && scan === undefined) return false;
  const damaged = scan?.withoutQuorum.tables.length ?? 0;
  // No damaged table proves nothing while it is not known which ranges are lost, what replicas report, or which table a damaged one
  // is of, nor of a scan before a node went down.
  const isPartOfIt =
    scan !== undefined &&
    (scan.verification?.lost === undefined ||
      scan.verification.keySpace === 'gap' ||
      scan.withoutProblems !== undefined ||
      scan.downSinceScan.length > 0 ||
      scan.withoutQuorum.unnamedRanges > 0);
  const isDamageKnown = scan !== undefined && (!isPartOfIt || damaged > 0);
  const atLeast = isPartOfIt ? 'at least ' : '';
  // A node that does not write its record may be the slowest.
  const stale = (nodes?.list ?? []).filter(({ isStale, status }) => isStale && status === 'live');
  const unknown =
    stale.length === 0 ? '' : `; not known of ${formatCounted(stale.length, 'live node')}`;
  const slowest = load?.slowestNodeId !== undefined && `node ${load.slowestNodeId}${unknown}`;
  // A figure above a limit has a colour although its finding is information.
  const isSlow = findings.some(({ alert }) => alert === 'CrdbLatencyHigh');
  const beside = scan === undefined ? '' : describeOtherDamage(scan);
  const damageLevel = damaged > 0 || beside !== '' ? 'critical' : undefined;
  const figures = [
    [
      'SQL p99, slowest node',
      known(load?.latencyP99Seconds, formatDuration),
      isSlow ? 'warning' : undefined,
      slowest,
    ],
    [
      'Tables without quorum',
      isDamageKnown ? `${atLeast}${formatCount(damaged)}` : 'not known',
      damageLevel,
      beside,
    ],
  ] as const;
  return html`<ul class="figures" aria-label="What users notice">
    ${figures.map(([title, value, level, more]) => {
      const mark = level && html`${icon(level)} <span class="hidden">${level}: </span>`;
      const note = more ? html`${mark}${more}` : '';
      return html`<li${level && html` class="${level}"`}><span>${title}</span><b>${!note && mark}${value}</b><small>${note}</small></li>`;
    })}
  </ul>`;
}

/** Ranges without a quorum that are of no table, or of one that is not known, and what only some nodes claim. */
function describeOtherDamage({
  withoutQuorum: { otherRanges: others, unnamedRanges: unnamed },
  disputed,
}: NonNullable<ClusterStatus['ranges']>): string {
  const ranges = [
    ...(others > 0 ? [`${formatRanges(others)} outside of tables`] : []),
    ...(unnamed > 0 ? [`${formatRanges(unnamed)} whose table is not known`] : []),
  ];
  const texts = ranges.length > 0 ? [`and ${formatList(ranges)}`] : [];
  if (disputed !== undefined) {
    const report = plural(disputed.nodeIds.length, 'reports', 'report');
    texts.push(`only ${formatNodes(disputed.nodeIds)} ${report} ${formatRanges(disputed.ranges)}`);
  }
  return texts.join('; ');
}

/** Sessions by state, the applications with the oldest transactions, and which sessions are not among them. */
export function sessionTables(
  { applications, missingNodes, ...counts }: SessionsStatus,
  findings: readonly Finding[],
): Html {
  const isMissing = missingNodes.length > 0;
  const areHidden = findings.some(({ alert }) => alert === 'CrdbSessionsHidden');
  const unseen = [
    ...(isMissing ? [`Sessions of ${formatNodes(missingNodes)} are missing.`] : []),
    ...(areHidden ? ['Sessions of other users are not seen.'] : []),
  ];
  const notes = unseen.map((text) => html`<p class="old">${icon('warning')} ${text}</p>`);
  if (applications.length === 0) {
    const none = isMissing ? 'The other nodes have no session.' : 'No session is open.';
    return html`${notes}
      <p>${areHidden ? 'No session is listed.' : none}</p>`;
  }
  return html`${notes}
    <ul class="legend">
      <li><b>${formatCount(counts.active)}</b> active</li>
      <li><b>${formatCount(counts.idleInTransaction)}</b> idle in transaction</li>
      <li><b>${formatCount(counts.idle)}</b> idle</li>
    </ul>
    ${table('Applications with the oldest transactions', applications.slice(0, MAX_ROWS), [
      ['Application', ({ application }) => application, 'name'],
      ['User', ({ user }) => user, 'name'],
      ['Sessions', (one) => formatCount(one.active + one.idleInTransaction + one.idle), 'number'],
      ['Open txns', ({ openTransactions }) => formatCount(openTransactions), 'number'],
      ['Oldest txn', (one) => formatAge(one.oldestTransactionSeconds), 'number'],
      ['Idle in txn', (one) => formatAge(one.oldestIdleTransactionSeconds), 'number'],
    ])}`;
}

function formatAge(seconds: number): string {
  return seconds === 0 ? 'none' : formatDuration(seconds);
}

/** The queries of the user, each with the rows of its last run or why it failed. */
export function queryTables(queries: readonly QueryStatus[], nowMs: number): Html {
  return html`${queries.map(({ name, state, error, rows = [], rowCount, ...run }) => {
    const { lastSuccessAt: at, durationSeconds: seconds } = run;
    const time = at !== undefined && relativeTime(at, nowMs);
    const age = time && (error === undefined ? html`, ${time} old` : html`, succeeded ${time} ago`);
    const count = rowCount !== undefined && `, ${formatCounted(rowCount, 'row')}`;
    const first = rows.length < (rowCount ?? 0) && `, the first ${rows.length} here`;
    const took = seconds !== undefined && `, took ${formatDuration(seconds)}`;
    return html`<h4 class="place">${icon(state)} ${name}</h4>
      <p class="quiet">${state}${age}${count}${first}${took}</p>
      ${error && html`<p class="place">${error.reason}: ${error.message}</p>`}
      ${rowTable(name, rows)}`;
  })}`;
}

type Row = NonNullable<QueryStatus['rows']>[number];

/** The rows of a query: labels, then values. */
function rowTable(name: string, rows: readonly Row[]): Html | false {
  const [first] = rows;
  if (first === undefined) return false;
  return table(`Rows of ${name}`, rows, [
    ...Object.keys(first.labels).map((label): Column<Row> => [
      label,
      ({ labels }) => labels[label] || '(empty)',
      'name',
    ]),
    ...Object.keys(first.values).map((column): Column<Row> => [
      column,
      ({ values: { [column]: value } }) => (value === undefined ? 'NULL' : formatFigure(value)),
      'number',
    ]),
  ]);
}

/** `12,345.679`; below 1 three digits: `0.000123`. */
function formatFigure(value: number): string {
  return Math.abs(value) < 1 ? String(Number(value.toPrecision(3))) : formatCount(value);
}

/** The state of the migration assistant. */
export function assistantState(assistant: AssistantStatus, nowMs: number): Html {
  if (!assistant.exists) return html`<p>There is no migration assistant.</p>`;
  const { status = 'unknown', health = 'unknown', region, statusSince } = assistant;
  const isOk = status !== 'failed' && health !== 'unavailable' && health !== 'unknown';
  return html`<p>
    ${icon(isOk ? 'info' : 'warning')}
    ${status}${statusSince !== undefined && html` for ${relativeTime(statusSince, nowMs)}`}, health
    ${health.replaceAll('_', ' ')}${region && `, in ${region}`}
  </p>`;
}

/** The collectors with the age of their data; the findings have their errors. */
export function collectorTable(collectors: readonly CollectorStatus[], nowMs: number): Html {
  const columns: readonly Column<CollectorStatus>[] = [
    ['Collector', ({ name }) => name],
    ['State', ({ state, error }) => html`${icon(state)} ${state}${error && `: ${error.reason}`}`],
    [
      'Data',
      ({ lastSuccessAt: at, intervalSeconds, configuredIntervalSeconds }) => {
        const age = at ? html`${relativeTime(at, nowMs)} old` : 'none';
        const configured =
          intervalSeconds > configuredIntervalSeconds &&
          ` instead of ${formatDuration(configuredIntervalSeconds)}`;
        return html`${age}, every ${formatDuration(intervalSeconds)}${configured}`;
      },
    ],
    ['Duration', ({ durationSeconds }) => known(durationSeconds, formatDuration), 'number'],
    ['Items', ({ items }) => known(items, formatCount), 'number'],
    ['Read', ({ bytes }) => known(bytes, formatBytes), 'number'],
    ['Series', ({ series }) => formatCount(series), 'number'],
    [
      'Next poll',
      ({ isPolling, nextPollAt: at }) => {
        if (isPolling) return 'polling';
        return at ? html`in ${relativeTime(at, nowMs)}` : 'on /probe';
      },
    ],
  ];
  return table('Collectors', collectors, columns);
}
