import type { NodeList } from '../../cockroach/node.ts';

/** What the lists of nodes have shown of the members of a cluster, from scan to scan. Times are ticks. */
export class Members {
  // Arrays by node id are read faster than a Map, for every place of every range.
  #isLive: readonly (true | undefined)[] = [];
  /** When a member went from live to not live. */
  readonly #wentDownAt: number[] = [];
  /** When a member was first seen not live, since it was last live. */
  readonly #downSince: (number | undefined)[] = [];
  /** Members that were live in a scan that verified all ranges: what they held then is known. */
  readonly #proven = new Set<number>();

  /** Takes over the list of nodes of a scan that begins at this tick; a member that is no longer listed is not live. */
  update({ toScan, toSkip }: Pick<NodeList, 'toScan' | 'toSkip'>, tick: number): void {
    const before = this.#isLive;
    const live: (true | undefined)[] = [];
    for (const nodeId of toScan) {
      live[nodeId] = true;
      this.#downSince[nodeId] = undefined;
    }
    for (const [id, wasLive] of Object.entries(before)) {
      if (wasLive && live[Number(id)] === undefined) this.#wentDownAt[Number(id)] = tick;
    }
    for (const nodeId of toSkip) this.#downSince[nodeId] ??= tick;
    this.#isLive = live;
  }

  /** Live, draining or decommissioning by the last list of nodes. */
  isLive(nodeId: number): boolean {
    return this.#isLive[nodeId] === true;
  }

  /** When it last went from live to not live; 0 if it never did. */
  wentDownAt(nodeId: number): number {
    return this.#wentDownAt[nodeId] ?? 0;
  }

  /** Since when it has not been live; 0 where no list has named it, as for a member that has left. */
  downSince(nodeId: number): number {
    return this.#downSince[nodeId] ?? this.wentDownAt(nodeId);
  }

  /** Records that a scan has verified the replicas of all ranges. */
  prove(nodeIds: readonly number[]): void {
    for (const nodeId of nodeIds) this.#proven.add(nodeId);
  }

  /** Whether what these members held when they were last live is known. */
  areProven(nodeIds: readonly number[]): boolean {
    return nodeIds.every((nodeId) => this.#proven.has(nodeId));
  }
}
