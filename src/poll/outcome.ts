import type { CollectFailure, Limit } from '../collectors/collector.ts';
import * as families from '../metrics/outcome-families.ts';
import type { Sheet } from '../metrics/sheet.ts';
import type { Snapshot } from '../metrics/snapshot.ts';

const LIMITS: readonly Limit[] = ['pages', 'bytes', 'items', 'duration', 'series'];

/** What became of the last poll. */
interface Ended {
  /** Wall clock, ms. */
  readonly atMs: number;
  readonly durationSeconds: number;
  /** In which answers were prepared and received that arrived. */
  readonly answerSeconds: number;
  readonly items: number;
  readonly pages: number;
  readonly bytes: number;
  readonly limits: ReadonlySet<Limit>;
}

/** What is known of one collector on one cluster; replaced, never changed in place. */
export interface Outcome {
  /** The last poll published data. */
  readonly isGood: boolean;
  /** A first poll has ended, good or bad, or was skipped. */
  readonly hasEnded: boolean;
  /** Absent until the first poll has ended. */
  readonly last: Ended | undefined;
  /** Wall clock, ms; absent until a poll has succeeded. */
  readonly lastSuccessMs: number | undefined;
  readonly intervalSeconds: number;
  /** Why the last poll failed or did not start; undefined when it was good. */
  readonly error: CollectFailure | undefined;
}

export interface CollectorPlan {
  readonly collector: string;
  readonly api: 'cluster' | 'cloud';
  readonly shard: string;
  /** What the user of the API needs. */
  readonly privilege: string;
  readonly configuredIntervalSeconds: number;
}

/** What a collector is before its first poll. */
export function beforeFirstPoll(plan: CollectorPlan): Outcome {
  return {
    isGood: false,
    hasEnded: false,
    last: undefined,
    lastSuccessMs: undefined,
    intervalSeconds: plan.configuredIntervalSeconds,
    error: undefined,
  };
}

/** Limits that the last poll ran into; `series` also where the budget of the cluster drops some of it now. */
export function limitsOf(poller: {
  readonly outcome: Outcome;
  readonly published: () => Snapshot | undefined;
  readonly snapshot: () => Snapshot | undefined;
}): ReadonlySet<Limit> {
  const limits = poller.outcome.last?.limits ?? new Set<Limit>();
  return poller.snapshot() === poller.published() ? limits : new Set([...limits, 'series']);
}

/**
 * Writes the outcome series of one collector. They follow from the plan, not from a run, so they are
 * there however bad the cluster is; values of "the last poll" only once there was one.
 */
export function writeOutcome(
  sheet: Sheet,
  plan: CollectorPlan,
  state: {
    readonly outcome: Outcome;
    readonly series: number;
    readonly limits: ReadonlySet<Limit>;
  },
): void {
  const { last, lastSuccessMs, isGood, intervalSeconds } = state.outcome;
  const labels = { collector: plan.collector, shard: plan.shard };
  sheet.set(families.COLLECTOR_SUCCESS, labels, isGood ? 1 : 0);
  sheet.set(families.COLLECTOR_INTERVAL, labels, intervalSeconds);
  sheet.set(families.COLLECTOR_CONFIGURED_INTERVAL, labels, plan.configuredIntervalSeconds);
  sheet.set(families.SERIES, labels, state.series);
  sheet.set(families.COLLECTOR_LAST_SUCCESS, labels, toSeconds(lastSuccessMs));
  sheet.set(families.COLLECTOR_LAST_ATTEMPT, labels, toSeconds(last?.atMs));
  sheet.set(families.COLLECTOR_DURATION, labels, last?.durationSeconds);
  sheet.set(families.COLLECTOR_ITEMS, labels, last?.items);
  sheet.set(families.COLLECTOR_PAGES, labels, last?.pages);
  sheet.set(families.COLLECTOR_RESPONSE_BYTES, labels, last?.bytes);
  for (const limit of LIMITS) {
    const isHit = state.limits.has(limit);
    sheet.set(families.COLLECTOR_LIMIT_HIT, { ...labels, limit }, isHit ? 1 : 0);
  }
}

function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1000;
}
