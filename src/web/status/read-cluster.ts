import type { Thresholds } from '../../alerts/alert-settings.ts';
import { livenessOf } from '../../cockroach/node.ts';
import { cloud } from '../../collectors/cloud/collector.ts';
import type { CollectorResult, CollectorWith } from '../../collectors/collector.ts';
import { network } from '../../collectors/network/collector.ts';
import { nodes } from '../../collectors/nodes/collector.ts';
import { ranges } from '../../collectors/ranges/collector.ts';
import { sessions } from '../../collectors/sessions/collector.ts';
import { tables } from '../../collectors/tables/collector.ts';
import { readAssistant } from '../../findings/assistant.ts';
import { type DeadEvidence, findRetired, readDeadEvidence } from '../../findings/dead-nodes.ts';
import { readLastKnown } from '../../findings/last-known.ts';
import { isDown, readNodes } from '../../findings/node-problems.ts';
import { type PolledUrls, readCollector, urlProblems } from '../../findings/polls.ts';
import { isProblem, toFindings } from '../../findings/problem.ts';
import { findProblems, readFacts, type Results } from '../../findings/problems.ts';
import { readRanges } from '../../findings/range-status.ts';
import {
  findUnreachable,
  type NetworkEvidence,
  readNetwork,
  readReachability,
} from '../../findings/reachability.ts';
import { decideSafeToStop, type StopEvidence } from '../../findings/safe-to-stop.ts';
import { checkScan, countsOf } from '../../findings/scan-check.ts';
import { readSessions } from '../../findings/session-problems.ts';
import type {
  ClusterReading,
  ClusterView,
  LastKnownStatus,
  Problem,
  SqlLoad,
} from '../../findings/status.ts';
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
  /** Whether `pollNow` would begin a poll. */
  wouldPoll(isChosen: (collector: string) => boolean): boolean;
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
  readonly sqlLoad?: SqlLoad | undefined;
  /** What polls that succeeded have found, however long ago. */
  readonly remembered?: LastKnownStatus;
  /** Whether replicas on members that are not live are replaced. */
  readonly trends?: DeadEvidence['trends'];
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
  const stop = readStopEvidence(cluster, results.network, context);
  const dead = readDeadEvidence(stop, context.trends ?? new Map());
  const view = readView(cluster, results, { stop, dead }, context);
  const watchProblems = findWatchProblems(cluster, results, context);
  const facts = readFacts(results, { ...context, writeStalls });
  const found = findProblems(view, facts, { dead, watchProblems, previous });
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
  { stop, dead }: { readonly stop: StopEvidence; readonly dead: DeadEvidence },
  { sqlLoad, nowMs, remembered = {} }: ReadingContext,
): ClusterView {
  const { name, isPolled, pollers } = cluster;
  const nodesStatus =
    results.nodes && readNodes(results.nodes, findRetired(results.nodes.nodes, dead, nowMs));
  const downNodes = nodesStatus?.list.filter(isDown).map(({ id }) => id);
  const cloudResult = cluster.result(cloud);
  const apis = Array.from(new Set(pollers.map(({ collector }) => collector.api)), (api) => ({
    api,
    isUp: cluster.isUp(api),
  }));
  const collectors = pollers.map((poller) => readCollector(name, poller));
  return {
    name,
    isPolled,
    apis,
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
    collectors,
    lastKnown: readLastKnown(remembered, { apis, collectors }),
  };
}

/** Nobody stops or removes a node because of data that may have changed: those of polls that fail are left out. */
function readStopEvidence(
  cluster: ClusterSource,
  evidence: NetworkEvidence | undefined,
  context: ReadingContext,
): StopEvidence {
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
    reachability: findUnreachable(evidence, listed),
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
