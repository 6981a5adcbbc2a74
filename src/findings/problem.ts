import { toTimestamp } from '../format.ts';
import { ALERT_SEVERITIES, type AlertName, SEVERITIES, type Severity } from '../vocabulary.ts';

/** How long a condition may be normal, and is only information: as long as its alert waits. */
export const NORMAL_SECONDS = {
  CrdbNodeStuckLeaving: 3600,
  CrdbRangeProblemPersistent: 3600,
};

/** A problem or a notable condition: one of the `findings` of /api/status. */
export interface Problem {
  /** The key stays the same for as long as the problem lasts. */
  readonly key: string;
  /** What has the issue: a part of the cluster, or the exporter that reads it. */
  readonly about: 'nodes' | 'ranges' | 'sessions' | 'jobs' | 'assistant' | 'exporter';
  /** The alert with the same condition, whose severity it has. */
  readonly alert?: AlertName | undefined;
  /** The severity without an alert, or that of a second alert with the same name. */
  readonly level?: Severity | undefined;
  /** The condition is normal for so many seconds, and `info` until then. */
  readonly normalSeconds?: number | undefined;
  readonly text: string;
  /** The next step; commands are in backquotes. */
  readonly next: string;
  /** RFC 3339, where the data itself has the start of the issue. */
  readonly since?: string | undefined;
  /** The ranges that the text names. */
  readonly rangeIds?: readonly number[] | undefined;
}

/** A problem with its severity and start. */
export interface Finding extends Pick<
  Problem,
  'key' | 'about' | 'alert' | 'text' | 'next' | 'rangeIds'
> {
  readonly level: Severity;
  /** RFC 3339. */
  readonly since: string;
}

/** The issues with their severities, the worst first; `sinceMs` is when the exporter first saw the issue of a key. */
export function toFindings(
  issues: readonly Problem[],
  sinceMs: (key: string) => number,
  nowMs: number,
): readonly Finding[] {
  return issues
    .map(({ key, about, alert, level, normalSeconds = 0, text, next, since, rangeIds }) => {
      const startMs = since === undefined ? sinceMs(key) : Date.parse(since);
      const elapsedMs = nowMs - startMs;
      // A clock that was set back lets an issue begin in the future: it is old, not new.
      const isNormal = elapsedMs >= 0 && elapsedMs < normalSeconds * 1000;
      const severity = level ?? (alert === undefined ? 'info' : ALERT_SEVERITIES[alert]);
      return {
        key,
        about,
        alert,
        level: isNormal ? ('info' as const) : severity,
        text,
        next,
        since: toTimestamp(startMs) ?? '',
        rangeIds,
      };
    })
    .toSorted(bySeverity);
}

/** The worst first. */
export function bySeverity(
  a: { readonly level: Severity },
  b: { readonly level: Severity },
): number {
  return SEVERITIES.indexOf(a.level) - SEVERITIES.indexOf(b.level);
}

/** Whether a finding is a problem of the cluster: not only of the exporter, and more than information. */
export function isProblem({ about, level }: Pick<Finding, 'about' | 'level'>): boolean {
  return about !== 'exporter' && level !== 'info';
}

/** RFC 3339; undefined for 0, which stands for unknown, and for what is no time. */
export function toTime(milliseconds: number | undefined): string | undefined {
  return milliseconds ? toTimestamp(milliseconds) : undefined;
}

/** Alerts that the page does not evaluate, and why. */
export const NOT_CHECKED: Readonly<Record<string, string>> = {
  CrdbBackupFailing: 'needs the last hours',
  CrdbBackupUnknown: 'needs the last day',
  CrdbCertificateExpiring: 'needs the last 30 days',
  CrdbChangefeedFailing: 'needs the last hours',
  CrdbClusterNameShared: 'needs all exporters',
  CrdbConfigReloadFailed: 'is of the exporter, not of a cluster',
  CrdbDiskFillsFast: 'needs the last half hour',
  CrdbExporterClockWrong: 'is of the exporter, not of a cluster',
  CrdbExporterDown: 'only Prometheus sees it',
  CrdbExportersDisagree: 'needs all exporters',
  CrdbHeartbeatSlow: 'needs the last five minutes',
  CrdbIdleTransactions: 'needs the last five minutes',
  CrdbLatencyHigh: 'needs the last day',
  CrdbMonitoringBlind: 'only Prometheus sees it',
  CrdbNodeFlapping: 'needs the last hours',
  CrdbNodeLivenessFlapping: 'needs the last half hour',
  CrdbNodeMemoryGrows: 'needs the last minutes',
  CrdbSessionStorm: 'needs the last hours',
  CrdbShardsMissing: 'needs all shards',
  CrdbSqlFailing: 'needs the last minutes',
  CrdbSqlStopped: 'needs the last day',
  CrdbStoreDiskFillsSoon: 'needs the last hours',
  CrdbStoreDiskSlow: 'needs the last minutes',
  CrdbStoreDiskStalled: 'needs the last minutes',
  CrdbWatchdog: 'always fires',
};
