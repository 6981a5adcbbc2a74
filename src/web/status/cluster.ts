import { livenessOf } from '../../cockroach/node.ts';
import { cloud } from '../../collectors/cloud.ts';
import type { CollectorResult, CollectorWith } from '../../collectors/collector.ts';
import { network } from '../../collectors/network/collector.ts';
import { nodes, type NodesResult } from '../../collectors/nodes/collector.ts';
import { ranges } from '../../collectors/ranges/collector.ts';
import { sessions } from '../../collectors/sessions/collector.ts';
import { tables } from '../../collectors/tables/collector.ts';
import type { FindingSettings, Thresholds } from '../../config/alert-settings.ts';
import { readAssistant } from '../../findings/assistant.ts';
import { isDown, readNodes } from '../../findings/nodes.ts';
import { type PolledUrls, pollWarnings, readCollector, urlProblems } from '../../findings/polls.ts';
import { isProblem, toFindings } from '../../findings/problem.ts';
import { findProblems, readFacts, type Results } from '../../findings/problems.ts';
import { readRanges } from '../../findings/ranges.ts';
import { readSqlLoad, readWriteStalls } from '../../findings/rates.ts';
import { readNetwork, readReachability } from '../../findings/reachability.ts';
import { decideSafeToStop, type StopEvidence } from '../../findings/safe-to-stop.ts';
import { checkScan, countsOf, ScanHistory } from '../../findings/scan-check.ts';
import { findHiddenSessions, readSessions } from '../../findings/sessions.ts';
import type { ClusterReading, ClusterView, Finding, Problem } from '../../findings/status.ts';
import type { RenderedFamily } from '../../metrics/exposition.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import type { Api } from '../../vocabulary.ts';

/** A configured cluster with the results of its polls. No page queries a cluster, only /probe does. */
export interface ClusterSource extends PolledUrls {
  readonly name: string;
  /** False: only /probe polls it. */
  readonly isPolled: boolean;
  /** The last result of a collector; undefined while it is too old to be shown. */
  result<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
  lastResult<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
  isUp(api: Api): boolean | undefined;
  families(isChosen: (collector: string) => boolean): readonly RenderedFamily[];
  metrics(
    isChosen: (collector: string) => boolean,
    options?: { readonly upBeforeFirstPoll?: number },
  ): SampleSet;
  pollNow(isChosen: (collector: string) => boolean, waitMs: number): Promise<void>;
}

/** The knowledge of a cluster beside the results of its last polls. */
export interface ReadingContext {
  readonly nowMs: number;
  readonly thresholds: Thresholds;
  /** When this exporter first saw the state or the problem of a key. */
  readonly sinceMs: (key: string) => number;
  /** The problems after the last poll. */
  readonly previous?: readonly Problem[];
  /** The problem that ranges are read wrongly, by the scans before. */
  readonly scanProblems?: readonly Problem[];
  /** The problem that the user sees no sessions of others. */
  readonly hiddenSessions?: Problem | undefined;
  /** Write stalls per minute by node id. */
  readonly writeStalls?: ReadonlyMap<number, number> | undefined;
  readonly sqlLoad?: ClusterView['sqlLoad'];
}

/** Reads the results of the last polls. */
export function readCluster(cluster: ClusterSource, context: ReadingContext): ClusterReading {
  const { nowMs, sinceMs, previous = [], writeStalls = new Map() } = context;
  const results = {
    nodes: cluster.result(nodes),
    network: readNetwork(cluster.pollers, cluster.result(network)),
    ranges: cluster.result(ranges),
    sessions: cluster.result(sessions),
  };
  const stop = readStopEvidence(cluster, context);
  const view = readView(cluster, results, stop, context);
  const watchProblems = findWatchProblems(cluster, results, context);
  const facts = readFacts(results, { ...context, writeStalls });
  const found = findProblems(view, facts, { stop, watchProblems, previous });
  const findings = toFindings(found, sinceMs, nowMs);
  const problems = findings.filter(isProblem);
  const isReadWrongly = findings.some(({ alert }) => alert === 'CrdbScanDisagrees');
  const isSeen = isVisible(view) && !isReadWrongly;
  const state = problems.length > 0 ? 'problems' : isSeen ? 'healthy' : 'unknown';
  // The worst come first; the cluster has their problem for as long as the oldest of them lasts.
  const worst = problems.filter(({ level }) => level === problems[0]?.level);
  const [since = new Date(sinceMs(state)).toISOString()] = worst
    .map((finding) => finding.since)
    .toSorted();
  return { ...view, state, since, findings };
}

