import { sum } from '#base';
import { DEAD, livenessOf, medianRecord, REACHABLE } from '#cockroach';
import { type NodesResult, type NodeStatus, STARTED_KEYS } from '#collectors';
import { latencyOf } from './node-metrics.ts';

/** SQL as its users notice it. Rates are those of the nodes that are counted; absent until each has written two records. */
export interface SqlLoad {
  readonly latencyP99Seconds?: number | undefined;
  /** The node with this latency. */
  readonly slowestNodeId?: number | undefined;
  readonly statementsPerSecond?: number | undefined;
  readonly failedStatementsPerSecond?: number | undefined;
  /** Nodes whose statements are counted, and nodes that may serve statements: fewer are counted after a restart. */
  readonly countedNodes: number;
  readonly servingNodes: number;
}

/** A node with its record before. */
interface TwoRecords {
  readonly before: NodeStatus;
  readonly now: NodeStatus;
  /** The time between the two records. */
  readonly seconds: number;
}

/** The nodes with a newer record; without those that restarted, so that their counters began again. */
function pairRecords(
  before: NodesResult | undefined,
  nodes: readonly NodeStatus[],
): readonly TwoRecords[] {
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  return nodes.flatMap((node) => {
    const previous = earlier.get(node.id);
    if (previous?.isFresh !== true || !node.isFresh) return [];
    const seconds = node.updatedSeconds - previous.updatedSeconds;
    const hasRestarted = previous.startedSeconds !== node.startedSeconds;
    return hasRestarted || seconds <= 0 ? [] : [{ before: previous, now: node, seconds }];
  });
}

/** The times of late records may differ by this much: nodes write them every ten seconds. */
const LATE_TOLERANCE_SECONDS = 15;

/**
 * The nodes that write new records which are late by the same time as those before, with the seconds: a clock that is behind,
 * while a node that stopped writing falls behind further and further.
 */
export function readLateRecords(
  before: NodesResult | undefined,
  now: NodesResult,
): ReadonlyMap<number, number> {
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  const [medianBefore, median] = [medianRecord(before?.nodes ?? []), medianRecord(now.nodes)];
  const late = now.nodes.flatMap((node) => {
    const previous = earlier.get(node.id);
    if (node.isFresh || previous?.isFresh !== false) return [];
    const seconds = median - node.updatedSeconds;
    const change = seconds - (medianBefore - previous.updatedSeconds);
    const isNew = node.updatedSeconds > previous.updatedSeconds;
    const isLate = isNew && seconds > 0 && Math.abs(change) <= LATE_TOLERANCE_SECONDS;
    return isLate ? [[node.id, seconds] as const] : [];
  });
  return new Map(late);
}

/**
 * The nodes that count as dead in both lists, and have written a record between the two: their processes run. A node that has just
 * died may have a young record, but no newer one.
 */
export function readWriting(
  before: NodesResult | undefined,
  now: NodesResult,
): ReadonlySet<number> {
  const earlier = new Map(before?.nodes.filter(isDead).map((node) => [node.id, node]));
  const writing = now.nodes.filter(
    (node) =>
      isDead(node) && node.updatedSeconds > (earlier.get(node.id)?.updatedSeconds ?? Infinity),
  );
  return new Set(writing.map(({ id }) => id));
}

function isDead(node: NodeStatus): boolean {
  return DEAD.has(livenessOf(node));
}

/**
 * Write stalls per minute of each store between the last two records of its node. Example: records of 12:00:00 and 12:00:30
 * count 5 and 7 stalls: 4 a minute. A counter that began again counts no less than none.
 */
export function readWriteStalls(
  before: NodesResult | undefined,
  now: NodesResult,
): ReadonlyMap<string, number> {
  const rates = pairRecords(before, now.nodes).flatMap((pair) =>
    Array.from(pair.now.stores.keys(), (storeId) => {
      const count = increaseOf(pair, storeId, 'storage.write-stalls');
      return [storeId, (60 * count) / pair.seconds] as const;
    }),
  );
  return new Map(rates);
}

/** How much the counter of a store has grown; 0 where it began again or is not sent. */
function increaseOf({ before, now }: TwoRecords, storeId: string, key: string): number {
  const [first, last] = [before, now].map(({ stores }) => stores.get(storeId)?.get(key) ?? NaN);
  return Math.max(0, (last ?? NaN) - (first ?? NaN)) || 0;
}

/** Events of stores are counted over this time, slow operations of disks as by the alert CrdbStoreDiskSlow. */
const RECENT_MS = 600_000;

/** How much a counter of each store has grown in the last 10 minutes; most stores have none. */
export class RecentIncreases {
  readonly #key: string;
  #increases: readonly {
    readonly atMs: number;
    readonly storeId: string;
    readonly count: number;
  }[] = [];

  /** `key` is that of a counter in the metrics of stores. */
  constructor(key: string) {
    this.#key = key;
  }

  /** The clock was set. */
  moveTimes(byMs: number): void {
    this.#increases = this.#increases.map(({ atMs, ...increase }) => ({
      ...increase,
      atMs: atMs + byMs,
    }));
  }

  /** Counts those between the last two records of the nodes. */
  add(before: NodesResult | undefined, now: NodesResult, atMs: number): void {
    const grown = pairRecords(before, now.nodes).flatMap((pair) =>
      Array.from(pair.now.stores.keys(), (storeId) => ({
        atMs,
        storeId,
        count: increaseOf(pair, storeId, this.#key),
      })),
    );
    this.#increases = [
      ...this.#increases.filter((increase) => increase.atMs > atMs - RECENT_MS),
      ...grown.filter(({ count }) => count > 0),
    ];
  }

  /** By store id. */
  read(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { storeId, count } of this.#increases) {
      counts.set(storeId, (counts.get(storeId) ?? 0) + count);
    }
    return counts;
  }
}

/**
 * Reads the load between two polls of the nodes; the rates are absent without the first one. Example: records of 12:00:00
 * and 12:00:10 count 500 and 700 started statements: 20 a second.
 */
export function readSqlLoad(before: NodesResult | undefined, now: NodesResult): SqlLoad {
  const serving = now.nodes.filter((node) => REACHABLE.has(livenessOf(node)));
  const fresh = serving.filter(({ isFresh }) => isFresh);
  const latencies = fresh.flatMap((node) => {
    const seconds = latencyOf(node);
    return seconds === undefined ? [] : [{ id: node.id, seconds }];
  });
  const [slowest] = latencies.toSorted((a, b) => b.seconds - a.seconds);
  const rates = pairRecords(before, serving)
    .map((pair) => {
      // Statements that fail are not among those that succeed: the share of failed ones is of those that were started.
      const started = sum(STARTED_KEYS.map((key) => rateOf(pair, key)));
      return [started, rateOf(pair, 'sql.failure.count')] as const;
    })
    .filter(([started, failed]) => started >= 0 && failed >= 0);
  const isKnown = rates.length > 0;
  return {
    latencyP99Seconds: slowest?.seconds,
    slowestNodeId: slowest?.id,
    statementsPerSecond: isKnown ? sum(rates.map(([started]) => started)) : undefined,
    failedStatementsPerSecond: isKnown ? sum(rates.map(([, failed]) => failed)) : undefined,
    countedNodes: rates.length,
    servingNodes: serving.length,
  };
}

/** NaN where the node does not count this. */
function rateOf({ before, now, seconds }: TwoRecords, key: string): number {
  return ((now.metrics.get(key) ?? NaN) - (before.metrics.get(key) ?? NaN)) / seconds;
}
