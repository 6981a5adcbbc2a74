import type { NodeList } from '#cockroach';
import { MAX_NODE_ID } from './range-map.ts';

/**
 * What the lists of nodes have shown of the members of a cluster, from scan to scan. Times are ticks. Members that have left stay:
 * their ids, which are never used again, are up to 65,535, and no range is verified on one above.
 */
export class Members {
  // Arrays by node id are read faster than a Map, for every place of every range.
  #isLive: readonly (true | undefined)[] = [];
  /** When a member went from live to not live. */
  #wentDownAt: number[] = [];
  /** Members that were live in a scan that verified all ranges: what they held then is known. */
  readonly #proven = new Set<number>();

  /** Takes over the list of nodes of a scan that begins at this tick; a member that is no longer listed is not live. */
  update({ toScan }: Pick<NodeList, 'toScan'>, tick: number): void {
    const before = this.#isLive;
    const live: (true | undefined)[] = [];
    for (const nodeId of toScan) if (nodeId <= MAX_NODE_ID) live[nodeId] = true;
    for (const [id, wasLive] of Object.entries(before)) {
      if (wasLive && live[Number(id)] === undefined) this.#wentDownAt[Number(id)] = tick;
    }
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

  /** Records that a scan has verified the replicas of all ranges. */
  prove(): void {
    for (const nodeId of Object.keys(this.#isLive)) this.#proven.add(Number(nodeId));
  }

  /** Whether what these members held when they were last live is known. */
  areProven(nodeIds: readonly number[]): boolean {
    return nodeIds.every((nodeId) => this.#proven.has(nodeId));
  }
}
