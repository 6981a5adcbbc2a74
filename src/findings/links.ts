import { type FindingSettings, RUNBOOK_URL } from '../config/alert-settings.ts';
import type { AlertName } from '../vocabulary.ts';
import type { Finding } from './problem.ts';

/** Where a finding leads; a link that is not configured is absent. */
export interface FindingLinks {
  readonly runbookUrl?: string | undefined;
  readonly dashboardUrl?: string | undefined;
  /** The reports of the DB Console on the ranges that the finding names. */
  readonly rangeReports?: readonly { readonly rangeId: number; readonly url: string }[] | undefined;
}

/** The dashboard about a part of a cluster. */
const DASHBOARDS: Readonly<Record<Finding['about'], string>> = {
  nodes: 'crdb-nodes',
  ranges: 'crdb-ranges',
  sessions: 'crdb-sql',
  jobs: 'crdb-overview',
  assistant: 'crdb-overview',
  exporter: 'crdb-exporter',
};

/** The links of a finding about the cluster with this name and this address of its DB Console. */
export function linkFinding(
  { about, alert, rangeIds = [] }: Pick<Finding, 'about' | 'alert' | 'rangeIds'>,
  links: FindingSettings['links'],
  { name, consoleUrl }: { readonly name: string; readonly consoleUrl?: string | undefined },
): FindingLinks {
  const { dashboard_url: dashboards } = links;
  const board = `${dashboards}/d/${DASHBOARDS[about]}?var-cluster=${encodeURIComponent(name)}`;
  return {
    runbookUrl: alert && runbookUrl(alert, links),
    dashboardUrl: dashboards === '' ? undefined : board,
    rangeReports:
      consoleUrl === undefined || rangeIds.length === 0
        ? undefined
        : rangeIds.map((rangeId) => ({ rangeId, url: reportUrl(consoleUrl, rangeId) })),
  };
}

/** The runbook of an alert; undefined without the setting: nobody has said that the repository can be reached from here. */
export function runbookUrl(
  alert: AlertName,
  { runbook_url: runbooks }: FindingSettings['links'],
): string | undefined {
  return runbooks === RUNBOOK_URL ? undefined : `${runbooks}/${alert}.md`;
}

/** The report of the DB Console on a range. */
export function reportUrl(consoleUrl: string, rangeId: number): string {
  return `${consoleUrl.replace(/\/$/, '')}/#/reports/range/${rangeId}`;
}
