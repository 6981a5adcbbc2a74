import { livenessOf } from '../../cockroach/node.ts';
import { cloud, type CloudResult, HEALTHS, STATUSES } from '../../collectors/cloud.ts';
import type { CollectorResult, ResultOf } from '../../collectors/collector.ts';
import { nodes } from '../../collectors/nodes.ts';
import { ranges, type RangesResult } from '../../collectors/ranges.ts';
import { sessions } from '../../collectors/sessions.ts';
import { tables } from '../../collectors/tables.ts';
import { decideDecommission } from '../../findings/dead-nodes.ts';
import {
  decideSafeToStop,
  type LastScan,
  type SafeToStop,
  type StopEvidence,
} from '../../findings/safe-to-stop.ts';
import type { ScanCheck } from '../../findings/scan-history.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import type { RenderedFamily } from '../../metrics/snapshot.ts';
import type { Conditions } from '../../polling/conditions.ts';
import type { Poller } from '../../polling/poller.ts';
import type { Api } from '../../vocabulary.ts';
import { collectorIssues, readCollector, warningIssue } from './collectors.ts';
import { type HealthIssue, isProblem, toFindings, toTime } from './health.ts';
import { nodeIssues, readNodes } from './nodes.ts';
import { rangeIssues, readRanges } from './ranges.ts';
import { isScanWrong } from './scan-check.ts';
import { readSessions, sessionIssues } from './sessions.ts';

