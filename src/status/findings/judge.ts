import { formatAgo, formatNodes } from '#base';
import { nodes, ranges, sessions } from '#collectors';
import type { CollectorState } from '#exporter';
import { assistantProblems } from './assistant.ts';
import { findWrongTime, readAges } from './check-clocks.ts';
import { CLUSTER_CHECKS } from './check-cluster.ts';
import { PARTITION } from './check-network.ts';
import { areManyUnderreplicated, RANGE_CHECKS } from './check-ranges.ts';
import { runChecks } from './check.ts';
import type { Evidence } from './evidence.ts';
import { FIGURES } from './figures.ts';
import { findFigures } from './find-figures.ts';
import { describeLastKnown, isClusterDown, lastKnownLosses } from './last-known.ts';
import { missingReplicas } from './missing-replicas.ts';
import { markFigures } from './node-figures.ts';
import { nodeProblems } from './node-problems.ts';
import { isProblem, toFindings } from './problem.ts';
import { rangeProblems } from './range-problems.ts';
import { isList } from './reachability.ts';
import { missingSessions, sessionProblems } from './session-problems.ts';
import type { ClusterReading, ClusterView, Problem } from './status.ts';
import { unreadNodes } from './unread-nodes.ts';

/** The state of the cluster and what is wrong; `sinceMs` is when this exporter first saw the state or problem of a key. */
export function judge(evidence: Evidence, sinceMs: (key: string) => number): ClusterReading {
  const { view, healthyMs = -Infinity } = evidence;
  const findings = toFindings(findProblems(evidence), sinceMs);
  const problems = findings.filter(isProblem);
  const isReadWrongly = findings.some(({ alert }) => alert === 'CrdbScanDisagrees');
  const isSeen = isVisible(view) && !isReadWrongly;
  const state = problems.length > 0 ? 'problems' : isSeen ? 'healthy' : 'unknown';
  // The most severe problems come first. The state began with the oldest of these, but not before the cluster was last healthy.
  const worst = problems.filter(({ level }) => level === problems[0]?.level);
  const began = worst.map((finding) => Date.parse(finding.since));
  const startMs = worst.length === 0 ? sinceMs(state) : Math.max(healthyMs, Math.min(...began));
  const since = new Date(startMs).toISOString();
  const list = view.nodes && markFigures(view.nodes, findings);
  return { ...view, nodes: list, state, since, notRead: findNotRead(evidence), findings };
}

/** Collectors whose data the health of a cluster follows from. */
const HEALTH_COLLECTORS: readonly string[] = [nodes, ranges, sessions].map(({ name }) => name);

/** The parts that no collector polls, and ranges where this exporter scans only some of the nodes. */
function findNotRead({ view, ranges: scan }: Evidence): readonly string[] {
  const { collectors, isPolled } = view;
  const isPolledHere = (wanted: string): boolean =>
    collectors.some(({ name, state }) => name === wanted && (isPolled || state !== 'waiting'));
  const isWhole = scan?.summary === undefined || scan.summary.cluster !== undefined;
  const isShare = !isWhole && scan.failed.length === 0;
  return [
    ...HEALTH_COLLECTORS.filter((name) => !isPolledHere(name)),
    ...(isShare ? ['ranges of other nodes'] : []),
  ];
}

/** Whether the data that the health follows from, else all data, is there and complete, and its API up. */
function isVisible({ apis, collectors, isPolled, ranges: scan }: ClusterView): boolean {
  const polled = collectors.filter(({ state }) => isPolled || state !== 'waiting');
  const known = polled.filter(({ name }) => HEALTH_COLLECTORS.includes(name));
  const needed = known.length > 0 ? known : polled;
  const isThere = needed.length > 0 && needed.every(({ hasData }) => hasData);
  const isRead = (scan?.nodes.failed ?? 0) === 0 && scan?.withoutProblems === undefined;
  return apis[0]?.isUp === true && isThere && isRead;
}

