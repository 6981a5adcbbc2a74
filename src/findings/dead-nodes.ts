import { findDamage, findDoubt, formatRanges, type StopEvidence } from './safe-to-stop.ts';

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
