import { type AlertName, findAlert, type FindingSettings, severityOf } from '#alerts';
import { formatCount, formatList, SEVERITIES, toTimestamp } from '#base';
import type { Finding, Problem } from './status.ts';

/** Ranges, applications or counts that a finding names; the page and the commands list all. */
export const MAX_NAMED = 3;

/** The first names of a list of this many: `r7, r9, r12 and 4 more`. */
export function formatFirst(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMED);
  const left = count - shown.length;
  return formatList(left > 0 ? [...shown, `${formatCount(left)} more`] : shown);
}

/**
 * The problems with their severities, the worst first: each has the severity of its alert, however short it has lasted. `sinceMs` is
 * when the exporter first saw the problem of a key.
 */
export function toFindings(
  problems: readonly Problem[],
  sinceMs: (key: string) => number,
): readonly Finding[] {
  return problems
    .map(({ level, since, ...problem }) => {
      const { key, alert } = problem;
      const startMs = since === undefined ? sinceMs(key) : Date.parse(since);
      return {
        ...problem,
        level: level ?? (alert === undefined ? 'info' : severityOf(alert)),
        since: toTimestamp(startMs) ?? '',
      };
    })
    .toSorted(bySeverity);
}

/** They come last of their severity: jobs can wait for what requests cannot, and problems of the exporter may be effects of others. */
const LAST: readonly string[] = ['jobs', 'exporter'] satisfies readonly Finding['about'][];

/** The worst first; of one severity those of nodes, ranges, sessions and the assistant in their order. */
export function bySeverity(
  a: Pick<Finding, 'level' | 'about'>,
  b: Pick<Finding, 'level' | 'about'>,
): number {
  const byAbout = LAST.indexOf(a.about) - LAST.indexOf(b.about);
  return SEVERITIES.indexOf(a.level) - SEVERITIES.indexOf(b.level) || byAbout;
}

/** Whether a finding is a problem of the cluster: not only of the exporter, and more than information. */
export function isProblem({ about, level }: Pick<Finding, 'about' | 'level'>): boolean {
  return about !== 'exporter' && level !== 'info';
}

/** The dashboard of a finding without an alert. */
const DASHBOARDS: Readonly<Record<Finding['about'], string>> = {
  nodes: 'crdb-nodes',
  ranges: 'crdb-ranges',
  sessions: 'crdb-sql',
  jobs: 'crdb-overview',
  assistant: 'crdb-overview',
  exporter: 'crdb-exporter',
};

/**
 * The links of a finding about the cluster with this name and this address of its DB Console; `ownRunbooks` is where the exporter
 * serves the runbooks.
 */
export function linkFinding(
  { about, alert, rangeIds = [] }: Pick<Finding, 'about' | 'alert' | 'rangeIds'>,
  links: FindingSettings['links'],
  { name, consoleUrl }: { readonly name: string; readonly consoleUrl?: string | undefined },
  ownRunbooks = '',
): Pick<Finding, 'runbookUrl' | 'dashboardUrl' | 'rangeReports'> {
  const { dashboard_url: dashboards } = links;
  const uid = findAlert(alert ?? '')?.dashboard ?? DASHBOARDS[about];
  const board = `${dashboards}/d/${uid}?var-cluster=${encodeURIComponent(name)}`;
  return {
    runbookUrl: alert && runbookUrl(alert, links, ownRunbooks),
    dashboardUrl: dashboards === '' ? undefined : board,
    rangeReports:
      consoleUrl === undefined || rangeIds.length === 0
        ? undefined
        : rangeIds.map((rangeId) => ({ rangeId, url: reportUrl(consoleUrl, rangeId) })),
  };
}

/** The runbook of an alert: the one of the setting, else the one that the exporter serves; undefined where none is known. */
export function runbookUrl(
  alert: AlertName,
  { runbook_url: runbooks }: FindingSettings['links'],
  ownRunbooks = '',
): string | undefined {
  if (runbooks !== '') return `${runbooks}/${alert}.md`;
  return ownRunbooks === '' ? undefined : `${ownRunbooks}/${alert}`;
}

/** The report of the DB Console on a range. */
export function reportUrl(consoleUrl: string, rangeId: number): string {
  return `${consoleUrl.replace(/\/$/, '')}/#/reports/range/${rangeId}`;
}