/** The problems of a cluster and of watching it. */
function findProblems(evidence: Evidence): readonly Problem[] {
  const { view, nowMs, thresholds, dead, network, ranges: scan, hiddenSessions } = evidence;
  const { losses } = evidence.lastSeen;
  const isBlind = isClusterDown(view.apis);
  const sourceOf = (collector: string) => view.collectors.find(({ name }) => name === collector);
  const from = (collector: string, problems: readonly Problem[]): readonly Problem[] => {
    const source = sourceOf(collector);
    if (source === undefined || !source.isOld) return problems;
    return problems.map((problem) => toOld(problem, source, isBlind, nowMs));
  };
  const polledMs = (collector: string) => Date.parse(sourceOf(collector)?.lastSuccessAt ?? '');
  const lastSeen = view.lastKnown === undefined ? '' : describeLastKnown(view.lastKnown, nowMs);
  // Causes and affected collectors are left out: they are for the log, which the exporter has written.
  const watched = evidence.watchProblems.map(
    ({ downApi, affects: _affects, cause: _cause, failures: _failures, text, ...problem }) => ({
      ...problem,
      text: downApi === 'cluster' ? `${text}${lastSeen}` : text,
    }),
  );
  const ofNodes = [...findFigures(FIGURES.nodes, evidence), ...runChecks(CLUSTER_CHECKS, evidence)];
  const ofConnections = runChecks([PARTITION], evidence);
  const ofRanges = [...findFigures(FIGURES.ranges, evidence), ...runChecks(RANGE_CHECKS, evidence)];
  const fromScan = view.ranges
    ? rangeProblems(
        view.ranges,
        view.nodes?.list,
        areManyUnderreplicated(evidence),
        polledMs('ranges') > polledMs('nodes'),
      )
    : [];
  // An API that is down explains unread nodes.
  const unread = isBlind || scan === undefined ? [] : unreadNodes(scan, view.nodes?.list);
  const missing = missingReplicas(scan?.summary?.cluster, view.ranges?.scanCheck);
  const polledAt = sourceOf('sessions')?.lastSuccessAt;
  const wrongTime = findWrongTime(evidence);
  return [
    ...watched,
    // This problem follows from the lists of two collectors: where one of them does not run any more, it would never end.
    ...(hiddenSessions && sourceOf('sessions') && sourceOf('nodes') ? [hiddenSessions] : []),
    ...(view.nodes && view.ranges ? evidence.scanProblems : []),
    // Of one severity causes are listed before their effects: nodes that are down, then a partition, then slow nodes.
    ...from(
      'nodes',
      view.nodes ? nodeProblems(view.nodes, dead, thresholds, readAges(evidence)) : [],
    ),
    // Without a list of connections the counts in the records of nodes tell which nodes do not reach each other.
    ...from(isList(network) ? 'network' : 'nodes', ofConnections),
    ...from('nodes', [
      ...adviseDiskFirst(ofNodes),
      ...(wrongTime === undefined ? [] : [wrongTime]),
    ]),
    ...from('ranges', [...fromScan, ...unread, ...missing, ...ofRanges]),
    ...(losses && sourceOf('ranges') ? lastKnownLosses(losses, view, nowMs) : []).filter(
      ({ key }) => !fromScan.some((problem) => problem.key === key),
    ),
    ...from('sessions', [
      ...(view.sessions ? sessionProblems(view.sessions, view.name, polledAt, thresholds) : []),
      ...(view.sessions ? missingSessions(view.sessions, view.nodes?.list) : []),
      ...findFigures(FIGURES.sessions, evidence),
    ]),
    ...from('cloud', view.assistant ? assistantProblems(view.assistant, nowMs) : []),
  ];
}

/** The alerts of what a slow disk of the same node holds up. */
const DISK_EFFECTS: ReadonlySet<Problem['alert']> = new Set([
  'CrdbHeartbeatSlow',
  'CrdbLatencyHigh',
  'CrdbRequestsStuck',
  'CrdbStoreOverloaded',
]);

/**
 * The problems of nodes. Those that a slow disk of the same node explains lead to it. Example: the disk of node 2 is
 * slow, and the heartbeats of nodes 1 and 2 are: `First see the slow disk of node 2.`
 */
function adviseDiskFirst(problems: readonly Problem[]): readonly Problem[] {
  const slow = problems.filter(({ alert }) => alert === 'CrdbStoreDiskSlow');
  const nodeIds = new Set(slow.flatMap((problem) => problem.nodeIds ?? []));
  return problems.map((problem) => {
    const shared = (problem.nodeIds ?? []).filter((id) => nodeIds.has(id));
    if (shared.length === 0 || !DISK_EFFECTS.has(problem.alert)) return problem;
    return {
      ...problem,
      next: `First see the slow disk of ${formatNodes(shared)}. ${problem.next}`,
    };
  });
}

/** A problem as it was last seen: nothing is recommended on old data. */
function toOld(
  problem: Problem,
  { name, lastSuccessAt }: CollectorState,
  isBlind: boolean,
  nowMs: number,
): Problem {
  const text = `Last seen ${formatAgo(lastSuccessAt, nowMs)}: ${problem.text}`;
  const next = `The polls of ${name} are failing, and this may have changed.`;
  return { ...problem, level: isBlind ? 'info' : problem.level, text, next };
}
