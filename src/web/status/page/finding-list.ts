import { type Finding, NOT_CHECKED } from '../../../findings/problem.ts';
import { formatList } from '../../../format.ts';
import type { ClusterStatus, FindingStatus } from '../status.ts';
import { html, type Html, icon, relativeTime, withCode } from './html.ts';

/** The other findings unfold, so that the panels below are in sight. */
const MAX_UNFOLDED = 6;

/** Present without findings, too, so that a live page keeps its structure. */
export function findingList({ findings, state }: ClusterStatus, nowMs: number): Html {
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
export function formatLevels(findings: readonly Finding[]): string {
  const levels = Map.groupBy(findings, ({ level }) => level);
  const counts = Array.from(
    levels,
    ([level, { length }]) => `${length} ${level}${level === 'warning' && length > 1 ? 's' : ''}`,
  );
  return formatList(counts);
}

/** `for 5 min`; what the first polls found may have lasted longer. */
export function duration(
  { since, mayBeOlder }: Pick<ClusterStatus, 'since' | 'mayBeOlder'>,
  nowMs: number,
) {
  return html`for ${mayBeOlder && 'at least '}${relativeTime(since, nowMs)}`;
}
