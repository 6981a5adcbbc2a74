import { html, type Html } from './html.ts';
import type { CollectorStatus } from '../collectors.ts';
import { age, bar, mark, wait, withCode } from './marks.ts';
import { sayBytes, sayDuration, sayNumber } from '../words.ts';

/** What the exporter itself does: how old its data is, and what went wrong. */
export function collectorTable(collectors: readonly CollectorStatus[], nowMs: number): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Collectors">
    <table>
      <thead>
        <tr>
          <th scope="col">Collector</th>
          <th scope="col">State</th>
          <th scope="col" colspan="2">Data</th>
          <th scope="col" class="number">Took</th>
          <th scope="col" class="number">Items</th>
          <th scope="col" class="number">Read</th>
          <th scope="col" class="number">Series</th>
          <th scope="col">Next poll</th>
        </tr>
      </thead>
      <tbody>
        ${collectors.map((one) => collectorRows(one, nowMs))}
      </tbody>
    </table>
  </div>`;
}

function collectorRows(one: CollectorStatus, nowMs: number): Html {
  const { error } = one;
  return html`<tr>
      <th scope="row">${one.name}</th>
      <td>${mark(one.state)} ${one.state}</td>
      ${ageCells(one, nowMs)}
      <td class="number">
        ${one.durationSeconds === undefined ? '–' : sayDuration(one.durationSeconds)}
      </td>
      <td class="number">${one.items === undefined ? '–' : sayNumber(one.items)}</td>
      <td class="number">${one.bytes === undefined ? '–' : sayBytes(one.bytes)}</td>
      <td class="number">${sayNumber(one.series)}</td>
      <td>${sayNext(one, nowMs)}</td>
    </tr>
    ${
      error !== undefined &&
      html`<tr class="error">
        <td colspan="9">
          <b>${error.reason}:</b> ${error.message}.
          <span class="advice">${withCode(error.advice)}</span>
        </td>
      </tr>`
    }`;
}

function ageCells({ lastSuccessAt, intervalSeconds }: CollectorStatus, nowMs: number): Html {
  const interval = sayDuration(intervalSeconds);
  if (lastSuccessAt === undefined) {
    return html`<td colspan="2">none yet, every ${interval}</td>`;
  }
  const ratio = (nowMs - Date.parse(lastSuccessAt)) / 1000 / intervalSeconds;
  return html`<td>${bar(ratio)}</td>
    <td>${age(lastSuccessAt, nowMs)} old, every ${interval}</td>`;
}

function sayNext({ isPolling, nextPollAt }: CollectorStatus, nowMs: number): Html {
  if (isPolling) return html`polling now`;
  return nextPollAt === undefined ? html`when probed` : html`in ${wait(nextPollAt, nowMs)}`;
}
