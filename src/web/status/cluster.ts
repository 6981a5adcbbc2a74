import { livenessOf } from '../../cockroach/node.ts';
import { cloud } from '../../collectors/cloud.ts';
import type { CollectorResult, CollectorWith } from '../../collectors/collector.ts';
import { nodes } from '../../collectors/nodes/collector.ts';
import { ranges, type RangesResult } from '../../collectors/ranges/collector.ts';
import { sessions } from '../../collectors/sessions/collector.ts';
import { tables } from '../../collectors/tables/collector.ts';
import type { FindingSettings } from '../../config/alert-settings.ts';
import type { ClusterConfig } from '../../config/schema.ts';
import { readAssistant } from '../../findings/job-problems.ts';
import { isDown, readNodes } from '../../findings/nodes.ts';
import { readCollector } from '../../findings/polls.ts';
import { type Finding, isProblem, toFindings } from '../../findings/problem.ts';
import { type ClusterEvidence, type ClusterView, findProblems } from '../../findings/problems.ts';
import { readRanges } from '../../findings/ranges.ts';
import {
  decideSafeToStop,
  type LastScan,
  type SafeToStop,
  type StopEvidence,
} from '../../findings/safe-to-stop.ts';
import { isScanWrong, type ScanCheck } from '../../findings/scan-check.ts';
import { readSessions } from '../../findings/sessions.ts';
import type { SqlLoad } from '../../findings/sql-load.ts';
import type { StartedProblem } from '../../findings/watch-problems.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import type { RenderedFamily } from '../../metrics/snapshot.ts';
import type { Poller } from '../../polling/poller.ts';
import type { Api } from '../../vocabulary.ts';

