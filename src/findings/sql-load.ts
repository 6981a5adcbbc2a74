import { livenessOf, REACHABLE } from '../cockroach/node.ts';
import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';

/** SQL as its users notice it. Rates are those of the nodes that are counted; absent until each has written two records. */
export interface SqlLoad {
  /** 99th percentile of the service latency of the slowest node. */
  readonly latencyP99Seconds?: number | undefined;
  readonly statementsPerSecond?: number | undefined;
  readonly failedStatementsPerSecond?: number | undefined;
  /** Nodes whose statements are counted, and nodes that may serve statements: fewer are counted after a restart. */
  readonly countedNodes: number;
  readonly servingNodes: number;
}

/** Reads the load between two polls of the nodes with newer records; the rates are absent without the first one. */
export function readSqlLoad(before: NodesResult | undefined, now: NodesResult): SqlLoad {
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  const serving = now.nodes.filter((node) => REACHABLE.has(livenessOf(node)));
  const fresh = serving.filter(({ isFresh }) => isFresh);
  const latencies = fresh.flatMap(({ metrics }) => metrics.get('sql.service.latency-p99') ?? []);
  const rates = fresh.flatMap((node) => rateOf(earlier.get(node.id), node) ?? []);
  const isKnown = rates.length > 0;
  return {
    latencyP99Seconds: latencies.length === 0 ? undefined : Math.max(...latencies) / 1e9,
    statementsPerSecond: isKnown ? sum(rates.map(({ executed }) => executed)) : undefined,
    failedStatementsPerSecond: isKnown ? sum(rates.map(({ failed }) => failed)) : undefined,
    countedNodes: rates.length,
    servingNodes: serving.length,
  };
}

/** Time between two records of a node, s; undefined when it restarted, so that its counters began again, or wrote no new one. */
export function secondsBetween(
  before: NodeStatus | undefined,
  now: NodeStatus,
): number | undefined {
  if (before?.isFresh !== true || !now.isFresh) return undefined;
  if (before.startedSeconds !== now.startedSeconds) return undefined;
  const seconds = now.updatedSeconds - before.updatedSeconds;
  return seconds > 0 ? seconds : undefined;
}

/**
 * Statements per second of a node between two of its records. Example: records of 12:00:00 and 12:00:10 count 500 and 700
 * statements: 20 a second.
 */
function rateOf(before: NodeStatus | undefined, now: NodeStatus) {
  const seconds = secondsBetween(before, now);
  const increaseOf = (key: string): number =>
    (now.metrics.get(key) ?? NaN) - (before?.metrics.get(key) ?? NaN);
  const executed = increaseOf('sql.query.count');
  const failed = increaseOf('sql.failure.count');
  if (seconds === undefined || !(executed >= 0) || !(failed >= 0)) return undefined;
  return { executed: executed / seconds, failed: failed / seconds };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
