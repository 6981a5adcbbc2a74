import {
  CollectError,
  type Collector,
  type PollFailure,
  type PollStats,
} from '../collectors/collector.ts';
import { toRequestError } from '../http/errors.ts';
import { collectorFamilies as families } from '../metrics/collector-families.ts';
import type { SampleSet } from '../metrics/sample-set.ts';
import { type FailureReason, type Limit, LIMITS } from '../vocabulary.ts';

/** State of one collector on one cluster after its last poll; replaced, never changed in place. */
export interface Outcome {
  /** Whether the last poll succeeded. */
  readonly succeeded: boolean;
  /** Whether a first poll has ended or was skipped. */
  readonly hasEnded: boolean;
  /** The last poll that ran; undefined before the first. */
  readonly last: FinishedPoll | undefined;
  /** Wall clock, ms; undefined before the first success. */
  readonly lastSuccessMs: number | undefined;
  readonly intervalSeconds: number;
  /** Why the last poll failed or was skipped; undefined after a success. */
  readonly error: PollFailure | undefined;
}

interface FinishedPoll extends Readonly<Pick<PollStats, 'items' | 'pages' | 'bytes'>> {
  /** Wall clock, ms. */
  readonly atMs: number;
  readonly durationSeconds: number;
  /** Time in which responses were prepared and received. */
  readonly answerSeconds: number;
  readonly limits: ReadonlySet<Limit>;
}

/** Why a collector failed, by what it threw. */
export function failureReason(error: unknown, { name }: Collector): FailureReason {
  return error instanceof CollectError ? error.reason : toRequestError(error, name).reason;
}

/** Before the first poll. */
export const NOT_POLLED: Omit<Outcome, 'intervalSeconds'> = {
  succeeded: false,
  hasEnded: false,
  last: undefined,
  lastSuccessMs: undefined,
  error: undefined,
};

/** What a poller shows of itself on /metrics. */
export interface CollectorStatus {
  readonly collector: Collector;
  readonly shard: string;
  readonly configuredIntervalSeconds: number;
  readonly outcome: Outcome;
  /** Number of series that it exports now. */
  readonly series: number;
  /** Limits that the last poll reached, and `series` while the budget of the cluster drops some of its series. */
  readonly limits: ReadonlySet<Limit>;
}

/** Writes the metrics of one collector. They exist whatever the cluster does; values of the last poll only after one. */
export function writeCollectorMetrics(set: SampleSet, status: CollectorStatus): void {
  const { last, lastSuccessMs, succeeded, intervalSeconds } = status.outcome;
  const labels = { collector: status.collector.name, shard: status.shard };
  set.set(families.success, labels, succeeded ? 1 : 0);
  set.set(families.interval, labels, intervalSeconds);
  set.set(families.configuredInterval, labels, status.configuredIntervalSeconds);
  set.set(families.series, labels, status.series);
  set.set(families.lastSuccess, labels, lastSuccessMs && lastSuccessMs / 1000);
  set.set(families.lastAttempt, labels, last && last.atMs / 1000);
  set.set(families.duration, labels, last?.durationSeconds);
  set.set(families.items, labels, last?.items);
  set.set(families.pages, labels, last?.pages);
  set.set(families.responseBytes, labels, last?.bytes);
  for (const limit of LIMITS) {
    set.set(families.limitHit, { ...labels, limit }, status.limits.has(limit) ? 1 : 0);
  }
}
