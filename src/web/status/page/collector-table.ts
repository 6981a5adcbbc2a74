import type { CollectorStatus } from '../../../findings/polls.ts';
import { formatBytes, formatCount, formatDuration } from '../../../format.ts';
import { bar, html, type Html, icon, relativeTime, withCode } from './html.ts';
import { type Column, known, table } from './panels.ts';

/** The collectors with the age of their data and their errors, each error once. */
export function collectorTable(collectors: readonly CollectorStatus[], nowMs: number): Html {
  const firstWith = ({ error }: CollectorStatus) =>
    collectors.find((one) => one.error !== undefined && one.error.message === error?.message);
  const columns: readonly Column<CollectorStatus>[] = [
    ['Collector', ({ name }) => name],
    [
      'State',
      (one) => {
        const first = firstWith(one);
        return html`${icon(one.state)} ${one.state}${first && first !== one && `, as ${first.name}`}`;
      },
    ],
    [
      'Age',
      ({ lastSuccessAt: at, intervalSeconds }) =>
        at && bar((nowMs - Date.parse(at)) / 1000 / intervalSeconds),
      'bars',
    ],
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
  return table(
    'Collectors',
    collectors,
    columns,
    (one) =>
      one.error &&
      firstWith(one) === one &&
      html`<tr class="error">
        <td colspan="${columns.length}">
          <b>${one.error.reason}:</b> ${one.error.message}.
          <span class="advice">${withCode(one.error.advice)}</span>
        </td>
      </tr>`,
  );
}
