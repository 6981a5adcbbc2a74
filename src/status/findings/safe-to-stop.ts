import {
  formatCount,
  formatDuration,
  formatNodes,
  formatRanges,
  type LivenessStatus,
  plural,
  smallest,
  sum,
} from '#base';
import { livenessOf, MAX_RECORD_AGE_SECONDS, REACHABLE } from '#cockroach';
import type {
  ClusterScan,
  ListedNode,
  NodeDomain,
  NodesResult,
  Poller,
  RangesResult,
} from '#collectors';
import { formatFirst } from './problem.ts';
import {
  type Connections,
  describeUnreadable,
  findUnreachable,
  type Reachability,
} from './reachability.ts';
import type { Problem, SafeToStopStatus, StopDecision } from './status.ts';

/** The knowledge of a cluster when somebody wants to stop or to remove a node. */
export interface StopEvidence {
  /** The last range scan; undefined while it is too old to be shown, or polls fail. */
  readonly scan: ScanEvidence | undefined;
  /** The last list of nodes, by id; undefined while it is older than its max_age, or polls fail. */
  readonly statuses: ReadonlyMap<number, LivenessStatus> | undefined;
  /** The age of the youngest record of this list; undefined where no age is known. */
  readonly youngestRecordSeconds: number | undefined;
  readonly reachability: Reachability;
}

/** A range scan with its age. */
interface ScanEvidence {
  readonly result: RangesResult;
  /** Seconds since the scan ended. */
  readonly ageSeconds: number;
  readonly durationSeconds: number;
  /** The effective interval between two scans. */
  readonly intervalSeconds: number;
  /** True while scans disagree with the nodes' own counts, as in the alert CrdbScanDisagrees. */
  readonly disagrees: boolean;
}

/** Whether the number of ranges that name a member falls; absent while nobody knows. */
export type Trends = ReadonlyMap<number, 'falls' | 'stays'>;

/** What is known of the members that are not live, when somebody wants to remove one. */
export interface DeadEvidence {
  /** Ranges whose last known descriptor names the member, by id; undefined where descriptors are not read. */
  readonly replicas: ReadonlyMap<number, number> | undefined;
  /** The most voters of one of these ranges; 0 while nobody knows. */
  readonly mostVoters: number;
  readonly trends: Trends;
  /** Why ranges may need a member that no descriptor names; undefined when none does. */
  readonly doubt: string | undefined;
  /** Ranges that are without a quorum, lost or serve nothing, as a clause. */
  readonly damage: string | undefined;
}

export function readDeadEvidence(evidence: StopEvidence, trends: Trends): DeadEvidence {
  const result = evidence.scan?.result;
  const dependence = result?.summary?.cluster?.dependence;
  return {
    replicas: dependence?.downReplicas,
    mostVoters: dependence?.mostVoters ?? 0,
    trends,
    doubt: findScanDoubt(evidence) ?? describeDisagreement(evidence),
    damage: result && findDamage(result),
  };
}

/** What the last results tell. Those of polls that fail are left out: they may have changed. */
export function readStopEvidence(
  pollers: readonly Poller[],
  found: {
    readonly nodes: NodesResult | undefined;
    readonly network: Connections;
    readonly ranges: RangesResult | undefined;
  },
  scanProblems: readonly Problem[],
): StopEvidence {
  const pollerOf = (name: string) =>
    pollers.find(
      ({ collector, outcome }) => collector.name === name && outcome.state !== 'failing',
    );
  const listed = pollerOf('nodes') && found.nodes?.nodes;
  const scanner = pollerOf('ranges');
  const { last } = scanner?.outcome ?? {};
  const { resultAgeSeconds: ageSeconds } = scanner ?? {};
  return {
    statuses: listed && new Map(listed.map((node) => [node.id, livenessOf(node)])),
    youngestRecordSeconds: youngestRecord(listed ?? []),
    reachability: findUnreachable(found.network, listed),
    scan:
      scanner === undefined || found.ranges === undefined || ageSeconds === undefined
        ? undefined
        : {
            result: found.ranges,
            ageSeconds,
            durationSeconds: last?.durationSeconds ?? 0,
            intervalSeconds: scanner.intervalSeconds,
            disagrees: scanProblems.length > 0,
          },
  };
}

/** The age of the youngest of the records; undefined where no age is known. */
export function youngestRecord(
  nodes: readonly Pick<ListedNode, 'recordAgeSeconds'>[],
): number | undefined {
  return smallest(nodes.flatMap(({ recordAgeSeconds }) => recordAgeSeconds ?? []));
}

/** Grace on top of two intervals, and of a scan, before a poll counts as late. */
const GRACE_SECONDS = 30;

