import type { Thresholds } from '../../../config/alert-settings.ts';
import type { AssistantStatus } from '../../../findings/job-problems.ts';
import { reportUrl } from '../../../findings/links.ts';
import type { Finding } from '../../../findings/problem.ts';
import {
  type HotRangeStatus,
  type ProblemRangeStatus,
  type RangesStatus,
  formatTable,
  systemRangeName,
} from '../../../findings/ranges.ts';
import { formatRanges } from '../../../findings/safe-to-stop.ts';
import { type ScanCheck, formatReplicas } from '../../../findings/scan-check.ts';
import type { SessionsStatus } from '../../../findings/sessions.ts';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatList,
  formatNumber,
  formatPercent,
} from '../../../format.ts';
import { SEVERITIES } from '../../../vocabulary.ts';
import type { SafeToStopStatus } from '../cluster.ts';
import { type Html, type Part, bar, html, icon, relativeTime, withCode } from './html.ts';

/** Rows of a table; the rest is on /metrics and in /api/status. */
const MAX_ROWS = 10;

/** A column: its title, the content of a cell, and the class of its cells. */
export type Column<T> = readonly [
  title: string,
  cell: (item: T) => Part,
  kind?: 'number' | 'name' | 'place' | 'bars' | undefined,
];

/** A table that scrolls sideways where it is too wide, and is a list on a phone; the first column names the row. */
export function table<T>(
  label: string,
  items: readonly T[],
  columns: readonly (Column<T> | false)[],
  details: (item: T) => Part = () => undefined,
): Html {
  const shown = columns.filter((column) => column !== false);
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${shown.map(([title, , kind]) => html`<th scope="col" class="${kind}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${items.map(
          (item) =>
            html`<tr>
                ${shown.map(([title, cell, kind], index) =>
                  index === 0
                    ? html`<th scope="row" class="${kind}">${cell(item)}</th>`
                    : html`<td data-title="${title}" class="${kind}">${cell(item)}</td>`,
                )}
              </tr>
              ${details(item)}`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** `–` when it is not known. */
export function known(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '–' : format(value);
}

function readFrom({ scanned, failed, skipped }: RangesStatus['nodes']): string {
  const down = skipped > 0 ? `; ${skipped} down and not queried` : '';
  return `Read from ${scanned} of ${scanned + failed + skipped} nodes${down}.`;
}

/** Range problems by number, and the ranges with the oldest of the worst ones. */
export function problemRanges(
  { problems, oldest, nodes, downSinceScan, scanCheck }: RangesStatus,
  findings: readonly Finding[],
  nowMs: number,
  { flag, consoleUrl }: RangeDetails,
): Html {
  const read = html`<p class="quiet">${readFrom(nodes)}</p>
    ${scanCheck && scanCheckLine(scanCheck)}${
      downSinceScan.length > 0 &&
      html`<p class="old">
        ${icon('warning')} Read before node ${formatList(downSinceScan)} went down: the next scan
        shows the effect.
      </p>`
    }`;
  const counts = Object.entries(problems);
  if (counts.length === 0)
    return html`<p>No range${nodes.failed > 0 && ' that was read'} has a problem.</p>
      ${read}`;
  /** The level of the finding about this problem. */
  const levelOf = (problem: string) =>
    findings.find(({ key }) => key === `ranges ${problem}`)?.level ?? 'warning';
  const rankOf = (problem: string) => SEVERITIES.indexOf(levelOf(problem));
  const rows = oldest.toSorted((a, b) => rankOf(a.problem) - rankOf(b.problem));
  return html`<ul class="counts">
      ${counts.map(
        ([problem, count]) =>
          html`<li class="${levelOf(problem)}">
            <b>${formatCount(count)}</b> ${formatProblem(problem)}
          </li>`,
      )}
    </ul>
    ${table('Oldest problem ranges', rows.slice(0, MAX_ROWS), [
      ['Range', ({ rangeId }) => rangeName(rangeId, consoleUrl)],
      ['Problem', ({ problem }) => formatProblem(problem)],
      ['Table', placeOf, 'place'],
      ['Reported by', ({ nodeId, storeId }) => `n${nodeId} s${storeId || '–'}`],
      ['For', ({ firstSeenAt }) => relativeTime(firstSeenAt, nowMs), 'number'],
    ])}
    ${rangeCommand(rows[0], flag)}${read}`;
}

/** `movr.public.rides, index 1`. */
function placeOf(range: ProblemRangeStatus | HotRangeStatus): string {
  const text = formatTable(range.table, 'id') || (systemRangeName(range) ?? '–');
  return range.index === '' ? text : `${text}, index ${range.index}`;
}

/** Which nodes may be restarted now, and what would be lost with the others and with a locality. */
export function safeToStop(
  { answer, nodes, reason }: SafeToStopStatus,
  { dependent = [], unknownVoters }: RangesStatus,
): Html {
  const decision =
    answer === 'yes'
      ? html`<p>
          One of these nodes may stop now without a range losing its quorum:
          <b>${formatList(nodes)}</b>.
        </p>`
      : html`<p>
          ${icon('warning')} ${answer === 'no' ? 'No node may stop now' : 'Not known'}: ${reason}.
        </p>`;
  const unknown = Math.max(unknownVoters?.node ?? 0, unknownVoters?.locality ?? 0);
  const bounds =
    unknown > 0 &&
    html`<p class="quiet">Lower bounds: the voters of ${formatRanges(unknown)} are not known.</p>`;
  if (dependent.length === 0) return html`${decision}${bounds}`;
  return html`${decision}${table('Dependent ranges', dependent.slice(0, MAX_ROWS), [
    ['If it stopped', ({ name }) => name, 'name'],
    ['Lose quorum', ({ quorum }) => formatCount(quorum), 'number'],
    ['Lose last replica', ({ lastReplica }) => formatCount(lastReplica), 'number'],
    ['No quorum now', ({ withoutQuorum }) => known(withoutQuorum, formatCount), 'number'],
  ])}${bounds}`;
}

function formatProblem(problem: string): string {
  return problem.replaceAll('_', ' ');
}

/** The ranges with most queries and with most CPU. */
export function hotRanges({ hottest }: RangesStatus, { flag, consoleUrl }: RangeDetails): Html {
  const [first] = hottest;
  if (first === undefined) return html`<p>No range is listed.</p>`;
  const max = Math.max(1, ...hottest.map(({ queriesPerSecond }) => queriesPerSecond));
  const hasCpu = hottest.some(({ cpuSecondsPerSecond }) => cpuSecondsPerSecond !== undefined);
  return html`${table('Hottest ranges', hottest.slice(0, MAX_ROWS), [
    ['Range', ({ rangeId }) => rangeName(rangeId, consoleUrl)],
    ['Table', placeOf, 'place'],
    ['Node', ({ nodeId }) => `n${nodeId}`],
    ['Load', ({ queriesPerSecond }) => bar(queriesPerSecond / max), 'bars'],
    ['Queries/s', ({ queriesPerSecond }) => formatNumber(queriesPerSecond), 'number'],
    ['Writes/s', ({ writesPerSecond }) => known(writesPerSecond, formatNumber), 'number'],
    hasCpu && ['CPU', (range) => known(range.cpuSecondsPerSecond, formatPercent), 'number'],
  ])}${rangeCommand(first, flag)}`;
}

/** The details of a range are shown by a command, which may need the name of the cluster, and by the DB Console. */
export interface RangeDetails {
  /** ` --cluster NAME`, or empty. */
  readonly flag: string;
  readonly consoleUrl?: string | undefined;
}

function rangeName(rangeId: number, consoleUrl: string | undefined): Part {
  const name = `r${rangeId}`;
  return consoleUrl === undefined
    ? name
    : html`<a href="${reportUrl(consoleUrl, rangeId)}">${name}</a>`;
}

/** The command that shows all that is known of the first range of a table. */
function rangeCommand(range: ProblemRangeStatus | HotRangeStatus | undefined, flag: string) {
  if (range === undefined) return undefined;
  return html`<p class="quiet">
    Details of the first: ${withCode(`\`crdb-exporter range ${range.rangeId}${flag}\``)}
  </p>`;
}

/** The tables with most load. */
export function loadedTables({ tables, nodes }: RangesStatus): Html {
  if (tables.length === 0) return html`<p>No table has ranges.</p>`;
  const hasCpu = tables.some(({ cpuSecondsPerSecond }) => cpuSecondsPerSecond !== undefined);
  const hasSize = tables.some(({ sizeBytes }) => sizeBytes !== undefined);
  const partial =
    nodes.failed > 0 &&
    html`<p class="old">${icon('warning')} ${readFrom(nodes)} The figures are lower bounds.</p>`;
  return html`${table('Tables with most load', tables.slice(0, MAX_ROWS), [
    ['Table', ({ id, name }) => name ?? formatTable(id, 'id'), 'name'],
    ['Queries/s', ({ queriesPerSecond }) => formatNumber(queriesPerSecond), 'number'],
    ['Writes/s', ({ writesPerSecond }) => formatNumber(writesPerSecond), 'number'],
    hasCpu && ['CPU', (one) => known(one.cpuSecondsPerSecond, formatPercent), 'number'],
    ['Ranges', ({ ranges }) => formatCount(ranges), 'number'],
    hasSize && ['Size', ({ sizeBytes }) => known(sizeBytes, formatBytes), 'number'],
  ])}${partial}`;
}

/** Sessions by state, and the applications with the oldest transactions. */
export function sessionTables(sessions: SessionsStatus, thresholds: Thresholds): Html {
  const transactionAge = (seconds: number) =>
    formatTransactionAge(seconds, thresholds.idle_transaction_age);
  const applications = sessions.applications.slice(0, MAX_ROWS);
  if (applications.length === 0) return html`<p>No session is open.</p>`;
  return html`${stateBar(sessions)}
  ${table('Applications with the oldest transactions', applications, [
    ['Application', ({ application }) => application, 'name'],
    ['User', ({ user }) => user, 'name'],
    ['Sessions', (one) => formatCount(one.active + one.idleInTransaction + one.idle), 'number'],
    ['Open txns', ({ openTransactions }) => formatCount(openTransactions), 'number'],
    ['Oldest txn', (one) => transactionAge(one.oldestTransactionSeconds), 'number'],
    ['Idle in txn', (one) => transactionAge(one.oldestIdleTransactionSeconds), 'number'],
  ])}`;
}

/** Above `maxSeconds` it is marked. */
function formatTransactionAge(seconds: number, maxSeconds: number): Html {
  if (seconds === 0) return html`–`;
  const age = formatDuration(seconds);
  return seconds <= maxSeconds
    ? html`${age}`
    : html`<span class="old">${icon('warning')} ${age}</span>`;
}

function stateBar({ active, idleInTransaction, idle }: SessionsStatus): Html {
  const percent = 100 / Math.max(1, active + idleInTransaction + idle);
  const states = [
    ['active', 'active', active, 0],
    ['in-transaction', 'idle in transaction', idleInTransaction, active],
    ['idle', 'idle', idle, active + idleInTransaction],
  ] as const;
  return html`<svg class="states" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      ${states.map(
        ([name, , count, before]) =>
          html`<rect
            class="${name}"
            x="${(before * percent).toFixed(1)}"
            width="${(count * percent).toFixed(1)}"
            height="8"
          />`,
      )}
    </svg>
    <ul class="legend">
      ${states.map(
        ([name, word, count]) =>
          html`<li class="${name}"><b>${formatCount(count)}</b> ${word}</li>`,
      )}
    </ul>`;
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

/** What was read against the nodes' own counts. */
function scanCheckLine({ replicas, leases, disagrees }: ScanCheck): Html {
  const counted =
    leases === undefined
      ? 'how many leases the nodes count is not known'
      : `${formatCount(leases.read)} leases read, the nodes count ${formatCount(leases.counted)} valid ones`;
  const text = `${formatReplicas(replicas)}; ${counted}.`;
  return disagrees
    ? html`<p class="old">${icon('warning')} ${text}</p>`
    : html`<p class="quiet">${text}</p>`;
}
