import { REACHABLE } from '../cockroach/node.ts';
import type { Dependence, NodeDomain, RangesResult } from '../collectors/ranges/result.ts';
import { formatDuration, formatNodes, formatRanges } from '../format.ts';
import type { LivenessStatus } from '../vocabulary.ts';
import type { SafeToStopStatus } from './status.ts';

/** The knowledge of a cluster when somebody wants to stop a node. */
export interface StopEvidence {
  /** The last range scan; undefined while it is too old to be shown. */
  readonly scan:
    | {
        readonly result: RangesResult;
        /** The scan ended so long ago. */
        readonly ageSeconds: number;
        readonly durationSeconds: number;
        /** The effective interval between two scans. */
        readonly intervalSeconds: number;
        /** True while scans disagree with the nodes' own counts, as in the alert CrdbScanDisagrees. */
        readonly disagrees: boolean;
      }
    | undefined;
  /** The last list of nodes, by id; undefined while it is older than its max_age. */
  readonly statuses: ReadonlyMap<number, LivenessStatus> | undefined;
}

/** The summary of a scan that shows the cluster as it is now. */
interface CurrentScan {
  readonly domains: Dependence;
  readonly statuses: ReadonlyMap<number, LivenessStatus>;
  readonly unavailable: number;
  readonly underreplicated: number;
  /** Undefined while a node is down whose ranges nobody knows. */
  readonly lost: number | undefined;
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
export function decideSafeToStop(evidence: StopEvidence): SafeToStopStatus {
  const scan = readCurrent(evidence);
  if (typeof scan === 'string')
    return { answer: 'unknown', nodes: [], reason: scan, decisions: [] };
  const draining = [...scan.statuses].filter(([, status]) => status === 'draining');
  const reasonAgainst = (drainingNodes: readonly number[]) =>
    findDamage(scan) ?? describeDraining(drainingNodes);
  const ids = draining.map(([id]) => id);
  const gap = findGap(scan);
  const decisions = Array.from(scan.domains.nodes, ([nodeId, domain]) => {
    const refusal = reasonAgainst(ids.filter((id) => id !== nodeId)) ?? describeLoss(domain);
    if (refusal !== undefined) return { nodeId, answer: 'no' as const, reason: refusal };
    return gap === undefined
      ? { nodeId, answer: 'yes' as const }
      : { nodeId, answer: 'unknown' as const, reason: gap };
  });
  const nodes = decisions.filter(({ answer }) => answer === 'yes').map(({ nodeId }) => nodeId);
  if (nodes.length > 0) return { answer: 'yes', nodes, decisions };
  if (decisions.some(({ answer }) => answer === 'unknown'))
    return { answer: 'unknown', nodes, reason: gap, decisions };
  const reason = reasonAgainst(ids) ?? 'each live node holds ranges that depend on it';
  return { answer: 'no', nodes, reason, decisions };
}

/** Reads a scan that shows the cluster as it is now, or why it does not. */
function readCurrent({ scan, statuses }: StopEvidence): CurrentScan | string {
  if (scan === undefined) return 'there is no current range scan';
  const { summary, failed } = scan.result;
  if (failed.length > 0) {
    return `the ranges of ${formatNodes(failed.map(({ nodeId }) => nodeId))} could not be read`;
  }
  if (summary?.cluster?.dependence === undefined)
    return 'no exporter alone reads the ranges of all nodes';
  const maxAgeSeconds = 2 * scan.intervalSeconds + scan.durationSeconds + GRACE_SECONDS;
  if (scan.ageSeconds > maxAgeSeconds) {
    return `the last range scan ended ${formatDuration(scan.ageSeconds)} ago`;
  }
  if (scan.disagrees) return "range scans disagree with the nodes' own counts";
  if (statuses === undefined) return 'there is no current list of nodes';
  const {
    problems,
    cluster: { dependence: domains },
  } = summary;
  const read = [...domains.nodes.keys()];
  const gone = read.filter((id) => !REACHABLE.has(statuses.get(id) ?? 'unknown'));
  if (gone.length > 0) {
    return `${formatNodes(gone)} went down after the last range scan: wait for the next one`;
  }
  return {
    domains,
    statuses,
    unavailable: problems.get('unavailable')?.ranges ?? 0,
    underreplicated: problems.get('underreplicated')?.ranges ?? 0,
    lost: problems.get('no_live_replica')?.ranges,
  };
}

/** The damage that forbids every stop: ranges that are without quorum or lost already. */
function findDamage({ domains, unavailable, lost = 0 }: CurrentScan): string | undefined {
  const without = [...domains.nodes.values()].some(({ withoutQuorum }) => withoutQuorum > 0);
  // The number is a lower bound, and another one than that of the ranges that report it themselves.
  if (unavailable > 0 || without) return 'ranges are without a quorum';
  return lost > 0 ? `${formatRanges(lost)} without a live replica` : undefined;
}

function describeDraining(nodes: readonly number[]): string | undefined {
  if (nodes.length === 0) return undefined;
  return `${formatNodes(nodes)} ${nodes.length === 1 ? 'is' : 'are'} draining`;
}

/** The ranges that would be lost with this node. */
function describeLoss({ quorum, allReplicas }: NodeDomain): string | undefined {
  if (quorum > 0) return `${formatRanges(quorum)} would lose the quorum`;
  if (allReplicas === 0) return undefined;
  return `${formatRanges(allReplicas)} would lose the last live replica`;
}

/** The reason why numbers of 0 prove nothing: they are lower bounds. */
function findGap({ lost, domains }: CurrentScan): string | undefined {
  if (lost === undefined) return 'ranges may be lost that no node reports';
  const count = domains.nodes.size < 0 ? 1 : 0;
  return count > 0 ? `the voters of ${formatRanges(count)} are not known` : undefined;
}

/**
 * Why dead nodes must not be decommissioned; undefined when they may be: a complete scan that began after their death
 * shows that no range needs them. The alert CrdbNodeDead has the same conditions in its text.
 *
 * Example: 5 nodes hold 60 ranges with 3 replicas each, and node 4 dies. While one of its ranges has 2 live replicas, it
 * may not: when a second node dies, the disk of node 4 is what brings the range back. When all have 3 again, it may.
 */
export function refuseDecommission(evidence: StopEvidence): string | undefined {
  // A scan that began before the death read the node, or failed to.
  const scan = readCurrent(evidence);
  if (typeof scan === 'string') return scan;
  if (scan.lost === undefined) return 'ranges may be lost that no node reports';
  const { underreplicated: count } = scan;
  const few = `${formatRanges(count)} ${count === 1 ? 'has' : 'have'} too few replicas`;
  return findDamage(scan) ?? (count > 0 ? few : undefined);
}
