import { waitSeconds } from '../alerts/alerts.ts';
import type { NodesResult } from '../collectors/nodes/collector.ts';
import { readJobs } from '../collectors/nodes/job-status.ts';
import type { RangesResult } from '../collectors/ranges/scan-result.ts';
import type { SessionsResult } from '../collectors/sessions/collector.ts';
import { assistantProblems } from './assistant.ts';
import { CLUSTER_CHECKS, PARTITION, RANGES_CHECKS } from './cluster-checks.ts';
import type { DeadEvidence } from './dead-nodes.ts';
import { describeLastKnown, formatAgo } from './last-known.ts';
import {
  type Check,
  type Facts,
  findHeavyJob,
  NODE_CHECKS,
  SESSION_CHECKS,
} from './node-checks.ts';
import { nodeProblems } from './node-problems.ts';
import { pollProblems } from './polls.ts';
import { rangeProblems } from './range-problems.ts';
import { hasConnections, type NetworkEvidence } from './reachability.ts';
import { sessionProblems } from './session-problems.ts';
import type { ClusterView, CollectorStatus, Problem } from './status.ts';

/** The current results of polls; undefined while there are none. */
export interface Results {
  readonly nodes: NodesResult | undefined;
  /** Undefined where the collector does not run. */
  readonly network: NetworkEvidence | undefined;
  readonly ranges: RangesResult | undefined;
  readonly sessions: SessionsResult | undefined;
}

/** The evidence of problems beside the facts. */
interface ClusterEvidence {
  readonly dead: DeadEvidence;
  /** The problems of watching the cluster that no single result shows. */
  readonly watchProblems: readonly Problem[];
  /** The problems after the last poll. */
  readonly previous: readonly Problem[];
}

/** The problems of a cluster and of watching it, as the page, /api/status and the commands show them. */
export function findProblems(
  view: ClusterView,
  facts: Facts,
  { dead, watchProblems, previous }: ClusterEvidence,
): readonly Problem[] {
  const { thresholds, nowMs } = facts;
  const { nodes, ranges, sessions, assistant } = view;
  const isBlind = view.apis.some(({ api, isUp }) => api === 'cluster' && isUp === false);
  const sourceOf = (collector: string) => view.collectors.find(({ name }) => name === collector);
  const from = (collector: string, problems: readonly Problem[]): readonly Problem[] => {
    const source = sourceOf(collector);
    if (source?.state !== 'failing') return problems;
    return problems.map((problem) => toOld(problem, source, isBlind, nowMs));
  };
  const lastSeen = view.lastKnown && describeLastKnown(view.lastKnown, nowMs);
  const polledAt = sourceOf('sessions')?.lastSuccessAt;
  return [
    ...pollProblems(view, previous, lastSeen),
    ...watchProblems,
    ...from('nodes', [
      ...(nodes ? nodeProblems(nodes, dead, thresholds) : []),
      ...runChecks([...NODE_CHECKS, ...CLUSTER_CHECKS], facts),
    ]),
    ...from(hasConnections(facts.network) ? 'network' : 'nodes', runChecks([PARTITION], facts)),
    ...from('ranges', [
      ...(ranges ? rangeProblems(ranges, isBlind, nodes?.list.length) : []),
      ...runChecks(RANGES_CHECKS, facts),
    ]),
    ...from('sessions', [
      ...(sessions ? sessionProblems(sessions, view.name, polledAt, thresholds) : []),
      ...runChecks(SESSION_CHECKS, facts),
    ]),
    ...from('cloud', assistant ? assistantProblems(assistant) : []),
  ];
}

/** Reads the facts of checks from the results of polls. */
export function readFacts(
  { nodes, network, ranges, sessions }: Partial<Results>,
  { nowMs, thresholds, writeStalls }: Pick<Facts, 'nowMs' | 'thresholds' | 'writeStalls'>,
): Facts {
  const { nodes: list = [], lastBackupSeconds = 0 } = nodes ?? {};
  const fresh = list.filter(({ isFresh }) => isFresh);
  return {
    nowMs,
    thresholds,
    writeStalls,
    nodes: list,
    fresh,
    jobs: readJobs(list),
    isHeavyJobRunning: findHeavyJob(fresh),
    lastBackupSeconds,
    network,
    ranges,
    sessions,
  };
}

/** The problems that these checks find. */
export function runChecks(checks: readonly Check[], facts: Facts): readonly Problem[] {
  return checks.flatMap((check) => {
    const { find, alert, key = alert, isImmediate = false, ...shown } = check;
    const found = find(facts);
    if (found === undefined) return [];
    const { text, level = shown.level } = typeof found === 'string' ? { text: found } : found;
    const normalSeconds = isImmediate ? 0 : waitSeconds(alert, level);
    return [{ ...shown, alert, key, text, level, normalSeconds }];
  });
}

/** A problem as it was last seen: nothing is recommended on old data. */
function toOld(
  problem: Problem,
  { name, lastSuccessAt }: CollectorStatus,
  isBlind: boolean,
  nowMs: number,
): Problem {
  const text = `Last seen ${formatAgo(lastSuccessAt, nowMs)}: ${problem.text}`;
  const next = `The polls of ${name} are failing, and this may have changed.`;
  return { ...problem, level: isBlind ? 'info' : problem.level, text, next };
}
