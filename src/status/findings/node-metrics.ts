import { ratio, sum } from '#base';
import type { ListedNode } from '#collectors';

/** The sum of a metric over the stores of a node; undefined where one of them does not send it, or there is none. */
export function sumOfStores({ stores }: ListedNode, key: string): number | undefined {
  const total = sum(Array.from(stores.values(), (store) => store.get(key) ?? NaN));
  return stores.size === 0 || Number.isNaN(total) ? undefined : total;
}

/** The free share of a store. */
export function freeShare(store: ReadonlyMap<string, number>): number | undefined {
  return ratio(store.get('capacity.available'), store.get('capacity'));
}

/** The requests of a node and of its stores that have been stuck for a long time. */
export function countSlowRequests({ metrics, stores }: ListedNode): number {
  const kinds = ['latch', 'lease', 'raft'].map((kind) => `requests.slow.${kind}`);
  const counts = [...stores.values()].flatMap((store) => kinds.map((key) => store.get(key) ?? 0));
  return sum([metrics.get('requests.slow.distsender') ?? 0, ...counts]);
}

/** The latency of the slowest percent of SQL statements of a node, seconds; undefined where it is not known. */
export function latencyOf({ metrics }: Pick<ListedNode, 'metrics'>): number | undefined {
  return secondsOf(metrics, 'sql.service.latency-p99');
}

/** A duration that a node or a store sends in nanoseconds, as seconds. */
export function secondsOf(metrics: ReadonlyMap<string, number>, key: string): number | undefined {
  const nanos = metrics.get(key);
  return nanos === undefined ? undefined : nanos / 1e9;
}

/** The replicas of a node that no store may take; 0 where it is not known. */
export function countInPurgatory({ stores }: ListedNode): number {
  return sum(Array.from(stores.values(), (store) => store.get('queue.replicate.purgatory') ?? 0));
}
