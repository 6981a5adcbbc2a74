import { nodes as nodesCollector, type NodesResult } from '../../collectors/nodes/collector.ts';
import { ranges as rangesCollector } from '../../collectors/ranges/collector.ts';
import type { FindingSettings } from '../../config/alert-settings.ts';
import { NO_RATES, type NodeRates, readRates } from '../../findings/node-rates.ts';
import { countsOf, scanOf } from '../../findings/scan-check.ts';
import { ScanHistory } from '../../findings/scan-history.ts';
import { messageOf } from '../../format.ts';
import { type ClusterReading, type ClusterSource, readCluster, readUnreadable } from './cluster.ts';

/** Points of a trend: enough for its width on a page. */
const MAX_POINTS = 60;

/** The trends of the page, by the collector whose polls they follow. */
const TRENDS: Readonly<
  Record<string, Record<string, (cluster: ClusterReading) => number | undefined>>
> = {
  nodes: {
    liveNodes: ({ nodes }) => nodes?.byStatus['live'],
    cpuRatio: ({ nodes }) =>
      nodes?.list.reduce<number | undefined>(
        (most, { cpuRatio }) => (cpuRatio === undefined ? most : Math.max(most ?? 0, cpuRatio)),
        undefined,
      ),
  },
  ranges: {
    // A sum without some nodes would look like a drop.
    queriesPerSecond: ({ ranges }) =>
      ranges?.nodes.failed === 0 ? ranges.queriesPerSecond : undefined,
    // A range with two problems counts twice: not all ranges are listed. Without some nodes there may be more.
    problemRanges({ ranges }) {
      if (ranges === undefined) return undefined;
      const count = Object.values(ranges.problems).reduce((sum, one) => sum + one, 0);
      return count > 0 || ranges.nodes.failed === 0 ? count : undefined;
    },
  },
  sessions: {
    openSessions: ({ sessions }) =>
      sessions && sessions.active + sessions.idleInTransaction + sessions.idle,
    oldestTransactionSeconds: ({ sessions }) => sessions?.oldestTransactionSeconds,
  },
};

/** Trends of what users notice, which follow the polls of nodes, too. */
const LOADS: Readonly<Record<string, (load: NodeRates) => number | undefined>> = {
  sqlLatencyP99Seconds: ({ latencyP99Seconds }) => latencyP99Seconds,
  failedStatementsPerSecond: ({ failuresPerSecond }) => failuresPerSecond,
  statementsPerSecond: ({ statementsPerSecond }) => statementsPerSecond,
};

/** The collector whose polls a trend follows. */
export function collectorOf(trend: string): string | undefined {
  if (trend in LOADS) return nodesCollector.name;
  return Object.entries(TRENDS).find(([, trends]) => trend in trends)?.[0];
}

/** A figure since the start, as the page draws it. */
export interface TrendStatus {
  readonly name: string;
  /** Oldest first; without a value where the poll failed. */
  readonly points: readonly { readonly at: string; readonly value: number | undefined }[];
}

