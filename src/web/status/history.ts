import type { FindingSettings } from '../../alerts/alert-settings.ts';
import { nodes, type NodesResult } from '../../collectors/nodes/collector.ts';
import { ranges } from '../../collectors/ranges/collector.ts';
import { sessions } from '../../collectors/sessions/collector.ts';
import { ReplicaTrends } from '../../findings/dead-nodes.ts';
import { remember } from '../../findings/last-known.ts';
import { pollWarnings } from '../../findings/polls.ts';
import { toFindings } from '../../findings/problem.ts';
import { readSqlLoad, readWriteStalls } from '../../findings/rates.ts';
import { ScanHistory } from '../../findings/scan-check.ts';
import { findHiddenSessions } from '../../findings/session-problems.ts';
import type {
  ClusterReading,
  Finding,
  LastKnownStatus,
  Problem,
  SqlLoad,
} from '../../findings/status.ts';
import { type ClusterSource, readCluster } from './read-cluster.ts';

/** Clients connect and leave between the polls of nodes and sessions: one contradiction proves nothing. */
const MIN_CONTRADICTIONS = 3;

/** The age of the problems of a cluster, and what is compared between its polls, in bounded memory. */
export class ClusterHistory {
  #scans = new ScanHistory();
  #trends = new ReplicaTrends();
  #cluster: ClusterSource | undefined;
  /** The last nodes with new records. */
  #nodes: NodesResult | undefined;
  #writeStalls: ReadonlyMap<number, number> = new Map();
  #sqlLoad: SqlLoad | undefined;
  /** Polls of sessions in a row that saw none of others although clients are connected. */
  #contradictions = 0;
  #hiddenSessions: Problem | undefined;
  /** What polls that succeeded have found: all that is left when the API is down for longer than `max_age`. */
  #remembered: LastKnownStatus = {};
  #problems: readonly Finding[] = [];
  /** Start of the current state and of each current problem, ms. */
  #since: ReadonlyMap<string, number> = new Map();
  /** When each collector was polled for the first time, ms. */
  readonly #firstPolls = new Map<string, number>();
  readonly #settings: () => FindingSettings;

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings) {
    this.#settings = settings;
  }

  /** Reads the cluster, whose state and problems began when this exporter first saw them: new ones now. */
  read(cluster: ClusterSource, nowMs: number): ClusterReading {
    return readCluster(cluster, {
      nowMs,
      thresholds: this.#settings().thresholds,
      sinceMs: (key) => this.#since.get(key) ?? nowMs,
      previous: this.#problems,
      scanProblems: this.#scans.problems(),
      hiddenSessions: this.#contradictions < MIN_CONTRADICTIONS ? undefined : this.#hiddenSessions,
      writeStalls: this.#writeStalls,
      sqlLoad: this.#sqlLoad,
      remembered: this.#remembered,
      trends: this.#trends.read(nowMs),
    });
  }

  /** The problems after the last poll, with those that are only logged. */
  get problems(): readonly Finding[] {
    return this.#problems;
  }

  /** Whether the first polls after the start found it already: it may be older. */
  isFromFirstPolls(since: string, startedMs: number): boolean {
    const sinceMs = Date.parse(since);
    return sinceMs >= startedMs && sinceMs <= Math.max(...this.#firstPolls.values());
  }

  /** Records the state after a poll of this collector. */
  record(cluster: ClusterSource, collector: string, nowMs: number): void {
    // Another configuration may lead to another cluster, which counts other replicas.
    if (this.#cluster !== cluster) {
      this.#scans = new ScanHistory();
      this.#trends = new ReplicaTrends();
    }
    this.#cluster = cluster;
    this.#recordResult(cluster, collector);
    const reading = this.read(cluster, nowMs);
    const { state, findings } = reading;
    this.#remembered = remember(this.#remembered, reading);
    const sinceMs = (key: string): number => this.#since.get(key) ?? nowMs;
    const warnings = toFindings(pollWarnings(cluster.pollers), sinceMs, nowMs);
    this.#problems = [...findings, ...warnings];
    if (!this.#firstPolls.has(collector)) this.#firstPolls.set(collector, nowMs);
    const keys = [state, ...this.#problems.map(({ key }) => key)];
    this.#since = new Map(keys.map((key) => [key, this.#since.get(key) ?? nowMs]));
  }

  /** Remembers what is compared with each other: a scan, or the counts of the nodes. */
  #recordResult(cluster: ClusterSource, collector: string): void {
    const poller = cluster.pollers.find((each) => each.collector.name === collector);
    const { state, last } = poller?.outcome ?? {};
    if (state !== 'ok' || last === undefined) return;
    if (collector === nodes.name) {
      const listed = cluster.result(nodes);
      if (listed === undefined) return;
      this.#recordNodes(listed);
      this.#scans.addCounts(last.atMs, listed);
    }
    if (collector === sessions.name) this.#recordSessions(cluster);
    if (collector === ranges.name) {
      const result = cluster.result(ranges);
      const startMs = last.atMs - last.durationSeconds * 1000;
      if (result === undefined) return;
      this.#scans.addScan({ result, startMs, endMs: last.atMs });
      this.#trends.add(result, last.atMs);
    }
  }

  #recordSessions(cluster: ClusterSource): void {
    const listed = cluster.result(sessions);
    const known = cluster.result(nodes);
    if (listed === undefined || known === undefined) return;
    this.#hiddenSessions = findHiddenSessions(cluster.config, listed, known);
    this.#contradictions = this.#hiddenSessions === undefined ? 0 : this.#contradictions + 1;
  }

  /** Reads the rates when a poll found newer records: a poll between two records finds the same ones. */
  #recordNodes(listed: NodesResult): void {
    if (newestRecord(listed) <= newestRecord(this.#nodes)) return;
    this.#writeStalls = readWriteStalls(this.#nodes, listed);
    this.#sqlLoad = readSqlLoad(this.#nodes, listed);
    this.#nodes = listed;
  }
}

/** Unix time in seconds; 0 without nodes. */
function newestRecord(result: NodesResult | undefined): number {
  return (result?.nodes ?? []).reduce((last, node) => Math.max(last, node.updatedSeconds), 0);
}

/** The histories of all clusters. */
export class History {
  readonly #clusters = new Map<string, ClusterHistory>();
  readonly #settings: () => FindingSettings;

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings) {
    this.#settings = settings;
  }

  ofCluster(name: string): ClusterHistory {
    const history = this.#clusters.get(name) ?? new ClusterHistory(this.#settings);
    this.#clusters.set(name, history);
    return history;
  }

  /** Drops clusters that are no longer configured. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#clusters.keys()) if (!names.has(name)) this.#clusters.delete(name);
  }
}