/**
 * Decides which nodes may stop now, one at a time. The recording rule crdb_cluster_node_id:crdb_safe_to_stop:bool has the
 * same conditions: yes is 1, no is 0, unknown has no series. A node may not stop because of damage, of another node that
 * drains, or of its own ranges; else it is not known for the first doubt; else it may stop. One pass over the nodes.
 *
 * Example: 3 nodes hold 60 ranges with 3 voters each. While all are live, each may stop: 2 of 3 voters are left, a
 * majority. When node 3 is down, nodes 1 and 2 may not: 60 ranges would lose their majority. When node 2 is down, too,
 * node 1 may not, although no range can lose a majority any more: 60 ranges have none.
 */
export function decideSafeToStop(evidence: StopEvidence): SafeToStopStatus {
  const { scan, statuses } = evidence;
  const cluster = scan?.result.summary?.cluster;
  const doubt = findDoubt(evidence);
  if (scan === undefined || cluster === undefined) {
    const damage = scan && findDamage(scan.result);
    const reason = [doubt, damage].filter((text) => text !== undefined).join('; ');
    return { answer: 'unknown', nodes: [], reason, decisions: [] };
  }
  const draining = [...(statuses ?? [])].flatMap(([id, status]) =>
    status === 'draining' ? [id] : [],
  );
  const againstAll = findDamage(scan.result) ?? describeDraining(draining, 2);
  const againstOthers = againstAll ?? describeDraining(draining, 1);
  const decisions = scan.result.scanned.map(({ nodeId, stores }): StopDecision => {
    const status = statuses?.get(nodeId);
    const shared = status === 'draining' ? againstAll : againstOthers;
    const replicas = () => sum(Array.from(stores.values(), (store) => store.replicas));
    const refusal =
      shared ??
      describeLoss(cluster.dependence?.nodes.get(nodeId)) ??
      (status === 'decommissioning'
        ? describeLeaving(replicas(), isUnnamed(cluster, nodeId))
        : undefined);
    if (refusal !== undefined) return { nodeId, answer: 'no', reason: refusal };
    return doubt === undefined
      ? { nodeId, answer: 'yes' }
      : { nodeId, answer: 'unknown', reason: doubt };
  });
  const nodes = decisions.flatMap(({ answer, nodeId }) => (answer === 'yes' ? [nodeId] : []));
  if (nodes.length > 0) return { answer: 'yes', nodes, decisions };
  if (decisions.some(({ answer }) => answer === 'unknown'))
    return { answer: 'unknown', nodes, reason: doubt, decisions };
  const reason = againstOthers ?? 'each live node holds ranges that depend on it';
  return { answer: 'no', nodes, reason, decisions };
}

/** The damage that forbids every stop, as a clause; undefined while none was seen. The counts of ranges are lower bounds. */
function findDamage({ summary }: RangesResult): string | undefined {
  const { cluster } = summary ?? {};
  const unavailable = summary?.problems.get('unavailable')?.ranges ?? 0;
  const { lost = 0, keySpace, servingNothing = 0, disputed } = cluster ?? {};
  const claimed = disputed?.rangeIds.size ?? 0;
  const unreported = cluster === undefined ? 0 : sum([...cluster.unreported.values()]);
  if (unavailable > claimed || unreported > 0) return 'ranges are without a quorum';
  if (lost > 0) return `${formatRanges(lost)} ${plural(lost, 'has', 'have')} no live replica`;
  if (keySpace?.isGapConfirmed) return 'ranges are missing that no node reports';
  if (servingNothing > 0) {
    const least = cluster?.isServingBound ? 'at least ' : '';
    return `${least}${formatRanges(servingNothing)} ${plural(servingNothing, 'serves', 'serve')} nothing`;
  }
  if (disputed === undefined || claimed === 0) return undefined;
  const report = plural(disputed.nodeIds.length, 'reports', 'report');
  return `only ${formatNodes(disputed.nodeIds)} ${report} ranges as without a quorum`;
}

/** Nothing while fewer nodes than `least` are draining: a node that drains alone may stop. */
function describeDraining(nodes: readonly number[], least: number): string | undefined {
  if (nodes.length < least) return undefined;
  return `${formatNodes(nodes)} ${plural(nodes.length, 'is', 'are')} draining`;
}

/** The ranges that would be lost with this node; those without a quorum are damage. */
function describeLoss({ quorum = 0, allReplicas = 0 }: Partial<NodeDomain> = {}) {
  if (quorum > 0) return `${formatRanges(quorum)} would lose the quorum`;
  if (allReplicas === 0) return undefined;
  return `${formatRanges(allReplicas)} would lose the last live replica`;
}

/** A node that is being decommissioned leaves when it has no replica any more; the server removes those that no descriptor names. */
function describeLeaving(replicas: number, areUnnamed: boolean): string | undefined {
  if (replicas === 0) return undefined;
  const text = plural(replicas, 'replica has', 'replicas have');
  const unnamed = `; no descriptor names ${plural(replicas, 'it', 'them')}`;
  return `${formatCount(replicas)} ${text} not left it yet${areUnnamed ? unnamed : ''}`;
}

/** Whether all ranges are verified, and no descriptor names the node. */
function isUnnamed({ unverified, dependence }: ClusterScan, nodeId: number): boolean {
  return unverified === 0 && dependence?.nodes.get(nodeId)?.named === 0;
}