/** The problems of watching a cluster that no single result shows; URLs that all fail have one in the failed polls. */
function findWatchProblems(
  cluster: ClusterSource,
  results: Results,
  { previous = [], scanProblems = [], hiddenSessions }: ReadingContext,
): readonly Problem[] {
  return [
    ...(cluster.isUp('cluster') === false ? [] : urlProblems(cluster, previous)),
    ...(hiddenSessions === undefined ? [] : [hiddenSessions]),
    ...(results.nodes && results.ranges ? scanProblems : []),
  ];
}

/** Collectors whose data the health of a cluster follows from. */
const HEALTH_COLLECTORS: readonly string[] = [nodes, ranges, sessions].map(({ name }) => name);

/** Whether the data that the health follows from, else all data, is there and complete, and its API up. */
function isVisible({ apis, collectors, isPolled, ranges: scan }: ClusterView): boolean {
  const polled = collectors.filter(({ state }) => isPolled || state !== 'waiting');
  const known = polled.filter(({ name }) => HEALTH_COLLECTORS.includes(name));
  const needed = known.length > 0 ? known : polled;
  const isThere = needed.length > 0 && needed.every(({ hasData }) => hasData);
  return apis[0]?.isUp === true && isThere && (scan?.nodes.failed ?? 0) === 0;
}

function readView(
  cluster: ClusterSource,
  results: Results,
  stop: StopEvidence,
  { sqlLoad }: ReadingContext,
): ClusterView {
  const { name, isPolled, pollers } = cluster;
  const nodesStatus = results.nodes && readNodes(results.nodes);
  const downNodes = nodesStatus?.list.filter(isDown).map(({ id }) => id);
  const cloudResult = cluster.result(cloud);
  const apis = new Set(pollers.map(({ collector }) => collector.api));
  return {
    name,
    isPolled,
    apis: Array.from(apis, (api) => ({ api, isUp: cluster.isUp(api) })),
    nodes: nodesStatus,
    network: readReachability(results.network, results.nodes?.nodes),
    ranges:
      results.ranges &&
      readRanges(
        results.ranges,
        cluster.result(tables),
        downNodes,
        results.nodes && checkScan(results.ranges, countsOf(results.nodes)),
      ),
    safeToStop: decideSafeToStop(stop),
    sessions: results.sessions && readSessions(results.sessions),
    assistant: cloudResult && readAssistant(cloudResult),
    sqlLoad: nodesStatus && sqlLoad,
    collectors: pollers.map((poller) => readCollector(name, poller)),
  };
}

/** Nobody stops or removes a node because of data that may have changed: those of polls that fail are left out. */
function readStopEvidence(cluster: ClusterSource, context: ReadingContext): StopEvidence {
  const pollerOf = (name: string) =>
    cluster.pollers.find(
      ({ collector, outcome }) => collector.name === name && outcome.state !== 'failing',
    );
  const listed = pollerOf(nodes.name) && cluster.result(nodes)?.nodes;
  const scanner = pollerOf(ranges.name);
  const result = cluster.result(ranges);
  const { lastSuccessMs, last } = scanner?.outcome ?? {};
  return {
    statuses: listed && new Map(listed.map((node) => [node.id, livenessOf(node)])),
    scan:
      scanner === undefined || result === undefined || lastSuccessMs === undefined
        ? undefined
        : {
            result,
            ageSeconds: (context.nowMs - lastSuccessMs) / 1000,
            durationSeconds: last?.durationSeconds ?? 0,
            intervalSeconds: scanner.intervalSeconds,
            disagrees: (context.scanProblems ?? []).length > 0,
          },
  };
}

/** Clients connect and leave between the polls of nodes and sessions: one contradiction proves nothing. */
const MIN_CONTRADICTIONS = 3;

/** The age of the problems of a cluster, and what is compared between its polls, in bounded memory. */
export class ClusterHistory {
  #scans = new ScanHistory();
  #cluster: ClusterSource | undefined;
  /** The last nodes with new records. */
  #nodes: NodesResult | undefined;
  #writeStalls: ReadonlyMap<number, number> = new Map();
  #sqlLoad: ClusterView['sqlLoad'];
  /** Polls of sessions in a row that saw none of others although clients are connected. */
  #contradictions = 0;
  #hiddenSessions: Problem | undefined;
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
    if (this.#cluster !== cluster) this.#scans = new ScanHistory();
    this.#cluster = cluster;
    this.#recordResult(cluster, collector);
    const { state, findings } = this.read(cluster, nowMs);
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
      if (result !== undefined) this.#scans.addScan({ result, startMs, endMs: last.atMs });
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
