import { formatNodes, formatRanges, plural } from '#base';
import type { DescriptorReport } from './described-ranges.ts';
import { note } from './output/standard-output.ts';
import type { PrintedReplica } from './printed-replica.ts';

/** A range that nodes report as unavailable, while the node that holds its lease lists it without that. */
interface DisputedRange {
  readonly range_id: number;
  /** The nodes that report it. */
  readonly node_ids: readonly number[];
}

/** What replicas say of the quorum of their ranges: one node may take others for dead that serve. */
export class Claims {
  /** The nodes without the lease that report a range as unavailable. */
  readonly #claimants = new Map<number, number[]>();
  /** The ranges that the holder of the lease lists without that, and those that it reports, too. */
  readonly #served = new Set<number>();
  readonly #confirmed = new Set<number>();

  add({ range_id: id = 0, node_id: nodeId = 0, problems, is_leaseholder }: PrintedReplica): void {
    if (problems === null) return;
    const isUnavailable = problems.includes('unavailable');
    if (is_leaseholder) (isUnavailable ? this.#confirmed : this.#served).add(id);
    else if (isUnavailable) this.#claimants.set(id, [...(this.#claimants.get(id) ?? []), nodeId]);
  }

  /** The ranges that only nodes without the lease report as unavailable. */
  get disputed(): readonly DisputedRange[] {
    return [...this.#claimants].flatMap(([id, nodes]) => {
      const isDisputed = this.#served.has(id) && !this.#confirmed.has(id);
      return isDisputed ? [{ range_id: id, node_ids: nodes.toSorted((a, b) => a - b) }] : [];
    });
  }
}

/** Prints what only some nodes claim, if they do: `only node 6 reports 200 ranges as unavailable: …`. */
export function noteDisputed(disputed: readonly DisputedRange[]): void {
  if (disputed.length === 0) return;
  const ids = [...new Set(disputed.flatMap(({ node_ids }) => node_ids))].toSorted((a, b) => a - b);
  const nodes = formatNodes(ids);
  const [report, reach] = ids.length === 1 ? ['reports', 'reaches'] : ['report', 'reach'];
  const them = plural(disputed.length, 'it', 'them');
  note(
    `only ${nodes} ${report} ${formatRanges(disputed.length)} as unavailable: the nodes that hold the leases list ${them} without that; check first whether ${nodes} ${reach} the others, with \`crdb-exporter network\``,
  );
}

/** The nodes that claim that the range is unavailable, where its leaseholder lists it without that and all of its replicas are live; empty else. */
export function claimantsOf(
  replicas: readonly PrintedReplica[],
  descriptor: DescriptorReport | undefined,
  live: ReadonlySet<number>,
): readonly number[] {
  const claims = new Claims();
  for (const replica of replicas) claims.add(replica);
  const areLive = descriptor?.replicas.every(({ node_id }) => live.has(node_id)) ?? false;
  const isSure = descriptor?.is_from_leaseholder === true && areLive;
  return isSure ? claims.disputed.flatMap(({ node_ids }) => node_ids) : [];
}