/** The first reason why the answer is not known. */
function findDoubt(evidence: StopEvidence): string | undefined {
  return (
    findScanDoubt(evidence) ??
    describeReach(evidence.reachability) ??
    describeDisagreement(evidence)
  );
}

function describeReach(reachability: Reachability): string | undefined {
  if ('reason' in reachability) return reachability.reason;
  return reachability.answer === 'reached'
    ? undefined
    : `nobody tells whether live nodes reach each other: ${reachability.remedy}`;
}

/** A scan that differs from what the nodes themselves count proves nothing. */
function describeDisagreement({ scan }: StopEvidence): string | undefined {
  return scan?.disagrees ? "range scans disagree with the nodes' own counts" : undefined;
}

/** Why the last scan does not show the replicas of all ranges as they are now; undefined when it does. */
function findScanDoubt(evidence: StopEvidence): string | undefined {
  const { scan, statuses, youngestRecordSeconds: age = 0 } = evidence;
  if (scan === undefined) return 'there is no current range scan';
  const { summary, failed, scanned, unreadable } = scan.result;
  if (failed.length > 0)
    return `the ranges of ${formatNodes(failed.map(({ nodeId }) => nodeId))} could not be read`;
  if (unreadable > 0) return describeUnreadable(unreadable);
  if (summary?.cluster === undefined) return 'no exporter alone reads the ranges of all nodes';
  const maxAgeSeconds = 2 * scan.intervalSeconds + scan.durationSeconds + GRACE_SECONDS;
  if (scan.ageSeconds > maxAgeSeconds)
    return `the last range scan ended ${formatDuration(scan.ageSeconds)} ago`;
  if (statuses === undefined) return 'there is no current list of nodes';
  if (age >= MAX_RECORD_AGE_SECONDS)
    return `no node has written its record for ${formatDuration(age)}: the list of nodes may be old`;
  const gone = scanned.flatMap(({ nodeId }) =>
    REACHABLE.has(statuses.get(nodeId) ?? 'unknown') ? [] : [nodeId],
  );
  if (gone.length > 0)
    return `${formatNodes(gone)} went down after the last range scan; the next one tells more`;
  const unverified = describeUnverified(summary.cluster);
  if (unverified !== undefined || summary.cluster.keySpace.isComplete) return unverified;
  return 'the keys of the ranges that were read do not join: ranges may be missing that no node reports';
}

/** `r12 on node 2, r13 on nodes 2 and 3 and 4 more`. */
export function formatHeld(
  ranges: readonly { readonly rangeId: number; readonly nodeIds: readonly number[] }[],
): string {
  const named = ranges.map(({ rangeId, nodeIds }) => `r${rangeId} on ${formatNodes(nodeIds)}`);
  return formatFirst(named, ranges.length);
}

/** Why replicas are not verified, and until when; undefined when all are. */
export function describeUnverified(cluster: ClusterScan): string | undefined {
  const { unverified, descriptors, withoutProblems } = cluster;
  const { state, failure, due, perMinute = 0 } = descriptors;
  if (state === 'disabled')
    return 'descriptors of ranges are not read: set descriptor_max_age of the collector ranges';
  if (state === 'refused') return describeRefusal(failure?.status);
  if (withoutProblems > 0) return describeWithoutProblems(withoutProblems);
  if (unverified === 0) return undefined;
  const { overlapping } = cluster.keySpace;
  if (unverified <= overlapping.length)
    return `${formatHeld(overlapping)} ${plural(overlapping.length, 'lies', 'lie')} over the keys of other ranges: which of them are real is not known`;
  const ranges = `${formatRanges(unverified)} ${plural(unverified, 'is', 'are')} not verified`;
  if (failure !== undefined) return `${ranges}: descriptors cannot be read: ${failure.message}`;
  if (due === 0) return `${ranges}: the next scan may tell more`;
  const toRead = `${ranges}: ${formatCount(due)} ${plural(due, 'descriptor is', 'descriptors are')} to be read`;
  if (!(perMinute > 0)) return toRead;
  const seconds = Math.max(1, Math.ceil((60 * due) / perMinute));
  return `${toRead}, in about ${formatDuration(seconds)}`;
}

/** Nobody knows what is wrong with this many replicas. */
export function describeWithoutProblems(replicas: number): string {
  return `the problems of ${formatCount(replicas)} ${plural(replicas, 'replica', 'replicas')} could not be read: the release may be newer than this exporter`;
}

/** What to do about a refusal with this status. */
function describeRefusal(status: number | undefined): string {
  const remedy =
    status === 403
      ? 'GRANT SYSTEM VIEWCLUSTERMETADATA to the user, and let the path /_status/ranges/ pass through proxies'
      : status === 400 || status === 414
        ? 'let proxies pass longer paths below /_status/ranges/'
        : 'let the path /_status/ranges/ pass through proxies';
  return `descriptors of ranges are refused${status === undefined ? '' : ` (${status})`}: ${remedy}`;
}
