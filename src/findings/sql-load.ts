import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';

/** What users notice: statements of all nodes whose records are fresh. */
export interface SqlLoad {
  readonly statementsPerSecond: number | undefined;
  readonly failuresPerSecond: number | undefined;
  /** Of the slowest node. */
  readonly latencyP99Seconds: number | undefined;
}

/** The load by the counters of the last two polls, each over the time between the records of the node. */
export function readSqlLoad(before: NodesResult | undefined, now: NodesResult): SqlLoad {
  const fresh = now.nodes.filter(({ isFresh }) => isFresh);
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  const rateOf = (key: string): number | undefined =>
    sumOf(fresh.map((node) => rate(earlier.get(node.id), node, key)));
  const latencies = fresh.flatMap(({ metrics }) => metrics.get('sql.service.latency-p99') ?? []);
  return {
    statementsPerSecond: rateOf('sql.query.count'),
    failuresPerSecond: rateOf('sql.failure.count'),
    latencyP99Seconds: latencies.length === 0 ? undefined : Math.max(...latencies) / 1e9,
  };
}

/** Undefined for a node that restarted or has not written a new record, whose counters tell nothing. */
function rate(before: NodeStatus | undefined, now: NodeStatus, key: string): number | undefined {
  const [first, last] = [before?.metrics.get(key), now.metrics.get(key)];
  if (before === undefined || first === undefined || last === undefined) return undefined;
  const seconds = now.updatedSeconds - before.updatedSeconds;
  const isSame = before.startedSeconds === now.startedSeconds && last >= first;
  return isSame && before.isFresh && seconds > 0 ? (last - first) / seconds : undefined;
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, value) => all + value, 0);
}