/** A configured cluster with the results of its polls. No page queries a cluster, only /probe does. */
export interface ClusterSource {
  readonly name: string;
  /** False: only /probe polls it. */
  readonly isPolled: boolean;
  readonly pollers: readonly Poller[];
  /** What is wrong although polls succeed. */
  readonly warnings: Conditions['warnings'];
  /** Undefined while a collector has no data that is young enough to be shown. */
  result<R extends CollectorResult>(collector: ResultOf<R>): R | undefined;
  lastResult<R extends CollectorResult>(collector: ResultOf<R>): R | undefined;
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

/** Reads the results of the last polls. `sinceMs` is when this exporter first saw the issue of a key. */
export function readCluster(
  cluster: ClusterSource,
  sinceMs: (key: string) => number,
  nowMs: number,
  scanCheck?: ScanCheck,
) {
  const evidence = readEvidence(cluster, nowMs);
  return assess(
    readParts(cluster, evidence, scanCheck),
    evidence,
    cluster.warnings,
    sinceMs,
    nowMs,
  );
}

/** Only what does not depend on the results, and why. */
export function readUnreadable(
  cluster: ClusterSource,
  reason: string,
  sinceMs: (key: string) => number,
  nowMs: number,
) {
  const key = 'unreadable results';
  const message = `the results of this cluster cannot be shown: ${reason}`;
  const warning = { key, message, remedy: 'report this message', sinceMs: sinceMs(key) };
  const withoutResults = {
    name: cluster.name,
    isPolled: cluster.isPolled,
    pollers: cluster.pollers,
    isUp: (api: Api) => cluster.isUp(api),
    result: () => undefined,
  };
  const evidence = { scan: undefined, statuses: undefined };
  const parts = readParts(withoutResults, evidence);
  const status = assess(parts, evidence, [...cluster.warnings, warning], sinceMs, nowMs);
  return { ...status, state: status.state === 'healthy' ? ('unknown' as const) : status.state };
}

function assess(
  parts: ReturnType<typeof readParts>,
  evidence: StopEvidence,
  warnings: Conditions['warnings'],
  sinceMs: (key: string) => number,
  nowMs: number,
) {
  const findings = toFindings(findIssues(parts, evidence, warnings), sinceMs, nowMs);
  const problems = findings.filter(isProblem);
  /** `unknown` while the exporter cannot see it. */
  const state: 'healthy' | 'problems' | 'unknown' =
    problems.length > 0 ? 'problems' : isVisible(parts) ? 'healthy' : 'unknown';
  // The worst come first; the cluster has their problem for as long as the oldest of them lasts.
  const worst = problems.filter(({ level }) => level === problems[0]?.level);
  const [since = new Date(sinceMs(state)).toISOString()] = worst.map((one) => one.since).toSorted();
  return { ...parts, state, since, findings };
}

/** Whether the data that the health follows from, else all data, is there and complete, and its API up. */
function isVisible(parts: ReturnType<typeof readParts>): boolean {
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
  cluster: Pick<ClusterSource, 'name' | 'isPolled' | 'pollers' | 'isUp' | 'result'>,
  evidence: StopEvidence,
  scanCheck?: ScanCheck,
) {
  const nodesResult = cluster.result(nodes);
  const rangesResult = cluster.result(ranges);
  const nodesStatus = nodesResult && readNodes(nodesResult, rangesResult);
  const sessionsResult = cluster.result(sessions);
  const cloudResult = cluster.result(cloud);
  const apis = new Set(cluster.pollers.map(({ collector }) => collector.api));
  return {
    name: cluster.name,
    isPolled: cluster.isPolled,
    /** `isUp` is crdb_up: absent before the first poll has ended. */
    apis: Array.from(apis, (api) => ({ api, isUp: cluster.isUp(api) })),
    nodes: nodesStatus,
    ranges:
      rangesResult &&
      readRanges(rangesResult, cluster.result(tables), nodesStatus, nodesResult && scanCheck),
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

function readEvidence(
  cluster: Pick<ClusterSource, 'pollers' | 'result'>,
  nowMs: number,
): StopEvidence {
  const listed = cluster.result(nodes)?.nodes;
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
  if (poller === undefined || result === undefined || lastSuccessMs === undefined) return undefined;
  return {
    result,
    ageSeconds: (nowMs - lastSuccessMs) / 1000,
    durationSeconds: last?.durationSeconds ?? 0,
    intervalSeconds: poller.intervalSeconds,
  };
}

function findIssues(
  parts: ReturnType<typeof readParts>,
  evidence: StopEvidence,
  warnings: Conditions['warnings'],
) {
  const polledAt = parts.collectors.find(({ name }) => name === sessions.name)?.lastSuccessAt;
  const down = new Set(parts.apis.filter(({ isUp }) => isUp === false).map(({ api }) => api));
  return [
    ...collectorIssues(parts.collectors, down),
    ...warnings.map((warning) => warningIssue(parts.name, warning)),
    ...(parts.nodes ? nodeIssues(parts.nodes, decideDecommission(evidence)) : []),
    ...(parts.ranges ? rangeIssues(parts.ranges, down.has('cluster')) : []),
    ...(parts.sessions ? sessionIssues(parts.sessions, parts.name, polledAt) : []),
    ...(parts.assistant ? assistantIssues(parts.assistant) : []),
  ];
}

export type AssistantStatus = ReturnType<typeof readAssistant>;

/** Describes the migration assistant; all but `exists` is absent when there is none. */
function readAssistant({ assistant }: CloudResult) {
  return {
    exists: assistant !== undefined,
    status: stateOf(STATUSES, assistant?.status),
    health: stateOf(HEALTHS, assistant?.health),
    region: assistant?.region,
    /** When this exporter first saw the current status. */
    statusSince: toTime(assistant?.statusSinceMs),
  };
}

/** `other` for a value that this exporter does not know, as on /metrics. */
function stateOf(known: readonly string[], state: string | undefined): string | undefined {
  return state === undefined || known.includes(state) ? state : 'other';
}

function assistantIssues({
  status,
  health,
  statusSince: since,
}: AssistantStatus): readonly HealthIssue[] {
  const issue = { key: 'assistant', about: 'assistant' } as const;
  if (status === 'failed') {
    const text = 'The migration assistant has failed.';
    const next =
      '`crdb-exporter cloud assistant get` shows its last error. Delete it before you retry.';
    return [{ ...issue, alert: 'CrdbMigrationAssistantFailing', text, next, since }];
  }
  if (health !== 'unavailable' && health !== 'unknown') return [];
  const text = `The health of the migration assistant is ${health}.`;
  const next = '`crdb-exporter cloud assistant get` shows its state.';
  return [{ ...issue, alert: 'CrdbMigrationAssistantFailing', text, next }];
}
