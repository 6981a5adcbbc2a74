import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';

/** What the counters of the nodes tell between their last two records. */
export interface NodeRates {
  /** SQL statements of all nodes whose records are fresh: what users notice. */
  readonly statementsPerSecond: number | undefined;
  readonly failuresPerSecond: number | undefined;
  /** The p99 of the slowest node. */
  readonly latencyP99Seconds: number | undefined;
  /** The store with most write stalls of each node, by node id. */
  readonly writeStallsPerMinute: ReadonlyMap<number, number>;
}

/** The rates while nodes have been read less than twice. */
export const NO_RATES: NodeRates = {
  statementsPerSecond: undefined,
  failuresPerSecond: undefined,
  latencyP99Seconds: undefined,
  writeStallsPerMinute: new Map(),
};

/** The rates of the counters, each over the time between two records of its node. */
export function readRates(before: NodesResult | undefined, now: NodesResult): NodeRates {
  const fresh = now.nodes.filter(({ isFresh }) => isFresh);
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  const rateOf = (key: string): number | undefined =>
    sumOf(fresh.map((node) => rate(earlier.get(node.id), node, ({ metrics }) => metrics.get(key))));
  const latencies = fresh.flatMap(({ metrics }) => metrics.get('sql.service.latency-p99') ?? []);
  const stalls = fresh.flatMap((node) =>
    Array.from(node.stores.keys(), (storeId) => {
      const read = ({ stores }: NodeStatus) => stores.get(storeId)?.get('storage.write-stalls');
      const perSecond = rate(earlier.get(node.id), node, read) ?? 0;
      return [node.id, 60 * perSecond] as const;
    }),
  );
  return {
    statementsPerSecond: rateOf('sql.query.count'),
    failuresPerSecond: rateOf('sql.failure.count'),
    latencyP99Seconds: latencies.length === 0 ? undefined : Math.max(...latencies) / 1e9,
    // A map keeps the last entry of a node: the largest of its stores.
    writeStallsPerMinute: new Map(stalls.toSorted(([, a], [, b]) => a - b)),
  };
}

/** Undefined for a node that restarted or has not written a new record, whose counters tell nothing. */
function rate(
  before: NodeStatus | undefined,
  now: NodeStatus,
  read: (node: NodeStatus) => number | undefined,
): number | undefined {
  if (before === undefined) return undefined;
  const [first, last] = [read(before), read(now)];
  if (first === undefined || last === undefined) return undefined;
  const seconds = now.updatedSeconds - before.updatedSeconds;
  const isSame = before.startedSeconds === now.startedSeconds && last >= first;
  return isSame && before.isFresh && seconds > 0 ? (last - first) / seconds : undefined;
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, value) => all + value, 0);
}
