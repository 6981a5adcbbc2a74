import { collectorTable } from './collector-table.ts';
import { figureTiles } from './figure-tiles.ts';
import { html, type Html } from './html.ts';
import { age, mark, withCode } from './marks.ts';
import { nodeMap } from './node-map.ts';
import { hotRanges, problemRanges } from './range-tables.ts';
import { assistantState, sessionTables } from './session-tables.ts';
import type { ClusterStatus } from '../status.ts';
import { sayList } from '../words.ts';

/** The rest unfolds: what is below should be in sight as well. */
const SHOWN_FINDINGS = 6;
const NOTHING = {
  well: 'Nothing needs your attention.',
  unknown: 'Nothing has been polled yet.',
} as const;

/** Everything about one cluster, the most pressing first. */
export function clusterDetails(cluster: ClusterStatus, nowMs: number): Html {
  const { nodes, ranges, sessions, assistant, collectors } = cluster;
  const plans = new Set(collectors.map(({ name }) => name));
  return html`${findingList(cluster, nowMs)}${figureTiles(cluster)}
    <div class="panels">
      ${[
        plans.has('nodes') && panel('Nodes', 'wide', nodes && nodeMap(nodes, nowMs)),
        plans.has('ranges') && panel('Problem ranges', '', ranges && problemRanges(ranges, nowMs)),
        plans.has('ranges') && panel('Hottest ranges', '', ranges && hotRanges(ranges)),
        plans.has('sessions') &&
          panel(
            'Sessions',
            plans.has('cloud') ? 'broad' : 'wide',
            sessions && sessionTables(sessions),
          ),
        plans.has('cloud') &&
          panel('Migration assistant', 'narrow', assistant && assistantState(assistant, nowMs)),
        panel('Collectors', 'wide', collectorTable(collectors, nowMs)),
      ]}
    </div>`;
}

function panel(title: string, kind: string, content: Html | undefined): Html {
  const id = title.toLowerCase().replaceAll(' ', '-');
  return html`<section class="panel ${kind}" id="${id}" aria-labelledby="${id}-title">
    <h3 id="${id}-title">${title}</h3>
    ${content ?? html`<p class="quiet">There is no present data; the collectors below say why.</p>`}
  </section>`;
}

/** There also when there is nothing to say, so that a live page keeps its form. */
function findingList({ findings, state }: ClusterStatus, nowMs: number): Html {
  const [first, more] = [findings.slice(0, SHOWN_FINDINGS), findings.slice(SHOWN_FINDINGS)];
  return html`<section class="findings" aria-labelledby="findings-title">
    <h3 id="findings-title">What there is to know, and what next</h3>
    ${first.length === 0 && html`<p class="quiet">${NOTHING[state === 'unknown' ? 'unknown' : 'well']}</p>`}
    <ul>
      ${first.map((finding) => findingItem(finding, nowMs))}
    </ul>
    ${
      more.length > 0 &&
      html`<details>
        <summary>${more.length} more: ${sayLevels(more)}</summary>
        <ul>
          ${more.map((finding) => findingItem(finding, nowMs))}
        </ul>
      </details>`
    }
  </section>`;
}

type ShownFinding = ClusterStatus['findings'][number];

function findingItem({ level, text, next, since }: ShownFinding, nowMs: number): Html {
  return html`<li class="${level}">
    ${mark(level)}
    <div>
      <strong><span class="hidden">${level}: </span>${text}</strong>
      <span class="advice">${withCode(next)}</span>
    </div>
    <span class="since">for ${age(since, nowMs)}</span>
  </li>`;
}

/** `1 warning and 5 notices`. */
function sayLevels(findings: readonly ShownFinding[]): string {
  const levels = Map.groupBy(findings, ({ level }) => level);
  const counts = Array.from(levels, ([level, { length }]) =>
    length === 1 || level === 'trouble' ? `${length} ${level}` : `${length} ${level}s`,
  );
  return sayList(counts);
}