/** A configured cluster with the results of its polls. No page queries a cluster, only /probe does. */
export interface ClusterSource {
  readonly name: string;
  /** False: only /probe polls it. */
  readonly isPolled: boolean;
  /** The configuration may have the address of the DB Console. */
  readonly config: Pick<ClusterConfig, 'console_url'>;
  readonly pollers: readonly Poller[];
  /** The problems of watching it, as the log has them. */
  readonly watchProblems: readonly StartedProblem[];
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

/** Collectors whose data the health of a cluster follows from. */
const HEALTH_COLLECTORS: ReadonlySet<string> = new Set(
  [nodes, ranges, sessions].map(({ name }) => name),
);

/** A cluster without its findings. */
interface ClusterParts extends ClusterView {
  readonly isPolled: boolean;
  readonly safeToStop: SafeToStopStatus;
  /** Absent without current data of the nodes. */
  readonly sqlLoad?: SqlLoad | undefined;
}

/** A cluster with what is wrong. */
export interface ClusterReading extends ClusterParts {
  /** `unknown` while the exporter cannot see it. */
  readonly state: 'healthy' | 'problems' | 'unknown';
  /** Start of the state, RFC 3339; with problems of the oldest of the most severe ones. */
  readonly since: string;
  /** The worst first. */
  readonly findings: readonly Finding[];
}

/** The comparisons of two polls of a cluster. */
export interface ClusterComparisons {
  readonly scanCheck?: ScanCheck | undefined;
  /** Write stalls per minute by node id. */
  readonly writeStalls?: ReadonlyMap<number, number> | undefined;
  readonly sqlLoad?: SqlLoad | undefined;
}

/** The parts of a cluster that its reading follows from. */
type ReadableCluster = Pick<
  ClusterSource,
  'name' | 'isPolled' | 'pollers' | 'watchProblems' | 'isUp' | 'result'
>;

/** Reads the results of the last polls. `sinceMs` is when this exporter first saw the issue of a key. */
export function readCluster(
  cluster: ReadableCluster,
  settings: FindingSettings,
  sinceMs: (key: string) => number,
  nowMs: number,
  { scanCheck, writeStalls = new Map(), sqlLoad }: ClusterComparisons = {},
): ClusterReading {
  const evidence = {
    writeStalls,
    results: {
      nodes: cluster.result(nodes),
      ranges: cluster.result(ranges),
      sessions: cluster.result(sessions),
    },
    stop: readStopEvidence(cluster, nowMs),
    watchProblems: cluster.watchProblems,
    settings,
  };
  const parts = {
    ...readParts(cluster, evidence.stop, scanCheck),
    sqlLoad: evidence.results.nodes && sqlLoad,
  };
  return assess(parts, evidence, sinceMs, nowMs);
}

/** Reads a cluster without its results, and says why. */
export function readUnreadable(
  cluster: ReadableCluster,
  reason: string,
  settings: FindingSettings,
  sinceMs: (key: string) => number,
  nowMs: number,
): ClusterReading {
  const key = 'unreadable results';
  const unreadable = {
    key,
    message: `the results of this cluster cannot be shown: ${reason}`,
    remedy: 'report this message',
    affects: [],
    sinceMs: sinceMs(key),
  };
  const withoutResults = {
    name: cluster.name,
    isPolled: cluster.isPolled,
    pollers: cluster.pollers,
    watchProblems: [...cluster.watchProblems, unreadable],
    isUp: (api: Api) => cluster.isUp(api),
    result: () => undefined,
  };
  const status = readCluster(withoutResults, settings, sinceMs, nowMs);
  return { ...status, state: status.state === 'healthy' ? 'unknown' : status.state };
}

function assess(
  parts: ClusterParts,
  evidence: ClusterEvidence,
  sinceMs: (key: string) => number,
  nowMs: number,
): ClusterReading {
  const findings = toFindings(findProblems(parts, evidence, nowMs), sinceMs, nowMs);
  const problems = findings.filter(isProblem);
  const state = problems.length > 0 ? 'problems' : isVisible(parts) ? 'healthy' : 'unknown';
  // The worst come first; the cluster has their problem for as long as the oldest of them lasts.
  const worst = problems.filter(({ level }) => level === problems[0]?.level);
  const [since = new Date(sinceMs(state)).toISOString()] = worst.map((one) => one.since).toSorted();
  return { ...parts, state, since, findings };
}

/** Whether the data that the health follows from, else all data, is there and complete, and its API up. */
function isVisible(parts: ClusterParts): boolean {
  const { apis, collectors, isPolled, ranges: scan } = parts;
  const [main] = apis;
  const polled = collectors.filter(({ state }) => isPolled || state !== 'waiting');
  const known = polled.filter(({ name }) => HEALTH_COLLECTORS.has(name));
  const needed = known.length > 0 ? known : polled;
  const isThere = needed.length > 0 && needed.every(({ hasData }) => hasData);
  const isRead = scan?.scanCheck === undefined || !isScanWrong(scan.scanCheck);
  return main?.isUp === true && isThere && isRead && (scan?.nodes.failed ?? 0) === 0;
}

/** A part is absent while there is no current data of it. */
function readParts(
  cluster: ReadableCluster,
  evidence: StopEvidence,
  scanCheck?: ScanCheck,
): ClusterParts {
  const nodesResult = cluster.result(nodes);
  const rangesResult = cluster.result(ranges);
  const nodesStatus = nodesResult && readNodes(nodesResult, rangesResult);
  const downNodes = nodesStatus?.list.filter(isDown).map(({ id }) => id);
  const sessionsResult = cluster.result(sessions);
  const cloudResult = cluster.result(cloud);
  const apis = new Set(cluster.pollers.map(({ collector }) => collector.api));
  return {
    name: cluster.name,
    isPolled: cluster.isPolled,
    apis: Array.from(apis, (api) => ({ api, isUp: cluster.isUp(api) })),
    nodes: nodesStatus,
    ranges:
      rangesResult &&
      readRanges(rangesResult, cluster.result(tables), downNodes, nodesResult && scanCheck),
    safeToStop: readSafeToStop(evidence),
    sessions: sessionsResult && readSessions(sessionsResult),
    assistant: cloudResult && readAssistant(cloudResult),
    collectors: cluster.pollers.map((poller) => readCollector(cluster.name, poller)),
  };
}

/** Which nodes may stop now, and why not the others. */
export interface SafeToStopStatus extends Pick<SafeToStop, 'answer' | 'nodes' | 'reason'> {
  /** The live nodes of the last scan; none while that proves nothing. */
  readonly decisions: readonly {
    readonly nodeId: number;
    readonly answer: SafeToStop['answer'];
    readonly reason?: string | undefined;
  }[];
}

function readSafeToStop(evidence: StopEvidence): SafeToStopStatus {
  const { answer, nodes: ids, reason, decisions } = decideSafeToStop(evidence);
  return {
    answer,
    nodes: ids,
    reason,
    decisions: Array.from(decisions, ([nodeId, decision]) => ({ nodeId, ...decision })),
  };
}

function readStopEvidence(
  cluster: Pick<ClusterSource, 'pollers' | 'result'>,
  nowMs: number,
): StopEvidence {
  // Nobody stops or removes a node because of data that may have changed.
  const isFailing = cluster.pollers.some(
    ({ collector, outcome }) => collector.name === nodes.name && outcome.state === 'failing',
  );
  const listed = isFailing ? undefined : cluster.result(nodes)?.nodes;
  return {
    scan: lastScan(cluster, cluster.result(ranges), nowMs),
    statuses: listed && new Map(listed.map((node) => [node.id, livenessOf(node)])),
  };
}

function lastScan(
  { pollers }: Pick<ClusterSource, 'pollers'>,
  result: RangesResult | undefined,
  nowMs: number,
): LastScan | undefined {
  const poller = pollers.find(({ collector }) => collector.name === ranges.name);
  const { lastSuccessMs, last } = poller?.outcome ?? {};
  if (poller?.outcome.state === 'failing') return undefined;
  if (poller === undefined || result === undefined || lastSuccessMs === undefined) return undefined;
  return {
    result,
    ageSeconds: (nowMs - lastSuccessMs) / 1000,
    durationSeconds: last?.durationSeconds ?? 0,
    intervalSeconds: poller.intervalSeconds,
  };
}
