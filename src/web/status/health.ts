/** Levels of issues, the worst first; `notice` is informational. /api/status publishes these words. */
export const LEVELS = ['trouble', 'warning', 'notice'] as const;

/** State of a cluster; `unknown` until there is data. /api/status publishes these words. */
export type ClusterState = 'well' | 'warning' | 'trouble' | 'unknown';

/** A problem or a notable condition of a cluster: one of the `findings` of /api/status. */
export interface HealthIssue {
  /** The same for as long as the issue lasts. */
  readonly key: string;
  readonly level: (typeof LEVELS)[number];
  readonly text: string;
  /** The next step; commands are in backquotes. */
  readonly next: string;
  /** RFC 3339, where the data itself has the start of the issue. */
  readonly since?: string | undefined;
}

/** The state that the worst issue stands for. */
export function clusterState(issues: readonly HealthIssue[], hasData: boolean): ClusterState {
  const worst = LEVELS.find((level) => issues.some((issue) => issue.level === level));
  if (worst === 'trouble' || worst === 'warning') return worst;
  return hasData ? 'well' : 'unknown';
}

/** RFC 3339; undefined for 0, which stands for unknown. */
export function toTime(milliseconds: number | undefined): string | undefined {
  return milliseconds ? new Date(milliseconds).toISOString() : undefined;
}