/** The trends of one cluster and the age of its issues, in bounded memory. */
export class ClusterHistory {
  readonly #trends = new Map<string, Trend>();
  readonly #scans = new ScanHistory();
  /** The last nodes with new records, for the rates of their counters. */
  #nodes: NodesResult | undefined;
  #rates: NodeRates = NO_RATES;
  /** Start of the current state and of each current issue, ms. */
  #since: ReadonlyMap<string, number> = new Map();
  /** When each collector was polled for the first time, ms. */
  readonly #firstPolls = new Map<string, number>();
  readonly #settings: () => FindingSettings;

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings) {
    this.#settings = settings;
  }

  /** The trends as the status shows them. */
  get trends(): readonly TrendStatus[] {
    return Array.from(this.#trends, ([name, { points }]) => ({
      name,
      points: points.map(({ atMs, value }) => ({ at: new Date(atMs).toISOString(), value })),
    }));
  }

  /** Reads the cluster, whose state and issues began when this exporter first saw them: new ones now. */
  read(cluster: ClusterSource, nowMs: number): ClusterReading {
    return readCluster(cluster, this.#settings(), this.#sinceOr(nowMs), nowMs, {
      scanCheck: this.#scans.read(),
      rates: this.#rates,
    });
  }

  /** Reads the cluster for the status: one whose results cannot be read takes no other cluster away. */
  readSafely(cluster: ClusterSource, nowMs: number): ClusterReading {
    try {
      return this.read(cluster, nowMs);
    } catch (error) {
      const reason = messageOf(error);
      return readUnreadable(cluster, reason, this.#settings(), this.#sinceOr(nowMs), nowMs);
    }
  }

  #sinceOr(nowMs: number): (key: string) => number {
    return (key) => this.#since.get(key) ?? nowMs;
  }

  /** Whether the first polls after the start found it already: it may be older. */
  isFromFirstPolls(since: string, startedMs: number): boolean {
    const sinceMs = Date.parse(since);
    return sinceMs >= startedMs && sinceMs <= Math.max(...this.#firstPolls.values());
  }

  /** Records the state after a poll of this collector. */
  record(cluster: ClusterSource, collector: string, nowMs: number): void {
    this.#recordScan(cluster, collector);
    const snapshot = this.read(cluster, nowMs);
    const polled = snapshot.collectors.find(({ name }) => name === collector);
    if (!this.#firstPolls.has(collector)) this.#firstPolls.set(collector, nowMs);
    const keys = [snapshot.state, ...snapshot.findings.map(({ key }) => key)];
    this.#since = new Map(keys.map((key) => [key, this.#since.get(key) ?? nowMs]));
    for (const [name, read] of Object.entries(TRENDS[collector] ?? {})) {
      this.#trend(name).add({
        atMs: nowMs,
        value: polled?.state === 'ok' ? read(snapshot) : undefined,
      });
    }
    if (collector !== nodesCollector.name) return;
    for (const [name, read] of Object.entries(LOADS)) {
      const value = polled?.state === 'ok' ? read(this.#rates) : undefined;
      this.#trend(name).add({ atMs: nowMs, value });
    }
  }

  #trend(name: string): Trend {
    const trend = this.#trends.get(name) ?? new Trend();
    this.#trends.set(name, trend);
    return trend;
  }

  /** Reads the rates when a poll found newer records: a poll between two records finds the same ones. */
  #recordNodes(listed: NodesResult): void {
    if (newestRecord(listed) <= newestRecord(this.#nodes)) return;
    this.#rates = readRates(this.#nodes, listed);
    this.#nodes = listed;
  }

  /** Remembers what is compared with each other: a scan, or the counts of the nodes. */
  #recordScan(cluster: ClusterSource, collector: string): void {
    const poller = cluster.pollers.find((one) => one.collector.name === collector);
    const { state, last } = poller?.outcome ?? {};
    if (state !== 'ok' || last === undefined) return;
    const counted = collector === nodesCollector.name ? cluster.result(nodesCollector) : undefined;
    if (counted !== undefined) {
      this.#recordNodes(counted);
      this.#scans.addCounts(last.atMs, countsOf(counted));
    }
    const scanned =
      collector === rangesCollector.name ? cluster.result(rangesCollector) : undefined;
    const scan = scanned && scanOf(scanned);
    if (scan === undefined) return;
    this.#scans.addScan({
      scan,
      startMs: last.atMs - last.durationSeconds * 1000,
      endMs: last.atMs,
    });
  }
}

/** Unix time in seconds; 0 without nodes. */
function newestRecord(result: NodesResult | undefined): number {
  return (result?.nodes ?? []).reduce(
    (last, { updatedSeconds }) => Math.max(last, updatedSeconds),
    0,
  );
}

/** The histories of all clusters. */
export class History {
  readonly #clusters = new Map<string, ClusterHistory>();
  readonly #settings: () => FindingSettings;

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings) {
    this.#settings = settings;
  }

  of(cluster: string): ClusterHistory {
    const history = this.#clusters.get(cluster) ?? new ClusterHistory(this.#settings);
    this.#clusters.set(cluster, history);
    return history;
  }

  /** Drops clusters that are no longer configured. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#clusters.keys()) if (!names.has(name)) this.#clusters.delete(name);
  }
}

/** A point of a trend; without a value where the poll failed. */
interface TrendPoint {
  readonly atMs: number;
  readonly value: number | undefined;
}

/** One figure since the start: too many points are merged in pairs, which keep the larger value, so that peaks stay. */
export class Trend {
  #points: TrendPoint[] = [];
  #polls = 0;
  #pollsPerPoint = 1;

  get points(): readonly TrendPoint[] {
    return this.#points;
  }

  add(point: TrendPoint): void {
    if (this.#points.length === MAX_POINTS && this.#polls % this.#pollsPerPoint === 0) {
      this.#points = this.#points.flatMap((one, at, all) =>
        at % 2 === 0 ? [] : merge(all[at - 1] ?? one, one),
      );
      this.#pollsPerPoint *= 2;
    }
    const last = this.#polls % this.#pollsPerPoint > 0 ? this.#points.pop() : undefined;
    this.#points.push(last === undefined ? point : merge(last, point));
    this.#polls += 1;
  }
}

function merge(first: TrendPoint, second: TrendPoint): TrendPoint {
  if (first.value === undefined) return second;
  return { atMs: second.atMs, value: Math.max(first.value, second.value ?? first.value) };
}
