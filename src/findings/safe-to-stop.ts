import { REACHABLE } from '../cockroach/node.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import type { FailureDomains, NodeDomain } from '../collectors/ranges/failure-domains.ts';
import { formatCount, formatDuration, formatList } from '../format.ts';
import type { LivenessStatus } from '../vocabulary.ts';

/** The last range scan of a cluster. */
export interface LastScan {
  readonly result: RangesResult;
  /** The scan ended so long ago. */
  readonly ageSeconds: number;
  readonly durationSeconds: number;
  /** The effective interval between two scans. */
  readonly intervalSeconds: number;
}

/** The knowledge of a cluster when somebody wants to stop a node. */
export interface StopEvidence {
  /** The last scan; undefined while it is too old to be shown. */
  readonly scan: LastScan | undefined;
  /** The last list of nodes, by id; undefined while it is older than its max_age. */
  readonly statuses: ReadonlyMap<number, LivenessStatus> | undefined;
}

/** Whether one node may stop now; the reason follows `Node 3 may not stop: ` or `Not known: `. */
type StopDecision =
  | { readonly answer: 'yes' }
  | { readonly answer: 'no' | 'unknown'; readonly reason: string };

/** Which nodes of a cluster may stop now. */
export interface SafeToStop {
  /** yes: one of `nodes` may stop. no: none may, for `reason`. unknown: nobody can tell, for `reason`. */
  readonly answer: 'yes' | 'no' | 'unknown';
  /** The nodes of which one may stop, ascending. */
  readonly nodes: readonly number[];
  /** Present when no node may stop. */
  readonly reason?: string | undefined;
  /** The live nodes that the scan read, ascending; none while the scan proves nothing. */
  readonly decisions: ReadonlyMap<number, StopDecision>;
}

/** A poll may be later than two intervals and a scan by so much. */
const GRACE_SECONDS = 30;

/**
 * Decides which nodes may stop now. The recording rule crdb_cluster_node_id:crdb_safe_to_stop:bool has the same conditions
 * in the same order: yes is 1, no is 0, unknown has no series.
 *
 * Example: 3 nodes hold 60 ranges with 3 replicas each. While all are live, each may stop: 2 of 3 replicas are left,
 * quorum 2. When node 3 is down, nodes 1 and 2 may not: 60 ranges would lose their quorum. When node 2 is down, too,
 * node 1 may not, although no range can lose a quorum any more: 60 ranges have none, and their last live replica is there.
 */
export function decideSafeToStop(evidence: StopEvidence): SafeToStop {
  const doubt = findDoubt(evidence);
  const { summary } = evidence.scan?.result ?? {};
  const { statuses } = evidence;
  if (doubt !== undefined || summary?.domains === undefined || statuses === undefined) {
    return { answer: 'unknown', nodes: [], reason: doubt, decisions: new Map() };
  }
  const { domains, problems } = summary;
  const damage = findDamage(summary, domains);
  const draining = [...statuses].filter(([, status]) => status === 'draining').map(([id]) => id);
  const gap = findGap(problems.get('no_live_replica')?.ranges, domains);
  const decide = (nodeId: number, domain: NodeDomain): StopDecision => {
    const others = draining.filter((id) => id !== nodeId);
    const refusal = damage ?? describeDraining(others) ?? describeLoss(domain);
    if (refusal !== undefined) return { answer: 'no', reason: refusal };
    return gap === undefined ? { answer: 'yes' } : { answer: 'unknown', reason: gap };
  };
  const decisions = new Map(
    Array.from(domains.nodes, ([nodeId, domain]) => [nodeId, decide(nodeId, domain)] as const),
  );
  const common = damage ?? describeDraining(draining);
  return summarize(decisions, common);
}

function summarize(
  decisions: ReadonlyMap<number, StopDecision>,
  common = 'each live node holds ranges that depend on it',
): SafeToStop {
  const nodes = [...decisions].filter(([, { answer }]) => answer === 'yes').map(([id]) => id);
  if (nodes.length > 0) return { answer: 'yes', nodes, decisions };
  const unknown = [...decisions.values()].find(({ answer }) => answer === 'unknown');
  if (unknown?.answer !== 'unknown') return { answer: 'no', nodes, reason: common, decisions };
  return { answer: 'unknown', nodes, reason: unknown.reason, decisions };
}

