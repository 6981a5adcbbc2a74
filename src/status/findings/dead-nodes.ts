import { formatCount, formatNodes, formatRanges, plural } from '#base';
import { DEAD, livenessOf } from '#cockroach';
import type { ListedNode, RangesResult } from '#collectors';
import type { DeadEvidence, Trends } from './safe-to-stop.ts';

/**
 * Whether a dead member may be decommissioned: all ranges are verified, none is missing, none names it, and the cluster is
 * not damaged. The last descriptor of a range without a majority may be old, and proves nothing. The recording rule crdb_cluster_node_id:crdb_may_decommission:bool has the same conditions.
 *
 * Example: 5 nodes hold 60 ranges with 3 replicas each, and node 4 dies. While a descriptor names node 4, it may not: when
 * a second node dies, the disk of node 4 is what brings that range back. When none does any more, it may.
 */
export function mayDecommission({ replicas, doubt, damage }: DeadEvidence, id: number): boolean {
  return doubt === undefined && damage === undefined && replicas?.get(id) === 0;
}

/** A member that has been dead for this long, and that no range needs, is information. */
const RETIRED_SECONDS = 7 * 86_400;

/**
 * The members that are gone for good and count in no health: dead for more than 7 days without a range that needs them, or
 * an old record without a liveness.
 */
export function findRetired(
  nodes: readonly ListedNode[],
  evidence: DeadEvidence,
  nowMs: number,
): ReadonlySet<number> {
  const retired = nodes.filter((node) => {
    const status = livenessOf(node);
    if (status === 'unknown') return !node.isFresh;
    const ageSeconds = node.recordAgeSeconds ?? nowMs / 1000 - node.updatedSeconds;
    return DEAD.has(status) && ageSeconds > RETIRED_SECONDS && mayDecommission(evidence, node.id);
  });
  return new Set(retired.map(({ id }) => id));
}

/** Ids that a command names; of more nodes it names none. */
const MAX_IDS = 20;

/** How to remove nodes that no range needs. */
export function describeRemoval(ids: readonly number[]): string {
  const command = ['cockroach node decommission', ...(ids.length <= MAX_IDS ? ids : [])].join(' ');
  return `\`${command}\` only removes ${plural(ids.length, 'it', 'them')} from the list.`;
}

/** The next step for dead nodes that no range needs. */
export function adviseRemoval(ids: readonly number[]): string {
  const it = plural(ids.length, 'it', 'them');
  const they = plural(ids.length, 'it', 'they');
  return `Start ${it} again. If ${they} will not come back: ${describeRemoval(ids)}`;
}

/** A replica can be rebuilt only with this many live nodes. */
export const MIN_LIVE = 3;

/** `add 2 nodes` where 3 are needed and 1 is live. */
export function describeAdding(live: number, needed: number): string {
  return plural(needed - live, 'add a node', `add ${formatCount(needed - live)} nodes`);
}

/**
 * The next step for dead nodes that ranges may need: never to decommission them. Where too few nodes are live, the cluster
 * cannot rebuild their replicas: nodes are added before anything is waited for. Example: ranges with 5 voters have lost node
 * 5, and 4 nodes are live: nothing is rebuilt. With 5 live ones it is, unless their disks are full or zones exclude them.
 */
export function adviseReturn(
  ids: readonly number[],
  evidence: DeadEvidence,
  live: number,
  canRebuild = true,
): string {
  const it = plural(ids.length, 'it', 'them');
  const they = plural(ids.length, 'it', 'they');
  const { damage } = evidence;
  const countOf = (id: number): number => evidence.replicas?.get(id) ?? 0;
  const held = ids.filter((id) => countOf(id) > 0);
  // A member without replicas has nothing left that could fall.
  const stuck = held.filter((id) => evidence.trends.get(id) === 'stays');
  const [named] = (stuck.length > 0 ? stuck : held).toSorted((x, y) => countOf(y) - countOf(x));
  const keep = `Start ${it} again; do not decommission ${it}:`;
  const add = canRebuild
    ? ''
    : ` If ${they} will not come back, first ${describeAdding(live, MIN_LIVE)}: with fewer than three live nodes the cluster cannot replace replicas.`;
  if (named === undefined)
    return `${keep} ${damage ?? evidence.doubt ?? 'ranges may need it'}.${add}`;
  const count = countOf(named);
  const many = `${formatRanges(count)} still ${plural(count, 'has', 'have')} a replica ${plural(ids.length, 'there', `on ${formatNodes([named])}`)}`;
  if (damage !== undefined) return `${keep} ${damage}, and ${many}.${add}`;
  if (!canRebuild) return `${keep} ${many}.${add}`;
  const isStuck = stuck.length > 0;
  const stays = `${many}${isStuck ? ', and their number does not fall' : ''}`;
  const are = plural(live, 'node is', 'nodes are');
  if (live < evidence.mostVoters)
    return `${keep} ${stays}: ${formatCount(live)} ${are} live, and some ranges have ${evidence.mostVoters} voters. If ${they} will not come back, ${describeAdding(live, evidence.mostVoters)}.`;
  if (isStuck)
    return `${keep} ${stays}, although enough nodes are live: look for full stores, and for zone constraints that no live node satisfies.`;
  if (held.every((id) => evidence.trends.get(id) === 'falls'))
    return `${keep} ${many}, and their number falls: the cluster is replacing them.`;
  const declared = plural(ids.length, 'the node was', 'the nodes were');
  return `${keep} ${many}. The cluster began to replace them when ${declared} declared dead: enough nodes are live.`;
}

/** How long the number of ranges that name a member must be stable before it counts as stuck. */
const TREND_MS = 600_000;

/** Watches from scan to scan whether the cluster replaces the replicas on members that are not live. */
export class ReplicaTrends {
  #members: ReadonlyMap<
    number,
    { readonly least: number; readonly atMs: number; readonly fell: boolean }
  > = new Map();

  /** Takes note of a scan. A scan without descriptors changes nothing. */
  add({ summary }: RangesResult, atMs: number): void {
    const counts = summary?.cluster?.dependence?.downReplicas;
    if (counts === undefined) return;
    this.#members = new Map(
      Array.from(counts, ([id, count]) => {
        const before = this.#members.get(id);
        if (before === undefined || count > before.least)
          return [id, { least: count, atMs, fell: false }];
        return [id, count < before.least ? { least: count, atMs, fell: true } : before];
      }),
    );
  }

  /** `falls`: it became smaller in the last 10 minutes; `stays`: it did not in this time. */
  read(nowMs: number): Trends {
    const trends = new Map<number, 'falls' | 'stays'>();
    for (const [id, { atMs, fell }] of this.#members) {
      if (nowMs - atMs >= TREND_MS) trends.set(id, 'stays');
      else if (fell) trends.set(id, 'falls');
    }
    return trends;
  }
}
