import type { FindingSettings } from '#alerts';
import { moveTime, WallClockSteps } from '#base';
import { nodes, type NodesResult, ranges, sessions } from '#collectors';
import type { Observation } from '#exporter';
import { type CertificateLives, followCertificates } from './certificate-lives.ts';
import { ReplicaTrends } from './dead-nodes.ts';
import type { Memory } from './evidence.ts';
import { judge } from './judge.ts';
import { moveLastSeen, remember } from './last-known.ts';
import { observe } from './observe.ts';
import { readLateRecords, readWriting } from './record-changes.ts';
import { ScanHistory } from './scan-check.ts';
import { findHiddenSessions } from './session-problems.ts';
import type { ClusterReading, Finding, Problem } from './status.ts';

/** Clients connect and leave between the polls of nodes and sessions: one contradiction proves nothing. */
const MIN_CONTRADICTIONS = 3;

/** How often a node writes its record. */
const RECORD_SECONDS = 10;

/** The age of the problems of one cluster, and what is compared between its polls, in bounded memory. */
export class ClusterHistory {
  readonly #settings: () => FindingSettings;
  readonly #monotonicMs: () => number;
  readonly #wallClock = new WallClockSteps();
  /** Scans and counts by the monotonic clock: their times are compared, and never shown. */
  readonly #scans = new ScanHistory();
  readonly #trends = new ReplicaTrends();
  /** The last nodes with new records. */
  #nodes: NodesResult | undefined;
  #lateRecords: Memory['lateRecords'] = new Map();
  #writing: Memory['writing'] = new Set();
  #certificates: CertificateLives = new Map();
  /** Polls of sessions in a row that saw none of others although clients are connected. */
  #contradictions = 0;
  #hiddenSessions: Problem | undefined;
  /** All that is left when the API is down for longer than `max_age`. */
  #lastSeen: Memory['lastSeen'] = {};
  #healthyMs: number | undefined;
  #problems: readonly Finding[] = [];
  /** Start of the current state and of each current problem, ms. */
  #since: ReadonlyMap<string, number> = new Map();
  /** When each collector was polled for the first time, ms. */
  readonly #firstPolls = new Map<string, number>();

  /** `settings` are those of the running configuration. */
  constructor(settings: () => FindingSettings, monotonicMs: () => number) {
    this.#settings = settings;
    this.#monotonicMs = monotonicMs;
  }

  /** When the wall clock was set ahead, or back, what is remembered is as old as before. */
  #followClock(nowMs: number): void {
    const stepMs = this.#wallClock.read(nowMs, this.#monotonicMs());
    if (stepMs === 0) return;
    this.#healthyMs &&= this.#healthyMs + stepMs;
    this.#lastSeen = moveLastSeen(this.#lastSeen, stepMs);
    this.#problems = this.#problems.map((problem) => ({
      ...problem,
      since: moveTime(problem.since, stepMs),
    }));
    this.#since = new Map(Array.from(this.#since, ([key, ms]) => [key, ms + stepMs]));
    for (const [collector, ms] of this.#firstPolls) this.#firstPolls.set(collector, ms + stepMs);
  }

  /** Reads the cluster, whose state and problems began when this exporter first saw them: new ones now. */
  read(cluster: Observation, nowMs: number): ClusterReading {
    this.#followClock(nowMs);
    return this.#judge(cluster, nowMs, (key) => this.#since.get(key) ?? nowMs);
  }

  #judge(cluster: Observation, nowMs: number, sinceMs: (key: string) => number): ClusterReading {
    const evidence = observe(cluster, {
      lateRecords: this.#lateRecords,
      writing: this.#writing,
      certificates: this.#certificates,
      hiddenSessions: this.#hiddenSessions,
      lastSeen: this.#lastSeen,
      healthyMs: this.#healthyMs,
      nowMs,
      thresholds: this.#settings().thresholds,
      scanProblems: this.#scans.problems(),
      trends: this.#trends.read(this.#monotonicMs()),
    });
    return judge(evidence, sinceMs);
  }

  /** The problems after the last poll. */
  get problems(): readonly Finding[] {
    return this.#problems;
  }

  /** Whether the first polls of the cluster found it already: it may be older. */
  isFromFirstPolls(since: string, startedMs: number): boolean {
    const sinceMs = Date.parse(since);
    return sinceMs >= startedMs && sinceMs <= Math.max(...this.#firstPolls.values());
  }

  /** Records the state after a poll of this collector. */
  record(cluster: Observation, collector: string, nowMs: number): void {
    this.#followClock(nowMs);
    this.#recordResult(cluster, collector, nowMs);
    const since = new Map<string, number>();
    const sinceMs = (key: string): number => {
      const startMs = this.#since.get(key) ?? nowMs;
      since.set(key, startMs);
      return startMs;
    };
    const reading = this.#judge(cluster, nowMs, sinceMs);
    const { state, findings } = reading;
    this.#lastSeen = remember(this.#lastSeen, collector, reading);
    this.#problems = findings;
    if (state === 'healthy') this.#healthyMs = nowMs;
    if (!this.#firstPolls.has(collector)) this.#firstPolls.set(collector, nowMs);
    for (const key of [state, ...findings.map((problem) => problem.key)]) sinceMs(key);
    this.#since = since;
  }

  /** Remembers what is compared with each other: a scan, or the counts of the nodes. */
  #recordResult(cluster: Observation, collector: string, nowMs: number): void {
    const poller = cluster.pollers.find((each) => each.collector.name === collector);
    const { state, last } = poller?.outcome ?? {};
    if (state !== 'ok' || last === undefined) return;
    const endMs = this.#monotonicMs() - (nowMs - last.atMs);
    if (collector === nodes.name) {
      const listed = cluster.result(nodes);
      if (listed === undefined) return;
      this.#recordNodes(listed);
      this.#certificates = followCertificates(this.#certificates, listed.nodes, last.atMs);
      const { scan_minutes } = this.#settings().thresholds;
      this.#scans.addCounts(endMs, listed, scan_minutes * 60_000);
    }
    if (collector === sessions.name) this.#recordSessions(cluster);
    if (collector === ranges.name) {
      const result = cluster.result(ranges);
      if (result === undefined) return;
      const startMs = endMs - last.durationSeconds * 1000;
      this.#scans.addScan({ result, startMs, endMs });
      this.#trends.add(result, endMs);
    }
  }

  #recordSessions(cluster: Observation): void {
    const listed = cluster.result(sessions);
    const known = cluster.result(nodes);
    if (listed === undefined || known === undefined) return;
    const hidden = findHiddenSessions(cluster.config, listed, known);
    this.#contradictions = hidden === undefined ? 0 : this.#contradictions + 1;
    this.#hiddenSessions = this.#contradictions < MIN_CONTRADICTIONS ? undefined : hidden;
  }

  /** Compares the lists when each node may have written a newer record: a poll before that finds those of a few. */
  #recordNodes(listed: NodesResult): void {
    const before = this.#nodes;
    // The clocks of the nodes may be set back, too.
    if (Math.abs(newestRecord(listed) - newestRecord(before)) < RECORD_SECONDS) return;
    this.#lateRecords = readLateRecords(before, listed);
    this.#writing = readWriting(before, listed);
    this.#nodes = listed;
  }
}

/** Unix time in seconds of the newest fresh record; 0 without one. The time of another one may be wrong. */
function newestRecord(result: NodesResult | undefined): number {
  const fresh = result?.nodes.filter(({ isFresh }) => isFresh) ?? [];
  return fresh.reduce((last, node) => Math.max(last, node.updatedSeconds), 0);
}
