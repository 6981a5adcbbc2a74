import type { Outcome } from '../../poll/outcome.ts';
import { adviseOn } from './advice.ts';
import type { Figures } from './figures.ts';
import type { ClusterSource, CollectorSource } from './source.ts';

export interface CollectorStatus {
  readonly name: string;
  readonly api: 'cluster' | 'cloud';
  readonly shard: string;
  /** `waiting` until the first poll has ended; `good` when the last one published its data. */
  readonly state: 'waiting' | 'good' | 'failing';
  readonly isPolling: boolean;
  /** False when there is no data that is young enough to be shown. */
  readonly hasData: boolean;
  readonly lastPollAt: string | undefined;
  readonly lastSuccessAt: string | undefined;
  /** Absent when no poll is planned: one is running, or only /probe asks. */
  readonly nextPollAt: string | undefined;
  /** Effective interval; longer than the configured one when polls take long. */
  readonly intervalSeconds: number;
  readonly configuredIntervalSeconds: number;
  readonly durationSeconds: number | undefined;
  readonly items: number | undefined;
  readonly bytes: number | undefined;
  readonly series: number;
  /** Limits that the last poll ran into, and `series` while the budget drops some of it. */
  readonly limits: readonly string[];
  readonly error: CollectorError | undefined;
}

/** Why the last poll failed or did not start. */
interface CollectorError {
  readonly reason: NonNullable<Outcome['error']>['reason'];
  readonly message: string;
  /** What to do about it. */
  readonly advice: string;
}

/** In the order of the documentation. */
export function readCollectors(
  cluster: ClusterSource,
  figures: Figures,
): readonly CollectorStatus[] {
  const hits = figures
    .all('crdb_exporter_collector_limit_hit')
    .filter(({ value }) => value === 1)
    .map(({ labels }) => labels);
  return cluster.pollers.map((poller) => {
    const own = hits.filter(({ collector }) => collector === poller.plan.collector);
    return {
      ...readCollector(cluster, poller),
      limits: own.flatMap(({ limit }) => limit ?? []),
    };
  });
}

function readCollector(
  cluster: ClusterSource,
  poller: CollectorSource,
): Omit<CollectorStatus, 'limits'> {
  const { plan, outcome } = poller;
  const { last, error } = outcome;
  const snapshot = poller.snapshot();
  return {
    name: plan.collector,
    api: plan.api,
    shard: plan.shard,
    state: outcome.hasEnded ? (outcome.isGood ? 'good' : 'failing') : 'waiting',
    isPolling: poller.isPolling,
    hasData: snapshot !== undefined,
    lastPollAt: timeOf(last?.atMs),
    lastSuccessAt: timeOf(outcome.lastSuccessMs),
    nextPollAt: poller.isPolling ? undefined : timeOf(poller.nextPollMs),
    intervalSeconds: outcome.intervalSeconds,
    configuredIntervalSeconds: plan.configuredIntervalSeconds,
    durationSeconds: last?.durationSeconds,
    items: last?.items,
    bytes: last?.bytes,
    series: snapshot?.series ?? 0,
    error: error && { ...error, advice: adviseOn(error.reason, plan, cluster.name) },
  };
}

function timeOf(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}