/** The reason why the scan does not show the cluster as it is now. */
function findDoubt({ scan, statuses }: StopEvidence): string | undefined {
  if (scan === undefined) return 'there is no current range scan';
  const { summary, failed } = scan.result;
  if (failed.length > 0) {
    const ids = failed.map(({ nodeId }) => nodeId);
    return `the ranges of ${formatNodes(ids)} could not be read`;
  }
  if (summary?.domains === undefined) return 'no exporter alone reads the ranges of all nodes';
  const maxAgeSeconds = 2 * scan.intervalSeconds + scan.durationSeconds + GRACE_SECONDS;
  if (scan.ageSeconds > maxAgeSeconds) {
    return `the last range scan ended ${formatDuration(scan.ageSeconds)} ago`;
  }
  if (statuses === undefined) return 'there is no current list of nodes';
  const read = [...summary.domains.nodes.keys()];
  const gone = read.filter((id) => !REACHABLE.has(statuses.get(id) ?? 'unknown'));
  if (gone.length === 0) return undefined;
  return `${formatNodes(gone)} went down after the last range scan: wait for the next one`;
}

/** The damage that forbids every stop: ranges that are without quorum or lost already. */
function findDamage(
  { problems }: NonNullable<RangesResult['summary']>,
  { nodes }: FailureDomains,
): string | undefined {
  const without = [...nodes.values()].map(({ withoutQuorum }) => withoutQuorum);
  const count = Math.max(problems.get('unavailable')?.ranges ?? 0, ...without);
  // The count is a lower bound, and another one than that of the ranges that report it themselves.
  if (count > 0) return 'ranges are without a quorum';
  const lost = problems.get('no_live_replica')?.ranges ?? 0;
  return lost > 0 ? `${formatRanges(lost)} without a live replica` : undefined;
}

function describeDraining(nodes: readonly number[]): string | undefined {
  if (nodes.length === 0) return undefined;
  return `${formatNodes(nodes)} ${nodes.length === 1 ? 'is' : 'are'} draining`;
}

/** The ranges that would be lost with this node. */
function describeLoss({ quorum, allReplicas }: NodeDomain): string | undefined {
  if (quorum > 0) return `${formatRanges(quorum)} would lose the quorum`;
  return allReplicas > 0
    ? `${formatRanges(allReplicas)} would lose the last live replica`
    : undefined;
}

/** The reason why numbers of 0 prove nothing: they are lower bounds. */
function findGap(lost: number | undefined, domains: FailureDomains): string | undefined {
  if (lost === undefined) return 'ranges may be lost that no node reports';
  const count = domains.unknownVoters.node;
  return count > 0 ? `the voters of ${formatRanges(count)} are not known` : undefined;
}

function formatNodes(ids: readonly number[]): string {
  return `${ids.length === 1 ? 'node' : 'nodes'} ${formatList(ids)}`;
}

/** `1 range`, `60 ranges`. */
export function formatRanges(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'range' : 'ranges'}`;
}

/** Whether dead nodes may be decommissioned; the reason follows `do not decommission it: `. */
export type DecommissionDecision =
  | { readonly isAllowed: true }
  | { readonly isAllowed: false; readonly reason: string };

/**
 * Decides whether the nodes that are dead may be decommissioned: only when a complete scan that began after their death
 * shows that no range needs them. The alert CrdbNodeDead has the same conditions in its text.
 *
 * Example: 5 nodes hold 60 ranges with 3 replicas each, and node 4 dies. While one of its ranges has 2 live replicas, it
 * may not: when a second node dies, the disk of node 4 is what brings the range back. When all have 3 again, it may.
 */
export function decideDecommission(evidence: StopEvidence): DecommissionDecision {
  const reason = findRefusal(evidence);
  return reason === undefined ? { isAllowed: true } : { isAllowed: false, reason };
}

function findRefusal(evidence: StopEvidence): string | undefined {
  // A scan that began before the death read the node, or failed to.
  const doubt = findDoubt(evidence);
  if (doubt !== undefined) return doubt;
  const { summary } = evidence.scan?.result ?? {};
  const underreplicated = summary?.problems.get('underreplicated')?.ranges;
  if (summary?.domains === undefined || underreplicated === undefined) {
    return 'there is no current range scan';
  }
  if (!summary.problems.has('no_live_replica')) return 'ranges may be lost that no node reports';
  const damage = findDamage(summary, summary.domains);
  if (damage !== undefined) return damage;
  if (underreplicated === 0) return undefined;
  return `${formatRanges(underreplicated)} ${underreplicated === 1 ? 'has' : 'have'} too few replicas`;
}

/** The next step for so many dead nodes. */
export function adviseDeadNodes(count: number, decision: DecommissionDecision): string {
  const [them, they] = count === 1 ? ['it', 'it'] : ['them', 'they'];
  return decision.isAllowed
    ? `Start ${them} again. No range needs ${them}: if ${they} will not return, remove ${them} with \`cockroach node decommission\`.`
    : `Start ${them} again; do not decommission ${them}: ${decision.reason}.`;
}
