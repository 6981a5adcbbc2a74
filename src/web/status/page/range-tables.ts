import { html, type Html } from './html.ts';
import { age, bar } from './marks.ts';
import { LEVELS } from '../findings.ts';
import { PROBLEM_RULES } from '../range-findings.ts';
import type { HotRange, ProblemRange, RangesStatus } from '../ranges.ts';
import { sayNumber, sayPercent } from '../words.ts';

/** Rows of a table; the rest is on /metrics and in /api/status. */
const MAX_ROWS = 10;

/** What is wrong with ranges, and the ranges that have been so for longest. */
export function problemRanges({ problems, oldest, nodes }: RangesStatus, nowMs: number): Html {
  const counts = Object.entries(problems);
  const { scanned = 0, failed = 0, skipped = 0 } = nodes;
  const read = html`<p class="quiet">
    Read from ${scanned} of ${scanned + failed}
    nodes${skipped > 0 && `; ${skipped} down and not asked`}.
  </p>`;
  if (counts.length === 0)
    return html`<p>No range reports a problem.</p>
      ${read}`;
  return html`<ul class="counts">
      ${counts.map(
        ([problem, count]) =>
          html`<li class="${PROBLEM_RULES[problem]?.level ?? 'warning'}">
            <b>${sayNumber(count)}</b> ${sayProblem(problem)}
          </li>`,
      )}
    </ul>
    <div class="scroll" tabindex="0" role="group" aria-label="Oldest problem ranges">
      <table>
        <thead>
          <tr>
            <th scope="col">Range</th>
            <th scope="col">Problem</th>
            <th scope="col">Table</th>
            <th scope="col">Reported by</th>
            <th scope="col" class="number">For</th>
          </tr>
        </thead>
        <tbody>
          ${mostPressing(oldest).map(
            (range) =>
              html`<tr>
                <th scope="row">r${range.rangeId}</th>
                <td>${sayProblem(range.problem)}</td>
                <td>${range.table || '–'}</td>
                <td>n${range.nodeId} s${range.storeId}</td>
                <td class="number">${age(range.firstSeenAt, nowMs)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${read}`;
}

/** The ranges with most queries. */
export function hotRanges({ hottest }: RangesStatus): Html {
  const [first] = hottest;
  if (first === undefined) return html`<p>No range is listed.</p>`;
  const most = Math.max(1, first.queriesPerSecond);
  const hasCpu = hottest.some(({ cpuSecondsPerSecond }) => cpuSecondsPerSecond !== undefined);
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Hottest ranges">
    <table>
      <thead>
        <tr>
          <th scope="col">Range</th>
          <th scope="col">Table</th>
          <th scope="col">Node</th>
          <th scope="col" class="number" colspan="2">Queries/s</th>
          <th scope="col" class="number">Writes/s</th>
          ${hasCpu && html`<th scope="col" class="number">CPU</th>`}
        </tr>
      </thead>
      <tbody>
        ${hottest.slice(0, MAX_ROWS).map((range) => hotRow(range, most, hasCpu))}
      </tbody>
    </table>
  </div>`;
}

function hotRow(range: HotRange, most: number, hasCpu: boolean): Html {
  const { rangeId, table, nodeId, queriesPerSecond, writesPerSecond: writes } = range;
  const { cpuSecondsPerSecond: cpu } = range;
  return html`<tr>
    <th scope="row">r${rangeId}</th>
    <td>${table || '–'}</td>
    <td>n${nodeId}</td>
    <td>${bar(queriesPerSecond / most)}</td>
    <td class="number">${sayNumber(queriesPerSecond)}</td>
    <td class="number">${writes === undefined ? '–' : sayNumber(writes)}</td>
    ${hasCpu && html`<td class="number">${cpu === undefined ? '–' : sayPercent(cpu)}</td>`}
  </tr>`;
}

/** Those that hurt most, the oldest of them first. */
function mostPressing(ranges: readonly ProblemRange[]): readonly ProblemRange[] {
  return ranges
    .toSorted(
      (a, b) => rankOf(a) - rankOf(b) || Date.parse(a.firstSeenAt) - Date.parse(b.firstSeenAt),
    )
    .slice(0, MAX_ROWS);
}

function rankOf({ problem }: ProblemRange): number {
  return LEVELS.indexOf(PROBLEM_RULES[problem]?.level ?? 'warning');
}

function sayProblem(problem: string): string {
  return problem.replaceAll('_', ' ');
}
